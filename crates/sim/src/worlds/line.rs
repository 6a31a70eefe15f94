//! The queue of one pool, for agents that decide what starts.

use tradewind_model::{Correction, Demand, JobId, Span, Time};
use tradewind_sched::policy::availability::expected_length;

use super::cluster::{Change, Cluster};

/// A job of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineJob {
    pub(super) job: JobId,
    pub(super) processors: u32,
    /// On the pool's nodes.
    pub(super) estimate: Span,
    pub(super) since: Time,
    /// Parts of its slowdown per second of waiting.
    rate: u64,
}

/// What is expected of a job.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// When it ends, once it runs.
    end: Time,
    estimate: Span,
    correction: Correction,
}

/// What waits and what runs in one pool without outages.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) now: Time,
    pub(super) nodes: u32,
    pub(super) free: u32,
    /// In the order of submission.
    pub(super) waiting: Vec<LineJob>,
    /// Expected ends, jobs and their processors, in this order.
    running: Vec<(Time, JobId, u32)>,
    /// By job.
    expected: Vec<Expected>,
    /// Parts of slowdown that waiting jobs gain per second, and have gained.
    rate: u64,
    gained: u128,
    /// Jobs that start in this pass, in this order.
    starts: Vec<JobId>,
    /// When the head's reservation begins, if a job waits.
    wake: Option<Time>,
}

/// A slowdown of 1 has so many parts.
pub(super) const PARTS: u64 = 1 << 32;
/// Slowdowns of shorter jobs are those of jobs of this length.
pub(super) const BOUND: Span = Span(10);

/// Parts of a slowdown per second of a job's waiting.
pub(super) fn rate(estimate: Span) -> u64 {
    PARTS / estimate.max(BOUND).0.unsigned_abs()
}

impl Line {
    pub(super) fn new(cluster: &Cluster) -> Line {
        let nodes = cluster.pool().nodes;
        Line {
            now: cluster.now(),
            nodes,
            free: nodes,
            waiting: Vec::new(),
            running: Vec::new(),
            expected: Vec::with_capacity(cluster.jobs()),
            rate: 0,
            gained: 0,
            starts: Vec::new(),
            wake: None,
        }
    }

    /// When the next pass is; `None`: all jobs have ended. As jobs may run on beyond their expected
    /// ends, there is one when the head's reservation begins.
    pub(super) fn next_pass(&self, cluster: &Cluster) -> Option<Time> {
        crate::engine::earlier(cluster.next(), self.wake)
    }

    /// A pass begins.
    pub(super) fn open(&mut self, at: Time, cluster: &mut Cluster) {
        cluster.open(at, self.waiting.first().map(|it| it.job));
        self.gained += u128::from(self.rate) * u128::from((at - self.now).0.unsigned_abs());
        self.now = at;
        while let Some(change) = cluster.happen() {
            match change {
                Change::Submitted(job, demand) => self.submit(job, &demand, cluster),
                Change::Ended(job) => self.end(job),
            }
        }
        self.correct(cluster);
    }

    fn submit(&mut self, job: JobId, demand: &Demand, cluster: &Cluster) {
        let Demand { processors, estimate, correction, .. } = *demand;
        self.expected.push(Expected { end: self.now, estimate, correction });
        let rate = rate(estimate);
        self.rate += rate;
        let estimate = cluster.pool().length_of(demand);
        self.waiting.push(LineJob { job, processors, estimate, since: self.now, rate });
    }

    fn end(&mut self, job: JobId) {
        let end = self.expected[job.index()].end;
        let at = self.running.partition_point(|it| (it.0, it.1) < (end, job));
        if self.running.get(at).is_some_and(|it| it.1 == job) {
            let (_, _, processors) = self.running.remove(at);
            self.free += processors;
        }
    }

    /// Jobs that run on beyond their expected ends are expected to end later.
    fn correct(&mut self, cluster: &Cluster) {
        while let Some(&(end, job, processors)) = self.running.first()
            && end <= self.now
        {
            let Expected { estimate, correction, .. } = self.expected[job.index()];
            let demand = Demand { correction, ..Demand::new(processors, estimate) };
            let start = cluster.start_of(job);
            let later = start + expected_length(cluster.pool(), &demand, self.now - start);
            self.running.remove(0);
            self.put(later, job, processors);
        }
    }

    fn put(&mut self, end: Time, job: JobId, processors: u32) {
        let at = self.running.partition_point(|it| (it.0, it.1) < (end, job));
        self.running.insert(at, (end, job, processors));
        self.expected[job.index()].end = end;
    }

    /// Starts the waiting job at this place of the line.
    pub(super) fn start(&mut self, at: usize) -> LineJob {
        let waiting = self.waiting.remove(at);
        self.rate -= waiting.rate;
        self.free -= waiting.processors;
        self.put(self.now + waiting.estimate, waiting.job, waiting.processors);
        self.starts.push(waiting.job);
        waiting
    }

    /// When so many processors are expected to be free, and how many more are free then.
    pub(super) fn reservation(&self, width: u32) -> (Time, u32) {
        let mut free = self.free;
        let mut ends = self.running.iter().peekable();
        while let Some(&(end, _, processors)) = ends.next() {
            free += processors;
            if free >= width && ends.peek().is_none_or(|next| next.0 > end) {
                return (end, free - width);
            }
        }
        (self.now, free.saturating_sub(width))
    }

    /// Whether the job can start now without delaying the one that holds this reservation.
    pub(super) fn overtakes(&self, waiting: &LineJob, (shadow, spare): (Time, u32)) -> bool {
        waiting.processors <= self.free
            && (self.now + waiting.estimate <= shadow || waiting.processors <= spare)
    }

    /// When the next running job is expected to end.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.running.first().map(|it| it.0)
    }

    /// A pass ends: what was decided is done. `held` is when the reservation begins, if the pass has
    /// made one.
    pub(super) fn close(&mut self, held: Option<Time>, cluster: &mut Cluster) {
        self.starts.drain(..).for_each(|job| cluster.start(job));
        let head = self.waiting.first();
        self.wake = head.map(|head| held.unwrap_or_else(|| self.reservation(head.processors).0));
    }

    /// The parts of slowdown that waiting jobs have gained since the last call.
    pub(super) fn take_gained(&mut self) -> u128 {
        std::mem::take(&mut self.gained)
    }
}
