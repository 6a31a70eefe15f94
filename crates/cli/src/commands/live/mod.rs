//! Commands of the live market: questions to the daemon that `tradewind up` runs.

pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod budget;
pub(crate) mod control;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod grant;
pub(crate) mod handover;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod login;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod peers;
pub(crate) mod policy;
pub(crate) mod price;
pub(crate) mod project;
pub(crate) mod quote;
pub(crate) mod reclaim;
pub(crate) mod report;
pub(crate) mod shadow;
pub(crate) mod sites;
mod starts;
pub(crate) mod submit;
pub(crate) mod token;
pub(crate) mod usage;
pub(crate) mod wait;
pub(crate) mod whatif;
mod work;

use serde_json::Value;
use tradewind_web::documents::Consumed;

use crate::client::Sent;
use crate::client::words::moment;
use crate::exit::Failure;
use crate::options::Format;
use crate::output::{csv, print, print_styled};
use crate::tables::{self, Column, Side};

/// Rows under their heads, for people or for spreadsheets.
#[derive(Debug)]
struct Sheet {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Prints it, or the document that it shows.
    fn print(self, sent: &Sent, format: Format) -> Result<(), Failure> {
        match format {
            Format::Json => sent.print(),
            Format::Csv => self.print_csv(),
            Format::Table => print_styled(&self.table()),
        }
    }

    /// With what was consumed beside each row, if that is known of any.
    fn with_consumed(mut self, all: impl Iterator<Item = Option<Consumed>>) -> Sheet {
        let all: Vec<Option<Consumed>> = all.collect();
        if all.iter().any(Option::is_some) {
            let heads = ["ENERGY KWH", "CARBON G", "ENERGY PRICE"];
            self.columns.extend(heads.map(|head| (head, Side::Right)));
            for (row, consumed) in self.rows.iter_mut().zip(all) {
                row.extend(Consumed::cells(consumed));
            }
        }
        self
    }

    fn table(self) -> String {
        tables::table(&self.columns, self.rows)
    }

    /// With heads in small letters, without blanks.
    fn print_csv(self) -> Result<(), Failure> {
        let head =
            |(head, _): &Column| head.to_lowercase().replace([' ', '('], "_").replace(')', "");
        let mut rows = vec![self.columns.iter().map(head).collect()];
        rows.extend(self.rows.into_iter().map(|row| row.into_iter().map(harmless).collect()));
        print(&csv(&rows)?)
    }
}

/// A field that spreadsheets do not take for a formula. Numbers stay as they are.
fn harmless(text: String) -> String {
    let risky = text.len() > 1 && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match risky && text.parse::<f64>().is_err() {
        true => format!("'{text}"),
        false => text,
    }
}

/// One document if it is one, else a list of them.
fn joined(mut all: Vec<Value>) -> Sent {
    match all.len() {
        1 => Sent(all.remove(0)),
        _ => Sent(Value::Array(all)),
    }
}

/// Fields of [`facts`] that are moments: seconds since 1970, but for people.
const MOMENTS: [&str; 3] = ["first", "last", "time"];

/// Prints the fields of an object, one a line for people.
fn facts(document: &Value, format: Format) -> Result<(), Failure> {
    let fields = document.as_object().into_iter().flatten();
    let show = |(name, value): (&str, &Value)| match (value, value.as_i64()) {
        (Value::String(text), _) => text.clone(),
        (Value::Null, _) => "none".to_owned(),
        (Value::Array(items), _) if items.is_empty() => "none".to_owned(),
        (Value::Array(items), _) => listed(items),
        (_, Some(at)) if MOMENTS.contains(&name) => moment(at),
        (other, _) => other.to_string(),
    };
    // Spreadsheets have empty cells and numbers.
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => listed(items),
        other => other.to_string(),
    };
    match format {
        Format::Json => crate::output::json(document),
        Format::Table => {
            let line = |(name, value): (&String, &Value)| {
                format!("{:<18} {}\n", name.replace('_', " "), show((name, value)))
            };
            print_styled(&fields.map(line).collect::<String>())
        }
        Format::Csv => {
            let (names, values) = fields.map(|(name, value)| (name.clone(), cell(value))).unzip();
            print(&csv(&[names, values])?)
        }
    }
}

/// Values in one cell: texts without quotation marks.
fn listed(items: &[Value]) -> String {
    let word = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    items.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn texts_of_users_are_no_formulas() {
        for (text, shown) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("@sum", "'@sum"),
            ("-1+cmd", "'-1+cmd"),
            ("-1.5", "-1.5"),
            ("-", "-"),
            ("user:ana", "user:ana"),
        ] {
            assert_eq!(harmless(text.to_owned()), shown);
        }
    }
}
