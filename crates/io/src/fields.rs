//! Typed access to a document's tables. Every mistake is noted with its line and field; reading
//! continues with `None`, so that one run finds them all.

use std::ops::RangeInclusive;

use tradewind_model::{Money, Performance, Price, Ratio, Span, Time};

use crate::decimal::{self, DecimalError};
use crate::diagnostics::{Diagnostic, Diagnostics, did_you_mean, excerpt, list};
use crate::duration;
use crate::hidden::is_hidden;
use crate::value::{Entry, Value, ValueKind};

/// Where mistakes in one file are noted.
pub(crate) struct Notes<'f> {
    file: &'f str,
    pub(crate) diagnostics: Diagnostics,
}

impl<'f> Notes<'f> {
    pub(crate) fn new(file: &'f str) -> Notes<'f> {
        Notes { file, diagnostics: Diagnostics::default() }
    }

    pub(crate) fn error(&mut self, line: u32, field: &str, message: String, hint: &str) {
        let it = Diagnostic::error(self.file, message).at_line(line).in_field(field);
        self.diagnostics.push(it.with_hint(hint));
    }

    pub(crate) fn warning(&mut self, line: u32, field: &str, message: String, hint: &str) {
        let it = Diagnostic::warning(self.file, message).at_line(line).in_field(field);
        self.diagnostics.push(it.with_hint(hint));
    }
}

/// The fields of one table.
pub(crate) struct Fields<'v, 'i> {
    entries: &'v [Entry<'i>],
    /// Where the table begins.
    pub(crate) line: u32,
    /// Its place in the document, such as `jobs[3]`; empty for the document itself.
    pub(crate) path: String,
}

/// Decimals that a kind of number keeps, and the range that it may have once scaled by them.
pub(crate) struct DecimalScale {
    pub(crate) decimals: u32,
    pub(crate) range: RangeInclusive<i64>,
}

pub(crate) const AMOUNT: DecimalScale = DecimalScale { decimals: 6, range: 0..=Money::MAX.0 };
pub(crate) const NUMBER: DecimalScale =
    DecimalScale { decimals: 3, range: -1_000_000_000_000_000..=1_000_000_000_000_000 };
pub(crate) const PERFORMANCE: DecimalScale =
    DecimalScale { decimals: 3, range: 1..=PERFORMANCE_MAX };
/// A demand for performance: 0 is no demand.
pub(crate) const LEAST_PERFORMANCE: DecimalScale =
    DecimalScale { decimals: 3, range: 0..=PERFORMANCE_MAX };
// `Performance::MAX` in thousandths; a test compares them.
const PERFORMANCE_MAX: i64 = 1_000_000_000;

impl<'v, 'i> Fields<'v, 'i> {
    /// The fields of `value`, which stands at `path`; notes if it is not a table, and every key
    /// that is not `known`.
    pub(crate) fn of(
        value: &'v Value<'i>,
        path: String,
        known: &[&str],
        notes: &mut Notes<'_>,
    ) -> Option<Fields<'v, 'i>> {
        let ValueKind::Table(entries) = &value.kind else {
            let message = format!("expected a table, found {}", value.describe());
            notes.error(value.line, &path, message, hint_for(TABLE));
            return None;
        };
        let fields = Fields { entries, line: value.line, path };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_ref())) {
            let hint = did_you_mean(&entry.key, known);
            let place = fields.place(&excerpt(&entry.key));
            notes.error(entry.line, &place, "unknown key".to_owned(), &hint);
        }
        Some(fields)
    }

    /// The path of the field `key`.
    pub(crate) fn place(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The line of the field `key`, or else of the table.
    pub(crate) fn line_of(&self, key: &str) -> u32 {
        self.entry(key).map_or(self.line, |entry| entry.line)
    }

    fn entry(&self, key: &str) -> Option<&'v Entry<'i>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of `key`; `null` counts as not given.
    pub(crate) fn get(&self, key: &str) -> Option<&'v Value<'i>> {
        self.entry(key).map(|entry| &entry.value).filter(|value| value.kind != ValueKind::Null)
    }

    /// Notes each of `keys` that is not given.
    pub(crate) fn require(&self, keys: &[&str], notes: &mut Notes<'_>) {
        let hint = format!("needed here: {}", list(keys));
        for key in keys.iter().filter(|key| self.get(key).is_none()) {
            notes.error(self.line, &self.path, format!("`{key}` is missing"), &hint);
        }
    }

    fn wrong(&self, key: &str, value: &Value<'_>, wanted: &str, notes: &mut Notes<'_>) {
        let message = format!("expected {wanted}, found {}", value.describe());
        notes.error(value.line, &self.place(key), message, hint_for(wanted));
    }

    /// A text that is not empty and has no control characters, which could move a terminal's
    /// cursor or break a line of output.
    pub(crate) fn text(&self, key: &str, notes: &mut Notes<'_>) -> Option<&'v str> {
        let value = self.get(key)?;
        match &value.kind {
            ValueKind::Text(text) if text.trim().is_empty() => {
                let hint = "write something, or leave the key out";
                notes.error(value.line, &self.place(key), "an empty text".to_owned(), hint);
                None
            }
            ValueKind::Text(text) if text.chars().any(is_hidden) => {
                let message = format!("`{}` has control characters", excerpt(text));
                let hint = "keep to letters, digits and signs on one line";
                notes.error(value.line, &self.place(key), message, hint);
                None
            }
            ValueKind::Text(text) => Some(text),
            _ => {
                self.wrong(key, value, TEXT, notes);
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list(&self, key: &str, notes: &mut Notes<'_>) -> Option<&'v [Value<'i>]> {
        let value = self.get(key)?;
        if let ValueKind::List(items) = &value.kind {
            return Some(items);
        }
        self.wrong(key, value, LIST, notes);
        None
    }

    /// A number with the decimals and within the range of `scale`, scaled.
    pub(crate) fn scaled(
        &self,
        key: &str,
        scale: &DecimalScale,
        notes: &mut Notes<'_>,
    ) -> Option<i64> {
        let value = self.get(key)?;
        let ValueKind::Number(text) = &value.kind else {
            self.wrong(key, value, DIGITS, notes);
            return None;
        };
        let (place, text) = (self.place(key), text.as_ref());
        scaled(text, scale)
            .map_err(|(message, hint)| {
                notes.error(value.line, &place, message, &hint);
            })
            .ok()
    }

    /// A whole number within `range`.
    pub(crate) fn whole(
        &self,
        key: &str,
        range: RangeInclusive<i64>,
        notes: &mut Notes<'_>,
    ) -> Option<i64> {
        self.scaled(key, &DecimalScale { decimals: 0, range }, notes)
    }

    /// An amount of credits, 0 or more.
    pub(crate) fn money(&self, key: &str, notes: &mut Notes<'_>) -> Option<Money> {
        self.scaled(key, &AMOUNT, notes).map(Money)
    }

    /// Credits per node-second, 0 or more.
    pub(crate) fn price(&self, key: &str, notes: &mut Notes<'_>) -> Option<Price> {
        self.scaled(key, &AMOUNT, notes).map(Price)
    }

    /// A performance of at least a thousandth, or with [`LEAST_PERFORMANCE`] also 0 for `None`.
    pub(crate) fn performance(
        &self,
        key: &str,
        scale: &DecimalScale,
        notes: &mut Notes<'_>,
    ) -> Option<Performance> {
        let thousandths = self.scaled(key, scale, notes)?;
        u32::try_from(thousandths).ok().and_then(Performance::from_thousandths)
    }

    /// A factor above zero, with at most three decimals.
    pub(crate) fn ratio(&self, key: &str, notes: &mut Notes<'_>) -> Option<Ratio> {
        let scale = DecimalScale { decimals: 3, range: 1..=1_000_000_000 };
        let thousandths = self.scaled(key, &scale, notes)?;
        u32::try_from(thousandths).ok().and_then(Ratio::from_thousandths)
    }

    /// A point in time: whole seconds or a text such as `2h`.
    pub(crate) fn time(&self, key: &str, notes: &mut Notes<'_>) -> Option<Time> {
        let range = Time::MIN.0..=Time::MAX.0;
        let parse = |text: &str| duration::parse_time(text).map(|time| time.0);
        self.seconds(key, range, parse, notes).map(Time)
    }

    /// A length of time within `range`: whole seconds or a text such as `2h`.
    pub(crate) fn span(
        &self,
        key: &str,
        range: RangeInclusive<i64>,
        notes: &mut Notes<'_>,
    ) -> Option<Span> {
        let parse = |text: &str| duration::parse_span(text).map(|span| span.0);
        self.seconds(key, range, parse, notes).map(Span)
    }

    fn seconds(
        &self,
        key: &str,
        range: RangeInclusive<i64>,
        parse: impl Fn(&str) -> Result<i64, String>,
        notes: &mut Notes<'_>,
    ) -> Option<i64> {
        seconds(self.get(key)?, &self.place(key), range, parse, notes)
    }

    /// Two numbers by `scale`, the lower first, scaled.
    pub(crate) fn range(
        &self,
        key: &str,
        scale: &DecimalScale,
        notes: &mut Notes<'_>,
    ) -> Option<(i64, i64)> {
        self.pair(key, notes, |item, place, notes| match &item.kind {
            ValueKind::Number(text) => scaled(text, scale)
                .map_err(|(message, hint)| notes.error(item.line, place, message, &hint))
                .ok(),
            _ => {
                let message = format!("expected a number, found {}", item.describe());
                notes.error(item.line, place, message, hint_for(DIGITS));
                None
            }
        })
    }

    /// Two lengths of time of a second or more, the shorter first.
    pub(crate) fn spans(&self, key: &str, notes: &mut Notes<'_>) -> Option<(Span, Span)> {
        let parse = |text: &str| duration::parse_span(text).map(|span| span.0);
        let both = self.pair(key, notes, |item, place, notes| {
            seconds(item, place, 1..=Span::MAX.0, parse, notes)
        });
        both.map(|(low, high)| (Span(low), Span(high)))
    }

    /// A list of two, the lower first.
    fn pair(
        &self,
        key: &str,
        notes: &mut Notes<'_>,
        read: impl Fn(&Value<'_>, &str, &mut Notes<'_>) -> Option<i64>,
    ) -> Option<(i64, i64)> {
        let items = self.list(key, notes)?;
        let place = self.place(key);
        let read = |(i, item)| read(item, &format!("{place}[{i}]"), notes);
        let values: Vec<Option<i64>> = items.iter().enumerate().map(read).collect();
        match values[..] {
            [Some(low), Some(high)] if low <= high => Some((low, high)),
            [None, _] | [_, None] => None,
            _ => {
                let message = "expected two numbers, the lower first".to_owned();
                notes.error(self.line_of(key), &place, message, "such as `[1, 1.6]`");
                None
            }
        }
    }

    /// One of a few words, translated by `meaning`.
    pub(crate) fn word<T>(&self, key: &str, words: &[(&str, T)], notes: &mut Notes<'_>) -> Option<T>
    where
        T: Copy,
    {
        let (text, line) = (self.text(key, notes)?, self.line_of(key));
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("unknown value `{}`", excerpt(text));
            notes.error(line, &self.place(key), message, &did_you_mean(text, &known));
        }
        found.map(|(_, meaning)| *meaning)
    }
}

/// Whole seconds within `range`, as a number or as a text that `parse` reads.
fn seconds(
    value: &Value<'_>,
    place: &str,
    range: RangeInclusive<i64>,
    parse: impl Fn(&str) -> Result<i64, String>,
    notes: &mut Notes<'_>,
) -> Option<i64> {
    let refused = match &value.kind {
        ValueKind::Number(text) => match scaled(text, &DecimalScale { decimals: 0, range }) {
            Ok(seconds) => return Some(seconds),
            Err(refused) => refused,
        },
        ValueKind::Text(text) => match parse(text) {
            Ok(seconds) if range.contains(&seconds) => return Some(seconds),
            Ok(seconds) => {
                let (low, high) = range.into_inner();
                let hint = format!("at least {low} s and at most {high} s");
                (format!("`{seconds}` s is out of range"), hint)
            }
            Err(_) => (format!("`{}` is not a time", excerpt(text)), duration::FORMS.to_owned()),
        },
        _ => {
            let found = value.describe();
            let message = format!("expected seconds or a text such as `2h`, found {found}");
            (message, duration::FORMS.to_owned())
        }
    };
    notes.error(value.line, place, refused.0, &refused.1);
    None
}

/// Kinds of values, as messages name them.
pub(crate) const TABLE: &str = "a table";
pub(crate) const LIST: &str = "a list";
pub(crate) const TEXT: &str = "a text";
pub(crate) const DIGITS: &str = "a number";

/// How a value of the kind `wanted` is written.
pub(crate) fn hint_for(wanted: &str) -> &'static str {
    match wanted {
        TABLE => "keys with values stand here, in braces in JSON",
        LIST => "write `[`, the items, and `]`, also if there is only one",
        TEXT => "put it in double quotes",
        DIGITS => "write digits such as `12.5`, without quotes",
        _ => duration::FORMS,
    }
}

/// `text` by `scale`, or a message and a hint.
pub(crate) fn scaled(text: &str, scale: &DecimalScale) -> Result<i64, (String, String)> {
    let (low, high) = (scale.range.start(), scale.range.end());
    let bounds = || {
        let show = |n: &i64| decimal::format(*n, scale.decimals);
        format!("at least {} and at most {}", show(low), show(high))
    };
    let shown = excerpt(text);
    match decimal::parse(text, scale.decimals) {
        Ok(n) if scale.range.contains(&n) => Ok(n),
        Ok(n) if n < 0 && *low >= 0 => Err((format!("negative number `{shown}`"), bounds())),
        Ok(_) | Err(DecimalError::OutOfRange) => {
            Err((format!("`{shown}` is out of range"), bounds()))
        }
        Err(DecimalError::TooFine(0)) => {
            Err((format!("`{shown}` is not a whole number"), "round it".to_owned()))
        }
        Err(DecimalError::TooFine(decimals)) => {
            Err((format!("`{shown}` has more than {decimals} decimals"), "round it".to_owned()))
        }
        Err(DecimalError::NotANumber) => {
            Err((format!("`{shown}` is not a number"), "write digits, such as `12.5`".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_performance_is_the_models() {
        assert_eq!(PERFORMANCE_MAX, i64::from(Performance::MAX.thousandths()));
        assert_eq!(*PERFORMANCE.range.start(), i64::from(Performance::MIN.thousandths()));
    }
}
