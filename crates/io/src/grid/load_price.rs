//! `price = { load = [[0, 0.002], [0.75, 0.006]] }`: a price that follows the load of a pool, or
//! `price = { demand = [[0, 0.002], [1.5, 0.006]], every = "10m" }`, the demand for it.

use tradewind_model::{LoadPrice, LoadPriceError, Price, Span};

use crate::fields::{AMOUNT, DecimalScale, Fields, Notes, scaled};
use crate::value::{Value, ValueKind};

/// A key, and how to write what it stands for.
struct Form {
    key: &'static str,
    form: &'static str,
    share: DecimalScale,
}

const LOAD: Form = Form {
    key: "load",
    form: "write `{ load = [[0, 0.002], [0.75, 0.006]] }`: from which share of the pool in use on, \
           from 0 to 1 with up to three decimals, which price",
    share: DecimalScale { decimals: 3, range: 0..=1_000 },
};
const DEMAND: Form = Form {
    key: "demand",
    form: "write `{ demand = [[0, 0.002], [1.5, 0.006]] }`: from which share of the pool in use or \
           asked for on, with up to three decimals, which price",
    share: DecimalScale { decimals: 3, range: 0..=LoadPrice::MAX_DEMAND as i64 },
};
/// More steps than a price needs.
const MAX_STEPS: usize = 100;
/// How often a price by demand is made again.
const EVERY: Span = Span(600);

/// Whether the price is one that follows load or demand.
pub(super) fn is_one(value: &Value<'_>) -> bool {
    let follows = |key: &str| [LOAD.key, DEMAND.key].contains(&key);
    matches!(&value.kind, ValueKind::Table(entries) if entries.iter().any(|it| follows(&it.key)))
}

/// The price at `path`.
pub(super) fn read(value: &Value<'_>, path: String, notes: &mut Notes<'_>) -> Option<LoadPrice> {
    let is_demand = matches!(&value.kind, ValueKind::Table(entries)
        if entries.iter().any(|it| it.key == DEMAND.key));
    let (form, keys): (_, &[&str]) = match is_demand {
        true => (DEMAND, &["demand", "every"]),
        false => (LOAD, &["load"]),
    };
    let fields = Fields::of(value, path, keys, notes)?;
    let steps = steps(&fields, &form, notes)?;
    let made = match is_demand {
        true if fields.get("every").is_some() => {
            LoadPrice::by_demand(steps, fields.span("every", 1..=Span::MAX.0, notes)?)
        }
        true => LoadPrice::by_demand(steps, EVERY),
        false => LoadPrice::new(steps),
    };
    let place = fields.place(form.key);
    made.map_err(|err| {
        let hint = match err {
            LoadPriceError::NotFromIdle => "begin with `[0, PRICE]`",
            LoadPriceError::Load { .. } => "list shares in ascending order, each once",
            LoadPriceError::Falls => "prices stay or rise as the share rises",
        };
        notes.error(value.line, &place, err.to_string(), hint);
    })
    .ok()
}

fn steps(fields: &Fields<'_, '_>, form: &Form, notes: &mut Notes<'_>) -> Option<Vec<(u32, Price)>> {
    let items = fields.list(form.key, notes)?;
    let place = fields.place(form.key);
    let mut steps = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        match step(item, form) {
            Ok(step) => steps.push(step),
            Err((message, hint)) => {
                notes.error(item.line, &format!("{place}[{i}]"), message, &hint);
            }
        }
    }
    if steps.len() < items.len() {
        return None;
    }
    if steps.len() > MAX_STEPS {
        let message = format!("{} steps", steps.len());
        let hint = format!("list {MAX_STEPS} at most");
        notes.error(fields.line_of(form.key), &place, message, &hint);
        return None;
    }
    Some(steps)
}

/// One `[share, price]`, or what is wrong with it and a hint.
fn step(item: &Value<'_>, form: &Form) -> Result<(u32, Price), (String, String)> {
    let wrong = |it: &Value<'_>, expected| {
        (format!("expected {expected}, found {}", it.describe()), form.form.to_owned())
    };
    let number = |it: &Value<'_>, scale| match &it.kind {
        ValueKind::Number(text) => scaled(text, scale),
        _ => Err(wrong(it, "a number")),
    };
    let pair = match &item.kind {
        ValueKind::List(pair) => pair.as_slice(),
        _ => &[],
    };
    let [share, price] = pair else { return Err(wrong(item, "`[share, price]`")) };
    let (share, price) = (number(share, &form.share)?, number(price, &AMOUNT)?);
    // A share fits: see the scales.
    Ok((share as u32, Price(price)))
}
