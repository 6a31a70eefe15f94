//! The summary of one run: what was run, and what came of it. A document that is read again when
//! a campaign goes on or is merged, so its numbers are kept as they were written.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use tradewind_io::campaign::{
    Campaign, Dependencies, EstimateKind, OfferedLoad, Overrun, Semantics,
};
use tradewind_io::wire;
use tradewind_sim::metrics::{Entry, Metrics, Value as Measured};
use tradewind_sim::workload::Workload;

use crate::links::Linked;
use crate::plan::Run;

/// The keys that say what was run, in the order of columns.
pub const AXES: [&str; 7] = ["log", "policy", "semantics", "overrun", "estimate", "load", SEED];

/// The key by which replications are distinguished.
pub const SEED: &str = "seed";

/// What is neither an axis nor a metric.
const SIZE: &str = "processors";

/// The code of a refusal for want of a bid.
const NO_VALUE: &str = "no-value";

/// `summary.json` of a run; `docs/reference/metrics.md` says what each number is.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    fields: Map<String, Value>,
}

/// The fields in the order of the file.
#[derive(Serialize)]
struct Fields<'a> {
    /// The name of the workload, which mostly is that of its log.
    log: &'a str,
    policy: &'a str,
    semantics: Semantics,
    overrun: Overrun,
    estimate: EstimateKind,
    load: Option<OfferedLoad>,
    seed: Option<u64>,
    processors: u32,
    /// Which jobs were submitted when others were over, if any could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    dependencies: Option<Dependencies>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linked: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlinked: Option<usize>,
    /// Of a job, in seconds: `max_wait_s` under the name that scripts use.
    longest_wait: Option<Value>,
    /// Jobs that can never run, by reason.
    rejected: &'a BTreeMap<&'static str, usize>,
    /// Jobs that the policy refused, by the reason's code.
    refusals: &'a BTreeMap<&'static str, usize>,
    /// What owners earned, by site.
    income: BTreeMap<&'a str, Value>,
    /// Every measure that is one number; `null` where there is nothing to measure.
    #[serde(flatten)]
    measures: Map<String, Value>,
}

impl Summary {
    /// Of a run of `campaign` that replayed `of`, in which so many jobs were linked.
    pub fn new(
        campaign: &Campaign,
        run: &Run,
        of: &Workload,
        linked: Option<Linked>,
        metrics: &Metrics,
    ) -> Summary {
        let sites = of.pools.sites().iter().zip(&metrics.income);
        let measures = metrics.entries().iter();
        let fields = Fields {
            log: &campaign.workloads[run.workload].name,
            policy: run.decider.text(),
            semantics: run.semantics,
            overrun: run.overrun,
            estimate: run.estimate,
            load: run.load,
            seed: run.seed,
            processors: of.processors(),
            dependencies: linked.map(|it| it.by),
            linked: linked.map(|it| it.linked),
            unlinked: linked.map(|it| it.unlinked),
            longest_wait: metrics.get("max_wait_s").map(|it| number(Some(it))),
            rejected: &metrics.rejected,
            refusals: &metrics.refused,
            income: sites
                .map(|(site, income)| {
                    (site.name.as_str(), number(Some(Measured::Credits(*income))))
                })
                .collect(),
            measures: measures.map(|it| (it.name.clone(), number(it.value))).collect(),
        };
        // As text and back: every number is then as a later reader has it.
        Summary::read(wire::to_json(&fields).as_bytes()).unwrap_or(Summary { fields: Map::new() })
    }

    /// A summary that was written; `None` if it is none.
    pub fn read(text: &[u8]) -> Option<Summary> {
        let fields: Map<String, Value> = serde_json::from_slice(text).ok()?;
        let is_one = AXES.iter().all(|key| fields.contains_key(*key))
            && fields.get("policy").is_some_and(Value::is_string)
            && fields.get(SIZE).is_some_and(Value::is_u64);
        is_one.then_some(Summary { fields })
    }

    /// As it stands in its file.
    pub fn to_json(&self) -> String {
        wire::to_json(&self.fields)
    }

    /// The same run, whose policy is called `policy`.
    #[must_use]
    pub fn renamed(mut self, policy: &str) -> Summary {
        self.fields.insert("policy".to_owned(), policy.into());
        self
    }

    /// The same run, measured on `jobs` of its jobs: what was run, and `entries`.
    pub fn measured_again(&self, jobs: usize, entries: &[Entry]) -> Summary {
        let kept = |key: &&str| AXES.contains(key) || *key == SIZE;
        let keys = self.fields.keys().map(String::as_str).filter(kept);
        let mut fields: Map<String, Value> =
            keys.filter_map(|key| Some((key.to_owned(), self.fields.get(key)?.clone()))).collect();
        fields.insert("jobs".to_owned(), jobs.into());
        fields.extend(entries.iter().map(|entry| (entry.name.clone(), number(entry.value))));
        Summary { fields }
    }

    /// All fields, in order.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The value of a field as a cell of a table; of several numbers their sum.
    pub fn cell(&self, key: &str) -> String {
        match self.fields.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Object(parts)) => {
                parts.values().filter_map(Value::as_f64).fold(0.0, |sum, it| sum + it).to_string()
            }
            _ => String::new(),
        }
    }

    /// The counts in a field, by name.
    pub fn counts(&self, key: &str) -> impl Iterator<Item = (&str, u64)> {
        let counts = self.fields.get(key).and_then(Value::as_object);
        counts
            .into_iter()
            .flatten()
            .map(|(name, count)| (name.as_str(), count.as_u64().unwrap_or(0)))
    }

    /// How many jobs can never run, in words, for each reason.
    pub fn rejections(&self) -> impl Iterator<Item = String> {
        self.counts("rejected").map(|(reason, count)| {
            let jobs = if count == 1 { "job" } else { "jobs" };
            format!("{count} {jobs} can never run: {reason}")
        })
    }

    /// If the policy refused every job: how many, by reason, in words.
    pub fn all_refused(&self) -> Option<String> {
        let refusals: Vec<(&str, u64)> = self.counts("refusals").collect();
        if self.number("jobs") != Some(0.0) || refusals.is_empty() {
            return None;
        }
        let said: Vec<String> =
            refusals.iter().map(|(code, count)| format!("{count} `{code}`")).collect();
        let help = match refusals.iter().any(|(code, _)| *code == NO_VALUE) {
            true => {
                "; values and budgets come from `--side FILE`, and are multiples of the grid's prices"
            }
            false => "; `refused.csv` has the reasons",
        };
        Some(format!("`{}` refused all jobs: {}{help}", self.cell("policy"), said.join(", ")))
    }

    /// The value of a field, if it is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.fields.get(key).and_then(Value::as_f64)
    }

    /// The names of the metrics that are numbers, or would be if there were anything to measure.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let is_metric = |key: &&str| !AXES.contains(key) && *key != SIZE;
        let fields = self.fields.iter();
        let numbers = fields.filter(|(_, value)| value.is_number() || value.is_null());
        numbers.map(|(key, _)| key.as_str()).filter(is_metric)
    }

    /// What replications of one another have in common.
    pub fn cell_of_axes(&self) -> Vec<String> {
        AXES.iter().filter(|key| **key != SEED).map(|key| self.cell(key)).collect()
    }
}

/// A measure as an exact JSON number.
fn number(value: Option<Measured>) -> Value {
    let number = value.and_then(|it| it.to_string().parse::<serde_json::Number>().ok());
    number.map_or(Value::Null, Value::Number)
}
