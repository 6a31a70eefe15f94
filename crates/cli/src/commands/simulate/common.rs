//! Runs measured again on the jobs that every policy ran: where some refuse jobs, nothing else can
//! be compared. Made of the `jobs.csv` of the runs, so that a resumed campaign has the same.

use std::path::Path;

use tradewind_campaign::summary::{SEED, Summary};
use tradewind_io::campaign::Output;
use tradewind_model::Span;
use tradewind_sim::metrics;

use super::overview::Overview;
use super::store::{Record, RunRecord};
use super::verdicts::Verdicts;

/// The wait and the run time of each job of the logs, in their order; `None`: it did not run.
type Stays = Vec<Option<(Span, Span)>>;

/// The runs of all groups in which a policy refused jobs that another one ran. `None` if there are
/// none, or if their jobs were not written.
pub(super) fn of(
    folder: &Path,
    record: &Record,
    overview: &Overview,
    verdicts: &Verdicts,
) -> Option<Overview> {
    if !verdicts.has_partial() || !record.outputs().contains(&Output::Jobs) {
        return None;
    }
    let finished = record.runs.iter().filter(|run| !overview.missing.contains(&run.folder));
    let found: Vec<(&RunRecord, &Summary)> = finished.zip(&overview.runs).collect();
    let cells = overview.cells();
    let mut runs = Vec::new();
    for group in verdicts
        .groups
        .iter()
        .filter(|group| group.members.len() > 1 && group.whole.len() < group.members.len())
    {
        let mine = |run: &&Summary| {
            group.members.iter().any(|at| cells[*at].iter().any(|it| std::ptr::eq(*it, *run)))
        };
        let mine: Vec<(&RunRecord, &Summary)> =
            found.iter().filter(|(_, run)| mine(run)).copied().collect();
        runs.extend(of_group(folder, &mine, group.members.len())?);
    }
    (!runs.is_empty()).then(|| Overview { runs, missing: Vec::new() })
}

/// The runs of each seed on the jobs that all of them ran, in the order of `runs`.
fn of_group(
    folder: &Path,
    runs: &[(&RunRecord, &Summary)],
    policies: usize,
) -> Option<Vec<Summary>> {
    let stays = runs.iter().map(|(run, _)| read(&run.path(folder).join("jobs.csv")));
    let stays: Vec<Stays> = stays.collect::<Option<_>>()?;
    let seed = |at: usize| runs[at].1.cell(SEED);
    let measured = |at: usize| {
        let same: Vec<usize> = (0..runs.len()).filter(|other| seed(*other) == seed(at)).collect();
        // A seed that is not finished under every policy says nothing of what all of them ran.
        if same.len() < policies {
            return None;
        }
        let all =
            |job: &usize| same.iter().all(|run| matches!(stays[*run].get(*job), Some(Some(_))));
        let common = (0..stays[at].len()).filter(all);
        let common: Vec<(Span, Span)> = common.filter_map(|job| stays[at][job]).collect();
        let bound = metrics::MetricOptions::default().slowdown_bound;
        let entries = metrics::waits(&common, bound);
        Some(runs[at].1.measured_again(common.len(), &entries))
    };
    Some((0..runs.len()).filter_map(measured).collect())
}

fn read(path: &Path) -> Option<Stays> {
    let mut reader = csv::Reader::from_path(path).ok()?;
    let heads = reader.headers().ok()?.clone();
    let column = |name: &str| heads.iter().position(|head| head == name);
    let (waited, ran) = (column("waiting_time")?, column("execution_time")?);
    let stay = |row: csv::StringRecord| {
        let span = |at: usize| row.get(at)?.parse::<f64>().ok();
        let (waited, ran) = (span(waited)?, span(ran)?);
        Some((Span(waited.round() as i64), Span(ran.round() as i64)))
    };
    reader.into_records().map(|row| row.ok().map(stay)).collect()
}
