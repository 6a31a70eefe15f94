//! The queue of one pool, for agents that decide what starts.

use tradewind_model::{Command, Event, JobId, Market, Place, PoolId, Span, Time};
use tradewind_sched::policy::availability::expected_length;

/// A job of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineJob {
    pub(super) job: JobId,
    pub(super) processors: u32,
    pub(super) estimate: Span,
    pub(super) since: Time,
    /// Parts of its slowdown per second of waiting.
    rate: u64,
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
    /// By job: when it is expected to end.
    expected: Vec<Time>,
    /// Parts of slowdown that waiting jobs gain per second, and have gained.
    rate: u64,
    gained: u128,
    pub(super) commands: Vec<Command>,
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
    pub(super) fn new(market: &Market, jobs: usize) -> Line {
        Line {
            now: market.now(),
            nodes: market.processors(),
            free: market.processors(),
            waiting: Vec::new(),
            running: Vec::new(),
            expected: vec![Time(0); jobs],
            rate: 0,
            gained: 0,
            commands: Vec::new(),
        }
    }

    /// A pass begins.
    pub(super) fn open(&mut self, market: &Market, events: &[Event]) {
        let now = market.now();
        self.gained += u128::from(self.rate) * u128::from((now - self.now).0.unsigned_abs());
        self.now = now;
        for event in events {
            match event {
                Event::Submitted { job, demand } => {
                    let (processors, estimate) = (demand.processors, demand.estimate);
                    let rate = rate(estimate);
                    self.rate += rate;
                    let waiting = LineJob { job: *job, processors, estimate, since: now, rate };
                    self.waiting.push(waiting);
                }
                Event::Ended { job } => self.end(*job),
                _ => {}
            }
        }
        self.free = market.free_in(PoolId(0));
        self.correct(market);
    }

    fn end(&mut self, job: JobId) {
        let end = self.expected[job.index()];
        let at = self.running.partition_point(|it| (it.0, it.1) < (end, job));
        if self.running.get(at).is_some_and(|it| it.1 == job) {
            self.running.remove(at);
        }
    }

    /// Jobs that run on beyond their expected ends are expected to end later.
    fn correct(&mut self, market: &Market) {
        let pool = market.pools().pool(PoolId(0));
        while let Some(&(end, job, processors)) = self.running.first()
            && end <= self.now
        {
            let Some(run) = market.run_of(job) else { return };
            let length = expected_length(pool, run.demand, self.now - run.start);
            let later = run.start + length;
            self.running.remove(0);
            self.put(later, job, processors);
        }
    }

    fn put(&mut self, end: Time, job: JobId, processors: u32) {
        let at = self.running.partition_point(|it| (it.0, it.1) < (end, job));
        self.running.insert(at, (end, job, processors));
        self.expected[job.index()] = end;
    }

    /// Starts the waiting job at this place of the line.
    pub(super) fn start(&mut self, at: usize) -> LineJob {
        let waiting = self.waiting.remove(at);
        self.rate -= waiting.rate;
        self.free -= waiting.processors;
        self.put(self.now + waiting.estimate, waiting.job, waiting.processors);
        self.commands.push(Command::Start { job: waiting.job, place: Place::Pool(PoolId(0)) });
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

    /// A pass ends: jobs that may run on need another one then.
    pub(super) fn close(&mut self) {
        if let (Some(at), false) = (self.next_end(), self.waiting.is_empty()) {
            self.commands.push(Command::Wake { at });
        }
    }

    /// The parts of slowdown that waiting jobs have gained since the last call.
    pub(super) fn take_gained(&mut self) -> u128 {
        std::mem::take(&mut self.gained)
    }
}
