//! A site as its negotiator sees it.

use tradewind_model::{Money, Pool, Span, Time};
use tradewind_sched::negotiation::{Host, Parcel, Peer, Pledged, StartQuote};
use tradewind_sched::policy::local::{Local, Origin, Wanted};

use crate::network::Links;

/// Answers from the site's scheduler, its pool and the network's speed.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    pub(super) now: Time,
    pub(super) local: &'a dyn Local,
    pub(super) pool: &'a Pool,
    pub(super) links: Links,
}

impl Desk<'_> {
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

impl Host for Desk<'_> {
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

    fn transfer(&self, parcel: &Parcel, _: Peer) -> Span {
        self.links.transfer(parcel.data_mb)
    }
}
