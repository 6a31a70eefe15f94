//! No reservation of a site's own job is delayed.

use std::collections::BTreeMap;

use tradewind_model::Time;
use tradewind_sched::negotiation::{Peer, Ticket};

use super::Checker;
use crate::world::{News, World};

#[derive(Default)]
pub(crate) struct Reservations {
    before: BTreeMap<(Peer, Ticket), Time>,
}

impl Checker for Reservations {
    fn name(&self) -> &'static str {
        "reservations"
    }

    fn step(&mut self, world: &World, _: &[News]) -> Result<(), String> {
        let now: BTreeMap<(Peer, Ticket), Time> = world.reservations().collect();
        for (&(peer, ticket), &at) in &now {
            let before = self.before.get(&(peer, ticket));
            if at < world.now() || before.is_some_and(|before| *before < at) {
                let before = before.copied();
                return Err(format!("{ticket:?} at {peer:?}: {at} instead of {before:?}"));
            }
        }
        self.before = now;
        Ok(())
    }
}
