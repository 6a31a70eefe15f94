//! Backfilling on unequal priced nodes of several sites (paper 000, section 4; our reading).
//!
//! The rule of [`backfill`](super::backfill) with its two knobs, on any pools. A job's place is the
//! earliest at which nodes that it can afford are free for as long as its tasks take there: the
//! cheapest of those that are free at that moment, within its budget, not before its earliest
//! start, finished by its deadline. On one pool of reference nodes without prices every job
//! starts exactly when [`Backfill`](super::backfill::Backfill) starts it. Exact with respect to
//! this rule.
//!
//! - A job that could not run even if all pools were free is refused, when it is submitted or as
//!   soon as time has made it so.
//! - With a finite depth a job joins the queue at its earliest start, as if submitted then. With
//!   [`Depth::All`] it joins at once, and its reservation begins then or later.
//! - When prices change, a waiting job is looked at anew. One that cannot pay any more waits, in
//!   nobody's way, until prices change again or its deadline is out of reach.
//! - Tasks that outlive their expected length are expected to take twice as long as believed so
//!   far; then, and when a closure is announced or a job interrupted, all reservations are made
//!   anew in queue order.

mod fill;
mod openings;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, Time};

pub use super::Order;
pub use super::backfill::Depth;
use super::grid::Availability;
pub use super::grid::Spread;
use super::inbox::{self, Comes};
use super::{Policy, Promise, Standing};
pub(super) use fill::Fill;

/// The knobs of [`GridFill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many waiting jobs hold a reservation.
    pub depth: Depth,
    /// Who comes first.
    pub order: Order,
    /// Over how many sites one job may lie.
    pub spread: Spread,
}

impl Default for Settings {
    /// EASY, by arrival, over the whole grid.
    fn default() -> Settings {
        Settings { depth: Depth::First(1), order: Order::Arrival, spread: Spread::Grid }
    }
}

/// The policy; see the module's text.
///
/// With w waiting jobs, g pools and [`Depth::All`] a pass costs O(w·g), and a search for each job
/// that could do better where nodes have become free since it was looked at: none if jobs end as
/// expected, most if one ends early and others follow one another into the gaps. A search looks at
/// the sum of all pools first, and there only at starts that no like job has passed in vain; then
/// it costs O(s·g·(p + 1)·log n), for n changes in a pool, p pieces of free time that are too
/// short, and s starts at which there may be room. With a finite depth only the first jobs search
/// through time; the others look at the present moment.
#[derive(Debug)]
pub struct GridFill {
    fill: Fill,
    /// `None` until the first call.
    books: Option<Availability>,
    /// Whether the first call is yet to come, and goes on from another policy.
    resumed: bool,
}

impl GridFill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: Settings) -> GridFill {
        GridFill { fill: Fill::new(settings), books: None, resumed: false }
    }
}

impl Policy for GridFill {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let mut books = self.books.take().unwrap_or_else(|| Availability::of_pools(market));
        let news = books.follow(market, events);
        self.fill.follow(news, events);
        self.fill.obey(market, &mut books, events);
        let resumed = std::mem::take(&mut self.resumed);
        for (job, comes) in inbox::joiners(market, events) {
            let comes = if resumed { Comes::Again } else { comes };
            if let Err(reason) = self.fill.join(market, (job, comes)) {
                commands.push(Command::Refuse { job, reason });
            }
        }
        self.fill.decide(market, &mut books, events.is_empty(), commands);
        self.fill.started(market, commands);
        commands.extend(self.fill.next_wake(&books).map(|at| Command::Wake { at }));
        self.books = Some(books);
    }

    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
        self.fill.resume(usage);
    }

    fn standing(&self, now: Time) -> Vec<Standing> {
        self.fill.standing(now)
    }

    fn promise(&self) -> Promise {
        self.fill.promise()
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.fill.reservation(job)
    }
}
