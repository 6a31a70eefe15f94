//! Where a job stands: its state, what it has cost, what it can cost at most, and when it is
//! expected to start. Every page, list, chart, document and mail gets these from here.

use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::state::{Finish, Job, JobHold, Part, Phase, Promise, State};
use tradewind_model::{JobId, Money, Span, Time};

use super::{at_peer, failures, starts, words};
use crate::api::{Plan, Planned};
use crate::clock::present;
use crate::documents::{Credits, Expectation};

/// The market at one moment, with the plan of its queue.
#[derive(Debug)]
pub struct Moment<'a> {
    /// What the market knows.
    pub(crate) state: &'a State,
    plan: Option<&'a Plan>,
    /// The moment, in market time.
    pub(crate) now: Time,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStatus {
    /// As `squeue` and `sacct` call it.
    pub state: &'static str,
    /// When its work began.
    pub started: Option<Time>,
    /// What it has paid, and what its nodes have cost since then.
    pub cost_so_far: Credits,
    /// The most that it can cost in all, if there is a bound.
    pub cost_at_most: Option<Credits>,
    /// When its work is expected to begin, if that is known.
    pub expected_start: Option<Expectation>,
}

/// What a job's nodes in one pool cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartCost {
    /// Up to now, or until it ended.
    pub(crate) so_far: Money,
    /// If it runs until its limit.
    pub(crate) at_most: Money,
}

/// Whether a job waits, runs or is over: what lists and counters sort jobs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StatusGroup {
    /// Not in the queue.
    Held,
    /// Its window is booked, and has not come.
    Booked,
    /// In the queue of the market, of a site or of a peer.
    Waiting,
    /// It has its nodes.
    Running,
    /// At a peer of which nothing is known.
    Unknown,
    /// It will not run (again).
    Over,
}

/// In which group the job is.
pub(crate) fn group(state: &State, job: &Job) -> StatusGroup {
    match job.phase() {
        Phase::Held(JobHold::Booked) => StatusGroup::Booked,
        Phase::Held(JobHold::Window) => StatusGroup::Waiting,
        Phase::Held(_) => StatusGroup::Held,
        Phase::Over(_) => StatusGroup::Over,
        _ => match words::state(state, job) {
            "PENDING" => StatusGroup::Waiting,
            at_peer::UNKNOWN => StatusGroup::Unknown,
            _ => StatusGroup::Running,
        },
    }
}

/// What of so many micro-credits the job pays itself: the market pays what is beyond an offer that
/// was not kept.
fn own(job: &Job, cost: i128) -> i128 {
    job.still_pays().map_or(cost, |most| cost.min(i128::from(most.0)))
}

/// What the job itself pays of costs that it has together: the market pays what is beyond an offer that
/// was not kept, of the last ones first.
pub(crate) fn own_costs(job: &Job, costs: impl Iterator<Item = Money>) -> Vec<Money> {
    let mut all = Money::ZERO;
    let own = |cost: Money| {
        let before = job.own_share(all);
        all += cost;
        job.own_share(all) - before
    };
    costs.map(own).collect()
}

impl<'a> Moment<'a> {
    /// The present moment. Without a plan, what was first expected of a waiting job counts.
    pub fn new(state: &'a State, plan: Option<&'a Plan>) -> Moment<'a> {
        Moment { state, plan, now: present(state) }
    }

    /// Where the job stands.
    pub fn status(&self, job: &Job) -> JobStatus {
        JobStatus {
            state: words::state(self.state, job),
            started: words::started(job),
            cost_so_far: self.cost_so_far(job),
            cost_at_most: self.cost_at_most(job),
            expected_start: self.expected_start(job),
        }
    }

    fn cost_so_far(&self, job: &Job) -> Credits {
        let since: i128 = match job.phase() {
            Phase::Running => {
                let nodes = job.parts().iter().map(|part| self.part_cost(job, part).so_far);
                let along = self.licences_cost(job).so_far;
                own(job, nodes.chain([along]).map(|cost| i128::from(cost.0)).sum())
            }
            Phase::Away => at_peer::cost_until(job, self.now).0.into(),
            _ => 0,
        };
        Credits(i128::from(job.paid.0) + since)
    }

    fn cost_at_most(&self, job: &Job) -> Option<Credits> {
        let more: i128 = match job.phase() {
            Phase::Over(_) => 0,
            Phase::Running => {
                let nodes = job.parts().iter().map(|part| self.part_cost(job, part).at_most);
                let along = self.licences_cost(job).at_most;
                own(job, nodes.chain([along]).map(|cost| i128::from(cost.0)).sum())
            }
            Phase::Handing | Phase::Away => {
                self.state.accounts().balance(&Account::Held(job.number))
            }
            Phase::Held(JobHold::Booked) => {
                own(job, job.booking.as_ref()?.max(job.nodes()).0.into())
            }
            // An offer that was not kept limits what the job pays.
            Phase::Held(_) | Phase::Waiting => {
                job.still_pays().or(job.submission.terms.budget)?.0.into()
            }
        };
        Some(Credits(i128::from(job.paid.0) + more))
    }

    /// What the job itself pays at most for its nodes in one pool: the market pays what is beyond an
    /// offer that was not kept, of the last parts first.
    pub(crate) fn own_part_cost(&self, job: &Job, part: &Part) -> Money {
        let cost = |part: &Part| self.part_cost(job, part).at_most;
        let before = job.parts().iter().take_while(|it| !std::ptr::eq(*it, part));
        let before: Money = before.map(cost).sum();
        let own = |cost: Money| match job.phase() {
            // What the market paid for a window that was not kept is not among this.
            Phase::Over(_) => cost.min(job.paid),
            _ => job.own_share(cost),
        };
        own(before + cost(part)) - own(before)
    }

    /// What the licences cost that the job has taken along, in its present or last start: as long as
    /// the longest of its parts works.
    pub(crate) fn licences_cost(&self, job: &Job) -> PartCost {
        let now = job.ended().unwrap_or(self.now);
        let cost = |time: Span| -> Money { job.licences().iter().map(|it| it.cost(time)).sum() };
        let times = job.parts().iter().map(|part| (self.state.charged(job, part, now), part));
        let so_far = times.clone().map(|(time, _)| time).max().unwrap_or_default();
        let limit = |(time, part): (Span, &Part)| match part.exit {
            None => part.limit,
            Some(_) => time,
        };
        let is_open = job.ended().is_none();
        let at_most = if is_open { times.map(limit).max().unwrap_or_default() } else { so_far };
        PartCost { so_far: cost(so_far), at_most: cost(at_most) }
    }

    /// What the job's nodes in one pool cost, in its present or last start.
    pub(crate) fn part_cost(&self, job: &Job, part: &Part) -> PartCost {
        let now = job.ended().unwrap_or(self.now);
        // A peer's job that was lost here may run again at home, and pays once.
        let is_free = job.origin.is_some() && matches!(job.phase(), Phase::Over(Finish::NodeFail));
        let so_far = match is_free {
            true => Money::ZERO,
            false => part.price.of(part.nodes, self.state.charged(job, part, now)),
        };
        let is_open = job.ended().is_none() && part.exit.is_none();
        let at_most = if is_open { part.price.of(part.nodes, part.limit) } else { so_far };
        PartCost { so_far, at_most }
    }

    /// The place and start that the plan of the queue has for a waiting job.
    pub(crate) fn planned(&self, job: JobId) -> Option<&'a Planned> {
        let jobs = &self.plan?.jobs;
        let place = jobs.binary_search_by_key(&job, |planned| planned.job).ok()?;
        jobs.get(place)
    }

    /// When the job's work is expected to begin, seconds in market time.
    pub(crate) fn start_of(&self, job: &Job) -> Option<Time> {
        match job.phase() {
            // When a site that fails is there again is not known.
            Phase::Waiting | Phase::Held(JobHold::Booked) | Phase::Running
                if !failures::of_job(self.state, job).is_empty() =>
            {
                None
            }
            Phase::Held(JobHold::Booked) => {
                job.booking.as_ref().map(|booking| booking.start.max(self.now))
            }
            // What should have started by now is expected to start at any moment.
            Phase::Waiting if self.plan.is_some() => {
                self.planned(job.id()?).map(|planned| planned.start.max(self.now))
            }
            // A first forecast that did not come true says nothing any more.
            Phase::Waiting => job.expected.filter(|at| *at >= self.now),
            Phase::Running if self.state.is_lined(job) && !words::is_leaving(job) => {
                self.state.turn_of(job).map(|turn| turn.max(self.now))
            }
            // It is not known when it is released, or when it starts at its site.
            Phase::Held(_) | Phase::Running | Phase::Handing | Phase::Away | Phase::Over(_) => None,
        }
    }

    /// The same, with ranges. A promise is its own word, and has none.
    fn expected_start(&self, job: &Job) -> Option<Expectation> {
        let at = self.start_of(job)?;
        let is_promised = job.promise().is_some_and(Promise::is_open);
        let limit = self.state.asked_limit(job).filter(|_| !is_promised);
        let ahead = match (job.phase(), self.plan, job.id().and_then(|id| self.planned(id))) {
            (Phase::Waiting, Some(plan), Some(planned)) => {
                (Time(plan.queue.queue_as_of), planned.start)
            }
            _ => (self.state.now(), at),
        };
        let said = starts::expectation(self.state, ahead, limit.map(|limit| (job.nodes(), limit)));
        let (early, late) = match said.ranges {
            Some(_) => (said.early, said.late),
            None => (at.0, at.0),
        };
        Some(Expectation { at: at.0, early, late, ..said })
    }
}
