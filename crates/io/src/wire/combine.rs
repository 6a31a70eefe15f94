//! What `combine` reads and prints: the combination step alone.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use tradewind_model::{Money, Span};

use super::BatchLimits;
use super::amount::{Amount, credits};
use crate::diagnostics::{Diagnostics, excerpt};
use crate::fields::{AMOUNT, Fields, Notes, scaled};
use crate::input::Input as Text;
use crate::value::{self, Value, ValueKind};

/// What `combine` reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CombineInput {
    /// In order of priority.
    pub jobs: Vec<Job>,
}

/// A job of a `combine` document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Name of the job as given.
    pub name: String,
    /// One of them is to be chosen; may be empty.
    pub alternatives: Vec<Alternative>,
}

/// One alternative of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// Its time in seconds, 0 or more.
    #[serde(serialize_with = "seconds")]
    pub time: Span,
    /// Its cost in credits, 0 or more.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
    /// Further additive numbers by name, in millionths; the same names in all alternatives.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "millionths")]
    pub quantities: BTreeMap<String, i64>,
}

/// The chosen combination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Combined {
    /// What was optimised.
    pub objective: String,
    /// The alternative of each job, counted from 0, in job order.
    pub chosen: Vec<usize>,
    /// Sums over the chosen alternatives.
    pub totals: Sums,
    /// The limits that applied.
    pub limits: BatchLimits,
}

/// The Pareto front of cost and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Front {
    /// By rising cost and falling time.
    pub pareto: Vec<FrontPoint>,
    /// Whether these are all points.
    pub complete: bool,
}

/// One point of a [`Front`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FrontPoint {
    /// The alternative of each job, counted from 0, in job order.
    pub chosen: Vec<usize>,
    /// Sums over the chosen alternatives.
    pub totals: Sums,
}

/// A choice, or a front, over any quantities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Additive {
    /// The components, most important first.
    pub order: Vec<String>,
    /// The limits that applied, by quantity.
    pub limits: BTreeMap<String, Amount>,
    /// The front, by the sums of the components; of a choice its one point.
    pub pareto: Vec<AdditivePoint>,
    /// Whether these are all points of the front, or the choice is proven best.
    pub complete: bool,
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdditivePoint {
    /// The alternative of each job, counted from 0, in job order; `null` for a job without any.
    pub chosen: Vec<Option<usize>>,
    /// The sums by quantity.
    pub sums: BTreeMap<String, Amount>,
}

/// A lexicographic choice over the vector criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ordered {
    /// The components, most important first.
    pub order: Vec<String>,
    /// The alternative of each job, counted from 0, in job order.
    pub chosen: Vec<usize>,
    /// Sums over the chosen alternatives.
    pub totals: Sums,
    /// The given limits.
    pub limits: BatchLimits,
    /// What is left of the limits, given or else T* and B*.
    pub vector: Left,
}

/// The second and fourth component of ⟨C, B*−C, T, T*−T⟩; the totals are the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Left {
    /// B* − C in credits.
    #[serde(serialize_with = "credits")]
    pub lost_income: Money,
    /// T* − T in seconds.
    pub idleness: i64,
}

/// Sums over the chosen alternatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Sum of times, in seconds.
    pub time: i64,
    /// Sum of costs, in credits.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
}

fn seconds<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_i64(span.0)
}

fn millionths<S: Serializer>(all: &BTreeMap<String, i64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(all.iter().map(|(name, number)| (name, Amount::Credits(Money(*number)))))
}

/// The largest sum of times; the largest sum of costs is [`Money::MAX`].
const MAX_TIME_SUM: i64 = i64::MAX / 4;

/// Reads `{"jobs": [{"name", "alternatives": [{"time", "cost"}]}]}`, in JSON or TOML.
///
/// # Errors
/// All that is wrong with it.
pub fn parse(input: &Text) -> Result<Vec<Job>, Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let jobs = Fields::of(&document, String::new(), &["jobs"], &mut notes)
        .map(|fields| jobs(&fields, &mut notes));
    notes.diagnostics.finish(jobs).map(|(jobs, _)| jobs)
}

fn jobs(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<Job> {
    fields.require(&["jobs"], notes);
    let items = fields.list("jobs", notes);
    if items.is_some_and(<[_]>::is_empty) {
        let hint = "give at least one job";
        notes.error(fields.line_of("jobs"), "jobs", "an empty list".to_owned(), hint);
    }
    let mut all = Vec::new();
    for (i, item) in items.unwrap_or_default().iter().enumerate() {
        let keys = ["name", "alternatives"];
        let path = format!("jobs[{i}]");
        let Some(fields) = Fields::of(item, path, &keys, notes) else { continue };
        fields.require(&keys, notes);
        let name = fields.text("name", notes).unwrap_or_default().to_owned();
        let items = fields.list("alternatives", notes).unwrap_or_default();
        all.push(Job { name, alternatives: alternatives(items, &fields.path, notes) });
    }
    check_sums(&all, fields, notes);
    check_names(&all, fields, notes);
    all
}

fn alternatives(items: &[Value<'_>], path: &str, notes: &mut Notes<'_>) -> Vec<Alternative> {
    let mut all = Vec::with_capacity(items.len());
    for (k, item) in items.iter().enumerate() {
        let keys = ["time", "cost", "quantities"];
        let path = format!("{path}.alternatives[{k}]");
        let Some(fields) = Fields::of(item, path, &keys, notes) else { continue };
        fields.require(&keys[..2], notes);
        let quantities = quantities(&fields, notes);
        let time = fields.span("time", 0..=Span::MAX.0, notes);
        let cost = fields.money("cost", notes);
        if let (Some(time), Some(cost)) = (time, cost) {
            all.push(Alternative { time, cost, quantities });
        }
    }
    all
}

/// The table `quantities`: numbers with up to six decimals.
fn quantities(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    let Some(value) = fields.get("quantities") else { return all };
    let place = fields.place("quantities");
    let ValueKind::Table(entries) = &value.kind else {
        let message = format!("expected a table, found {}", value.describe());
        notes.error(value.line, &place, message, "such as `{\"energy\": 2.5}`");
        return all;
    };
    for entry in entries {
        let place = format!("{place}.{}", excerpt(&entry.key));
        let found = match &entry.value.kind {
            _ if RESERVED.contains(&entry.key.as_ref()) || entry.key.starts_with("most:") => {
                Err(("a name with a meaning of its own".to_owned(), "choose another".to_owned()))
            }
            ValueKind::Number(text) => scaled(text, &AMOUNT),
            _ => Err((
                format!("expected a number, found {}", entry.value.describe()),
                "0 or more, with up to six decimals".to_owned(),
            )),
        };
        match found {
            Ok(number) => drop(all.insert(entry.key.to_string(), number)),
            Err((message, hint)) => notes.error(entry.line, &place, message, &hint),
        }
    }
    all
}

/// Components that are not in `quantities`.
const RESERVED: [&str; 4] = ["time", "cost", "lost-income", "idleness"];

/// Notes alternatives whose quantities are not those of the first one.
fn check_names(jobs: &[Job], fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
    let mut all = jobs.iter().flat_map(|job| job.alternatives.iter().map(move |it| (job, it)));
    let Some((_, first)) = all.next() else { return };
    let other = all.find(|(_, it)| !it.quantities.keys().eq(first.quantities.keys()));
    if let Some((job, _)) = other {
        let message = format!("alternatives of `{}` have other quantities", excerpt(&job.name));
        let hint = "every alternative of every job has the same names in `quantities`";
        notes.error(fields.line_of("jobs"), "jobs", message, hint);
    }
}

/// Notes if the most expensive or the longest combination would leave the range of integers.
fn check_sums(jobs: &[Job], fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
    let sum = |measure: fn(&Alternative) -> i64| -> i128 {
        let max = |job: &Job| job.alternatives.iter().map(measure).max().unwrap_or(0);
        jobs.iter().map(|job| i128::from(max(job))).sum()
    };
    let too_much = sum(|it| it.time.0) > i128::from(MAX_TIME_SUM)
        || sum(|it| it.cost.0) > i128::from(Money::MAX.0);
    if too_much {
        let message = "the sum over all jobs is out of range".to_owned();
        let hint = format!("costs add up to at most {} credits", Money::MAX);
        notes.error(fields.line_of("jobs"), "jobs", message, &hint);
    }
}
