//! CSV tables, read as the tables of a document are.

use std::borrow::Cow;

use crate::diagnostics::{Diagnostic, Diagnostics, did_you_mean, excerpt};
use crate::value::{Entry, Value, ValueKind};

/// The rows of a CSV file as tables; empty cells are left out. Its columns must be `known`, each
/// at most once: a misspelt one with nothing in it is a mistake, too.
pub(crate) fn rows<'i>(
    file: &str,
    text: &'i str,
    known: &[&str],
) -> Result<Vec<Value<'i>>, Diagnostics> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut diagnostics = Diagnostics::default();
    let refused = |err: &csv::Error| {
        let line = err.position().map_or(1, |place| place.line() as u32);
        Diagnostic::error(file, "not a row of the table")
            .at_line(line)
            .with_hint("every row has as many cells as the first")
    };
    let names = reader.headers().map_err(|err| refused(&err))?.clone();
    for diagnostic in columns(file, &names, known) {
        diagnostics.push(diagnostic);
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        match record {
            Err(err) => diagnostics.push(refused(&err)),
            Ok(record) => {
                let line = record.position().map_or(1, |place| place.line() as u32);
                rows.push(row(&names, &record, line));
            }
        }
    }
    diagnostics.finish(Some(rows)).map(|(rows, _)| rows)
}

/// What is wrong with the names of columns.
fn columns<'a>(
    file: &'a str,
    names: &'a csv::StringRecord,
    known: &'a [&'a str],
) -> impl Iterator<Item = Diagnostic> + 'a {
    names.iter().enumerate().filter_map(move |(at, name)| {
        let wrong = |message| Diagnostic::error(file, message).at_line(1);
        if !known.contains(&name) {
            let message = format!("unknown column `{}`", excerpt(name));
            return Some(wrong(message).with_hint(did_you_mean(name, known)));
        }
        let twice = names.iter().take(at).any(|other| other == name);
        twice
            .then(|| wrong(format!("the column `{name}` is there twice")).with_hint("join the two"))
    })
}

fn row<'i>(names: &csv::StringRecord, record: &csv::StringRecord, line: u32) -> Value<'i> {
    let cells = names.iter().zip(record).filter(|(_, cell)| !cell.is_empty());
    let entry = |(name, cell): (&str, &str)| {
        let text = Cow::Owned(cell.to_owned());
        let number = cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
            && cell.bytes().all(|c| c.is_ascii_digit() || b"+-.eE".contains(&c));
        let kind = if number { ValueKind::Number(text) } else { ValueKind::Text(text) };
        Entry { key: Cow::Owned(name.to_owned()), line, value: Value { kind, line } }
    };
    Value { kind: ValueKind::Table(cells.map(entry).collect()), line }
}
