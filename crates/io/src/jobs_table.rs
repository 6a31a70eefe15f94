//! `jobs.parquet`: every job of one run or of many, one row each, for notebooks.
//!
//! Every row names its run and its log. So the files of many runs can be read as one table,
//! and nothing needs to be joined. `docs/reference/outputs.md` has the columns with units and
//! formulas.

use std::io::{self, Write};

use tradewind_model::{Money, Span, Time};

use crate::parquet::{Cells, ColumnHead, ColumnKind, Writer};

/// The columns, in order.
pub const FIELDS: &[ColumnHead] = &[
    field("workload", ColumnKind::Word),
    field("policy", ColumnKind::Word),
    field("semantics", ColumnKind::Word),
    field("overrun", ColumnKind::Word),
    field("estimate", ColumnKind::Word),
    field("load", ColumnKind::Double),
    field("seed", ColumnKind::Int64),
    field("log", ColumnKind::Word),
    field("job_id", ColumnKind::Text),
    field("submit_s", ColumnKind::Int64),
    field("start_s", ColumnKind::Int64),
    field("end_s", ColumnKind::Int64),
    field("wait_s", ColumnKind::Int64),
    field("run_s", ColumnKind::Int64),
    field("turnaround_s", ColumnKind::Int64),
    field("requested_s", ColumnKind::Int64),
    field("processors", ColumnKind::Int32),
    field("slowdown", ColumnKind::Double),
    field("bounded_slowdown", ColumnKind::Double),
    field("final_state", ColumnKind::Word),
    field("reason", ColumnKind::Word),
    field("backfilled", ColumnKind::Flag),
    field("killed", ColumnKind::Flag),
    field("busy_processor_s", ColumnKind::Int64),
    field("lost_processor_s", ColumnKind::Int64),
    field("site", ColumnKind::Word),
    field("user", ColumnKind::Int64),
    field("group", ColumnKind::Int64),
    field("queue", ColumnKind::Int64),
    field("cost_ucr", ColumnKind::Int64),
    field("budget_ucr", ColumnKind::Int64),
    field("deadline_s", ColumnKind::Int64),
    field("deadline_met", ColumnKind::Flag),
];

/// Rows per row group: pages of the megabyte that the format's authors advise.
const GROUP_ROWS: usize = 1 << 17;

const fn field(name: &'static str, kind: ColumnKind) -> ColumnHead {
    ColumnHead { name, kind }
}

/// What all jobs of one run have in common: what distinguishes it from the others of its campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLabels {
    /// The workload's name.
    pub workload: String,
    /// The policy, with its parameters.
    pub policy: String,
    /// The order within a second.
    pub semantics: String,
    /// What happens to jobs that exceed their request.
    pub overrun: String,
    /// The run times that policies expect.
    pub estimate: String,
    /// The load that the workload was scaled to, in thousandths of the machine.
    pub load: Option<u32>,
    /// The seed of a replication.
    pub seed: Option<u64>,
    /// The names of the workload's logs; if there are several, a job's id is `LOG!number`.
    pub logs: Vec<String>,
    /// Runs shorter than this count as this long in the bounded slowdown.
    pub slowdown_bound: Span,
}

/// How a job's last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The job ended by itself.
    Completed,
    /// At its requested time, by force.
    Killed,
}

/// What happened to a job that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// When its last run started.
    pub start: Time,
    /// When that ended.
    pub end: Time,
    /// How the job ended.
    pub ending: Ending,
    /// Processor time that this run took, in processor-seconds.
    pub busy: Span,
    /// Whether it overtook a job that was submitted earlier.
    pub backfilled: bool,
    /// Where it ran; of a job on several sites, the first.
    pub site: Option<String>,
    /// What it paid; `None` where there are no prices.
    pub cost: Option<Money>,
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobOutcome {
    /// It ran to its end.
    Finished(Finished),
    /// It did not run, for this reason.
    Rejected(String),
}

/// One row of the table: a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Which of the run's logs it is from.
    pub log: usize,
    /// The log's number for it.
    pub number: i64,
    /// When it was submitted; `None` if the log does not say.
    pub submit: Option<Time>,
    /// Processors that it wants.
    pub processors: Option<u32>,
    /// The time that it asked for.
    pub requested: Option<Span>,
    /// The log's number for its user.
    pub user: Option<i64>,
    /// The log's number for its user's group.
    pub group: Option<i64>,
    /// The log's number for its queue.
    pub queue: Option<i64>,
    /// What it may cost.
    pub budget: Option<Money>,
    /// When it must have ended.
    pub deadline: Option<Time>,
    /// Processor time of runs that were cut short, in processor-seconds.
    pub lost: Span,
    /// What happened to it.
    pub fate: JobOutcome,
}

impl RunLabels {
    fn log(&self, row: &JobRow) -> Option<&str> {
        self.logs.get(row.log).map(String::as_str)
    }

    /// The job's id as `jobs.csv` has it.
    fn id(&self, row: &JobRow) -> String {
        match (self.logs.len(), self.log(row)) {
            (2.., Some(log)) => format!("{log}!{}", row.number),
            _ => row.number.to_string(),
        }
    }
}

impl JobRow {
    fn finished(&self) -> Option<&Finished> {
        match &self.fate {
            JobOutcome::Finished(finished) => Some(finished),
            JobOutcome::Rejected(_) => None,
        }
    }

    fn reason(&self) -> Option<&str> {
        match &self.fate {
            JobOutcome::Finished(_) => None,
            JobOutcome::Rejected(reason) => Some(reason),
        }
    }

    fn run(&self) -> Option<Span> {
        self.finished().map(|it| it.end - it.start)
    }

    fn wait(&self) -> Option<Span> {
        Some(self.finished()?.start - self.submit?)
    }

    fn turnaround(&self) -> Option<Span> {
        Some(self.finished()?.end - self.submit?)
    }

    fn final_state(&self) -> &'static str {
        match &self.fate {
            JobOutcome::Rejected(_) => "REJECTED",
            JobOutcome::Finished(it) => match it.ending {
                Ending::Completed => "COMPLETED_SUCCESSFULLY",
                Ending::Killed => "COMPLETED_WALLTIME_REACHED",
            },
        }
    }

    /// A job that was killed has not met its deadline: it has no result.
    fn deadline_met(&self) -> Option<bool> {
        let deadline = self.deadline?;
        let done = |it: &Finished| it.ending == Ending::Completed && it.end <= deadline;
        Some(self.finished().is_some_and(done))
    }
}

/// `jobs.parquet` being written, run by run.
#[derive(Debug)]
pub struct JobsFile<W: Write> {
    writer: Writer<W>,
}

impl<W: Write + Send> JobsFile<W> {
    /// An empty table.
    ///
    /// # Errors
    /// Those of `to`, here and below.
    pub fn new(to: W) -> io::Result<JobsFile<W>> {
        Ok(JobsFile { writer: Writer::new(to, FIELDS)? })
    }

    /// Appends the jobs of a run.
    ///
    /// # Errors
    /// Those of writing.
    pub fn run(&mut self, labels: &RunLabels, rows: &[JobRow]) -> io::Result<()> {
        rows.chunks(GROUP_ROWS).try_for_each(|rows| self.writer.group(&columns(labels, rows)))
    }

    /// Ends the file. `command` is the command line that made it, or what else says so: it must
    /// not differ from one run of the same work to the next.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self, command: &str) -> io::Result<W> {
        const UNITS: &str = "*_s: seconds, points in time on the log's clock; *_processor_s: \
                             processor-seconds; *_ucr: micro-credits (1 credit = 1,000,000)";
        let notes = [
            ("tradewind.version", env!("CARGO_PKG_VERSION")),
            ("tradewind.command", command),
            ("tradewind.units", UNITS),
        ];
        self.writer.finish(&notes.map(|(key, value)| (key.to_owned(), value.to_owned())))
    }
}

/// The table of a single run.
///
/// # Errors
/// When the names of logs are beyond all size.
pub fn jobs_parquet(labels: &RunLabels, rows: &[JobRow], command: &str) -> io::Result<Vec<u8>> {
    let mut file = JobsFile::new(Vec::new())?;
    file.run(labels, rows)?;
    file.finish(command)
}

/// The cells of `rows`, in the order of [`FIELDS`].
fn columns(labels: &RunLabels, rows: &[JobRow]) -> Vec<Cells> {
    let constant = |word: &str| {
        let of = vec![Some(0); rows.len()];
        Cells::Word { words: vec![word.to_owned()], of }
    };
    let whole = |of: fn(&JobRow) -> Option<i64>| Cells::Int64(rows.iter().map(of).collect());
    let flag = |of: fn(&JobRow) -> Option<bool>| Cells::Flag(rows.iter().map(of).collect());
    vec![
        constant(&labels.workload),
        constant(&labels.policy),
        constant(&labels.semantics),
        constant(&labels.overrun),
        constant(&labels.estimate),
        Cells::Double(vec![labels.load.map(|load| f64::from(load) / 1_000.0); rows.len()]),
        Cells::Int64(vec![labels.seed.map(u64::cast_signed); rows.len()]),
        words(rows.iter().map(|row| labels.log(row))),
        Cells::Text(rows.iter().map(|row| Some(labels.id(row))).collect()),
        whole(|row| row.submit.map(|it| it.0)),
        whole(|row| row.finished().map(|it| it.start.0)),
        whole(|row| row.finished().map(|it| it.end.0)),
        whole(|row| row.wait().map(|it| it.0)),
        whole(|row| row.run().map(|it| it.0)),
        whole(|row| row.turnaround().map(|it| it.0)),
        whole(|row| row.requested.map(|it| it.0)),
        Cells::Int32(rows.iter().map(|row| row.processors.map(u32::cast_signed)).collect()),
        Cells::Double(rows.iter().map(|row| slowdown(row, Span(0))).collect()),
        Cells::Double(rows.iter().map(|row| bounded(row, labels.slowdown_bound)).collect()),
        words(rows.iter().map(|row| Some(row.final_state()))),
        words(rows.iter().map(JobRow::reason)),
        flag(|row| row.finished().map(|it| it.backfilled)),
        flag(|row| row.finished().map(|it| it.ending == Ending::Killed)),
        whole(|row| row.finished().map(|it| it.busy.0)),
        whole(|row| Some(row.lost.0)),
        words(rows.iter().map(|row| row.finished()?.site.as_deref())),
        whole(|row| row.user),
        whole(|row| row.group),
        whole(|row| row.queue),
        whole(|row| row.finished()?.cost.map(|it| it.0)),
        whole(|row| row.budget.map(|it| it.0)),
        whole(|row| row.deadline.map(|it| it.0)),
        flag(JobRow::deadline_met),
    ]
}

/// Turnaround over run time, the latter at least `min`; none for a run of no length.
#[expect(clippy::cast_precision_loss, reason = "a quotient for reading; it decides nothing")]
fn slowdown(row: &JobRow, min: Span) -> Option<f64> {
    let run = row.run()?.max(min);
    (run.0 > 0).then_some(row.turnaround()?.0 as f64 / run.0 as f64)
}

fn bounded(row: &JobRow, min: Span) -> Option<f64> {
    slowdown(row, min).map(|it| it.max(1.0))
}

/// A column of few different words, numbered as they first appear.
fn words<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> Cells {
    let mut words: Vec<String> = Vec::new();
    let mut number = std::collections::BTreeMap::new();
    let of = cells
        .map(|cell| {
            let word = cell?;
            let next = words.len() as u32;
            Some(*number.entry(word).or_insert_with(|| {
                words.push(word.to_owned());
                next
            }))
        })
        .collect();
    Cells::Word { words, of }
}

#[cfg(test)]
mod tests;
