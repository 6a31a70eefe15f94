//! A meta-scheduler over the queues of sites: the double auction and its rivals (paper 003).

mod settings;

use std::sync::Arc;

use tradewind_model::{Command, Event, Market, Place, PoolId, Reason, Trade};

use super::Policy;
pub use settings::{Deadline, Gate, Ratio, Rule, Settings, ShareOf, Slots, Ties, Wait};

/// The policy; see the module's text.
#[derive(Debug)]
pub struct Dispatch {
    settings: Settings,
}

impl Dispatch {
    /// A policy that has seen nothing so far.
    pub fn new(settings: Settings) -> Dispatch {
        Dispatch { settings }
    }

    /// What it was told to do.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

impl Policy for Dispatch {
    fn decide(&mut self, market: &Market, _events: &[Event], commands: &mut Vec<Command>) {
        let pools = market.pools();
        let mut free: Vec<u32> = pools.iter().map(|(id, _)| market.free_in(id)).collect();
        for job in market.queue() {
            let Some(demand) = market.demand(job) else { continue };
            let fits = |id: PoolId| {
                let pool = pools.pool(id);
                pool.nodes >= demand.processors && pool.suits(demand)
            };
            if !pools.iter().any(|(id, _)| fits(id)) {
                let reason = Reason::WiderThanQueues { needed: demand.processors, widest: 0 };
                commands.push(Command::Refuse { job, reason });
                continue;
            }
            let room = |id: PoolId| free[id.index()] >= demand.processors && fits(id);
            if let Some((id, pool)) = pools.iter().find(|(id, _)| room(*id)) {
                free[id.index()] -= demand.processors;
                let trade = Arc::new(Trade::at(id, pool.price, market.now()));
                commands.push(Command::Trade { job, trade });
                commands.push(Command::Start { job, place: Place::Pool(id) });
            }
        }
    }
}
