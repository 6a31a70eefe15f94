//! The licences of a market, which jobs hold from their start until they end.

use super::{Held, JobId, Market, MarketError};
use crate::{Demand, LicenceId, LicenceShare, Money, Pools, Price, Span};

/// All of them, by licence.
pub(super) fn of(pools: &Pools) -> Vec<u32> {
    pools.licences().iter().map(|licence| licence.count).collect()
}

impl Held {
    /// What the job pays per second for each of its licences, by share.
    fn licence_prices(&self, processors: u32) -> &[Price] {
        let of_place = self.place.shares(processors).count();
        self.further.get(of_place.saturating_sub(1)..).unwrap_or_default()
    }
}

impl Market {
    /// Licences that no running job holds.
    ///
    /// # Panics
    /// If there is no such licence.
    pub fn free_licences(&self, licence: LicenceId) -> u32 {
        self.licences[licence.index()]
    }

    /// What the job takes along.
    fn licences_of(&self, job: JobId) -> Vec<LicenceShare> {
        let terms = self.demand(job).and_then(|demand| demand.terms().licences.as_deref());
        terms.unwrap_or_default().to_vec()
    }

    /// Whether all that the demand takes along is there, in use or not.
    pub(super) fn knows_licences(&self, job: JobId, demand: &Demand) -> Result<(), MarketError> {
        let mut shares = demand.terms().licences.as_deref().unwrap_or_default().iter();
        let unknown = shares.find(|share| share.licence.index() >= self.licences.len());
        unknown.map_or(Ok(()), |&LicenceShare { licence, count: wanted }| {
            Err(MarketError::Licence { job, licence, wanted, free: 0 })
        })
    }

    /// Whether all that the job takes along is free now.
    pub fn has_licences_for(&self, job: JobId) -> bool {
        self.check_licences(job).is_ok()
    }

    pub(super) fn check_licences(&self, job: JobId) -> Result<(), MarketError> {
        for LicenceShare { licence, count: wanted } in self.licences_of(job) {
            let free = self.licences.get(licence.index()).copied().unwrap_or(0);
            if wanted > free {
                return Err(MarketError::Licence { job, licence, wanted, free });
            }
        }
        Ok(())
    }

    /// The job takes its licences along. What they cost for so long, and their prices now.
    pub(super) fn take_licences(&mut self, job: JobId, span: Span) -> (Money, Vec<Price>) {
        let (mut cost, mut prices) = (Money::ZERO, Vec::new());
        for LicenceShare { licence, count } in self.licences_of(job) {
            self.licences[licence.index()] -= count;
            let price = self.pools.licences()[licence.index()].price;
            cost = cost.plus(price.of(count, span));
            prices.push(price);
        }
        (cost, prices)
    }

    pub(super) fn give_licences(&mut self, job: JobId) {
        for LicenceShare { licence, count } in self.licences_of(job) {
            self.licences[licence.index()] += count;
        }
    }

    /// The job pays for so much of the time that it had its licences.
    pub(super) fn settle_licences(
        &mut self,
        job: JobId,
        (held, processors): (&Held, u32),
        span: Span,
    ) {
        let shares = self.licences_of(job);
        for (share, price) in shares.iter().zip(held.licence_prices(processors)) {
            let amount = price.of(share.count, span);
            self.ledger.settle(self.pools.licence_owner(share.licence).0 as usize, amount);
            let paid = &mut self.jobs[job.index()].paid;
            *paid = paid.plus(amount);
        }
    }

    /// What running jobs leave, added up again; `None` if they hold more than there is.
    pub(super) fn licences_left(&self) -> Option<Vec<u32>> {
        let mut left = of(&self.pools);
        for job in self.running() {
            for LicenceShare { licence, count } in self.licences_of(job.job) {
                let free = left.get_mut(licence.index())?;
                *free = free.checked_sub(count)?;
            }
        }
        Some(left)
    }
}
