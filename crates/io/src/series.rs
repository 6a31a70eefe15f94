//! Series: numbers that change with time, as scenarios and grids write them.
//!
//! A series is one number, a list of `[time, value]`, the name of a CSV file with the columns
//! `time` and `value`, relative to the folder of the document that names it, or a table
//! `{ every, values }` with one of these that repeats.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tradewind_model::{Price, Series, SeriesError, Time};

use crate::decimal;
use crate::diagnostics::{Diagnostics, excerpt};
use crate::fields::{DecimalScale, Fields, Notes, scaled};
use crate::input;
use crate::rows::rows;
use crate::value::{Value, ValueKind};

/// The largest CSV file of a series: centuries of hours.
const MAX_BYTES: u64 = 64 << 20;
const COLUMNS: [&str; 2] = ["time", "value"];
const FORMS: &str = "write a number, a list of `[time, value]`, the name of a CSV file with the \
                     columns `time` and `value`, or `{ every = \"24h\", values = … }`";
/// Credits per node-second, in micro-credits.
const PRICE: DecimalScale = DecimalScale { decimals: 6, range: 0..=Series::MAX };
/// The shortest period, in seconds.
const MIN_PERIOD: i64 = 60;

/// The series that the field `key` says, if it is given.
pub(crate) fn read(
    fields: &Fields<'_, '_>,
    key: &str,
    scale: &DecimalScale,
    document: &str,
    notes: &mut Notes<'_>,
) -> Option<Series> {
    let value = fields.get(key)?;
    match &value.kind {
        ValueKind::Number(_) => {
            let number = fields.scaled(key, scale, notes)?;
            Series::new(&[(Time(0), number)]).ok()
        }
        ValueKind::Table(_) => repeated((value, fields.place(key)), scale, document, notes),
        ValueKind::List(items) => {
            let listed = listed(items, &fields.place(key), scale, notes)?;
            checked(&listed, &fields.place(key), notes)
        }
        ValueKind::Text(_) => {
            let name = fields.text(key, notes)?;
            let place = (fields.line_of(key), fields.place(key));
            from_file(name, scale, document, place, notes)
        }
        _ => {
            let message = format!("expected a series, found {}", value.describe());
            notes.error(value.line, &fields.place(key), message, FORMS);
            None
        }
    }
}

/// What [`moment`] takes: of times with a date, the seconds since 1970.
const TIMES: &str = "write seconds (`5400`), `90m`, `24h`, `2d`, `D-HH:MM:SS`, or a moment with its \
                     zone (`2027-01-15T08:00Z`)";

/// A moment, a value, and the line that they stand in.
type SeriesRow = (Time, i64, u32);

/// `[[time, value], …]`; `None` if one of them is wrong.
fn listed(
    items: &[Value<'_>],
    path: &str,
    scale: &DecimalScale,
    notes: &mut Notes<'_>,
) -> Option<Vec<SeriesRow>> {
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let place = format!("{path}[{i}]");
        let pair = match &item.kind {
            ValueKind::List(pair) => pair.as_slice(),
            _ => &[],
        };
        let [time, value] = pair else {
            let message = format!("expected `[time, value]`, found {}", item.describe());
            notes.error(item.line, &place, message, FORMS);
            continue;
        };
        let number = match &value.kind {
            ValueKind::Number(text) => scaled(text, scale),
            _ => Err((format!("expected a number, found {}", value.describe()), FORMS.to_owned())),
        };
        match (moment(time), number) {
            (Ok(time), Ok(number)) => all.push((time, number, item.line)),
            (Err((message, hint)), _) | (_, Err((message, hint))) => {
                notes.error(item.line, &place, message, &hint);
            }
        }
    }
    (all.len() == items.len()).then_some(all)
}

fn moment(value: &Value<'_>) -> Result<Time, (String, String)> {
    let (ValueKind::Number(text) | ValueKind::Text(text)) = &value.kind else {
        let message = format!("expected a time, found {}", value.describe());
        return Err((message, TIMES.to_owned()));
    };
    let dated = || text.trim().parse::<jiff::Timestamp>().ok().map(|at| Time(at.as_second()));
    crate::duration::parse_time(text)
        .ok()
        .or_else(dated)
        .ok_or_else(|| (format!("`{}` is not a time", excerpt(text)), TIMES.to_owned()))
}

/// The series in the file `name`, whose mistakes are noted with its own name.
fn from_file(
    name: &str,
    scale: &DecimalScale,
    document: &str,
    (line, place): (u32, String),
    notes: &mut Notes<'_>,
) -> Option<Series> {
    if is_address(name) {
        let hint = "only the live market reads addresses: write the name of a CSV file";
        notes.error(line, &place, format!("`{}` is an address", excerpt(name)), hint);
        return None;
    }
    let folder = Path::new(document).parent().filter(|_| document != "-");
    let path = folder.map_or_else(|| Path::new(name).to_owned(), |folder| folder.join(name));
    let file = path.to_string_lossy().into_owned();
    let unreadable = |message: String, notes: &mut Notes<'_>| {
        let hint = "a CSV file with the columns `time` and `value`, relative to this document";
        notes.error(line, &place, message, hint);
        None
    };
    match std::fs::metadata(&path) {
        Err(err) => {
            return unreadable(format!("`{}` cannot be read: {err}", excerpt(&file)), notes);
        }
        Ok(it) if !it.is_file() => {
            return unreadable(format!("`{}` is not a file", excerpt(&file)), notes);
        }
        Ok(it) if it.len() > MAX_BYTES => {
            return unreadable(format!("`{}` is too large", excerpt(&file)), notes);
        }
        Ok(_) => {}
    }
    let found = input::read(&file).and_then(|input| parse(&file, input.text()?, scale));
    match found {
        Ok(series) => Some(series),
        Err(wrong) => {
            wrong.iter().for_each(|it| notes.diagnostics.push(it.clone()));
            None
        }
    }
}

/// The series of a CSV text that is called `name` in messages.
///
/// # Errors
/// All that is wrong with it.
pub(crate) fn parse(name: &str, text: &str, scale: &DecimalScale) -> Result<Series, Diagnostics> {
    let mut notes = Notes::new(name);
    let items = rows(name, text, &COLUMNS)?;
    let found = rows_of(&items, scale, &mut notes);
    let found = found.and_then(|all| checked(&all, "", &mut notes));
    notes.diagnostics.finish(found).map(|(series, _)| series)
}

/// Whether this is the address of a series, as the live market reads it.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

fn rows_of(
    items: &[Value<'_>],
    scale: &DecimalScale,
    notes: &mut Notes<'_>,
) -> Option<Vec<SeriesRow>> {
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let Some(fields) = Fields::of(item, format!("row {}", i + 1), &COLUMNS, notes) else {
            continue;
        };
        fields.require(&COLUMNS, notes);
        let value = fields.scaled("value", scale, notes);
        let time = fields.get("time").and_then(|time| {
            let read = moment(time);
            let note = |(message, hint): &(String, String)| {
                notes.error(time.line, &fields.place("time"), message.clone(), hint);
            };
            read.inspect_err(note).ok()
        });
        all.extend(time.zip(value).map(|(time, value)| (time, value, item.line)));
    }
    (all.len() == items.len()).then_some(all)
}

fn checked(all: &[SeriesRow], place: &str, notes: &mut Notes<'_>) -> Option<Series> {
    let values: Vec<(Time, i64)> = all.iter().map(|&(time, value, _)| (time, value)).collect();
    let (at, message, hint) = match Series::new(&values) {
        Ok(series) => return Some(series),
        Err(SeriesError::Empty) => (0, "no values".to_owned(), "one row holds for all time"),
        Err(SeriesError::Unordered(at)) => {
            let time = values[at].0;
            (at, format!("time {time} is not later than the one before"), "order the rows by time")
        }
        Err(err @ (SeriesError::OutOfRange(at) | SeriesError::BeyondPeriod(at))) => {
            (at, err.to_string(), FORMS)
        }
    };
    notes.error(all.get(at).map_or(1, |it| it.2), place, message, hint);
    None
}

/// What nodes cost per second: a price, or a series that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rate {
    Fixed(Price),
    Changes(Arc<Series>),
}

/// The price that the field `key` says: a number as ever, or a series.
pub(crate) fn rate(
    fields: &Fields<'_, '_>,
    key: &str,
    document: &str,
    notes: &mut Notes<'_>,
) -> Option<Rate> {
    match &fields.get(key)?.kind {
        ValueKind::List(_) | ValueKind::Table(_) => {}
        ValueKind::Text(name) if name.ends_with(".csv") => {}
        _ => return fields.price(key, notes).map(Rate::Fixed),
    }
    read(fields, key, &PRICE, document, notes).map(|series| match series.least() == series.most() {
        true => Rate::Fixed(Price(series.most())),
        false => Rate::Changes(Arc::new(series)),
    })
}

/// A price as [`rate`] reads it.
pub(crate) fn rate_json(series: &Series) -> Json {
    json(series, PRICE.decimals)
}

/// `{ every, values }`.
fn repeated(
    (value, path): (&Value<'_>, String),
    scale: &DecimalScale,
    document: &str,
    notes: &mut Notes<'_>,
) -> Option<Series> {
    let fields = Fields::of(value, path, &["every", "values"], notes)?;
    fields.require(&["every", "values"], notes);
    let every = fields.span("every", MIN_PERIOD..=Time::MAX.0, notes)?;
    let series = read(&fields, "values", scale, document, notes)?;
    let (line, place) = (fields.line_of("every"), fields.place("every"));
    series
        .repeated(every)
        .map_err(|_| {
            let message = "the values need longer than a period".to_owned();
            let hint = "from the first time to the last is less than `every`";
            notes.error(line, &place, message, hint);
        })
        .ok()
}

/// The series as [`read`] reads it, exact: a number if it never changes.
pub(crate) fn json(series: &Series, decimals: u32) -> Json {
    let number = |value: i64| Json::Number(decimal::json(value, decimals));
    let values: Vec<(Time, i64)> = series.values().collect();
    let values = match values.as_slice() {
        [(_, value)] => return number(*value),
        many => many
            .iter()
            .map(|(time, value)| Json::from(vec![time.0.into(), number(*value)]))
            .collect::<Json>(),
    };
    match series.period() {
        Some(every) => json!({"every": every.0, "values": values}),
        None => values,
    }
}
