//! Differences between policies for people and programs: `comparisons.csv`, a part of
//! `summary.json`, tables.

use serde_json::{Map, Value, json};
use tradewind_campaign::summary::{AXES, SEED, Summary};
use tradewind_io::chart::Unit;
use tradewind_sim::paired::Scale;

use super::overview::Overview;
use super::verdicts::{ComparedCells, Judged, Pair, PairOutcome, Verdicts};

/// Which jobs the runs were measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasuredJobs {
    /// All that count; policies that refused some are left out.
    All,
    /// Those that every policy ran.
    Common,
}

impl MeasuredJobs {
    fn name(self) -> &'static str {
        match self {
            MeasuredJobs::All => "all",
            MeasuredJobs::Common => "common",
        }
    }
}

/// An overview with what it says of differences.
pub(super) struct Comparisons<'a> {
    pub(super) jobs: MeasuredJobs,
    pub(super) overview: &'a Overview,
    pub(super) verdicts: Verdicts,
}

/// What a table for people shows, if there is anything of it.
const SHOWN: [&str; 9] = [
    "mean_wait_s",
    "p95_wait_s",
    "p99_wait_s",
    "max_wait_s",
    "mean_bounded_slowdown",
    "utilisation",
    "deadline_success",
    "mean_cost",
    "welfare",
];

/// The heads of [`Comparisons::rows`].
pub(super) const HEADS: [&str; 6] = ["MEASURE", "BEST", "NEXT", "DIFFERENCE", "95 % INTERVAL", "P"];

impl<'a> Comparisons<'a> {
    pub(super) fn new(jobs: MeasuredJobs, overview: &'a Overview) -> Comparisons<'a> {
        Comparisons { jobs, overview, verdicts: Verdicts::of(overview) }
    }

    fn judged(&self) -> impl Iterator<Item = (&ComparedCells, &Judged)> {
        let groups = self.verdicts.groups.iter();
        groups.flat_map(|group| group.measures.iter().map(move |judged| (group, judged)))
    }

    /// A row per measure: the policy with the best mean beside the one that is hardest to tell
    /// from it. Of several groups only their mean waits.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let cells = self.overview.cells();
        let many = self.verdicts.groups.len() > 1;
        let shown = |judged: &Judged| match many {
            true => judged.measure.0 == SHOWN[0],
            false => SHOWN.contains(&judged.measure.0),
        };
        let judged = self.judged().filter(|(_, judged)| shown(judged));
        let row = |(group, judged): (&ComparedCells, &Judged)| {
            let (leader, pair) = judged.closest(&cells, &group.whole)?;
            let [difference, interval, p] = texts(&pair, leader, judged.measure.2);
            let rival = if pair.one == leader { pair.other } else { pair.one };
            let best = match judged.best.as_slice() {
                [] => {
                    let equal = matches!(pair.outcome, PairOutcome::Same);
                    let why = if equal { "the next is equal" } else { "not certain" };
                    format!("{} ({why})", cells[leader][0].cell("policy"))
                }
                best => {
                    let names = best.iter().map(|at| cells[*at][0].cell("policy"));
                    names.collect::<Vec<_>>().join(", ")
                }
            };
            let name = match many {
                false => judged.measure.1.to_owned(),
                true => format!("{}{}", judged.measure.1, place(cells[leader][0], self.overview)),
            };
            Some(vec![name, best, cells[rival][0].cell("policy"), difference, interval, p])
        };
        judged.filter_map(row).collect()
    }

    /// Rows of `comparisons.csv`, all pairs; without its header.
    pub(super) fn csv(&self) -> Vec<Vec<String>> {
        let cells = self.overview.cells();
        let mut rows = Vec::new();
        for (_, judged) in self.judged() {
            for pair in &judged.pairs {
                let run = cells[pair.one][0];
                let mut row: Vec<String> = places().map(|axis| run.cell(axis)).collect();
                row.extend([self.jobs.name().to_owned(), judged.measure.0.to_owned()]);
                row.extend([pair.one, pair.other].map(|at| cells[at][0].cell("policy")));
                row.push(pair.seeds.to_string());
                row.extend(numbers(pair));
                let better = pair.leader(judged.measure.3);
                row.push(better.map_or_else(String::new, |at| cells[at][0].cell("policy")));
                rows.push(row);
            }
        }
        rows
    }

    /// The header of `comparisons.csv`.
    pub(super) fn csv_head() -> Vec<String> {
        let rest = ["jobs", "metric", "policy", "other", "seeds", "scale"].into_iter();
        let rest = rest.chain(["mean", "low", "high", "p", "better"]);
        places().chain(rest).map(str::to_owned).collect()
    }

    /// A document per measure: who is the best for sure, and the closest pair.
    pub(super) fn json(&self) -> Vec<Value> {
        let cells = self.overview.cells();
        let document = |(group, judged): (&ComparedCells, &Judged)| {
            let (leader, pair) = judged.closest(&cells, &group.whole)?;
            let rival = if pair.one == leader { pair.other } else { pair.one };
            let policy = |at: usize| cells[at][0].cell("policy");
            let mut fields = Map::new();
            for axis in places() {
                let value = cells[leader][0].fields().get(axis).cloned();
                fields.insert(axis.to_owned(), value.unwrap_or_default());
            }
            let found = pair.seen_from(leader);
            fields.insert("jobs".to_owned(), json!(self.jobs.name()));
            fields.insert("metric".to_owned(), json!(judged.measure.0));
            let best: Vec<String> = judged.best.iter().map(|at| policy(*at)).collect();
            fields.insert("best".to_owned(), json!(best));
            fields.insert("leader".to_owned(), json!(policy(leader)));
            fields.insert("next".to_owned(), json!(policy(rival)));
            fields.insert("seeds".to_owned(), json!(pair.seeds));
            fields.insert("scale".to_owned(), json!(found.map(|it| scale_name(it.scale))));
            for (key, of) in [
                ("mean", found.map(|it| it.mean)),
                ("low", found.map(|it| it.low)),
                ("high", found.map(|it| it.high)),
                ("p", found.map(|it| it.p)),
            ] {
                fields.insert(key.to_owned(), json!(of));
            }
            Some(Value::Object(fields))
        };
        self.judged().filter_map(document).collect()
    }
}

/// The axes that say what is compared.
fn places() -> impl Iterator<Item = &'static str> {
    AXES.into_iter().filter(|axis| *axis != SEED && *axis != "policy")
}

/// What sets the group apart, behind a name.
fn place(run: &Summary, overview: &Overview) -> String {
    let axes = overview.axes().into_iter().filter(|axis| *axis != "policy");
    axes.map(|axis| format!(", {axis} {}", run.cell(axis))).collect()
}

/// A difference with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    scale: Scale,
    mean: f64,
    low: f64,
    high: f64,
    p: f64,
}

impl Pair {
    /// The difference or ratio of `cell` to the other one.
    fn seen_from(&self, cell: usize) -> Option<Seen> {
        let PairOutcome::Tested(sample, corrected) = self.outcome else { return None };
        let (mean, (low, high)) = (sample.mean(), corrected.interval);
        let (scale, p) = (sample.scale, corrected.p);
        Some(match (self.one == cell, scale) {
            (true, _) => Seen { scale, mean, low, high, p },
            (false, Scale::Difference) => Seen { scale, mean: -mean, low: -high, high: -low, p },
            (false, Scale::LogRatio) => {
                Seen { scale, mean: 1.0 / mean, low: 1.0 / high, high: 1.0 / low, p }
            }
        })
    }
}

/// Difference, interval and probability in words.
fn texts(pair: &Pair, from: usize, unit: Unit) -> [String; 3] {
    let Some(seen) = pair.seen_from(from) else {
        let why = match pair.outcome {
            PairOutcome::Same => "the same in every run",
            _ => "cannot be said",
        };
        return [why.to_owned(), String::new(), String::new()];
    };
    let text = |value: f64| match (seen.scale, unit) {
        (Scale::LogRatio, _) => format!("{:+.1} %", 100.0 * (value - 1.0)),
        (Scale::Difference, Unit::Share) => format!("{:+.2} points", 100.0 * value),
        (Scale::Difference, unit) => unit.say(value),
    };
    let p = match seen.p < 0.001 {
        true => "< 0.001".to_owned(),
        false => format!("{:.3}", seen.p),
    };
    [text(seen.mean), format!("{} to {}", text(seen.low), text(seen.high)), p]
}

fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Difference => "difference",
        Scale::LogRatio => "ratio",
    }
}

/// Scale, mean, bounds and probability as cells; empty where there is nothing to say. Values that
/// are the same differ by 0.
fn numbers(pair: &Pair) -> [String; 5] {
    match (pair.seen_from(pair.one), pair.outcome) {
        (Some(seen), _) => [
            scale_name(seen.scale).to_owned(),
            seen.mean.to_string(),
            seen.low.to_string(),
            seen.high.to_string(),
            seen.p.to_string(),
        ],
        (None, PairOutcome::Same) => ["difference", "0", "0", "0", "1"].map(str::to_owned),
        (None, _) => Default::default(),
    }
}
