//! The measures of a replay. Sums are exact; only the final quotients are floats, and nothing is
//! decided by them. `docs/reference/metrics.md` has the formulas.

mod classes;
mod column;
mod deviation;
mod electricity;
mod entry;
mod federation;
mod jobs;
#[cfg(test)]
mod market_tests;
mod memory;
mod owners;
mod preemption;
mod promises;
mod queue;
mod series;
mod sizes;
mod spread;
mod stays;
mod tally;
#[cfg(test)]
mod tests;
mod trading;
mod waits;
mod window;

use std::collections::BTreeMap;

use tradewind_model::Span;

use crate::result::Run;
use crate::workload::{Job, Workload};
use jobs::Jobs;
use promises::Promises;
use queue::QueueMetrics;
use trading::Trading;

pub use classes::{Family, JobClass};
pub use deviation::{Deviation, load_deviation};
pub use electricity::{consumption, consumption_by_site};
pub use entry::{Better, Entry, Unit, Value};
pub use promises::{Missed, misses};
pub use queue::{WaitStretch, stretches};
pub use series::{SeriesPoint, series};
pub use tally::Tally;
pub use trading::list_price;
pub use waits::waits;
pub use window::{Counted, Trim, Window};

/// How to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricOptions {
    /// What is left out.
    pub trim: Trim,
    /// Runs shorter than this count as this long in bounded slowdowns.
    pub slowdown_bound: Span,
}

impl Default for MetricOptions {
    /// Everything counts; the bound is 10 s (Feitelson and others, 1997).
    fn default() -> MetricOptions {
        MetricOptions { trim: Trim::default(), slowdown_bound: Span(10) }
    }
}

/// What a replay amounts to.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    entries: Vec<Entry>,
    /// Jobs that count and that the policy refused, by the reason's code.
    pub refused: BTreeMap<&'static str, usize>,
    /// Jobs of the log that can never run, by reason; never trimmed.
    pub rejected: BTreeMap<&'static str, usize>,
    /// By site: what its owner earned, in micro-credits; never trimmed.
    pub income: Vec<i128>,
}

impl Metrics {
    /// Every measure that is one number, in the order of the documentation.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The value of a measure; `None` if there is none of this name, or nothing to measure.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.entries.iter().find(|entry| entry.name == name)?.value
    }
}

/// Sums up the part of a run that counts. O(n log n) for n jobs.
pub fn measure(workload: &Workload, run: &Run, options: MetricOptions) -> Metrics {
    let counted = Counted::of(workload, options.trim);
    let window = Window::of(workload, run, options.trim);
    let mut jobs = Jobs::of(workload, run, counted);
    let mut rejected = BTreeMap::new();
    for job in &workload.rejected {
        *rejected.entry(job.why.text()).or_default() += 1;
    }
    let promises = promises::all(workload, run);
    let sums = Sums {
        lost: InterruptionCost::of(workload, run, counted),
        usage: Usage::of(workload, run, window),
        kept: Promises::of(&promises, counted),
        income: &run.income,
    };
    let mut entries = sums.entries(&jobs, options);
    entries.extend(Trading::of(workload, run, &promises, counted).entries());
    entries.extend(deviation::entries(workload, run, window));
    entries.extend(federation::entries(workload, run, counted));
    entries.extend(sizes::entries(&jobs, &workload.pools, options));
    entries.extend(owners::entries(workload, run));
    entries.extend(preemption::entries(workload, run, counted));
    entries.extend(electricity::entries(workload, run, window));
    entries.extend(memory::entries(workload, run, window));
    let refused = std::mem::take(&mut jobs.refused);
    Metrics { entries, refused, rejected, income: run.income.clone() }
}

/// What every run has, beside its jobs.
#[derive(Debug)]
struct Sums<'a> {
    lost: InterruptionCost,
    usage: Usage,
    kept: Promises,
    /// By site, in micro-credits.
    income: &'a [i128],
}

/// What interruptions cost.
#[derive(Debug, Default)]
struct InterruptionCost {
    interruptions: i128,
    node_seconds: i128,
}

/// What is measured along the window rather than job by job; in node-seconds.
#[derive(Debug)]
struct Usage {
    offered_load: Option<Value>,
    /// Of the window, in seconds.
    span: i128,
    processors: u32,
    used: i128,
    closed: i128,
    queue: QueueMetrics,
}

fn entry(name: &str, unit: Unit, better: Better, value: impl Into<Option<Value>>) -> Entry {
    Entry { name: name.to_owned(), unit, better, value: value.into() }
}

/// A quotient; `None` if there is nothing to divide by.
#[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
fn quotient(of: i128, by: i128) -> Option<Value> {
    (by > 0).then(|| Value::Quotient(of as f64 / by as f64))
}

impl InterruptionCost {
    fn of(workload: &Workload, run: &Run, counted: Counted) -> InterruptionCost {
        let lost = || run.lost.iter().filter(|lost| counted.has(workload.jobs[lost.job].submit));
        let stays = lost().flat_map(|lost| stays::in_vain(workload, lost));
        InterruptionCost {
            interruptions: lost().count() as i128,
            node_seconds: stays.map(|stay| stay.work()).sum(),
        }
    }
}

impl Usage {
    fn of(workload: &Workload, run: &Run, window: Window) -> Usage {
        let node_seconds =
            |nodes: u32, start, end| i128::from(nodes) * i128::from(window.seconds_of(start, end));
        let used = stays::all(workload, run).map(|it| node_seconds(it.nodes, it.start, it.end));
        let outages = workload.outages.iter().map(|outage| outage.what);
        let closed: i128 = outages.map(|it| node_seconds(it.nodes, it.from, it.until)).sum();
        let stays = owners::stays(workload, run);
        Usage {
            offered_load: offered_load(workload),
            span: i128::from(window.span().0),
            processors: workload.processors(),
            used: used.sum(),
            closed: closed + stays.map(|it| node_seconds(it.0, it.1, it.2)).sum::<i128>(),
            queue: QueueMetrics::of(workload, run, window),
        }
    }
}

/// Of the jobs as they are replayed; `None` if all come at once.
fn offered_load(workload: &Workload) -> Option<Value> {
    let area = |job: &Job| i128::from(job.run.0) * i128::from(job.processors);
    let used: i128 = workload.jobs.iter().map(area).sum();
    let submits = || workload.jobs.iter().map(|job| job.submit);
    let span = submits().max()? - submits().min()?;
    quotient(used, i128::from(span.0) * i128::from(workload.processors()))
}

impl Sums<'_> {
    fn entries(&self, jobs: &Jobs, options: MetricOptions) -> Vec<Entry> {
        let mut entries = self.counts(jobs);
        entries.extend(jobs.spreads(options));
        entries.extend(self.over_time(jobs));
        entries.extend(self.money(jobs, options));
        entries.extend(deadlines(&self.kept));
        entries
    }

    fn counts(&self, jobs: &Jobs) -> Vec<Entry> {
        use Better::{Lower, Neither};
        use Unit::{Count, NodeSeconds, Ratio};
        let refused: usize = jobs.refused.values().sum();
        let InterruptionCost { interruptions, node_seconds: lost } = self.lost;
        vec![
            entry("jobs", Count, Neither, Value::Whole(jobs.count)),
            entry("offered_load", Ratio, Neither, self.usage.offered_load),
            entry("killed", Count, Lower, Value::Whole(jobs.killed)),
            entry("refused", Count, Lower, Value::Whole(refused as i128)),
            entry("interruptions", Count, Lower, Value::Whole(interruptions)),
            entry("killed_work_node_s", NodeSeconds, Lower, Value::Whole(jobs.killed_work)),
            entry("lost_work_node_s", NodeSeconds, Lower, Value::Whole(lost)),
            entry("backfill_ratio", Ratio, Neither, quotient(jobs.backfilled, jobs.count)),
        ]
    }

    fn over_time(&self, jobs: &Jobs) -> Vec<Entry> {
        use Better::{Higher, Lower};
        use Unit::{Count, NodeSeconds, Ratio, Seconds};
        let Usage { span, processors, used, closed, queue, .. } = self.usage;
        let all = span * i128::from(processors);
        let makespan = jobs.makespan.map(|(first, last)| Value::Whole((last - first).into()));
        vec![
            entry("makespan_s", Seconds, Lower, makespan),
            entry("utilisation", Ratio, Higher, quotient(used, all)),
            entry("open_utilisation", Ratio, Higher, quotient(used, all - closed)),
            entry("mean_queue_jobs", Count, Lower, quotient(queue.job_seconds, span)),
            entry("max_queue_jobs", Count, Lower, Value::Whole(queue.most_jobs)),
            entry("mean_queue_node_s", NodeSeconds, Lower, quotient(queue.work_seconds, span)),
            entry("max_queue_node_s", NodeSeconds, Lower, Value::Whole(queue.most_work)),
        ]
    }

    fn money(&self, jobs: &Jobs, options: MetricOptions) -> Vec<Entry> {
        use Better::{Higher, Lower, Neither};
        use Unit::{Credits, Ratio};
        let kept = &self.kept;
        let mean_cost = quotient(jobs.cost, jobs.count * 1_000_000);
        let realised = kept.offered.map(|_| Value::Credits(kept.realised));
        let value_ratio = kept.offered.and_then(|offered| quotient(kept.realised, offered));
        let fairness = jobs.fairness(options);
        let jain = fairness.map(|it| Value::Quotient(it.jain));
        let worst = fairness.map(|it| Value::Quotient(it.worst));
        vec![
            entry("total_cost", Credits, Lower, Value::Credits(jobs.cost)),
            entry("mean_cost", Credits, Lower, mean_cost),
            entry("total_income", Credits, Neither, Value::Credits(self.income.iter().sum())),
            entry("deadline_success", Ratio, Higher, quotient(kept.in_time, kept.deadlines)),
            entry("value_realised", Credits, Higher, realised),
            entry("value_ratio", Ratio, Higher, value_ratio),
            entry("fairness", Ratio, Higher, jain),
            entry("worst_user_slowdown", Ratio, Lower, worst),
        ]
    }
}

/// Deadlines, and success by class; nothing if no job has a deadline or a value.
fn deadlines(kept: &Promises) -> Vec<Entry> {
    use Better::{Lower, Neither};
    let count = |name, better, count| entry(name, Unit::Count, better, Value::Whole(count));
    let mut entries = vec![
        count("deadlines", Neither, kept.deadlines),
        count("deadlines_missed", Lower, kept.deadlines - kept.in_time),
    ];
    entries.retain(|_| kept.urgency.exists);
    entries.extend(kept.urgency.entries(&Family::URGENCY));
    entries.extend(kept.value.entries(&Family::VALUE));
    entries
}
