//! The side file: parameters of the side model, and terms of single jobs and nodes.

use std::collections::BTreeSet;

use tradewind_model::{Criterion, Money, Performance, Span};

use super::side::{DeadlineOf, JobTerms, Model, NodeTerms, Side, Term, Worth};
use crate::diagnostics::{Diagnostics, did_you_mean, excerpt};
use crate::fields::{
    AMOUNT, DIGITS, DecimalScale, Fields, Notes, PERFORMANCE, TEXT, hint_for, scaled,
};
use crate::input::{self, Input};
use crate::kind::{self, FileKind};
use crate::rows::rows;
use crate::scenario::criterion;
use crate::value::{self, Value, ValueKind};

const MODEL_KEYS: [&str; 14] = [
    "classes",
    "blocks",
    "price_base",
    "price_spread",
    "budget",
    "slack",
    "slack_from",
    "capped",
    "cap",
    "criteria",
    "value",
    "value_range",
    "draw",
    "deadline_of",
];
const JOB_KEYS: [&str; 9] = [
    "job",
    "min_performance",
    "max_price",
    "budget",
    "deadline",
    "minimize",
    "priority",
    "value",
    "bid_factor",
];
const USER_KEYS: [&str; 2] = ["user", "bid_factor"];
const NODE_KEYS: [&str; 3] = ["node", "performance", "price"];

/// A factor of up to a thousand.
const FACTOR: DecimalScale = DecimalScale { decimals: 3, range: 0..=1_000_000 };

/// Reads the side file `path`; `-` is standard input.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str) -> Result<Side, Diagnostics> {
    parse(&input::read(path)?)
}

/// Reads a side file: CSV with a row per job, or JSON or TOML with `model`, `job`, `user` and `node`.
/// Without an ending in the name, what begins with `job,` is CSV.
///
/// # Errors
/// All that is wrong with it.
pub fn parse(input: &Input) -> Result<Side, Diagnostics> {
    kind::expect(FileKind::Side, input, read(input))
}

fn read(input: &Input) -> Result<Side, Diagnostics> {
    let text = input.text()?;
    let mut notes = Notes::new(&input.name);
    let side = if input.name.to_lowercase().ends_with(".csv") || text.starts_with("job,") {
        let rows = rows(&input.name, text, &JOB_KEYS)?;
        let mut side = Side::default();
        for (i, row) in rows.iter().enumerate() {
            job(row, format!("row {}", i + 1), &mut side, &mut notes);
        }
        Some(side)
    } else {
        let document = value::parse(input)?;
        Fields::of(&document, String::new(), &kind::SIDE, &mut notes)
            .map(|fields| side(&fields, &mut notes))
    };
    notes.diagnostics.finish(side).map(|(side, _)| side)
}

fn side(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Side {
    let mut side = Side::default();
    if let Some(value) = fields.get("model")
        && let Some(fields) = Fields::of(value, "model".to_owned(), &MODEL_KEYS, notes)
    {
        side.drawn = true;
        model(&fields, &mut side.model, notes);
    }
    for (i, value) in fields.list("job", notes).unwrap_or_default().iter().enumerate() {
        job(value, format!("job[{i}]"), &mut side, notes);
    }
    for (i, value) in fields.list("user", notes).unwrap_or_default().iter().enumerate() {
        user(value, format!("user[{i}]"), &mut side, notes);
    }
    for (i, value) in fields.list("node", notes).unwrap_or_default().iter().enumerate() {
        node(value, format!("node[{i}]"), &mut side, notes);
    }
    side
}

fn job(value: &Value<'_>, path: String, side: &mut Side, notes: &mut Notes<'_>) {
    let Some(fields) = Fields::of(value, path, &JOB_KEYS, notes) else { return };
    fields.require(&["job"], notes);
    let name = job_name(&fields, notes);
    let priority = fields.whole("priority", -1_000_000_000_000..=1_000_000_000_000, notes);
    let terms = JobTerms {
        min_performance: fields.performance("min_performance", &PERFORMANCE, notes),
        max_price: fields.price("max_price", notes),
        budget: fields.money("budget", notes),
        deadline: fields.time("deadline", notes),
        minimize: fields.text("minimize", notes).and_then(|name| {
            named(name, fields.line_of("minimize"), &fields.place("minimize"), notes)
        }),
        priority,
        value: fields.money("value", notes),
        bid_factor: fields.ratio("bid_factor", notes),
    };
    let Some(name) = name else { return };
    let message = format!("the job {} is given twice", excerpt(&name));
    if side.jobs.insert(name, terms).is_some() {
        notes.error(fields.line, &fields.place("job"), message, "join the two");
    }
}

/// A number, or `LOG!number` where there are several logs.
fn job_name(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<String> {
    match fields.get("job").map(|value| &value.kind) {
        Some(ValueKind::Text(text)) if text.contains('!') => {
            fields.text("job", notes).map(str::to_owned)
        }
        _ => fields.whole("job", 0..=i64::MAX, notes).map(|number| number.to_string()),
    }
}

fn user(value: &Value<'_>, path: String, side: &mut Side, notes: &mut Notes<'_>) {
    let Some(fields) = Fields::of(value, path, &USER_KEYS, notes) else { return };
    fields.require(&["user", "bid_factor"], notes);
    let factor = fields.ratio("bid_factor", notes);
    let number = fields.whole("user", i64::MIN..=i64::MAX, notes);
    let (Some(number), Some(factor)) = (number, factor) else { return };
    if side.bid_factors.insert(number, factor).is_some() {
        let message = format!("the user {number} is given twice");
        notes.error(fields.line, &fields.place("user"), message, "join the two");
    }
}

fn node(value: &Value<'_>, path: String, side: &mut Side, notes: &mut Notes<'_>) {
    let Some(fields) = Fields::of(value, path, &NODE_KEYS, notes) else { return };
    fields.require(&["node"], notes);
    let terms = NodeTerms {
        performance: fields.performance("performance", &PERFORMANCE, notes),
        price: fields.price("price", notes),
    };
    let Some(name) = fields.text("node", notes) else { return };
    if side.nodes.insert(name.to_owned(), terms).is_some() {
        let message = format!("the node `{}` is given twice", excerpt(name));
        notes.error(fields.line, &fields.place("node"), message, "join the two");
    }
}

fn model(fields: &Fields<'_, '_>, model: &mut Model, notes: &mut Notes<'_>) {
    let classes = classes(fields, notes);
    let criteria = criteria(fields, notes);
    let one = |key: &str, scale: &DecimalScale, notes: &mut Notes<'_>| {
        fields.scaled(key, scale, notes).and_then(|n| u32::try_from(n).ok())
    };
    let share = DecimalScale { decimals: 3, range: 0..=1_000 };
    let base = DecimalScale { decimals: 3, range: 1..=1_000_000 };
    let blocks = DecimalScale { decimals: 0, range: 1..=1_000_000 };
    let defaults = Model::default();
    *model = Model {
        classes: classes.unwrap_or(defaults.classes),
        blocks: one("blocks", &blocks, notes).unwrap_or(defaults.blocks),
        price_base: one("price_base", &base, notes).unwrap_or(defaults.price_base),
        price_spread: range(fields, "price_spread", notes).unwrap_or(defaults.price_spread),
        budget: range(fields, "budget", notes).unwrap_or(defaults.budget),
        slack: range(fields, "slack", notes).unwrap_or(defaults.slack),
        slack_from: fields
            .span("slack_from", 0..=Span::MAX.0, notes)
            .unwrap_or(defaults.slack_from),
        capped: one("capped", &share, notes).unwrap_or(defaults.capped),
        cap: range(fields, "cap", notes).unwrap_or(defaults.cap),
        criteria: criteria.unwrap_or(defaults.criteria),
        value: worth(fields, notes),
        draw: terms(fields, notes).unwrap_or(defaults.draw),
        deadline_of: fields.word("deadline_of", &DEADLINES, notes).unwrap_or_default(),
    };
}

/// `value` or `value_range`.
fn worth(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Worth> {
    let of_market = range(fields, "value", notes).map(Worth::OfMarket);
    let between = fields.range("value_range", &AMOUNT, notes);
    if fields.get("value").is_some() && fields.get("value_range").is_some() {
        let (line, place) = (fields.line_of("value_range"), fields.place("value_range"));
        let hint = "`value` is in market values, `value_range` in credits: keep one";
        notes.error(line, &place, "both `value` and `value_range`".to_owned(), hint);
    }
    of_market.or(between.map(|(low, high)| Worth::Between(Money(low), Money(high))))
}

/// What `draw` lists.
fn terms(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<BTreeSet<Term>> {
    let items = fields.list("draw", notes)?;
    let mut all = BTreeSet::new();
    for (i, item) in items.iter().enumerate() {
        let place = format!("{}[{i}]", fields.place("draw"));
        let ValueKind::Text(name) = &item.kind else {
            let message = format!("expected a text, found {}", item.describe());
            notes.error(item.line, &place, message, hint_for(TEXT));
            continue;
        };
        match Term::ALL.iter().find(|(known, _)| known == name) {
            Some((_, term)) => drop(all.insert(*term)),
            None => {
                let message = format!("unknown value `{}`", excerpt(name));
                let known = Term::ALL.map(|(known, _)| known);
                let hint = match name.as_ref() {
                    "value" => "a value is drawn if `value` or `value_range` is given".to_owned(),
                    name => did_you_mean(name, &known),
                };
                notes.error(item.line, &place, message, &hint);
            }
        }
    }
    Some(all)
}

const DEADLINES: [(&str, DeadlineOf); 2] =
    [("request", DeadlineOf::Request), ("run", DeadlineOf::Run)];

/// The numbers of a list, scaled; the list must not be empty.
fn numbers(
    fields: &Fields<'_, '_>,
    key: &str,
    scale: &DecimalScale,
    notes: &mut Notes<'_>,
) -> Option<Vec<u32>> {
    let items = fields.list(key, notes)?;
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let place = format!("{}[{i}]", fields.place(key));
        match &item.kind {
            ValueKind::Number(text) => match scaled(text, scale) {
                Ok(n) => all.push(u32::try_from(n).unwrap_or(u32::MAX)),
                Err((message, hint)) => notes.error(item.line, &place, message, &hint),
            },
            _ => {
                let message = format!("expected a number, found {}", item.describe());
                notes.error(item.line, &place, message, hint_for(DIGITS));
            }
        }
    }
    if items.is_empty() {
        let (line, place) = (fields.line_of(key), fields.place(key));
        notes.error(line, &place, "an empty list".to_owned(), "give at least one number");
    }
    Some(all)
}

fn classes(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<Performance>> {
    let all = numbers(fields, "classes", &PERFORMANCE, notes)?;
    Some(all.into_iter().filter_map(Performance::from_thousandths).collect())
}

/// `[low, high]`, in thousandths.
fn range(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<(u32, u32)> {
    let (low, high) = fields.range(key, &FACTOR, notes)?;
    Some((u32::try_from(low).ok()?, u32::try_from(high).ok()?))
}

fn criteria(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<Criterion>> {
    let items = fields.list("criteria", notes)?;
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let place = format!("{}[{i}]", fields.place("criteria"));
        match &item.kind {
            ValueKind::Text(name) => all.extend(named(name, item.line, &place, notes)),
            _ => {
                let message = format!("expected a text, found {}", item.describe());
                notes.error(item.line, &place, message, hint_for(TEXT));
            }
        }
    }
    if items.is_empty() {
        let (line, place) = (fields.line_of("criteria"), fields.place("criteria"));
        notes.error(line, &place, "an empty list".to_owned(), "give at least one criterion");
    }
    Some(all)
}

fn named(name: &str, line: u32, place: &str, notes: &mut Notes<'_>) -> Option<Criterion> {
    let found = criterion(name);
    if found.is_none() {
        let known = ["start", "finish", "runtime", "cost", "processor-time", "sum:ATTRIBUTE"];
        let message = format!("unknown criterion `{}`", excerpt(name));
        notes.error(line, place, message, &did_you_mean(name, &known));
    }
    found
}
