//! A workload of a campaign becomes jobs. Files are read once, whatever number of runs need them.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use tradewind_io::campaign::{self, Workload as Spec};
use tradewind_io::diagnostics::Diagnostics;
use tradewind_io::input::{self, Input};
use tradewind_io::swf::transform::{self, Clock, Resample, Slice};
use tradewind_io::{digest, swf};
use tradewind_model::Pools;
use tradewind_sim::load;
use tradewind_sim::workload::{self, LogJob, Workload};

use super::plan::Run;
use super::{model, rules};
use crate::exit::Failure;

/// The files of one workload, and what is in them once somebody asked.
pub(super) struct Source<'a> {
    spec: &'a Spec,
    files: Vec<File>,
    read: OnceLock<Result<Machine, Failure>>,
}

struct File {
    /// As stored: packed, if it is.
    input: Result<Input, Diagnostics>,
    sha256: Option<String>,
}

/// What does not depend on a seed.
struct Machine {
    /// Those of the files; none with a model.
    logs: Vec<swf::Log>,
    pools: Arc<Pools>,
}

/// Jobs ready to be replayed, and what they come from.
pub(super) struct Prepared<'a> {
    /// As they are replayed, but for the times of submissions at another load.
    pub(super) logs: Cow<'a, [swf::Log]>,
    /// Of each log its dated jobs, then the others; the workload's jobs refer to these.
    pub(super) jobs: Vec<LogJob>,
    pub(super) workload: Workload,
}

impl<'a> Source<'a> {
    /// Reads the files of a workload, but does not look into them yet.
    pub(super) fn open(spec: &'a Spec) -> Source<'a> {
        let file = |path: &String| {
            let input = input::read_packed(path);
            let sha256 = input.as_ref().ok().map(|input| digest::sha256(&input.bytes));
            File { input, sha256 }
        };
        Source { spec, files: spec.logs.iter().map(file).collect(), read: OnceLock::new() }
    }

    /// The hash of each file that could be read.
    pub(super) fn hashes(&self) -> Vec<Option<String>> {
        self.files.iter().map(|file| file.sha256.clone()).collect()
    }

    /// How many jobs there are, if somebody has looked and found them sound.
    pub(super) fn known_jobs(&self) -> Option<usize> {
        let count = |log: &swf::Log| log.jobs.len() + log.undated.len();
        Some(match self.read.get()? {
            Ok(machine) => machine.logs.iter().map(count).sum(),
            Err(_) => 0,
        })
    }

    /// What was taken for granted about logs that were read.
    pub(super) fn assumption(&self) -> Option<String> {
        let several = self.spec.logs.len() > 1 && self.spec.procs.is_none();
        let machine = self.read.get().filter(|_| several)?.as_ref().ok()?;
        let (name, count) = (&self.spec.name, machine.pools.nodes());
        Some(format!("{name}: one machine of {count} processors, the most that a log names"))
    }

    /// What a run is made of.
    pub(super) fn prepare(&self, run: &Run) -> Result<Prepared<'_>, Failure> {
        let machine = self.read.get_or_init(|| self.machine()).as_ref().map_err(Failure::clone)?;
        let logs = self.drawn(machine, run.seed.unwrap_or_default())?;
        let mut jobs = jobs_of(&logs);
        if let Some(to) = run.load {
            let scaled = load::scaled(&jobs, machine.pools.nodes(), to.thousandths());
            jobs = scaled.ok_or_else(|| {
                let message = format!("{}: cannot be brought to load {to}", self.spec.name);
                Failure::data(message).hint("it needs jobs that ran, submitted over some time")
            })?;
        }
        let (semantics, overrun) = (rules::semantics(run.semantics), rules::overrun(run.overrun));
        let workload = workload::prepare(&jobs, Arc::clone(&machine.pools), semantics, overrun);
        Ok(Prepared { logs, jobs, workload })
    }

    /// The logs, or what a seed makes of them or of a model.
    fn drawn<'m>(&self, machine: &'m Machine, seed: u64) -> Result<Cow<'m, [swf::Log]>, Failure> {
        if let Some(text) = &self.spec.model {
            let model = model::read(text, machine.pools.nodes())?;
            return Ok(Cow::Owned(vec![self.sliced(model.draw(seed))]));
        }
        let Some(users) = self.spec.users else { return Ok(Cow::Borrowed(&machine.logs)) };
        let options = Resample { users: Some(users), ..Resample::default() };
        let resampled = |log: &swf::Log| match is_empty(log) {
            true => Ok(log.clone()),
            false => transform::resample(log, seed, options)
                .map_err(|error| Failure::data(format!("{}: {error}", self.spec.name))),
        };
        machine.logs.iter().map(resampled).collect::<Result<_, _>>().map(Cow::Owned)
    }

    fn machine(&self) -> Result<Machine, Failure> {
        let mut logs: Vec<swf::Log> = Vec::new();
        for file in &self.files {
            let packed = file.input.as_ref().map_err(|wrong| Failure::from(wrong.clone()))?;
            let mut log = swf::parse(&*input::unpacked(packed)?)?;
            log.name = campaign::log_name(&log.name).to_owned();
            if logs.iter().any(|other| other.name == log.name) {
                let failure = Failure::usage(format!("two logs are named `{}`", log.name));
                return Err(failure.hint("rename one: their jobs are told apart by it"));
            }
            logs.push(self.sliced(log));
        }
        let largest = logs.iter().filter_map(|log| log.header.max_procs()).max();
        let processors = self.spec.procs.or(largest).ok_or_else(|| {
            let message = format!("{}: no MaxProcs in the header", self.spec.logs.join(", "));
            Failure::data(message).hint("say how many processors the machine has: `--procs N`")
        })?;
        Ok(Machine { logs: self.checked(logs)?, pools: Arc::new(Pools::cluster(processors)) })
    }

    fn sliced(&self, log: swf::Log) -> swf::Log {
        let (from, to) = (self.spec.from, self.spec.to);
        match from.is_none() && to.is_none() {
            true => log,
            false => transform::slice(&log, Slice { from, to, clock: Clock::Kept }),
        }
    }

    /// There must be something to replay.
    fn checked(&self, logs: Vec<swf::Log>) -> Result<Vec<swf::Log>, Failure> {
        match self.spec.model.is_none() && logs.iter().all(is_empty) {
            false => Ok(logs),
            true => {
                let failure = Failure::data(format!("{}: no job in this time", self.spec.name));
                Err(failure.hint("submissions from `from` on and before `to` are replayed"))
            }
        }
    }
}

fn is_empty(log: &swf::Log) -> bool {
    log.jobs.is_empty() && log.undated.is_empty()
}

impl Prepared<'_> {
    /// The log and the record that each job comes from.
    pub(super) fn records(&self) -> impl Iterator<Item = (usize, &swf::Record)> {
        self.logs.iter().enumerate().flat_map(|(index, log)| {
            log.jobs.iter().chain(&log.undated).map(move |record| (index, record))
        })
    }

    /// The log of each job.
    pub(super) fn log_of(&self) -> impl Iterator<Item = usize> {
        self.records().map(|(log, _)| log)
    }
}

/// The jobs of all logs. Users of different logs are different, whatever their numbers.
fn jobs_of(logs: &[swf::Log]) -> Vec<LogJob> {
    const USERS_APART: i64 = 1 << 51;
    let count = logs.iter().map(|log| log.jobs.len() + log.undated.len()).sum();
    let mut jobs = Vec::with_capacity(count);
    for (index, log) in logs.iter().enumerate() {
        let users = USERS_APART.saturating_mul(index as i64);
        jobs.extend(log.jobs.iter().map(|job| dated(job, users)));
        jobs.extend(log.undated.iter().map(|job| LogJob { submit: None, ..dated(job, users) }));
    }
    jobs
}

/// A job of the log; its width is what it got, or else what it asked for.
fn dated(job: &swf::Record, users: i64) -> LogJob {
    LogJob {
        number: job.number,
        submit: Some(job.submit),
        run: job.run,
        processors: job.held(),
        requested: job.requested_time.filter(|span| span.0 > 0),
        user: job.user.saturating_add(users),
        terms: None,
    }
}
