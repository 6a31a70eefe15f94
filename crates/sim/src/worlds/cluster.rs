//! The jobs of one cluster on their way through an episode: submissions, starts and ends.
//!
//! The order within a second is that of [`Semantics::Textbook`](crate::Semantics), and what is
//! written down is what the engine of all replays would write down; tests compare the two. One pool
//! of whole nodes and jobs without terms need no market, and a decision costs a third without it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use tradewind_model::{Demand, Event, JobId, Place, Pool, PoolId, Share, Time};

use crate::engine::earlier;
use crate::estimate::{Estimate, Estimator};
use crate::feedback::Feed;
use crate::result::{Ran, Run};
use crate::workload::Workload;

/// What happens to jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A job joins the queue.
    Submitted(JobId, Demand),
    /// A job gives its nodes back.
    Ended(JobId),
}

/// One pool without outages, and jobs without terms.
pub(super) struct Cluster {
    workload: Arc<Workload>,
    feed: Feed,
    estimator: Estimator,
    now: Time,
    /// Ends of running jobs; equal ones in the order of starts.
    ends: BinaryHeap<Reverse<(Time, u32, JobId)>>,
    submitted: u32,
    started: u32,
    /// Nodes in use, and as it was when the pass began.
    used: u32,
    used_before: u32,
    ran: Vec<Ran>,
    /// Jobs that started in this second.
    begun: Vec<JobId>,
    income: i128,
    passes: u64,
}

impl Cluster {
    pub(super) fn new(workload: Arc<Workload>, estimate: Estimate) -> Cluster {
        let from = crate::replay::beginning(&workload);
        Cluster {
            feed: Feed::new(&workload.jobs, &workload.links),
            estimator: Estimator::new(estimate),
            now: from,
            ends: BinaryHeap::new(),
            submitted: 0,
            started: 0,
            used: 0,
            used_before: 0,
            ran: vec![Ran::nothing(from); workload.jobs.len()],
            begun: Vec::new(),
            income: 0,
            passes: 0,
            workload,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn pool(&self) -> &Pool {
        self.workload.pools.pool(PoolId(0))
    }

    pub(super) fn jobs(&self) -> usize {
        self.workload.jobs.len()
    }

    pub(super) fn start_of(&self, job: JobId) -> Time {
        self.ran[job.index()].start
    }

    /// When a job is submitted or ends next.
    pub(super) fn next(&self) -> Option<Time> {
        let submit = self.feed.next(&self.workload.jobs).map(|at| at.max(self.now));
        earlier(submit, self.ends.peek().map(|Reverse((at, ..))| *at))
    }

    /// A pass begins at `at`; `head` is the first job that waits.
    pub(super) fn open(&mut self, at: Time, head: Option<JobId>) {
        self.passes += 1;
        if at > self.now {
            self.close_second(head);
        }
        self.now = at;
    }

    /// As of a replay: see there.
    fn close_second(&mut self, head: Option<JobId>) {
        for job in self.begun.drain(..) {
            self.ran[job.index()].backfilled = head.is_some_and(|head| head < job);
        }
    }

    /// What happens next in this second: all ends, then all submissions.
    pub(super) fn happen(&mut self) -> Option<Change> {
        match self.ends.peek() {
            Some(&Reverse((at, _, job))) if at <= self.now => {
                self.ends.pop();
                self.end(job);
                Some(Change::Ended(job))
            }
            _ => {
                self.used_before = self.used;
                self.submit()
            }
        }
    }

    fn end(&mut self, job: JobId) {
        let logged = self.feed.job(&self.workload.jobs, job);
        self.estimator.ended(job, logged, self.now);
        self.used -= logged.processors;
        self.income += i128::from(self.ran[job.index()].cost.0);
        self.feed.over(&self.workload.jobs, job, self.now);
    }

    fn submit(&mut self) -> Option<Change> {
        let job = JobId(self.submitted);
        let next = self.feed.take(&self.workload.jobs, self.now)?;
        let (estimate, correction) = self.estimator.of(job, next, self.now);
        let demand = Demand { correction, ..Demand::new(next.processors, estimate) };
        self.submitted += 1;
        Some(Change::Submitted(job, demand))
    }

    /// The job starts now.
    pub(super) fn start(&mut self, job: JobId) {
        let logged = self.feed.job(&self.workload.jobs, job);
        let (length, nodes) = (logged.length_in(self.pool()), logged.processors);
        let cost = match self.workload.pools.load_price(PoolId(0)) {
            None => self.workload.pools.cost(Share { pool: PoolId(0), nodes }, self.now, length),
            Some(price) => price.at(self.used_before, self.pool().nodes).of(nodes, length),
        };
        self.used += nodes;
        let ran = &mut self.ran[job.index()];
        (ran.start, ran.end, ran.cost) = (self.now, self.now + length, cost);
        self.ends.push(Reverse((ran.end, self.started, job)));
        self.started += 1;
        self.begun.push(job);
        if self.estimator.may_fall_short() {
            self.estimator
                .happened(&Event::Started { job, place: Place::Pool(PoolId(0)) }, self.now);
        }
    }

    /// What the replay gave, once all jobs have ended.
    pub(super) fn finish(mut self) -> Run {
        self.close_second(None);
        let mut income = vec![0; self.workload.pools.sites().len()];
        income[self.pool().site.0 as usize] = self.income;
        Run {
            jobs: self.ran,
            submitted: self.feed.finish(),
            trades: Vec::new(),
            lost: Vec::new(),
            kept: BTreeMap::new(),
            income,
            passes: self.passes,
            owners: Vec::new(),
            counts: Vec::new(),
        }
    }
}
