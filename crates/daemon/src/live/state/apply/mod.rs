//! The only way to change the state: each record goes to the aggregate that it is about, and what
//! follows from it in others is done here.

mod charges;
mod jobs;
mod peers;
mod waits;

use std::sync::Arc;

use tradewind_model::{Market, Time};

use super::record::{MarketRecord, Record, TaskRecord};
use super::waits::same_nodes;
use super::{ApplyError, State};

impl State {
    /// Makes one change at `at`. Logarithmic in what is kept, linear in what the record names.
    ///
    /// # Errors
    /// If it cannot follow from the state, which is then of no use any more: a replay of a journal
    /// stops there.
    pub fn apply(&mut self, at: Time, record: &Record) -> Result<(), ApplyError> {
        self.market.pass_to(at)?;
        match record {
            Record::Market(record) => self.apply_to_market(at, record),
            Record::Site(record) => {
                self.sites.apply(at, record, &mut self.market, &mut self.outages.past)
            }
            Record::Job(record) => self.apply_to_job(record),
            Record::Task(record) => {
                self.tasks.apply(at, record, &mut self.jobs)?;
                if let TaskRecord::Saw { tag, .. } = record {
                    self.mind_wait(tag.job);
                }
                Ok(())
            }
            Record::Ledger(record) => self.ledger.apply(at, record),
            Record::Outage(record) => self.outages.apply(at, record, &mut self.market),
            Record::Offer(record) => self.offers.apply(at, record, &mut self.jobs),
            Record::Access(record) => self.access.apply(at, record),
            Record::Peer(record) => self.apply_to_peers(record),
        }
    }

    fn apply_to_market(&mut self, at: Time, record: &MarketRecord) -> Result<(), ApplyError> {
        match record {
            MarketRecord::Created { market } => self.name.clone_from(market),
            MarketRecord::Gridded { pools, owners } => {
                if !same_nodes(self.market.pools(), pools) {
                    self.forget_waits();
                }
                match self.is_gridded() {
                    true => self.market.regrid(Arc::clone(pools))?,
                    false => self.market = Market::new(Arc::clone(pools), at),
                }
                self.sites.owners.clone_from(owners);
                for (id, _) in pools.iter() {
                    self.outages.past.priced(at, id, pools.price_at(id, at));
                }
            }
            MarketRecord::Began { policy, .. } => {
                if self.policy != *policy {
                    self.forget_waits();
                }
                self.policy.clone_from(policy);
            }
            MarketRecord::Decided { commands } => {
                commands.iter().try_for_each(|command| self.decided(command))?;
            }
            MarketRecord::Clock { lead } => self.lead = Some(*lead),
        }
        Ok(())
    }
}
