//! When the waiting jobs of one pool will start, if nothing more is submitted: the pool's queue runs
//! in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use tradewind_model::{JobId, Span, Time};

use super::{LocalScheduler, Origin, Plain, PlainSettings, SiteJob};

/// A job as the look-ahead sees it: the scheduler decides by the length that it knows, the job runs for as
/// long as it is expected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedJob {
    /// Which, with its width and the length that the scheduler reckons with.
    pub wanted: SiteJob,
    /// How long it is expected to run in all, at least 1 s and at most `wanted.length`.
    pub length: Span,
}

/// How many moments of virtual time one look-ahead may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments(pub u32);

/// A pool with its running and waiting jobs at one moment.
#[derive(Debug)]
pub struct LookAhead {
    now: Time,
    processors: u32,
    plain: Plain,
    ends: BinaryHeap<Reverse<(Time, JobId, u32)>>,
    waiting: Vec<ExpectedJob>,
    started: BTreeSet<JobId>,
}

impl LookAhead {
    /// A pool of so many processors at `now`, with nothing to do.
    pub fn new(processors: u32, settings: PlainSettings, now: Time) -> LookAhead {
        LookAhead {
            now,
            processors: processors.max(1),
            plain: Plain::new(processors, settings),
            ends: BinaryHeap::new(),
            waiting: Vec::new(),
            started: BTreeSet::new(),
        }
    }

    /// A job runs since `start`. Its lengths are in all, and longer than what it has run for.
    pub fn runs(&mut self, job: ExpectedJob, start: Time) {
        let ExpectedJob { wanted, length } = job;
        self.plain.adopt(wanted, start, self.now);
        let end = (start + length.min(wanted.length)).max(self.now + Span(1));
        self.ends.push(Reverse((end, wanted.job, wanted.processors)));
    }

    /// A job waits. In the order of the ids of jobs.
    pub fn waits(&mut self, job: ExpectedJob) {
        self.plain.join(job.wanted, Origin::Local, self.now);
        self.waiting.push(job);
    }

    /// A job waits that is not looked at: it counts as work before those behind it, and its own
    /// start is when the work up to it is done.
    pub fn counts(&mut self, job: ExpectedJob) {
        self.waiting.push(job);
    }

    /// Expected starts of `jobs`, which wait, in their order.
    ///
    /// Exact for the scheduler's rule and these lengths as long as `most` suffices. A job that has
    /// not started by then is expected once the work that waits before it is done by all
    /// processors. A pass of the queue for each moment.
    pub fn starts(mut self, jobs: &[JobId], most: Moments) -> Vec<Time> {
        let mut starts: Vec<Option<Time>> = vec![None; jobs.len()];
        let mut open = jobs.len();
        let (mut begun, mut surplus) = (Vec::new(), Vec::new());
        for _ in 0..most.0 {
            self.plain.decide(self.now, &mut begun, &mut surplus);
            for job in begun.drain(..) {
                self.start(job);
                if let Ok(at) = jobs.binary_search(&job) {
                    starts[at] = Some(self.now);
                    open -= 1;
                }
            }
            if open == 0 || !self.pass_on() {
                break;
            }
        }
        let estimated =
            |(job, start): (&JobId, Option<Time>)| start.unwrap_or_else(|| self.drained(*job));
        jobs.iter().zip(starts).map(estimated).collect()
    }

    fn start(&mut self, job: JobId) {
        self.started.insert(job);
        if let Ok(at) = self.waiting.binary_search_by_key(&job, |other| other.wanted.job) {
            let ExpectedJob { wanted, length } = self.waiting[at];
            let length = length.min(wanted.length).max(Span(1));
            self.ends.push(Reverse((self.now + length, job, wanted.processors)));
        }
    }

    /// Comes to the next moment at which nodes become free. Whether there is one.
    fn pass_on(&mut self) -> bool {
        let Some(Reverse((at, ..))) = self.ends.peek() else { return false };
        self.now = *at;
        while let Some(Reverse((at, job, _))) = self.ends.peek().copied()
            && at <= self.now
        {
            self.ends.pop();
            self.plain.ended(job, Span::ZERO, at);
        }
        true
    }

    /// When all work that runs, or waits no later than this job, is done.
    fn drained(&self, job: JobId) -> Time {
        let left = self.ends.iter().map(|Reverse((end, _, processors))| {
            i128::from((*end - self.now).0) * i128::from(*processors)
        });
        let before = self
            .waiting
            .iter()
            .filter(|it| it.wanted.job < job && !self.started.contains(&it.wanted.job));
        let before = before.map(|it| i128::from(it.length.0) * i128::from(it.wanted.processors));
        let work: i128 = left.chain(before).sum();
        let span = work / i128::from(self.processors);
        self.now + Span(i64::try_from(span).unwrap_or(i64::MAX / 4).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::backfill::Depth;
    use crate::policy::local::QueueOrder;

    const EASY: PlainSettings = PlainSettings { depth: Depth::First(1), turn: QueueOrder::Arrival };

    fn job(id: u32, processors: u32, told: i64, length: i64) -> ExpectedJob {
        let wanted = SiteJob { job: JobId(id), processors, length: Span(told), submitted: Time(0) };
        ExpectedJob { wanted, length: Span(length) }
    }

    #[test]
    fn the_scheduler_decides_by_requests_and_jobs_end_when_expected() {
        let mut ahead = LookAhead::new(4, EASY, Time(100));
        ahead.runs(job(0, 3, 1_000, 50), Time(60));
        ahead.waits(job(1, 4, 10, 10));
        ahead.waits(job(2, 1, 1_000, 5));
        ahead.waits(job(3, 1, 900, 5));
        let starts = ahead.starts(&[JobId(1), JobId(2), JobId(3)], Moments(100));
        // The head is promised 1,060: the third job ends by then, the second would not.
        assert_eq!(starts, [Time(110), Time(120), Time(100)]);
    }

    #[test]
    fn beyond_the_last_moment_work_is_shared_by_all_processors() {
        let mut ahead = LookAhead::new(2, EASY, Time(0));
        ahead.runs(job(0, 2, 100, 100), Time(0));
        ahead.waits(job(1, 1, 60, 60));
        ahead.waits(job(2, 2, 60, 60));
        ahead.waits(job(3, 2, 60, 60));
        assert_eq!(ahead.starts(&[JobId(3)], Moments(1)), [Time(100 + 30 + 60)]);
    }
}
