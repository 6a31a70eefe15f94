//! Outages: nodes that are missing or will be, why, and those that were missing a short while ago.

pub mod recent_history;

use std::collections::BTreeMap;

use tradewind_model::{Event, Market, Outage, OutageId, PoolId, Time};

use super::ApplyError;
use crate::site::Tag;
use recent_history::RecentHistory;

/// Outages that are not over, and what people may look back at.
#[derive(Debug, Clone, Default)]
pub struct Outages {
    /// Those that are not over: the market knows how many nodes, and for how long.
    pub(crate) open: BTreeMap<Why, OutageId>,
    /// Prices and outages of the last days, for people.
    pub(crate) past: RecentHistory,
}

/// On whose account nodes are missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The owner's task of this name.
    Local(PoolId, String),
    /// A task of ours that the books do not know.
    Stray(PoolId, Tag),
    /// Nodes that do not work.
    Down(PoolId),
    /// The owner does not offer them from this moment on.
    Withheld(PoolId, Time),
    /// They are set aside for a job's part.
    Booked(PoolId, u64),
    /// The site is not counted on: nothing is planned on nodes that are not in use.
    Away(PoolId),
    /// Owners' jobs that wait at the site are expected to take them. The number tells several such
    /// loads of a pool apart, and means nothing else.
    Queued(PoolId, u32),
    /// They were given back to the owner at this moment, whose jobs may take them.
    Reclaimed(PoolId, Time),
    /// The site is not counted on: nodes that are in use there now will not be free afterwards. It
    /// is announced, and never begins.
    AwayLater(PoolId),
}

impl Why {
    /// Whose nodes.
    pub fn pool(&self) -> PoolId {
        match self {
            Why::Local(pool, _)
            | Why::Stray(pool, _)
            | Why::Down(pool)
            | Why::Away(pool)
            | Why::AwayLater(pool)
            | Why::Withheld(pool, _)
            | Why::Reclaimed(pool, _)
            | Why::Booked(pool, _)
            | Why::Queued(pool, _) => *pool,
        }
    }
}

/// What is written down of missing nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutageRecord {
    /// Nodes will be missing.
    Announced {
        /// Which, and for how long.
        what: Outage,
        /// On whose account.
        why: Why,
    },
    /// Nodes that were announced are gone.
    Closed {
        /// On whose account.
        why: Why,
    },
    /// They are back, or will not be missing after all.
    Reopened {
        /// On whose account.
        why: Why,
    },
}

impl Outages {
    /// Makes one change at `at`, in the market, too.
    pub(super) fn apply(
        &mut self,
        at: Time,
        record: &OutageRecord,
        market: &mut Market,
    ) -> Result<(), ApplyError> {
        match record {
            OutageRecord::Announced { what, why } => {
                if self.open.contains_key(why) {
                    return Err(ApplyError::Other("announced twice"));
                }
                let id = OutageId(market.announced());
                market.apply(&Event::Announced { closure: id, what: *what })?;
                self.open.insert(why.clone(), id);
            }
            OutageRecord::Closed { why } => {
                let id = self.id(why)?;
                market.apply(&Event::Closed { closure: id })?;
            }
            OutageRecord::Reopened { why } => {
                let id = self.id(why)?;
                let known = market.closure_state(id);
                market.apply(&Event::Reopened { closure: id })?;
                self.open.remove(why);
                // Only what had begun is something to look back at; of owners' jobs, they themselves.
                if let Some((what, true)) = known
                    && !matches!(why, Why::Queued(..))
                {
                    self.past.reopened(at, why, &what);
                }
            }
        }
        Ok(())
    }

    fn id(&self, why: &Why) -> Result<OutageId, ApplyError> {
        self.open.get(why).copied().ok_or(ApplyError::Other("an outage that is not known"))
    }
}
