//! Sites: who owns them, which of them answer, and what their owners ask.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tradewind_model::{Event, Market, PoolId, Price, Series, SiteId, Time};
use tradewind_sched::policy::owners::{DelayChange, Delays};

use super::ApplyError;
use super::outages::recent_history::RecentHistory;
use super::site_health::Health;

/// What is known of sites.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// By site: who owns it.
    pub(crate) owners: Vec<String>,
    /// By site that does not answer: since when.
    pub(crate) away: BTreeMap<SiteId, Time>,
    /// By site: its state; `None`: an earlier release wrote the journal.
    pub(crate) health: Option<BTreeMap<SiteId, Health>>,
    /// Prices that owners set while the market ran: tables in TOML.
    pub(crate) tariffs: BTreeMap<PoolId, String>,
    /// By site: how much later than expected its last jobs started, seconds; oldest first.
    pub(crate) delays: BTreeMap<SiteId, VecDeque<i64>>,
    /// By site: which part of their limits jobs of others used that ended there; `None`: none has.
    pub(crate) used: Option<BTreeMap<SiteId, UsedShares>>,
    /// By site: how long jobs of the market have put off its owners' waiting jobs; `None`: none has.
    pub(crate) put_off: Option<BTreeMap<SiteId, PutOff>>,
}

/// What is written down of sites and their prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteRecord {
    /// An owner asks another price.
    Priced {
        /// For whose nodes.
        pool: PoolId,
        /// Per node and second.
        price: Price,
    },
    /// An owner asks prices that change with the hours, or does so no more.
    Rated {
        /// For whose nodes.
        pool: PoolId,
        /// Per node and second; `None`: one price at all times, at first the lowest of those before.
        rate: Option<Arc<Series>>,
    },
    /// An owner's prices, as the configuration writes them, instead of those of the file.
    Tariff {
        /// For whose nodes.
        pool: PoolId,
        /// A table in TOML; `None`: those of the file again.
        text: Option<String>,
    },
    /// A site was seen after it had been away, or is away since this moment.
    Reached {
        /// Which, in the order of sites.
        site: u32,
        /// Away since; `None`: it is there.
        away: Option<Time>,
    },
    /// Jobs of others have ended at a site.
    Used {
        /// Which, in the order of sites.
        site: u32,
        /// Whose each was, as a number, and the part of its limit that it used, in thousandths.
        ended: Vec<(u64, u32)>,
    },
    /// Which of the owners' waiting jobs the market's jobs put off from now on.
    PutOff {
        /// Which, in the order of sites.
        site: u32,
        /// By names and tasks of jobs.
        change: PutOffChange,
    },
    /// A site is in another state, or for another reason.
    Health {
        /// Which, in the order of sites.
        site: u32,
        /// From now on.
        health: Health,
    },
}

impl Sites {
    /// As many delays of a site are remembered.
    pub const DELAYS: usize = 256;

    /// Makes one change at `at`; policies and people learn of new prices.
    pub(super) fn apply(
        &mut self,
        at: Time,
        record: &SiteRecord,
        market: &mut Market,
        past: &mut RecentHistory,
    ) -> Result<(), ApplyError> {
        match record {
            SiteRecord::Priced { pool, price } => {
                market.apply(&Event::Priced { pool: *pool, price: *price })?;
                past.priced(at, *pool, *price);
            }
            SiteRecord::Rated { pool, rate } => {
                market.apply(&Event::Rated { pool: *pool, rate: rate.clone() })?;
                past.priced(at, *pool, market.price_now(*pool));
            }
            SiteRecord::Tariff { pool, text: Some(text) } => {
                self.tariffs.insert(*pool, text.clone());
            }
            SiteRecord::Tariff { pool, text: None } => drop(self.tariffs.remove(pool)),
            SiteRecord::Reached { site, away: Some(since) } => {
                self.away.insert(SiteId(*site), *since);
            }
            SiteRecord::Reached { site, away: None } => drop(self.away.remove(&SiteId(*site))),
            SiteRecord::Used { site, ended } => {
                let used = self.used.get_or_insert_default().entry(SiteId(*site)).or_default();
                remember(used, ended);
            }
            SiteRecord::PutOff { site, change } => {
                let all = self.put_off.get_or_insert_default();
                all.entry(SiteId(*site)).or_default().apply(at, change);
            }
            SiteRecord::Health { site, health } => {
                self.health.get_or_insert_default().insert(SiteId(*site), health.clone());
            }
        }
        Ok(())
    }

    /// A job began so many seconds later than expected.
    pub(super) fn delayed(&mut self, site: SiteId, seconds: i64) {
        let delays = self.delays.entry(site).or_default();
        delays.push_back(seconds);
        if delays.len() > Sites::DELAYS {
            delays.pop_front();
        }
    }
}

/// A waiting job by its name and its tasks: when a task of an array has started, the next one is
/// another job.
pub type OwnerJobKey = (String, u32);

/// How long owners' jobs of a site were put off.
pub type PutOff = Delays<OwnerJobKey>;

/// What a survey changes of it.
pub type PutOffChange = DelayChange<OwnerJobKey>;

/// Jobs that ended, of a site, that are remembered.
pub(in crate::live) const REMEMBERED: usize = 512;

/// Jobs that ended, the latest last: whose, and the part of its limit that each used, in thousandths.
pub(crate) type UsedShares = VecDeque<(UserKey, u32)>;

/// A user of a site, by a number; 0: not known.
pub(crate) type UserKey = u64;

/// Jobs that ended are remembered.
pub(in crate::live) fn remember(used: &mut UsedShares, ended: &[(UserKey, u32)]) {
    used.extend(ended);
    let surplus = used.len().saturating_sub(REMEMBERED);
    used.drain(..surplus);
}
