//! Backfilling on unequal priced nodes of several sites (paper 000, section 4; our reading).
//!
//! The rule of [`backfill`] with its knobs, on any pools. A job's place is the
//! earliest at which nodes that it can afford are free for as long as its tasks take there: the
//! cheapest of those that are free at that moment, within its budget, not before its earliest
//! start, finished by its deadline. On one pool of reference nodes without prices every job
//! starts exactly when [`Backfill`] starts it. Exact with respect to
//! this rule.
//!
//! Where there is one pool, it is [`Backfill`] that decides, until a job asks for more than nodes and
//! time, or the price changes: it does the same, and is much quicker.
//!
//! - A moldable job has the earliest place of each of its shapes, and takes the best of them by its
//!   rule ([`ShapeRule`]): later, if that is better. It starts where its best place begins now, and its
//!   reservation may move to a later start that is better by the rule.
//! - A job that could not run even if all pools were free is refused, when it is submitted or as
//!   soon as time has made it so.
//! - With a finite depth a job joins the queue at its earliest start, as if submitted then. With
//!   [`Depth::All`] it joins at once, and its reservation begins then or later.
//! - When prices change, a waiting job is examined again. One that cannot pay any more waits, in
//!   no other job's way, until prices change again or its deadline is out of reach.
//! - Where prices change with time, a task costs the integral over its own interval. Jobs without a
//!   reservation are examined again in the first second in which one of them can start.
//! - Tasks that exceed their expected length are expected to take twice as long as believed so
//!   far; then, and when an outage is announced or a job interrupted, all reservations are made
//!   again in queue order.

mod fill;
mod openings;
mod space;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeMap;

use tradewind_model::{Admission, Command, Demand, Event, JobId, Market, Pool, Terms, Time};

pub use super::Order;
use super::availability::Taken;
pub use super::backfill::Depth;
use super::backfill::{self, Backfill};
use super::grid::GridAvailability;
pub use super::grid::{ShapeRule, Spread};
use super::inbox::{self, Comes};
use super::{Policy, Promise, UserShare};
pub(super) use fill::Fill;
pub(super) use waiting::PoolsJob;

/// The knobs of [`GridFill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridFillSettings {
    /// How many waiting jobs hold a reservation.
    pub depth: Depth,
    /// Who comes first.
    pub order: Order,
    /// Which candidate comes first; see [`backfill::BackfillSettings::candidates`].
    pub candidates: Option<Order>,
    /// Over how many sites one job may lie.
    pub spread: Spread,
    /// Which shape a moldable job takes.
    pub shape: ShapeRule,
}

impl Default for GridFillSettings {
    /// EASY, by arrival, over the whole grid.
    fn default() -> GridFillSettings {
        let backfill::BackfillSettings { depth, order, candidates } =
            backfill::BackfillSettings::default();
        GridFillSettings {
            depth,
            order,
            candidates,
            spread: Spread::Grid,
            shape: ShapeRule::default(),
        }
    }
}

impl GridFillSettings {
    /// The same for one plain pool.
    pub fn plain(self) -> backfill::BackfillSettings {
        let GridFillSettings { depth, order, candidates, .. } = self;
        backfill::BackfillSettings { depth, order, candidates }
    }
}

/// The policy; see the module's text.
///
/// With w waiting jobs, g pools and [`Depth::All`] a pass costs O(w·g), and a search for each job
/// that could do better where nodes have become free since it was looked at: none if jobs end as
/// expected, most if one ends early and others follow one another into the gaps. A search looks at
/// the sum of all pools first, and there only at starts that no like job has passed without result; then
/// it costs O(s·g·(p + 1)·log n), for n changes in a pool, p pieces of free time that are too
/// short, and s starts at which there may be room. With a finite depth only the first jobs search
/// through time; the others look at the present moment.
#[derive(Debug)]
pub struct GridFill {
    settings: GridFillSettings,
    queue: GridQueue,
    /// Whether the first call is yet to come, and goes on from another policy.
    resumed: bool,
}

/// Where jobs wait.
#[derive(Debug)]
enum GridQueue {
    /// There is one pool, and all jobs so far ask for nodes and time only.
    Plain(Box<Backfill>),
    Pools(Box<(Fill, GridAvailability)>),
}

impl GridFill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: GridFillSettings) -> GridFill {
        let plain = Backfill::new(settings.plain());
        GridFill { settings, queue: GridQueue::Plain(Box::new(plain)), resumed: false }
    }

    /// From now on jobs may ask for anything.
    fn widen(&mut self, market: &Market) {
        let GridQueue::Plain(plain) = &mut self.queue else { return };
        let empty = Backfill::new(self.settings.plain());
        let (plain, nodes) = std::mem::replace(&mut **plain, empty).into_parts();
        let fresh = || GridAvailability::of_pools(market);
        let fill = Fill::of(self.settings, plain, market);
        self.queue = GridQueue::Pools(Box::new((
            fill,
            nodes.map_or_else(fresh, |nodes| GridAvailability::of_one(nodes, market)),
        )));
    }
}

/// Whether nothing happened for which plain backfilling on one pool does not do.
fn is_plain(market: &Market, events: &[Event]) -> bool {
    let single = market.pools().single();
    let pools = market.pools();
    let single = single
        .filter(|_| pools.rates().is_none() && !pools.follow_load() && !pools.counts_memory());
    let Some(pool) = single.map(|id| market.pools().pool(id)) else {
        return false;
    };
    events.iter().all(|event| match event {
        Event::Submitted { demand, .. } => asks_for_time_only(pool, demand),
        Event::Priced { .. } | Event::Rated { .. } | Event::Traded { .. } => false,
        _ => true,
    })
}

/// Whether the job could run in the pool at any time.
fn asks_for_time_only(pool: &Pool, demand: &Demand) -> bool {
    let anytime = |terms: &Terms| {
        let price = pool.price * pool.length_of(demand);
        let cost = i128::from(price.0) * i128::from(demand.processors);
        terms.earliest_start.is_none()
            && terms.deadline.is_none()
            && terms.licences.is_none()
            && terms.budget.is_none_or(|budget| cost <= i128::from(budget.0))
    };
    if demand.is_moldable() {
        return false;
    }
    let simple = demand.terms.is_none() && pool.admission == Admission::NONE;
    simple || demand.terms.as_deref().is_none_or(anytime) && pool.suits(demand)
}

impl Policy for GridFill {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let resumed = std::mem::take(&mut self.resumed);
        if !is_plain(market, events) {
            self.widen(market);
        }
        let (fill, nodes) = match &mut self.queue {
            GridQueue::Plain(plain) => return plain.decide(market, events, commands),
            GridQueue::Pools(pools) => (&mut pools.0, &mut pools.1),
        };
        let news = nodes.follow(market, events);
        fill.follow(news, events);
        fill.obey(market, nodes, events);
        for (job, comes) in inbox::arrivals(market, events) {
            let comes = if resumed { Comes::Again } else { comes };
            if let Err(reason) = fill.join(market, (job, comes)) {
                commands.push(Command::Refuse { job, reason });
            }
        }
        fill.decide(market, nodes, events.is_empty(), commands);
        fill.started(market, commands);
        commands.extend(fill.next_wake(market, nodes).map(|at| Command::Wake { at }));
    }

    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
        match &mut self.queue {
            GridQueue::Plain(plain) => plain.resume(usage),
            GridQueue::Pools(pools) => pools.0.resume(usage),
        }
    }

    fn standing(&self, now: Time) -> Vec<UserShare> {
        match &self.queue {
            GridQueue::Plain(plain) => plain.standing(now),
            GridQueue::Pools(pools) => pools.0.standing(now),
        }
    }

    fn promise(&self) -> Promise {
        fill::promise(self.settings)
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        match &self.queue {
            GridQueue::Plain(plain) => plain.reservation(job),
            GridQueue::Pools(pools) => pools.0.reservation(job),
        }
    }

    fn reserved(&self) -> Vec<(JobId, Taken)> {
        match &self.queue {
            GridQueue::Plain(plain) => plain.reserved(),
            GridQueue::Pools(pools) => pools.0.reserved(),
        }
    }
}
