//! Parts of experiments on all cores.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use tradewind_lab::{Case, Experiment, Tally};

use super::store::{self, Store};
use crate::worker_pool;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::Report;

/// An experiment and what it is run with.
pub(super) struct Run {
    pub(super) experiment: &'static Experiment,
    pub(super) case: Case,
}

/// One part of one of the runs.
struct Piece {
    run: usize,
    part: u32,
}

/// Does all parts of `runs`, or reads those that are kept; a tally per run. `None`: stopped.
pub(super) fn run(
    runs: &[Run],
    store: &Store,
    threads: usize,
    stop: &AtomicBool,
    report: &Report,
) -> Result<Option<Vec<Tally>>, Failure> {
    let mut folders: Vec<Option<PathBuf>> = Vec::new();
    let mut parts: Vec<Vec<Option<Tally>>> = Vec::new();
    let mut pieces = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let folder = store.open(run)?;
        let count = (run.experiment.parts)(&run.case);
        let there: Vec<_> = (0..count).map(|part| store::read(folder.as_deref(), part)).collect();
        let missing = (0..count).zip(&there).filter(|(_, tally)| tally.is_none());
        pieces.extend(missing.map(|(part, _)| Piece { run: at, part }));
        parts.push(there);
        folders.push(folder);
    }
    let all: usize = parts.iter().map(Vec::len).sum();
    if pieces.len() < all {
        report.note(&format!("{} of {all} parts were there already", all - pieces.len()));
    }
    let mut progress = Progress::new(report, "parts");
    let tick = |done: usize| {
        progress.set(done as u64, pieces.len() as u64, || now(runs, &pieces, done));
    };
    let one = |at: usize| {
        let Piece { run, part } = pieces[at];
        let tally = (runs[run].experiment.part)(&runs[run].case, part);
        store::write(folders[run].as_deref(), part, &tally).map(|()| tally)
    };
    let results = worker_pool::work(pieces.len(), threads, stop, tick, one);
    let took = progress.finish();
    report.detail(|| format!("{} parts in {:.1} s", pieces.len(), took.as_secs_f64()));
    for (piece, result) in pieces.iter().zip(results) {
        parts[piece.run][piece.part as usize] = result.transpose()?;
    }
    Ok(parts.into_iter().map(merged).collect())
}

/// In the order of parts, so that sums of floats do not depend on who was first.
fn merged(parts: Vec<Option<Tally>>) -> Option<Tally> {
    let mut all = Tally::default();
    for part in parts {
        all.merge(&part?);
    }
    Some(all)
}

/// The experiment that is at work, for the progress bar.
fn now(runs: &[Run], pieces: &[Piece], done: usize) -> String {
    let piece = pieces.get(done).or(pieces.last());
    piece.map_or_else(String::new, |piece| runs[piece.run].experiment.id.to_owned())
}

/// Says which logs are not there, and what wants them.
pub(super) fn say_missing_logs(runs: &[Run], report: &Report) {
    for run in runs {
        for name in run.experiment.logs.iter().filter(|name| run.case.log(name).is_none()) {
            let id = run.experiment.id;
            report.note(&format!("the log `{name}` is not there for `{id}`; see `--logs`"));
        }
    }
}
