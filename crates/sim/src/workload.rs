//! What a log says becomes jobs that can be replayed.

use std::sync::Arc;

use tradewind_model::{Pool, PoolId, Pools, Preemptible, Span, Standing, Terms, Time, TimeMode};
use tradewind_sched::policy::owners::SiteRule;

use crate::feedback::Link;
use crate::outage::AnnouncedOutage;
use crate::semantics::Semantics;

/// One job as a log has it; `None` and widths of 0 stand for what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogJob {
    /// The log's number for it.
    pub number: i64,
    /// When it was submitted; `None` if the log does not say.
    pub submit: Option<Time>,
    /// How long it ran.
    pub run: Option<Span>,
    /// Number of processors it wants.
    pub processors: Option<u32>,
    /// How long it asked to run.
    pub requested: Option<Span>,
    /// Number of the user.
    pub user: i64,
    /// Price, budget, deadline and the like.
    pub terms: Option<Arc<Terms>>,
}

/// What happens to a job that exceeds its requested time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overrun {
    /// It is killed at that moment.
    #[default]
    Kill,
    /// It runs on.
    Extend,
}

/// A job that can be replayed. Times are on the reference node, unless its terms say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its index in the log as it was given.
    pub source: usize,
    /// The log's number for it.
    pub number: i64,
    /// When it is submitted.
    pub submit: Time,
    /// How long it will really run.
    pub run: Span,
    /// Processors, at least 1.
    pub processors: u32,
    /// How long its user says it runs: at least 1 s.
    pub requested: Span,
    /// Number of the user.
    pub user: i64,
    /// Whether it is killed at the end of `run`.
    pub killed: bool,
    /// Price, budget, deadline and the like.
    pub terms: Option<Arc<Terms>>,
}

impl Job {
    /// The same job in its shape of this width: it runs for the same share of what that shape asks for.
    /// As it is, if it has no such shape.
    pub fn in_shape(&self, nodes: u32) -> Job {
        let Some(shapes) = self.terms.as_ref().and_then(|terms| terms.shapes.as_ref()) else {
            return self.clone();
        };
        if shapes.of_width(nodes).is_none() {
            return self.clone();
        }
        let scale = |time: Span| match time {
            Span(..=0) => time,
            _ => shapes.scaled(time, self.processors, nodes),
        };
        let (run, requested) = (scale(self.run), scale(self.requested));
        Job { run, requested, processors: nodes, ..self.clone() }
    }

    /// How long it really has nodes of the pool: it runs there, and its data is brought.
    pub fn length_in(&self, pool: &Pool) -> Span {
        self.length_after(Span::ZERO, pool)
    }

    /// The same of a run that goes on from what earlier ones have kept.
    pub fn length_after(&self, kept: Span, pool: &Pool) -> Span {
        let mode = self.terms.as_ref().map_or(TimeMode::WORK, |terms| terms.times);
        let staging = self.terms.as_ref().map_or(Span::ZERO, |terms| terms.staging(pool.site));
        pool.length_in(mode, self.run_after(kept)) + staging
    }

    fn run_after(&self, kept: Span) -> Span {
        match self.preemptible().filter(|_| kept > Span::ZERO) {
            Some(it) => Span((self.run.0 - kept.0).max(0)) + it.restart,
            None => self.run,
        }
    }

    /// Whether its nodes may be taken away, and what it keeps.
    pub fn preemptible(&self) -> Option<Preemptible> {
        self.terms.as_ref()?.preemptible
    }
}

/// Why a job can never run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The log does not say when it was submitted.
    NoSubmit,
    /// The log does not say how long it ran.
    NoRun,
    /// The log does not say how many processors it wants.
    NoProcessors,
    /// It wants more processors than there are.
    TooWide,
}

impl Refusal {
    /// A short fixed name for scripts.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::NoSubmit => "no-submit-time",
            Refusal::NoRun => "no-run-time",
            Refusal::NoProcessors => "no-processors",
            Refusal::TooWide => "wider-than-grid",
        }
    }

    /// In a few words.
    pub fn text(self) -> &'static str {
        match self {
            Refusal::NoSubmit => "no submit time",
            Refusal::NoRun => "no run time",
            Refusal::NoProcessors => "no number of processors",
            Refusal::TooWide => "wider than the machine",
        }
    }
}

/// Jobs to replay on a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The pools of the grid.
    pub pools: Arc<Pools>,
    /// When nodes are missing; see [`crate::outage::in_order`].
    pub outages: Vec<AnnouncedOutage>,
    /// By submit time, then by number, then as in the log.
    pub jobs: Vec<Job>,
    /// Jobs that can never run, in the order of the log.
    pub rejected: Vec<Rejected>,
    /// Jobs of sites' owners, with queues of their own.
    pub owners: Vec<OwnersLoad>,
    /// Which jobs are submitted when others are over, at most one link per job; see
    /// [`feedback::kept`](crate::feedback::kept).
    pub links: Vec<Link>,
}

/// A job that can never run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its index in the log as it was given.
    pub source: usize,
    /// The reason.
    pub why: Refusal,
    /// As it would run if it were not too wide; `None` if the log says too little of it.
    pub job: Option<Box<Job>>,
}

impl Workload {
    /// Jobs in the order of their submission, and nothing else.
    pub fn new(pools: Arc<Pools>, jobs: Vec<Job>) -> Workload {
        Workload {
            pools,
            outages: Vec::new(),
            jobs,
            rejected: Vec::new(),
            owners: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Nodes of the whole grid.
    pub fn processors(&self) -> u32 {
        self.pools.nodes()
    }
}

/// The jobs of a site's owners, and the scheduler that they wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersLoad {
    /// The pools that they may use, each job one of them. Loads of one grid share no pool.
    pub pools: Vec<PoolId>,
    /// How the site's scheduler works.
    pub rule: SiteRule,
    /// Where the market's jobs stand.
    pub market: Standing,
    /// By submit time, then by number, then as in the log. Their times are wall-clock times,
    /// whatever the performance of the pools.
    pub jobs: Vec<Job>,
    /// Jobs that can never run, in the order of the log.
    pub rejected: Vec<Rejected>,
}

impl OwnersLoad {
    /// Takes the jobs of a log. A job that is wider than the widest of the pools is rejected.
    pub fn new(
        log: &[LogJob],
        grid: &Pools,
        pools: Vec<PoolId>,
        rule: SiteRule,
        overrun: Overrun,
    ) -> OwnersLoad {
        let widest = pools.iter().map(|pool| grid.pool(*pool).nodes).max().unwrap_or(0);
        let cluster = Arc::new(Pools::cluster(widest));
        let Workload { jobs, rejected, .. } = prepare(log, cluster, Semantics::Textbook, overrun);
        OwnersLoad { pools, rule, market: Standing::Behind, jobs, rejected }
    }
}

/// Takes the jobs of a log for a grid; there are no outages and no owners' jobs.
///
/// Textbook semantics: a run time of 0 stays 0; a job without a requested time is taken to ask
/// for its run time. Pyss semantics: run and width of 0 or less, or missing, are 1; a job is
/// expected to run for the larger of request and run, and runs for the smaller.
pub fn prepare(
    log: &[LogJob],
    pools: Arc<Pools>,
    semantics: Semantics,
    overrun: Overrun,
) -> Workload {
    let mut workload = Workload::new(pools, Vec::with_capacity(log.len()));
    let processors = workload.processors();
    for (source, job) in log.iter().enumerate() {
        match replayable(job, semantics, overrun) {
            Ok(job) if job.processors > processors => {
                let (why, job) = (Refusal::TooWide, Some(Box::new(Job { source, ..job })));
                workload.rejected.push(Rejected { source, why, job });
            }
            Ok(job) => workload.jobs.push(Job { source, ..job }),
            Err(why) => workload.rejected.push(Rejected { source, why, job: None }),
        }
    }
    workload.jobs.sort_by_key(|job| (job.submit, job.number));
    workload
}

/// A job of a log as it can be replayed on a machine that is wide enough; see [`prepare`].
///
/// # Errors
/// If the log says too little of it.
pub fn replayable(job: &LogJob, semantics: Semantics, overrun: Overrun) -> Result<Job, Refusal> {
    match semantics {
        Semantics::Textbook => textbook(job, overrun),
        Semantics::Pyss => pyss(job),
    }
}

fn textbook(job: &LogJob, overrun: Overrun) -> Result<Job, Refusal> {
    let submit = job.submit.ok_or(Refusal::NoSubmit)?;
    let run = job.run.ok_or(Refusal::NoRun)?;
    let processors = job.processors.filter(|count| *count > 0).ok_or(Refusal::NoProcessors)?;
    let requested = job.requested.filter(|span| span.0 > 0).unwrap_or(run).max(Span(1));
    let killed = overrun == Overrun::Kill && run > requested;
    let run = if killed { requested } else { run };
    Ok(Job { submit, run, processors, requested, killed, ..named(job) })
}

fn pyss(job: &LogJob) -> Result<Job, Refusal> {
    let submit = job.submit.ok_or(Refusal::NoSubmit)?;
    let run = job.run.filter(|span| span.0 > 0).unwrap_or(Span(1));
    let asked = job.requested.filter(|span| span.0 > 0).unwrap_or(run);
    let processors = job.processors.unwrap_or(1).max(1);
    let (requested, killed) = (asked.max(run), run > asked);
    Ok(Job { submit, run: run.min(asked), processors, requested, killed, ..named(job) })
}

/// What needs no reading.
fn named(job: &LogJob) -> Job {
    Job {
        source: 0,
        number: job.number,
        submit: Time(0),
        run: Span::ZERO,
        processors: 1,
        requested: Span(1),
        user: job.user,
        killed: false,
        terms: job.terms.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_job(run: Option<i64>, processors: Option<u32>, requested: Option<i64>) -> LogJob {
        let (run, requested) = (run.map(Span), requested.map(Span));
        LogJob {
            number: 7,
            submit: Some(Time(3)),
            run,
            processors,
            requested,
            user: 1,
            terms: None,
        }
    }

    fn one(
        job: LogJob,
        semantics: Semantics,
        overrun: Overrun,
    ) -> Result<(i64, i64, bool), Refusal> {
        let workload = prepare(&[job], Arc::new(Pools::cluster(4)), semantics, overrun);
        match workload.jobs.first() {
            Some(job) => Ok((job.run.0, job.requested.0, job.killed)),
            None => Err(workload.rejected[0].why),
        }
    }

    #[test]
    fn textbook_reads_what_is_there() {
        let read = |job, overrun| one(job, Semantics::Textbook, overrun);
        let long = log_job(Some(9), Some(2), Some(5));
        assert_eq!(read(long.clone(), Overrun::Kill), Ok((5, 5, true)));
        assert_eq!(read(long, Overrun::Extend), Ok((9, 5, false)));
        assert_eq!(read(log_job(Some(0), Some(1), None), Overrun::Kill), Ok((0, 1, false)));
        assert_eq!(read(log_job(None, Some(1), None), Overrun::Kill), Err(Refusal::NoRun));
        assert_eq!(
            read(log_job(Some(1), Some(0), None), Overrun::Kill),
            Err(Refusal::NoProcessors)
        );
        assert_eq!(read(log_job(Some(1), Some(5), None), Overrun::Kill), Err(Refusal::TooWide));
    }

    #[test]
    fn pyss_makes_ones_of_nothings() {
        let read = |job| one(job, Semantics::Pyss, Overrun::Kill);
        assert_eq!(read(log_job(Some(9), Some(2), Some(5))), Ok((5, 9, true)));
        assert_eq!(read(log_job(Some(0), Some(0), Some(5))), Ok((1, 5, false)));
        assert_eq!(read(log_job(None, None, None)), Ok((1, 1, false)));
    }

    #[test]
    fn unsorted_logs_are_put_in_order() {
        let at = |number, submit| LogJob {
            number,
            submit: Some(Time(submit)),
            ..log_job(Some(1), Some(1), None)
        };
        let log = [at(3, 5), at(2, 9), at(1, 5)];
        let workload =
            prepare(&log, Arc::new(Pools::cluster(4)), Semantics::Textbook, Overrun::Kill);
        assert_eq!(workload.jobs.iter().map(|job| job.source).collect::<Vec<_>>(), [2, 0, 1]);
    }
}
