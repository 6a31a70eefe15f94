//! Every job that is not over is owned by exactly one site, and at most one may run it.

use std::collections::BTreeMap;

use tradewind_sched::negotiation::{Peer, Ticket, TransferVerdict};

use super::Checker;
use crate::world::{News, World};

pub(crate) struct Owner;

/// Sites that own each job, and whether they may run it.
fn owners(world: &World) -> BTreeMap<Ticket, Vec<(Peer, bool)>> {
    let mut owners: BTreeMap<Ticket, Vec<(Peer, bool)>> = BTreeMap::new();
    for (peer, durable) in world.durables() {
        for ticket in &durable.here {
            owners.entry(*ticket).or_default().push((peer, true));
        }
        for (transfer, handing) in &durable.handing {
            let there = &world.durable(handing.to).tombstones;
            let verdict = there.get(&peer).and_then(|dead| dead.closed.get(transfer));
            if verdict != Some(&TransferVerdict::Taken) {
                owners.entry(handing.parcel.ticket).or_default().push((peer, false));
            }
        }
    }
    owners
}

impl Checker for Owner {
    fn name(&self) -> &'static str {
        "owner"
    }

    fn step(&mut self, world: &World, _: &[News]) -> Result<(), String> {
        let owners = owners(world);
        for ticket in world.alive() {
            match owners.get(&ticket).map_or(&[][..], Vec::as_slice) {
                [_] => {}
                [] => return Err(format!("{ticket:?} has no owner")),
                several => return Err(format!("{ticket:?} belongs to {several:?}")),
            }
        }
        let over = owners.keys().find(|ticket| !world.is_alive(**ticket));
        over.map_or(Ok(()), |ticket| Err(format!("{ticket:?} is over and owned")))
    }
}
