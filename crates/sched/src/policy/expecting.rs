//! A policy that plans by what jobs are expected to need, in a market in which they ask for limits.
//!
//! Limits are promises: jobs are stopped at them, they are paid for, and what is booked rests on
//! them. Where a demand says what is expected besides ([`Demand::expected`]), the policy inside sees
//! a market in which that is the estimate, corrected as in replays once a job exceeds it. So it
//! decides as it does in the simulator with such estimates.
//!
//! A job that runs up to its limit must not be in the way of what was promised to others. So as long
//! as nodes are booked or announced to be missing from a later moment on, the policy inside sees
//! limits: it begins again with the market's history, as at a restart.
//!
//! Which of both it sees depends on the market alone, and not on what was before.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Command, Demand, Event, JobId, Market, Pools};

use super::{Policy, Promise};

/// Makes the policy inside, for these pools; `None`: it cannot be made any more.
pub type Maker = Box<dyn Fn(&Pools) -> Option<Box<dyn Policy>> + Send>;

/// By what the policy inside plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlannedBy {
    Limits,
    Expectations,
}

/// The policy; see the module's text. As long as nothing is expected of any job, it is the policy
/// inside; otherwise a call costs a copy of all jobs that wait or run besides.
pub struct ByExpectation {
    make: Maker,
    inner: Box<dyn Policy>,
    basis: PlannedBy,
    /// Jobs that wait or run of which something else is expected than their limits.
    expected: BTreeSet<JobId>,
}

impl ByExpectation {
    /// `inner` as `make` makes it, before its first call.
    pub fn new(inner: Box<dyn Policy>, make: Maker) -> ByExpectation {
        ByExpectation { make, inner, basis: PlannedBy::Limits, expected: BTreeSet::new() }
    }

    fn follow(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Submitted { job, demand } if demand.by_expectation().is_some() => {
                    self.expected.insert(*job);
                }
                Event::Ended { job } | Event::Cancelled { job } | Event::Refused { job } => {
                    self.expected.remove(job);
                }
                _ => {}
            }
        }
    }

    /// What to plan by in this market. Policies that talk to others on their own keep to limits.
    fn basis_in(&self, market: &Market) -> PlannedBy {
        let is_to_come = |it: &tradewind_model::Outage| it.from > market.now();
        match market.outages().any(|(_, outage)| is_to_come(&outage)) {
            _ if self.inner.exchange().is_some() => PlannedBy::Limits,
            true => PlannedBy::Limits,
            false => PlannedBy::Expectations,
        }
    }

    /// The policy inside begins again. Whether it does.
    fn begin_again(&mut self, market: &Market) -> bool {
        let usage: BTreeMap<i64, u64> =
            self.inner.standing(market.now()).iter().map(|it| (it.user, it.used)).collect();
        let Some(mut inner) = (self.make)(market.pools()) else { return false };
        inner.resume(&usage);
        self.inner = inner;
        true
    }
}

/// The market as the policy inside sees it by expectations.
fn seen(market: &Market) -> Market {
    market.with_demands(Demand::by_expectation)
}

fn seen_event(event: &Event) -> Event {
    match event {
        Event::Submitted { job, demand } => {
            let demand = demand.by_expectation().unwrap_or_else(|| demand.clone());
            Event::Submitted { job: *job, demand }
        }
        other => other.clone(),
    }
}

impl Policy for ByExpectation {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        // Where nothing was expected, the policy inside has seen the market as it is on either basis.
        let was_plain = self.expected.is_empty();
        self.follow(events);
        let basis = match self.expected.is_empty() {
            true => self.basis,
            false => self.basis_in(market),
        };
        let turned = basis != self.basis && (was_plain || self.begin_again(market));
        if turned {
            self.basis = basis;
        }
        let whole = turned && !was_plain;
        match self.basis {
            PlannedBy::Expectations if !self.expected.is_empty() => {
                let market = seen(market);
                let events = match whole {
                    true => market.history(),
                    false => events.iter().map(seen_event).collect(),
                };
                self.inner.decide(&market, &events, commands);
            }
            _ if whole => self.inner.decide(market, &market.history(), commands),
            _ => self.inner.decide(market, events, commands),
        }
    }

    fn inner(&self) -> Option<&dyn Policy> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Policy> {
        Some(&mut *self.inner)
    }

    /// Expectations may be too short, and promises hold only while they are not.
    fn promise(&self) -> Promise {
        match self.basis {
            PlannedBy::Expectations if !self.expected.is_empty() => Promise::Nothing,
            _ => self.inner.promise(),
        }
    }
}

#[cfg(test)]
mod tests;
