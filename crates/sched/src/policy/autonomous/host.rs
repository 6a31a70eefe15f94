//! A site as its negotiator sees it.

use tradewind_model::{Money, Pool, Span, Time};

use super::Transport;
use crate::negotiation::{Host, Parcel, Peer, Pledged, StartQuote};
use crate::policy::local::{Local, Origin, Wanted};

/// Answers from the site's scheduler, its pool and the network.
#[derive(Debug)]
pub(super) struct SiteHost<'a, N> {
    pub(super) now: Time,
    pub(super) me: Peer,
    pub(super) local: &'a dyn Local,
    pub(super) pool: &'a Pool,
    pub(super) network: &'a N,
}

impl<N> SiteHost<'_, N> {
    fn wanted(&self, parcel: &Parcel, pledged: Pledged) -> Wanted {
        let pledged_length = self.pool.longest_in(pledged.longest);
        Wanted {
            job: parcel.ticket.job,
            processors: parcel.demand.processors.saturating_add(pledged.processors),
            length: self.pool.length_of(&parcel.demand).max(pledged_length),
            submitted: parcel.submitted,
        }
    }

    fn quoted(&self, parcel: &Parcel, start: Time) -> StartQuote {
        let length = self.pool.length_of(&parcel.demand);
        let cost: Money = self.pool.price.of(parcel.demand.processors, length);
        let [first, second] = self.local.load().backfill;
        StartQuote { start, price: self.pool.price, cost, load: first.saturating_add(second) }
    }
}

impl<N: Transport> Host for SiteHost<'_, N> {
    /// As if the job and all that is pledged were one job, as wide as all and as long as the
    /// longest of them: if that fits, each of them does.
    fn quote(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote> {
        let wanted = self.wanted(parcel, pledged);
        if wanted.processors > self.pool.nodes || !self.pool.suits(&parcel.demand) {
            return None;
        }
        let start = self.local.promise(&wanted, Origin::Remote, self.now, from)?;
        Some(self.quoted(parcel, start))
    }

    /// Its reservation; a job without one has nothing to lose.
    fn at_home(&self, parcel: &Parcel) -> Option<StartQuote> {
        let start = self.local.reservation(parcel.ticket.job)?;
        Some(self.quoted(parcel, start))
    }

    fn transfer(&self, parcel: &Parcel, to: Peer) -> Span {
        self.network.transfer(parcel, self.me, to)
    }
}
