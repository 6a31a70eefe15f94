//! `price = { load = [[0, 0.002], [0.75, 0.006]] }`: a price that follows the load of a pool.

use tradewind_model::{LoadPrice, LoadPriceError, Price};

use crate::fields::{AMOUNT, DecimalScale, Fields, Notes, scaled};
use crate::value::{Value, ValueKind};

const FORM: &str = "write `{ load = [[0, 0.002], [0.75, 0.006]] }`: from which share of the pool in \
                    use on, from 0 to 1 with up to three decimals, which price";
/// Shares of a pool's nodes, in thousandths.
const SHARE: DecimalScale = DecimalScale { decimals: 3, range: 0..=1_000 };
/// More steps than a price needs.
const MAX_STEPS: usize = 100;

/// Whether the price is one that follows load.
pub(super) fn is_one(value: &Value<'_>) -> bool {
    matches!(&value.kind, ValueKind::Table(entries) if entries.iter().any(|it| it.key == "load"))
}

/// The price at `path`.
pub(super) fn read(value: &Value<'_>, path: String, notes: &mut Notes<'_>) -> Option<LoadPrice> {
    let fields = Fields::of(value, path, &["load"], notes)?;
    let items = fields.list("load", notes)?;
    let place = fields.place("load");
    let mut steps = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        match step(item) {
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
        notes.error(value.line, &place, message, &format!("list {MAX_STEPS} at most"));
        return None;
    }
    LoadPrice::new(steps)
        .map_err(|err| {
            let hint = match err {
                LoadPriceError::NotFromIdle => "begin with `[0, PRICE]`",
                LoadPriceError::Load => "list shares in ascending order, each once, up to 1",
                LoadPriceError::Falls => "prices stay or rise as the load rises",
            };
            notes.error(value.line, &place, err.to_string(), hint);
        })
        .ok()
}

/// One `[load, price]`, or what is wrong with it and a hint.
fn step(item: &Value<'_>) -> Result<(u32, Price), (String, String)> {
    let wrong = |it: &Value<'_>, expected| {
        (format!("expected {expected}, found {}", it.describe()), FORM.to_owned())
    };
    let number = |it: &Value<'_>, scale| match &it.kind {
        ValueKind::Number(text) => scaled(text, scale),
        _ => Err(wrong(it, "a number")),
    };
    let pair = match &item.kind {
        ValueKind::List(pair) => pair.as_slice(),
        _ => &[],
    };
    let [load, price] = pair else { return Err(wrong(item, "`[load, price]`")) };
    let (load, price) = (number(load, &SHARE)?, number(price, &AMOUNT)?);
    // A share is at most 1,000 thousandths.
    Ok((load as u32, Price(price)))
}
