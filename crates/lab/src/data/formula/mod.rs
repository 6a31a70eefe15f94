//! The formulas in the data files: what is measured, and when a claim holds.
//!
//! A formula reads the tally of an experiment and makes a number, an estimate with its interval, a
//! truth value, a text or a list of these:
//!
//! ```text
//! 100 * (1 - ratio("gain/cost"))
//! all([mean("{s}/cost") <= mean("css/cost") for s in schemes where s != "css"])
//! if cost < 10 then "low" else "{cost:.1}"
//! ```
//!
//! Texts contain formulas in braces, with a format for numbers: `{x:.2}`, `{x:+.1}`. A calculation
//! with an estimate and a number is done at both ends of the interval; one with two estimates has
//! no interval, because nothing is known of how they depend on each other. Comparisons are of
//! means. `functions.rs` lists the functions; data files define more.

mod eval;
mod functions;
mod parse;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use toml::Spanned;

pub(crate) use eval::{Scope, Seen};
pub(crate) use value::FormulaValue;

/// A formula with the place in its file where it begins, in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    expr: Expr,
    offset: usize,
}

/// A text with formulas in it.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    parts: Vec<TextPart>,
    offset: usize,
}

/// `a, b in list where condition`.
#[derive(Debug, Clone)]
pub(crate) struct Each {
    names: Vec<String>,
    list: Expr,
    condition: Option<Expr>,
}

/// A formula that others may use by its name.
#[derive(Debug, Clone)]
struct Definition {
    parameters: Vec<String>,
    body: Formula,
}

/// Definitions by name: `share(id) = "100 * mean(id)"`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Definitions(BTreeMap<String, Definition>);

/// What is wrong with a formula, and where in its file, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: Option<usize>,
    pub(crate) message: String,
}

/// What a formula comes to, or what is wrong with it.
pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Fault {
        Fault { offset: None, message: message.into() }
    }

    /// The innermost formula says where.
    fn at(self, offset: usize) -> Fault {
        Fault { offset: self.offset.or(Some(offset)), ..self }
    }
}

#[derive(Debug, Clone)]
enum Expr {
    Number(f64),
    Text(Vec<TextPart>),
    Name(String),
    Call(String, Vec<Expr>),
    List(Vec<Expr>),
    Every(Box<Expr>, Box<Each>),
    Not(Box<Expr>),
    Binary(Op, Box<[Expr; 2]>),
    If(Box<[Expr; 3]>),
}

#[derive(Debug, Clone)]
enum TextPart {
    Plain(String),
    Value(Expr, Format),
}

/// How a number is written.
#[derive(Debug, Clone, Copy)]
enum Format {
    /// With as many digits as it takes.
    Shortest,
    /// With so many decimals, and with a plus sign if that is wanted.
    Fixed { decimals: usize, sign: Sign },
}

#[derive(Debug, Clone, Copy)]
enum Sign {
    OfLosses,
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Or,
    And,
    Equal,
    Unequal,
    AtMost,
    AtLeast,
    Below,
    Above,
    Plus,
    Minus,
    Times,
    Over,
}

impl Formula {
    /// The same text for the same formula, wherever it stands.
    pub(crate) fn meaning(&self) -> String {
        format!("{:?}", self.expr)
    }
}

/// Text and its place in the file.
fn spanned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(String, usize), D::Error> {
    let text = Spanned::<String>::deserialize(deserializer)?;
    let offset = text.span().start;
    Ok((text.into_inner(), offset))
}

/// TOML says where the list begins that a formula is in, so the formula says where it is itself.
const PLACE: &str = "at byte ";

fn misread<E: Error>(offset: usize, message: &str) -> E {
    E::custom(format!("{PLACE}{offset}: {message}"))
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Fault {
        let own = error.message().strip_prefix(PLACE).and_then(|rest| {
            let (offset, message) = rest.split_once(": ")?;
            Some(Fault { offset: Some(offset.parse().ok()?), message: message.to_owned() })
        });
        own.unwrap_or_else(|| Fault {
            offset: error.span().map(|span| span.start),
            message: error.message().to_owned(),
        })
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Formula, D::Error> {
        let (text, offset) = spanned(deserializer)?;
        let expr = parse::formula(&text).map_err(|message| misread(offset, &message))?;
        Ok(Formula { expr, offset })
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Template, D::Error> {
        let (text, offset) = spanned(deserializer)?;
        let parts = parse::template(&text).map_err(|message| misread(offset, &message))?;
        Ok(Template { parts, offset })
    }
}

impl<'de> Deserialize<'de> for Each {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Each, D::Error> {
        parse::each(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Definitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Definitions, D::Error> {
        let mut all = BTreeMap::new();
        for (head, body) in BTreeMap::<String, Formula>::deserialize(deserializer)? {
            let (name, parameters) = parse::head(&head).map_err(D::Error::custom)?;
            all.insert(name, Definition { parameters, body });
        }
        Ok(Definitions(all))
    }
}
