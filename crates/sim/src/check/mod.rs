//! Watchers of a replay, one promise each. They keep books of their own.

mod admission;
mod beliefs;
mod capacity;
mod cuts;
mod demand_price;
mod head;
mod held;
mod licences;
mod lifecycle;
mod limits;
mod lines;
mod load_price;
mod memory;
mod money;
mod preemption;
mod reservations;
mod steps;
#[cfg(test)]
mod tests;
mod trades;

use tradewind_model::{Event, Market};
use tradewind_sched::policy::{Policy, Promise};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{checker}: {what}")]
pub struct Violation {
    /// Name of the checker that found it.
    pub checker: &'static str,
    /// Description of the violation.
    pub what: String,
}

/// Watches one promise.
pub trait Checker {
    /// Something happened; `market` is the state after it.
    ///
    /// # Errors
    /// If it breaks the promise.
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation>;

    /// The policy has had its say, and it was done.
    ///
    /// # Errors
    /// If that breaks the promise.
    fn pass(&mut self, _market: &Market, _policy: &dyn Policy) -> Result<(), Violation> {
        Ok(())
    }

    /// The replay is over.
    ///
    /// # Errors
    /// If something is left that should not be.
    fn finish(&mut self, _market: &Market) -> Result<(), Violation> {
        Ok(())
    }
}

/// Every checker that fits what the policy promises.
pub fn all(promise: Promise) -> Vec<Box<dyn Checker>> {
    let mut checkers: Vec<Box<dyn Checker>> = vec![
        Box::new(capacity::Capacity::default()),
        Box::new(memory::Memory::default()),
        Box::new(licences::Licences::default()),
        Box::new(lifecycle::Lives::default()),
        Box::new(admission::Doors),
        Box::new(money::Conserved::default()),
        Box::new(preemption::Notices::default()),
        Box::new(trades::AtList::default()),
        Box::new(load_price::ByLoad::default()),
        Box::new(demand_price::ByDemand::default()),
    ];
    match promise {
        Promise::Nothing => {}
        Promise::Order => checkers.push(Box::new(head::InOrder::default())),
        Promise::Head => checkers.push(Box::new(head::NotDelayed::default())),
        Promise::Reservations => checkers.push(Box::new(reservations::Kept::default())),
    }
    checkers
}

/// Every checker for a policy of the user's own: those of [`all`], and where prices change with time or
/// load one that refuses starts above a job's budget or price cap.
pub fn of_own(promise: Promise) -> Vec<Box<dyn Checker>> {
    let mut checkers = all(promise);
    checkers.push(Box::new(limits::WithinLimits::default()));
    checkers
}
