//! A workload of a campaign becomes jobs. Files are read once, whatever number of runs need them.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use tradewind_io::campaign::{self, Workload as Spec};
use tradewind_io::diagnostics::Diagnostics;
use tradewind_io::input::{self, Input};
use tradewind_io::{digest, swf};
use tradewind_model::Pools;
use tradewind_sim::load;
use tradewind_sim::workload::{self, LogJob, Workload};

use super::plan::Run;
use super::rules;
use crate::exit::Failure;

/// The files of one workload, and what is in them once somebody asked.
pub(super) struct Source<'a> {
    spec: &'a Spec,
    files: Vec<File>,
    logs: OnceLock<Result<Logs, Failure>>,
}

struct File {
    /// As stored: packed, if it is.
    input: Result<Input, Diagnostics>,
    sha256: Option<String>,
}

/// What is in the files.
pub(super) struct Logs {
    /// By name; a job's log is an index here.
    pub(super) names: Vec<String>,
    /// Jobs in the files' order, those without a submit time last in each.
    pub(super) jobs: Vec<LogJob>,
    /// By index of the job.
    pub(super) log_of: Vec<usize>,
    /// The machine.
    pub(super) pools: Arc<Pools>,
}

/// Jobs ready to be replayed, and those that they come from.
pub(super) struct Prepared<'a> {
    pub(super) jobs: Cow<'a, [LogJob]>,
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
        Source { spec, files: spec.logs.iter().map(file).collect(), logs: OnceLock::new() }
    }

    /// The hash of each file that could be read.
    pub(super) fn hashes(&self) -> Vec<Option<String>> {
        self.files.iter().map(|file| file.sha256.clone()).collect()
    }

    /// The jobs and the machine; parsed by whoever asks first.
    pub(super) fn logs(&self) -> Result<&Logs, Failure> {
        let logs = self.logs.get_or_init(|| self.parse());
        logs.as_ref().map_err(Failure::clone)
    }

    /// How many jobs there are, if somebody has looked and found them sound.
    pub(super) fn known_jobs(&self) -> Option<usize> {
        let logs = self.logs.get()?;
        Some(logs.as_ref().map_or(0, |logs| logs.jobs.len()))
    }

    /// What was taken for granted about logs that were read.
    pub(super) fn assumption(&self) -> Option<String> {
        let several = self.spec.logs.len() > 1 && self.spec.procs.is_none();
        let logs = self.logs.get().filter(|_| several)?.as_ref().ok()?;
        let (name, count) = (&self.spec.name, logs.pools.nodes());
        Some(format!("{name}: one machine of {count} processors, the most that a log names"))
    }

    fn parse(&self) -> Result<Logs, Failure> {
        let (mut names, mut jobs, mut log_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut largest = None;
        for file in &self.files {
            let packed = file.input.as_ref().map_err(|wrong| Failure::from(wrong.clone()))?;
            let log = swf::parse(&*input::unpacked(packed)?)?;
            let name = campaign::log_name(&log.name).to_owned();
            if names.contains(&name) {
                let failure = Failure::usage(format!("two logs are named `{name}`"));
                return Err(failure.hint("rename one: their jobs are told apart by it"));
            }
            add(&mut jobs, &log, names.len(), self.spec);
            log_of.resize(jobs.len(), names.len());
            names.push(name);
            largest = largest.max(log.header.max_procs());
        }
        if jobs.is_empty() {
            let failure = Failure::data(format!("{}: no job in this time", self.spec.name));
            return Err(failure.hint("submissions from `from` on and before `to` are replayed"));
        }
        let processors = self.spec.procs.or(largest).ok_or_else(|| {
            let message = format!("{}: no MaxProcs in the header", self.spec.logs.join(", "));
            Failure::data(message).hint("say how many processors the machine has: `--procs N`")
        })?;
        Ok(Logs { names, jobs, log_of, pools: Arc::new(Pools::cluster(processors)) })
    }

    /// What a run is made of.
    pub(super) fn prepare(&self, run: &Run) -> Result<Prepared<'_>, Failure> {
        let logs = self.logs()?;
        let jobs = match run.load {
            None => Cow::Borrowed(logs.jobs.as_slice()),
            Some(to) => load::scaled(&logs.jobs, logs.pools.nodes(), to.thousandths())
                .map(Cow::Owned)
                .ok_or_else(|| {
                    let message = format!("{}: cannot be brought to load {to}", self.spec.name);
                    Failure::data(message).hint("it needs jobs that ran, submitted over some time")
                })?,
        };
        let semantics = rules::semantics(run.semantics);
        let workload = workload::prepare(
            &jobs,
            Arc::clone(&logs.pools),
            semantics,
            rules::overrun(run.overrun),
        );
        Ok(Prepared { jobs, workload })
    }
}

/// Adds the jobs of the log at `index` that the workload takes.
fn add(jobs: &mut Vec<LogJob>, log: &swf::Log, index: usize, spec: &Spec) {
    /// Users of different logs are different, whatever their numbers.
    const USERS_APART: i64 = 1 << 51;
    let users = USERS_APART.saturating_mul(index as i64);
    let inside = |job: &&swf::Record| {
        spec.from.is_none_or(|from| job.submit >= from) && spec.to.is_none_or(|to| job.submit < to)
    };
    let sliced = spec.from.is_some() || spec.to.is_some();
    let undated = if sliced { &[] } else { log.undated.as_slice() };
    jobs.extend(log.jobs.iter().filter(inside).map(|job| dated(job, users)));
    jobs.extend(undated.iter().map(|job| LogJob { submit: None, ..dated(job, users) }));
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
