//! A site in memory: its clock, its owner and its faults do as a test says.
//!
//! Nothing happens but by calls, and the same calls give the same answers: it has no clock, no
//! threads and no chance of its own.

mod aside;
mod behaviour;
mod cluster;
mod gather;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tradewind_io::submission::signal::Warning;
use tradewind_model::{Span, Time};

pub use self::behaviour::{Behaviour, Temper, work, work_of};
use self::cluster::FakeCluster;
use super::queued::QueuedJob;
use super::{
    Aside, Exit, Finding, Go, LocalTask, Order, PoolSetup, PoolSurvey, Seen, Site, SiteError,
    Survey, Tag, Verdict,
};

/// What goes wrong with one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing is done; the answer says so.
    Away,
    /// Nothing is done; the site says no. Surveys are away instead.
    Refused,
    /// Nothing is done; no answer.
    LostBefore,
    /// It is done; no answer.
    LostAfter,
    /// It is done after so long, if the site is still there then; no answer.
    Late(Span),
    /// The request arrives twice; the answer is the second one's.
    Twice,
    /// A survey that is not true, in one of [`InjectedFault::GARBAGE`] ways; other calls are answered
    /// with words that say nothing, after they were done.
    Garbage(u32),
    /// A survey that is as old as the last one that was answered, or away if there is none;
    /// other calls go well.
    Stale,
}

impl InjectedFault {
    /// So many ways of garbage there are.
    pub const GARBAGE: u32 = 6;
}

/// A job of the owner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalJob {
    /// Index of the pool.
    pub pool: usize,
    /// Nodes of it; it waits until so many are free.
    pub nodes: u32,
    /// Surveys have it from then on, even before it starts. Once it starts they have it anyway.
    pub shown: Time,
    /// When it wants to start. It comes before tasks of ours that wait.
    pub from: Time,
    /// How long it runs.
    pub length: Span,
}

/// What really ran, whatever the site reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Tag of the job.
    pub tag: Tag,
    /// Index of the pool.
    pub pool: usize,
    /// Nodes of it.
    pub nodes: BTreeSet<u32>,
    /// Moment of the start.
    pub since: Time,
    /// If it waited for others: the moment that it got for its begin.
    pub told: Option<Time>,
    /// Until when, and how it ended; `None`: it runs.
    pub ended: Option<(Time, Exit)>,
}

/// A request that arrives late.
#[derive(Debug, Clone)]
enum Request {
    Submit(Box<Order>),
    Withdraw(Tag),
    Recall(Tag),
    Forget(Tag),
    Go(Tag, Go),
    Notify(Tag),
}

/// The site. A clone is a world of its own.
#[derive(Debug, Clone)]
pub struct FakeSite {
    cluster: FakeCluster,
    /// What goes wrong with the next calls, in order.
    faults: VecDeque<Option<InjectedFault>>,
    /// What goes wrong with all calls when that list is empty.
    weather: Option<InjectedFault>,
    /// By the moment of arrival, in order of sending.
    late: BTreeMap<Time, Vec<Request>>,
    /// The last survey that was answered.
    last: Option<Survey>,
}

impl FakeSite {
    /// An idle one.
    pub fn new(pools: Vec<PoolSetup>, now: Time) -> FakeSite {
        FakeSite {
            cluster: FakeCluster::new(pools, now),
            faults: VecDeque::new(),
            weather: None,
            late: BTreeMap::new(),
            last: None,
        }
    }

    /// Time of its clock.
    pub fn now(&self) -> Time {
        self.cluster.now
    }

    /// Lets time pass up to that moment; a moment that is past changes nothing. Takes time in
    /// the tasks that live, for each thing that happens.
    pub fn advance(&mut self, to: Time) {
        while let Some((at, requests)) = self.late.pop_first() {
            if at > to {
                self.late.insert(at, requests);
                break;
            }
            self.cluster.advance(at);
            for request in requests {
                // The answer is lost.
                let _ = self.carry_out(&request);
            }
        }
        self.cluster.advance(to);
    }

    /// The next call after those that were planned before goes like this; `None`: well.
    pub fn plan(&mut self, fault: Option<InjectedFault>) {
        self.faults.push_back(fault);
    }

    /// All calls go like this when no plan is left; `None`: well.
    pub fn weather(&mut self, fault: Option<InjectedFault>) {
        self.weather = fault;
    }

    /// The owner hands a job in; one of this name is replaced.
    pub fn set_local(&mut self, name: &str, job: LocalJob) {
        self.cluster.set_own(name, job);
    }

    /// From now on surveys list these jobs of others as waiting, in this order, behind the owner's
    /// jobs that wait for nodes here. Nothing else follows: they never start.
    pub fn set_queue(&mut self, jobs: Vec<QueuedJob>) {
        self.cluster.queue = jobs;
    }

    /// The owner takes it back, or it ends early.
    pub fn end_local(&mut self, name: &str) {
        self.cluster.end_own(name);
    }

    /// The manager's operator holds a task that waits; it does not start until it is released.
    pub fn hold(&mut self, tag: &Tag, max: Span) {
        self.cluster.held.insert(tag.clone(), max);
    }

    /// The manager takes the nodes of a task that runs, for a job of higher priority.
    pub fn preempt(&mut self, tag: &Tag) {
        self.cluster.preempt(tag);
    }

    /// Tasks that were told that their nodes are taken back, and when for the first time.
    pub fn notified(&self) -> &BTreeMap<Tag, Time> {
        &self.cluster.notified
    }

    /// All tasks that are held may start again.
    pub fn release(&mut self) {
        self.cluster.held.clear();
        self.cluster.happen();
    }

    /// A node dies, and the tasks on it.
    pub fn break_node(&mut self, pool: usize, node: u32) {
        self.cluster.break_node(pool, node);
    }

    /// It is back.
    pub fn mend_node(&mut self, pool: usize, node: u32) {
        self.cluster.mend_node(pool, node);
    }

    /// The manager dies and comes back without the last so many submissions, as far as they have
    /// not ended, and without requests that are on their way. What ran, runs on, and the manager
    /// does not know of it; its tag can be submitted again, and does not run again.
    pub fn crash(&mut self, submissions: u64) {
        self.late.clear();
        self.last = None;
        self.cluster.crash(self.cluster.submissions().saturating_sub(submissions));
    }

    /// Whether the tag must not run again, although nothing else is known of it.
    pub fn is_gone(&self, tag: &Tag) -> bool {
        self.cluster.is_gone(tag)
    }

    /// What is left of a task that is gone is cleared away, as at a cluster after an hour: an order to
    /// run it that comes later is not recognised.
    pub fn sweep(&mut self, tag: &Tag) {
        self.cluster.sweep(tag);
    }

    /// Every run of a task so far, in order of their starts.
    pub fn history(&self) -> &[Ran] {
        &self.cluster.history
    }

    /// Tasks that have nodes, as far as the manager knows, also those that wait there for others.
    pub fn busy(&self) -> impl Iterator<Item = &Tag> {
        self.cluster.busy()
    }

    fn next_fault(&mut self) -> Option<InjectedFault> {
        self.faults.pop_front().unwrap_or_else(|| self.weather.clone())
    }

    fn carry_out(&mut self, request: &Request) -> Result<(), SiteError> {
        match request {
            Request::Submit(order) => self.cluster.submit(order).map_err(SiteError::Refused),
            Request::Withdraw(tag) => {
                self.cluster.withdraw(tag);
                Ok(())
            }
            Request::Recall(tag) if self.cluster.has_begun(tag) => Err(SiteError::Begun),
            Request::Recall(tag) => {
                self.cluster.withdraw(tag);
                Ok(())
            }
            Request::Go(tag, go) => {
                self.cluster.go(tag, go);
                Ok(())
            }
            Request::Notify(tag) => {
                self.cluster.notify(tag);
                Ok(())
            }
            Request::Forget(tag) if self.cluster.forget(tag) => Ok(()),
            Request::Forget(tag) => Err(SiteError::Refused(format!("{tag} has not ended"))),
        }
    }

    fn ask(&mut self, request: Request) -> Result<(), SiteError> {
        match self.next_fault() {
            None | Some(InjectedFault::Stale) => self.carry_out(&request),
            Some(InjectedFault::Away) => Err(away()),
            Some(InjectedFault::Refused) => Err(SiteError::Refused("not today".to_owned())),
            Some(InjectedFault::LostBefore) => Err(silence()),
            Some(InjectedFault::LostAfter | InjectedFault::Garbage(_)) => {
                let _ = self.carry_out(&request);
                Err(silence())
            }
            Some(InjectedFault::Late(after)) => {
                let at = self.cluster.now + after;
                self.late.entry(at).or_default().push(request);
                Err(silence())
            }
            Some(InjectedFault::Twice) => {
                let _ = self.carry_out(&request);
                self.carry_out(&request)
            }
        }
    }
}

impl Site for FakeSite {
    fn pools(&self) -> &[PoolSetup] {
        &self.cluster.pools
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        let fault = self.next_fault();
        match fault {
            None | Some(InjectedFault::Twice) => {
                let survey = self.cluster.survey();
                self.last = Some(survey.clone());
                Ok(survey)
            }
            Some(InjectedFault::Away | InjectedFault::Refused) => Err(away()),
            Some(InjectedFault::LostBefore | InjectedFault::LostAfter | InjectedFault::Late(_)) => {
                Err(silence())
            }
            Some(InjectedFault::Garbage(how)) => Ok(garble(self.cluster.survey(), how)),
            Some(InjectedFault::Stale) => self.last.clone().ok_or_else(away),
        }
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        self.ask(Request::Submit(Box::new(order.clone())))
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.ask(Request::Withdraw(tag.clone()))
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.ask(Request::Recall(tag.clone()))
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.ask(Request::Forget(tag.clone()))
    }

    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        self.ask(Request::Go(tag.clone(), go.clone()))
    }

    fn notify(&mut self, tag: &Tag, _: Option<Warning>) -> Result<(), SiteError> {
        self.ask(Request::Notify(tag.clone()))
    }

    fn set_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        match self.next_fault() {
            None | Some(InjectedFault::Stale | InjectedFault::Twice) => {
                Ok(self.cluster.set_aside(market, wanted))
            }
            Some(InjectedFault::Away) => Err(away()),
            Some(InjectedFault::Refused) => Err(SiteError::Refused("not today".to_owned())),
            Some(InjectedFault::LostBefore | InjectedFault::Late(_)) => Err(silence()),
            Some(InjectedFault::LostAfter | InjectedFault::Garbage(_)) => {
                let _ = self.cluster.set_aside(market, wanted);
                Err(silence())
            }
        }
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        match self.next_fault() {
            None | Some(InjectedFault::Twice | InjectedFault::Stale) => {
                if !self.cluster.knows(tag) {
                    return Err(SiteError::Refused(format!("{tag} is not known here")));
                }
                let said = self.cluster.output(tag);
                Ok(said.get(said.len().saturating_sub(max)..).unwrap_or_default().to_vec())
            }
            Some(_) => Err(silence()),
        }
    }

    fn doctor(&mut self) -> Vec<Finding> {
        let found = format!("{} runs so far", self.cluster.history.len());
        let what = "this site is made up".to_owned();
        vec![Finding { what, verdict: Verdict::Good, found, remedy: String::new() }]
    }
}

fn away() -> SiteError {
    SiteError::Away("no answer".to_owned())
}

fn silence() -> SiteError {
    SiteError::Unknown("no answer in time".to_owned())
}

/// A survey that no site should give.
fn garble(mut survey: Survey, how: u32) -> Survey {
    let absurd = LocalTask { nodes: u32::MAX, from: Time::MAX, until: Time::MIN };
    let stranger = Tag { market: "stranger".to_owned(), job: u64::MAX, attempt: 0, part: 0 };
    match how % InjectedFault::GARBAGE {
        0 => survey.pools.iter_mut().for_each(|pool| pool.up = u32::MAX),
        1 => survey.pools.truncate(survey.pools.len().saturating_sub(1)),
        2 => survey.pools.push(PoolSurvey::default()),
        3 => survey.pools.iter_mut().for_each(|pool| {
            pool.local.insert("absurd".to_owned(), absurd);
            survey.queue.push(QueuedJob {
                pools: vec![usize::MAX],
                nodes: u32::MAX,
                expected: Some(Time::MIN),
                tasks: u32::MAX,
                ..QueuedJob::of("absurd", 0, 1, Span::MAX)
            });
        }),
        4 => {
            survey.tasks.insert(stranger, Seen::Running { since: Time::MAX, nodes: Vec::new() });
        }
        _ => survey.tasks.values_mut().for_each(|seen| {
            if let Seen::Ended { since, at, .. } = seen {
                (*since, *at) = (Some(Time::MAX), Time::MIN);
            } else if let Seen::Running { since, nodes } = seen {
                *since = Time::MAX;
                nodes.clear();
            }
        }),
    }
    survey
}
