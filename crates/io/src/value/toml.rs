//! TOML by the `toml` crate, with its spans turned into lines.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::{Entry, Value, ValueKind};
use crate::diagnostics::{Diagnostic, Diagnostics, excerpt};

const SYNTAX: &str =
    "TOML has `key = value` lines under `[table]` or `[[list]]`, and texts in double quotes";

/// The tree of `text`. The crate's reader bounds the nesting by itself.
pub(super) fn parse<'i>(file: &str, text: &'i str) -> Result<Value<'i>, Diagnostics> {
    let lines = LineStarts::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut diagnostics = Diagnostics::default();
    for error in &errors {
        // The first line says what is wrong; further ones draw a picture of the place.
        let message = excerpt_of(error.message());
        let it = Diagnostic::error(file, message).with_hint(SYNTAX);
        diagnostics.push(match error.span() {
            Some(span) => {
                let (line, column) = lines.place(span.start);
                it.at_line(line).at_column(column)
            }
            None => it,
        });
    }
    if !errors.is_empty() {
        return Err(diagnostics);
    }
    let line = lines.place(table.span().start).0;
    Ok(Value { kind: table_kind(table.into_inner(), &lines), line })
}

fn excerpt_of(message: &str) -> String {
    let first = message.lines().next().unwrap_or("not valid TOML");
    first.trim_end_matches('.').to_owned()
}

fn table_kind<'i>(table: DeTable<'i>, lines: &LineStarts) -> ValueKind<'i> {
    let entries = table.into_iter().map(|(key, value)| {
        let line = lines.place(key.span().start).0;
        Entry { key: key.into_inner(), line, value: convert(value, lines) }
    });
    let mut entries: Vec<Entry<'i>> = entries.collect();
    entries.sort_by_key(|entry| entry.line);
    ValueKind::Table(entries)
}

fn convert<'i>(value: Spanned<DeValue<'i>>, lines: &LineStarts) -> Value<'i> {
    let line = lines.place(value.span().start).0;
    let kind = match value.into_inner() {
        DeValue::String(text) => ValueKind::Text(text),
        DeValue::Integer(number) => ValueKind::Number(integer(&number)),
        DeValue::Float(number) => ValueKind::Number(Cow::Owned(number.as_str().to_owned())),
        DeValue::Boolean(flag) => ValueKind::Flag(flag),
        DeValue::Datetime(moment) => ValueKind::Text(Cow::Owned(moment.to_string())),
        DeValue::Array(items) => {
            ValueKind::List(items.into_iter().map(|item| convert(item, lines)).collect())
        }
        DeValue::Table(table) => table_kind(table, lines),
    };
    Value { kind, line }
}

/// Decimal text of an integer in any radix.
fn integer<'i>(number: &DeInteger<'i>) -> Cow<'i, str> {
    let digits = number.as_str();
    let text = match (number.radix(), i128::from_str_radix(digits, number.radix())) {
        (10, _) => digits.to_owned(),
        (_, Ok(value)) => value.to_string(),
        (_, Err(_)) => excerpt(&number.to_string()),
    };
    Cow::Owned(text)
}

/// Where lines start, to find the line of a byte.
struct LineStarts {
    starts: Vec<usize>,
}

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineStarts { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// Line and column, from 1.
    fn place(&self, at: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= at);
        let start = self.starts[line.saturating_sub(1)];
        (line.max(1) as u32, (at - start + 1) as u32)
    }
}
