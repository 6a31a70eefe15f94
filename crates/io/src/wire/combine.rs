//! What `combine` reads and prints: the combination step alone.

use serde::{Serialize, Serializer};
use tradewind_model::{Money, Span};

use super::BatchLimits;
use super::amount::credits;
use crate::diagnostics::Diagnostics;
use crate::fields::{Fields, Notes};
use crate::input::Input as Text;
use crate::value::{self, Value};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// Its time in seconds, 0 or more.
    #[serde(serialize_with = "seconds")]
    pub time: Span,
    /// Its cost in credits, 0 or more.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
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
    all
}

fn alternatives(items: &[Value<'_>], path: &str, notes: &mut Notes<'_>) -> Vec<Alternative> {
    let mut all = Vec::with_capacity(items.len());
    for (k, item) in items.iter().enumerate() {
        let keys = ["time", "cost"];
        let path = format!("{path}.alternatives[{k}]");
        let Some(fields) = Fields::of(item, path, &keys, notes) else { continue };
        fields.require(&keys, notes);
        let time = fields.span("time", 0..=Span::MAX.0, notes);
        let cost = fields.money("cost", notes);
        if let (Some(time), Some(cost)) = (time, cost) {
            all.push(Alternative { time, cost });
        }
    }
    all
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
