//! All runs of a campaign side by side: `summary.json`, `summary.csv`, a table.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tradewind_campaign::summary::{AXES, SEED, Summary};
use tradewind_io::wire;
use tradewind_sim::replications::{self, Estimated};

use super::comparisons::{self, Comparisons, MeasuredJobs};
use crate::exit::Failure;
use crate::options::Format;
use crate::output;
use crate::tables::{self, Column, Side};

/// The runs that are done, in the campaign's order, and the folders of those that are not.
pub(in crate::commands) struct Overview {
    pub(in crate::commands) runs: Vec<Summary>,
    pub(in crate::commands) missing: Vec<String>,
}

/// A column of the table.
struct Metric {
    head: &'static str,
    key: &'static str,
    factor: f64,
    decimals: usize,
    shown: When,
}

/// When a column is worth its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// If there is room.
    Wide,
    /// If it differs from zero anywhere.
    Market,
    /// If there is anything to measure: that no job was in time is worth knowing.
    Known,
}

/// Who ran comes first: means over different jobs cannot be compared. [`refused`] is shown after
/// `jobs`.
const METRICS: [Metric; 13] = [
    metric("RAN", "jobs", 1.0, 0, When::Always),
    metric("KILLED", "killed", 1.0, 0, When::Always),
    metric("LOAD %", "offered_load", 100.0, 1, When::Always),
    metric("WAIT s", "mean_wait_s", 1.0, 1, When::Always),
    metric("P95 s", "p95_wait_s", 1.0, 0, When::Always),
    metric("P99 s", "p99_wait_s", 1.0, 0, When::Always),
    metric("LONGEST s", "max_wait_s", 1.0, 0, When::Always),
    metric("BSLD", "mean_bounded_slowdown", 1.0, 2, When::Always),
    metric("UTIL %", "utilisation", 100.0, 2, When::Always),
    metric("BACK %", "backfill_ratio", 100.0, 2, When::Wide),
    metric("MSG/JOB", "messages_per_job", 1.0, 1, When::Market),
    metric("COST", "mean_cost", 1.0, 2, When::Market),
    metric("IN TIME %", "deadline_success", 100.0, 2, When::Known),
];

const fn metric(
    head: &'static str,
    key: &'static str,
    factor: f64,
    decimals: usize,
    shown: When,
) -> Metric {
    Metric { head, key, factor, decimals, shown }
}

/// The head of an axis's column.
const HEADS: [(&str, &str); 7] = [
    ("log", "LOG"),
    ("policy", "POLICY"),
    ("semantics", "SEMANTICS"),
    ("overrun", "OVERRUN"),
    ("estimate", "ESTIMATE"),
    ("load", "LOAD"),
    ("seed", "SEED"),
];

impl Overview {
    /// Whether there are several seeds for anything.
    fn has_replications(&self) -> bool {
        self.cells().iter().any(|cell| cell.len() > 1)
    }

    /// Replications together, in the order of their first.
    pub(super) fn cells(&self) -> Vec<Vec<&Summary>> {
        let mut cells: Vec<(Vec<String>, Vec<&Summary>)> = Vec::new();
        for run in &self.runs {
            let axes = run.cell_of_axes();
            match cells.iter_mut().find(|(other, _)| *other == axes) {
                Some((_, cell)) => cell.push(run),
                None => cells.push((axes, vec![run])),
            }
        }
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    /// The policy and whatever else differs between runs, but for seeds.
    pub(super) fn axes(&self) -> Vec<&'static str> {
        let differs = |axis: &str| {
            let mut values = self.runs.iter().map(|run| run.cell(axis));
            values.next().is_some_and(|first| values.any(|value| value != first))
        };
        let shown = |axis: &str| axis == "policy" || (axis != SEED && differs(axis));
        AXES.into_iter().filter(|axis| shown(axis)).collect()
    }

    /// The policies under which users pay more than they get, a sentence each.
    pub(super) fn losses(&self) -> Vec<String> {
        let loss = |cell: &Vec<&Summary>| {
            let surplus = estimate(cell, "users_surplus")?.mean;
            let [policy, lost] = [cell[0].cell("policy"), format!("{:.0}", -surplus)];
            (surplus < 0.0).then(|| {
                format!(
                    "`{policy}`: users lose by trading: they pay {lost} credits more than what is \
                     completed in time is worth to them"
                )
            })
        };
        self.cells().iter().filter_map(loss).collect()
    }

    /// `summary.json` of a campaign.
    pub(super) fn to_json(&self, comparisons: &[Value]) -> String {
        let runs: Vec<&Map<String, Value>> = self.runs.iter().map(Summary::fields).collect();
        let mut document = json!({ "runs": runs });
        if self.has_replications() {
            let cells: Vec<Value> = self.cells().iter().map(|cell| replications(cell)).collect();
            document["replications"] = Value::Array(cells);
        }
        if !comparisons.is_empty() {
            document["comparisons"] = json!(comparisons);
        }
        document["missing"] = json!(self.missing);
        wire::to_json(&document)
    }

    /// `summary.csv`: a row per run.
    pub(in crate::commands) fn to_csv(&self) -> Result<String, Failure> {
        if self.runs.is_empty() {
            return Ok(String::new());
        }
        let keys = union(self.runs.iter().map(|run| run.fields().keys().map(String::as_str)));
        let head = keys.iter().map(|key| (*key).to_owned()).collect();
        let row = |run: &Summary| keys.iter().map(|key| run.cell(key)).collect();
        let rows: Vec<Vec<String>> =
            std::iter::once(head).chain(self.runs.iter().map(row)).collect();
        output::csv(&rows)
    }

    /// `replications.csv`: a row per policy and rules, over its seeds; `None` if nothing was
    /// replicated.
    pub(in crate::commands) fn replications_csv(&self) -> Result<Option<String>, Failure> {
        if !self.has_replications() {
            return Ok(None);
        }
        let axes: Vec<&str> = AXES.into_iter().filter(|axis| *axis != SEED).collect();
        let metrics = union(self.runs.iter().map(Summary::metrics));
        let mut head: Vec<String> = axes.iter().map(|&axis| axis.to_owned()).collect();
        head.push("runs".to_owned());
        for metric in &metrics {
            head.extend([(*metric).to_owned(), format!("{metric}_half_width")]);
        }
        let row = |cell: &Vec<&Summary>| {
            let mut row: Vec<String> = axes.iter().map(|axis| cell[0].cell(axis)).collect();
            row.push(cell.len().to_string());
            for metric in &metrics {
                let found = estimate(cell, metric);
                let half_width = found.and_then(|it| it.half_width);
                row.push(found.map_or_else(String::new, |it| it.mean.to_string()));
                row.push(half_width.map_or_else(String::new, |it| it.to_string()));
            }
            row
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(head).chain(self.cells().iter().map(row)).collect();
        output::csv(&rows).map(Some)
    }

    /// Prints the runs beside each other; people see replications as one line.
    pub(in crate::commands) fn print(&self, format: Format) -> Result<(), Failure> {
        match format {
            Format::Table => output::print(&format!("{}{}", self.table(), self.differences())),
            Format::Json => {
                let runs: Vec<_> = self.runs.iter().map(Summary::fields).collect();
                output::json(&runs)
            }
            Format::Csv => output::print(&self.to_csv()?),
        }
    }

    /// A table of what differs for sure; nothing where that cannot be said.
    fn differences(&self) -> String {
        let compared = Comparisons::new(MeasuredJobs::All, self);
        if !compared.verdicts.is_tested() {
            return String::new();
        }
        let columns = comparisons::HEADS.map(|head| match head {
            "MEASURE" | "BEST" | "NEXT" => (head, Side::Left),
            _ => (head, Side::Right),
        });
        format!("\n{}", tables::table(&columns, compared.rows()))
    }

    fn table(&self) -> String {
        let (cells, axes) = (self.cells(), self.axes());
        let replicated = self.has_replications();
        let mut columns: Vec<Column> = axes.iter().map(|axis| (head(axis), Side::Left)).collect();
        if replicated {
            columns.push(("RUNS", Side::Right));
        }
        // Intervals and further axes take the room of what matters less.
        let there = |metric: &Metric| {
            let mut values = self.runs.iter().filter_map(|run| run.number(metric.key));
            values.any(|value| metric.shown == When::Known || value != 0.0)
        };
        let extra = |it: &Metric| matches!(it.shown, When::Market | When::Known);
        let priced = METRICS.iter().any(|it| extra(it) && there(it));
        let narrow = replicated || axes.len() > 1 || priced;
        let metrics = METRICS.iter().filter(|metric| match metric.shown {
            When::Always => true,
            When::Wide => !narrow,
            When::Market | When::Known => there(metric),
        });
        let metrics: Vec<&Metric> = metrics.collect();
        let mut heads: Vec<Column> = metrics.iter().map(|it| (it.head, Side::Right)).collect();
        heads.insert(1, ("REFUSED", Side::Right));
        columns.extend(heads);
        let row = |cell: &Vec<&Summary>| {
            let mut row: Vec<String> = axes.iter().map(|axis| cell[0].cell(axis)).collect();
            if replicated {
                row.push(cell.len().to_string());
            }
            let mut values: Vec<String> = metrics.iter().map(|it| it.shown(cell)).collect();
            values.insert(1, refused(cell));
            row.extend(values);
            row
        };
        tables::table(&columns, cells.iter().map(row).collect())
    }
}

/// All keys of all runs, each once, in the order of their first: some measures are only there where
/// there is something to measure.
fn union<'a>(runs: impl Iterator<Item = impl Iterator<Item = &'a str>>) -> Vec<&'a str> {
    let mut known = BTreeSet::new();
    runs.flatten().filter(|key| known.insert(*key)).collect()
}

/// Jobs that never ran: those that never could, and those that the policy refused.
fn refused(cell: &Vec<&Summary>) -> String {
    let of = |run: &&Summary| {
        let counts = ["rejected", "refusals"].into_iter().flat_map(|key| run.counts(key));
        counts.map(|(_, count)| count as f64).sum()
    };
    let values: Vec<f64> = cell.iter().map(of).collect();
    replications::estimate(&values).map_or_else(String::new, |found| shown(found, 1.0, 0))
}

fn head(axis: &str) -> &'static str {
    HEADS.iter().find(|(name, _)| *name == axis).map_or("", |(_, head)| head)
}

impl Metric {
    /// The mean, and ± half of its confidence interval if it has one that shows.
    fn shown(&self, cell: &[&Summary]) -> String {
        let found = estimate(cell, self.key);
        found.map_or_else(String::new, |found| shown(found, self.factor, self.decimals))
    }
}

fn shown(found: Estimated, factor: f64, decimals: usize) -> String {
    // Six digits say enough, and decimals after them would not fit beside intervals.
    let long = |value: f64| (value * factor).abs() >= 100_000.0;
    let decimals = match long(found.mean) || found.half_width.is_some_and(long) {
        true => 0,
        false => decimals,
    };
    let text = |value: f64| format!("{:.*}", decimals, value * factor);
    let mean = text(found.mean);
    match found.half_width.map(text) {
        Some(half) if half != text(0.0) => format!("{mean} ±{half}"),
        _ => mean,
    }
}

/// The mean over replications.
pub(super) fn estimate(cell: &[&Summary], metric: &str) -> Option<Estimated> {
    let values: Vec<f64> = cell.iter().filter_map(|run| run.number(metric)).collect();
    replications::estimate(&values)
}

/// The means of replications, as a document.
fn replications(cell: &[&Summary]) -> Value {
    let mut document = Map::new();
    let Some(first) = cell.first() else { return Value::Null };
    for axis in AXES.into_iter().filter(|axis| *axis != SEED) {
        document.insert(axis.to_owned(), first.fields().get(axis).cloned().unwrap_or_default());
    }
    document.insert("runs".to_owned(), json!(cell.len()));
    let metric = |key: &str| {
        let Estimated { mean, half_width, .. } = estimate(cell, key)?;
        Some((key.to_owned(), json!({ "mean": mean, "half_width": half_width })))
    };
    document.insert(
        "metrics".to_owned(),
        union(cell.iter().map(|run| run.metrics())).into_iter().filter_map(metric).collect(),
    );
    Value::Object(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_have_no_decimals() {
        let one = |values: &[f64]| shown(replications::estimate(values).unwrap(), 1.0, 2);
        assert_eq!(one(&[99_999.25]), "99999.25");
        assert_eq!(one(&[123_456.78]), "123457");
        let both = one(&[1_000.0, 50_000.0]);
        assert!(both.starts_with("25500 ±") && !both.contains('.'), "{both}");
    }
}
