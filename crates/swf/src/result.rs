//! A replay as a log: what happened stands where the log had what happened on the real machine.

use tradewind_model::Span;

use super::{Log, Record, write};

/// What a replay made of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedJob {
    /// From its submission to its (last) start; `None` if it never started.
    pub wait: Option<Span>,
    /// From its start to its end; `None` if it never ended.
    pub run: Option<Span>,
    /// How many processors it held; `None` if none.
    pub processors: Option<u32>,
    /// How it ended.
    pub fate: SwfOutcome,
}

/// How a job of a replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwfOutcome {
    /// By itself: status 1.
    Completed,
    /// Killed at its requested time, or lost: status 0.
    Failed,
    /// It could never run, or was refused: status 5.
    Cancelled,
}

impl ReplayedJob {
    /// A job that never started.
    pub const NEVER: ReplayedJob =
        ReplayedJob { wait: None, run: None, processors: None, fate: SwfOutcome::Cancelled };
}

/// By which rules a log was replayed, for its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules<'a> {
    /// As on the command line: `easy[depth=4]`.
    pub policy: &'a str,
    /// As on the command line: `textbook`.
    pub semantics: &'a str,
    /// Processors of the machine.
    pub processors: u32,
}

/// The replayed log as SWF text: `log` with fields 3 (wait), 4 (run), 5 (processors) and 11
/// (status) as in `replayed`, which has one entry per job of `log.jobs` and then of
/// `log.undated`; jobs beyond its end never started. Fields 6 and 7 (processor time and memory
/// used) are of the real run, and so left out. The header says `MaxProcs`, and in a note by which
/// rules.
pub fn result(log: &Log, replayed: &[ReplayedJob], rules: &Rules<'_>) -> String {
    let mut header = log.header.clone();
    if header.max_procs() != Some(rules.processors) {
        header.set("MaxProcs", &rules.processors.to_string());
    }
    header.note(&format!(
        "a simulated schedule, not a record: Tradewind {}, policy {}, semantics {}",
        env!("CARGO_PKG_VERSION"),
        rules.policy,
        rules.semantics
    ));
    // A line has some 80 characters.
    let mut out = String::with_capacity(80 * (log.jobs.len() + log.undated.len()));
    write::write_header(&mut out, &header);
    let outcomes = replayed.iter().chain(std::iter::repeat(&ReplayedJob::NEVER));
    for (job, outcome) in log.jobs.iter().chain(&log.undated).zip(outcomes) {
        write::write_record(&mut out, &replaced(job, outcome));
    }
    out
}

fn replaced(job: &Record, outcome: &ReplayedJob) -> Record {
    let status = match outcome.fate {
        SwfOutcome::Completed => 1,
        SwfOutcome::Failed => 0,
        SwfOutcome::Cancelled => 5,
    };
    let ReplayedJob { wait, run, processors, .. } = *outcome;
    Record { wait, run, processors, status, cpu_time: None, memory: None, ..*job }
}
