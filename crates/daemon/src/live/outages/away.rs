//! Sites that are not counted on: no plan, forecast, quote or offer uses their nodes.
//!
//! What is free at such a site is missing from now on ([`Why::Away`]), and what is in use there will
//! be missing once it is given back ([`Why::AwayLater`]). Jobs that run there run on, as far as is
//! known.

use std::collections::BTreeMap;

use tradewind_model::{Cause, Outage, PoolId, SiteId, Span, Time};

use crate::live::state::{State, Why};
use crate::live::{ApplyError, Live};

/// It is not known when such a site can be counted on again: the end is beyond every horizon.
const UNKNOWN: Span = Span(3_650 * 24 * 3_600);

/// Whether a start is one after such an end: then it is no expectation.
pub(in crate::live) fn is_unknown(at: Time, start: Time) -> bool {
    (start - at).0 > UNKNOWN.0 / 2
}

impl Why {
    /// Whether the site's state is the cause.
    pub(super) fn is_uncounted(&self) -> bool {
        matches!(self, Why::Away(_) | Why::AwayLater(_))
    }
}

impl Live {
    /// Nothing counts on the site's nodes from now on. What is known already is not written again.
    pub(in crate::live) fn count_on_nothing(
        &mut self,
        at: Time,
        site: SiteId,
    ) -> Result<(), ApplyError> {
        let mut wanted = BTreeMap::new();
        for pool in self.state.pools_of(site) {
            let free = self.state.free_but_for_the_site(pool);
            let rest = self.state.market.pools().pool(pool).nodes.saturating_sub(free);
            for (why, nodes, cause) in [
                (Why::Away(pool), free, Cause::Failure(0)),
                (Why::AwayLater(pool), rest, Cause::Local),
            ] {
                let before = self.state.outage_of(&why).filter(|what| what.until > at);
                let (from, until) =
                    before.map_or((at, at + UNKNOWN), |what| (what.from, what.until));
                if nodes > 0 {
                    wanted.insert(why, Outage { pool, nodes, from, until, cause });
                }
            }
        }
        let known = self.state.uncounted_at(site);
        self.replace(at, known, wanted)
    }

    /// The site's nodes are counted on again.
    pub(in crate::live) fn count_again(
        &mut self,
        at: Time,
        site: SiteId,
    ) -> Result<(), ApplyError> {
        let known = self.state.uncounted_at(site);
        self.replace(at, known, BTreeMap::new())
    }

    /// Before a decision: nodes that were given back at sites that are not counted on are missing,
    /// too.
    pub(in crate::live) fn count_on_no_failed_site(&mut self, at: Time) -> Result<(), ApplyError> {
        for site in self.state.site_ids() {
            let has_free = |pool: &PoolId| self.state.market.free_in(*pool) > 0;
            let is_open =
                !self.state.is_counted_on(site) && self.state.pools_of(site).iter().any(has_free);
            if is_open {
                self.count_on_nothing(at, site)?;
            }
        }
        Ok(())
    }
}

impl State {
    /// All sites.
    pub(in crate::live) fn site_ids(&self) -> impl Iterator<Item = SiteId> + use<> {
        (0..self.market.pools().sites().len() as u32).map(SiteId)
    }

    /// Nodes that would be free if the site was counted on.
    fn free_but_for_the_site(&self, pool: PoolId) -> u32 {
        let id = self.outages.open.get(&Why::Away(pool));
        let own = id.and_then(|id| self.market.closure_state(*id));
        let own = own.map_or(0, |(what, begun)| if begun { what.nodes } else { 0 });
        self.market.free_in(pool) + own
    }

    fn uncounted_at(&self, site: SiteId) -> Vec<Why> {
        let here = |why: &&Why| why.is_uncounted() && self.site_of(why.pool()) == site;
        self.outages.open.keys().filter(here).cloned().collect()
    }
}
