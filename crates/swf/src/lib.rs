//! Workload logs in the Standard Workload Format 2.2: reading (plain, gzip or zstd; whole or piece by piece), writing, making
//! others of them ([`transform`]), replays as logs ([`result`](fn@result)), and a small generator
//! ([`sample`](fn@sample)).
//!
//! A log is kept as it is: nothing is dropped or renumbered here. What a use of it has to leave
//! out, [`Summary`] counts. What is wrong with a file is a list of [`diagnostics`], each with its
//! line and a hint, never a panic. Times are integers, fractions of other fields exact
//! [`decimal`]s, so that what is written is what was read.
//!
//! ```
//! use tradewind_swf::input::Input;
//!
//! let text = "; MaxProcs: 64\n1 0 10 300 8 -1 -1 8 600 -1 1 1 1 1 1 1 -1 -1\n";
//! let log = tradewind_swf::parse(&Input::new("a.swf", text))?;
//! assert_eq!(log.header.max_procs(), Some(64));
//! assert_eq!(log.jobs[0].held(), Some(8));
//!
//! let wrong = tradewind_swf::parse(&Input::new("b.swf", "1 0 10\n")).unwrap_err();
//! assert!(wrong.to_string().starts_with("error: b.swf:1"));
//! # Ok::<(), tradewind_swf::diagnostics::Diagnostics>(())
//! ```
//!
//! The format: D. G. Feitelson and others, "Standards and Benchmarks for Parallel Job Schedulers",
//! JSSPP 1999; the fields are those of version 2.2.

pub mod decimal;
pub mod diagnostics;
mod frames;
mod halves;
mod header;
pub mod input;
mod read;
mod records;
mod result;
mod sample;
mod summary;
#[cfg(test)]
mod tests;
pub mod transform;
mod write;

use tradewind_model::{Span, Time};

use crate::diagnostics::Diagnostics;
use crate::input::Input;

pub use header::{Header, STANDARD_KEYS};
pub use records::{Records, records, records_from};
pub use result::{ReplayedJob, Rules, SwfOutcome, result};
pub use sample::sample;
pub use write::{write, write_header, write_record};

/// A log: its header and its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The file as the user named it.
    pub name: String,
    /// What the lines beginning with `;` say.
    pub header: Header,
    /// By submit time; jobs of equal submit time keep their order in the file.
    pub jobs: Vec<Record>,
    /// Jobs without a submit time (it is -1 in them), in the file's order: they have no place in
    /// time, and in the logs that have them they never ran.
    pub undated: Vec<Record>,
    /// What is missing or odd in the jobs.
    pub summary: Summary,
}

/// One job: the 18 fields of a line. `None` and, for the fields that we only carry, -1 stand for
/// what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Field 1: the job's number.
    pub number: i64,
    /// Field 2: when it was submitted, on the log's clock.
    pub submit: Time,
    /// Field 3: how long it waited.
    pub wait: Option<Span>,
    /// Field 4: how long it ran; 0 for a job that ended at once.
    pub run: Option<Span>,
    /// Field 5: the processors that it got; 0 for none.
    pub processors: Option<u32>,
    /// Field 6: average processor time used, in thousandths of a second.
    pub cpu_time: Option<i64>,
    /// Field 7: average memory used per processor, in thousandths of a kilobyte.
    pub memory: Option<i64>,
    /// Field 8: the processors that it asked for.
    pub requested_processors: Option<u32>,
    /// Field 9: the time that it asked for.
    pub requested_time: Option<Span>,
    /// Field 10: the memory asked for per processor, in thousandths of a kilobyte.
    pub requested_memory: Option<i64>,
    /// Field 11: 1 completed, 0 failed, 5 cancelled, others as the format says.
    pub status: i64,
    /// User number, field 12.
    pub user: i64,
    /// Group number, field 13.
    pub group: i64,
    /// Field 14: the application.
    pub application: i64,
    /// Queue number, field 15.
    pub queue: i64,
    /// Partition number, field 16.
    pub partition: i64,
    /// Field 17: the number of the job that had to end first.
    pub preceding: i64,
    /// Field 18: seconds between that job's end and this one's submission.
    pub think_time: i64,
}

impl Record {
    /// When it started, if the log says.
    pub fn start(&self) -> Option<Time> {
        self.wait.map(|wait| self.submit + wait)
    }

    /// The processors that it held: those it got, or else those it asked for.
    pub fn held(&self) -> Option<u32> {
        let given = |count: Option<u32>| count.filter(|count| *count > 0);
        given(self.processors).or(given(self.requested_processors))
    }

    /// The processors that it wants: those it asked for, or else those it got.
    pub fn wanted(&self) -> Option<u32> {
        self.requested_processors.filter(|count| *count > 0).or(self.held())
    }

    /// Whether it has a run time and processors, so that it can have occupied a machine.
    pub fn ran(&self) -> bool {
        self.run.is_some_and(|run| run.0 > 0) && self.held().is_some()
    }
}

/// Counts of what is missing or odd in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Lines that hold a job.
    pub jobs: usize,
    /// Jobs without a submit time; the counts below are of the others.
    pub without_submit: usize,
    /// Jobs that ran for some time on some processors.
    pub usable: usize,
    /// Jobs without a run time above 0.
    pub without_run: usize,
    /// Jobs with neither processors held nor asked for.
    pub without_processors: usize,
    /// Jobs without a wait time.
    pub without_wait: usize,
    /// Jobs without a requested time above 0.
    pub without_request: usize,
    /// Jobs submitted earlier than the job of the line before.
    pub out_of_order: usize,
    /// Times with a fraction of a second, which were rounded up.
    pub rounded: usize,
}

impl Log {
    /// A log of these jobs, with what is missing in them counted; they are put in order.
    pub fn new(name: &str, header: Header, mut jobs: Vec<Record>) -> Log {
        sort(&mut jobs);
        let summary = Summary::of(&jobs, &[]);
        Log { name: name.to_owned(), header, jobs, undated: Vec::new(), summary }
    }

    /// Whether the log says how long jobs waited. If no job has a wait time, it does not.
    pub fn has_waits(&self) -> bool {
        self.summary.without_wait < self.jobs.len()
    }

    /// How many jobs have the number of another one that is counted already.
    pub fn repeated(&self) -> usize {
        let all = self.jobs.iter().chain(&self.undated);
        let mut numbers: Vec<i64> = all.map(|job| job.number).collect();
        numbers.sort_unstable();
        numbers.windows(2).filter(|pair| pair[0] == pair[1]).count()
    }

    /// From the first submission to the last: to the last end of a job, where it is known.
    pub fn span(&self) -> (Time, Time) {
        let first = self.jobs.first().map_or(Time(0), |job| job.submit);
        let end = |job: &Record| job.start().unwrap_or(job.submit) + job.run.unwrap_or_default();
        (first, self.jobs.iter().map(end).max().unwrap_or(first).max(first))
    }
}

/// Puts jobs in the order in which they arrive: of those submitted at once, the lower number is the
/// earlier; of equal numbers, the one that stands first. A replay keeps to the same.
fn sort(jobs: &mut [Record]) {
    jobs.sort_by_key(|job| (job.submit, job.number));
}

/// Reads the log in the file `path`, plain, gzip or zstd; `-` is standard input.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str) -> Result<Log, Diagnostics> {
    parse(&input::read(path)?)
}

/// Reads a log that is already in memory (and unpacked).
///
/// # Errors
/// Lines that do not have 18 numbers, numbers out of range, or no job that ran.
pub fn parse(input: &Input) -> Result<Log, Diagnostics> {
    read::parse(input)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
