//! Runs measured again on the jobs that every policy ran: where some refuse jobs, nothing else can
//! be compared. Made of the `jobs.csv` of the runs, so that a resumed campaign has the same.

use std::fs::File;
use std::path::Path;

use tradewind_campaign::summary::{SEED, Summary};
use tradewind_io::campaign::Output;
use tradewind_model::Span;
use tradewind_sim::metrics;

use super::overview::Overview;
use super::stays::{self, Stays};
use super::store::{Record, RunRecord};
use super::verdicts::Verdicts;

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
    let table = |run: &RunRecord| File::open(run.path(folder).join("jobs.csv")).ok();
    let stays = runs.iter().map(|(run, _)| stays::read(table(run)?));
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
