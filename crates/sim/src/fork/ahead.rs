//! What comes from outside while a forecast goes on.

use tradewind_model::{Market, PoolId, Price, Time};

use super::{Beliefs, Coming};
use crate::kernel::earlier;
use crate::outage::{self, AnnouncedOutage};

/// Three lists, the next one of each last.
pub(super) struct Ahead {
    jobs: Vec<Coming>,
    missing: Vec<AnnouncedOutage>,
    asked: Vec<(Time, PoolId, Price)>,
}

impl Ahead {
    pub(super) fn of(beliefs: &Beliefs, market: &Market) -> Ahead {
        let mut jobs = beliefs.coming.clone();
        jobs.sort_by_key(|job| job.submit);
        jobs.reverse();
        let mut missing = outage::in_order(market.pools(), beliefs.missing.clone());
        missing.retain(|outage| outage.what.until > market.now());
        missing.reverse();
        let mut asked = beliefs.asked.clone();
        asked.sort_by_key(|(at, ..)| *at);
        asked.reverse();
        Ahead { jobs, missing, asked }
    }

    /// Jobs still to come.
    pub(super) fn jobs(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// When the next job comes.
    pub(super) fn next_job(&self) -> Option<Time> {
        self.jobs.last().map(|job| job.submit)
    }

    /// When something else is known that was not before.
    pub(super) fn next_news(&self) -> Option<Time> {
        let told = self.missing.last().map(|outage| outage.announced);
        earlier(told, self.asked.last().map(|(at, ..)| *at))
    }

    /// The next job that has come by `now`.
    pub(super) fn job(&mut self, now: Time) -> Option<Coming> {
        self.jobs.pop_if(|job| job.submit <= now)
    }

    /// The next outage that is known by `now`.
    pub(super) fn outage(&mut self, now: Time) -> Option<AnnouncedOutage> {
        self.missing.pop_if(|outage| outage.announced <= now)
    }

    /// The next price that is asked by `now`.
    pub(super) fn price(&mut self, now: Time) -> Option<(PoolId, Price)> {
        let (_, pool, price) = self.asked.pop_if(|(at, ..)| *at <= now)?;
        Some((pool, price))
    }
}
