//! A document as a tree that remembers lines, whether it was JSON or TOML. Numbers stay text, so
//! that nothing is lost before a field says what it needs.

mod json;
#[cfg(test)]
mod tests;
mod toml;

use std::borrow::Cow;

use crate::diagnostics::Diagnostics;
use crate::input::Input;

/// How deep lists and tables may nest. A scenario needs five levels.
pub(crate) const MAX_DEPTH: u32 = 64;

/// A value and the line (from 1) on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value<'i> {
    pub(crate) kind: ValueKind<'i>,
    pub(crate) line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueKind<'i> {
    Null,
    Flag(bool),
    /// As written, without underscores; TOML's hexadecimal and the like are decimal here.
    Number(Cow<'i, str>),
    Text(Cow<'i, str>),
    List(Vec<Value<'i>>),
    Table(Vec<Entry<'i>>),
}

/// A key of a table. Keys are unique: both readers report a repeated one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'i> {
    pub(crate) key: Cow<'i, str>,
    pub(crate) line: u32,
    pub(crate) value: Value<'i>,
}

impl Value<'_> {
    /// What it is, for messages: `the text `ten``.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            ValueKind::Null => "`null`".to_owned(),
            ValueKind::Flag(flag) => format!("`{flag}`"),
            ValueKind::Number(text) => {
                format!("the number `{}`", crate::diagnostics::excerpt(text))
            }
            ValueKind::Text(text) => format!("the text `{}`", crate::diagnostics::excerpt(text)),
            ValueKind::List(_) => "a list".to_owned(),
            ValueKind::Table(_) => "a table".to_owned(),
        }
    }
}

/// The syntax of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Toml,
}

/// By the name's ending, else by the first character: JSON documents here begin with `{`.
pub(crate) fn syntax(name: &str, text: &str) -> Syntax {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "json" => Syntax::Json,
        "toml" => Syntax::Toml,
        _ if text.trim_start().starts_with('{') => Syntax::Json,
        _ => Syntax::Toml,
    }
}

/// The tree of `input`.
pub(crate) fn parse(input: &Input) -> Result<Value<'_>, Diagnostics> {
    let text = input.text()?;
    match syntax(&input.name, text) {
        Syntax::Json => json::parse(&input.name, text).map_err(Diagnostics::from),
        Syntax::Toml => toml::parse(&input.name, text),
    }
}
