//! The side that takes a job in.

use std::sync::Arc;

use tradewind_model::{Demand, Longest, Span, Time};

use super::durable::{Entry, TransferVerdict};
use super::machine::{Negotiator, Output, Pledged, Step};
use super::message::{Body, Offer, Parcel, Peer, Serial, StartQuote};

/// A commit that was accepted: soft, for a while, and nothing is set aside for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pledge {
    processors: u32,
    longest: Longest,
    data_mb: u64,
    offer: Offer,
    /// The last second.
    until: Time,
}

impl Negotiator {
    /// Drops what the sender will never ask about again.
    pub(super) fn settle(&mut self, step: &mut Step<'_>, from: Peer, settled: Serial) {
        let first = self.durable.tombstones.get(&from).and_then(|t| t.closed.first_key_value());
        if first.is_some_and(|(transfer, _)| *transfer < settled) {
            self.record(step, Entry::Settled { from, settled });
        }
    }

    /// What is agreed and on its way, but for one agreement.
    fn pledged(&mut self, now: Time, but: Option<(Peer, Serial)>) -> Pledged {
        self.pledges.retain(|_, pledge| now <= pledge.until);
        let others = self.pledges.iter().filter(|(key, _)| Some(**key) != but);
        others.fold(Pledged::default(), |sum, (_, pledge)| Pledged {
            processors: sum.processors.saturating_add(pledge.processors),
            longest: sum.longest.max(pledge.longest),
            data_mb: sum.data_mb.saturating_add(pledge.data_mb),
        })
    }

    /// What the site would do for the job now: it can start when it arrives, or a horizon later.
    fn weigh(
        &mut self,
        step: &Step<'_>,
        key: (Peer, Serial),
        parcel: &Parcel,
        from: Time,
    ) -> Option<StartQuote> {
        let pledged = self.pledged(step.now, Some(key));
        let quote = step.host.quote(parcel, from, pledged)?;
        (quote.start <= from + self.settings.horizon).then_some(quote)
    }

    /// Whether the site can still keep to the offer.
    fn still(
        &mut self,
        step: &Step<'_>,
        key: (Peer, Serial),
        parcel: &Parcel,
        offer: &Offer,
        from: Time,
    ) -> bool {
        let quote = self.weigh(step, key, parcel, from);
        let start = offer.quote.start.max(from);
        let max = offer.quote;
        let keeps = |now: StartQuote| now.price <= max.price && now.cost <= max.cost;
        quote.is_some_and(|now| now.start <= start && keeps(now))
    }

    pub(super) fn asked(
        &mut self,
        step: &mut Step<'_>,
        from: Peer,
        inquiry: Serial,
        parcel: &Parcel,
        lead: Span,
    ) {
        if let Some(quote) = self.weigh(step, (from, inquiry), parcel, step.now + lead) {
            let expires = step.now + self.settings.offer_life;
            let offer = Offer { quote, expires };
            self.send(step, from, Body::Volunteer { inquiry, offer });
        }
    }

    pub(super) fn committed(
        &mut self,
        step: &mut Step<'_>,
        key: (Peer, Serial),
        parcel: &Parcel,
        offer: Offer,
        lead: Span,
    ) {
        let (now, (from, inquiry)) = (step.now, key);
        let agreed = self.pledges.get(&key).is_some_and(|p| p.offer == offer && now <= p.until);
        let holds = now <= offer.expires;
        if agreed || (holds && self.still(step, key, parcel, &offer, now + lead)) {
            let until = now + lead + self.settings.offer_life;
            let Demand { processors, estimate, .. } = parcel.demand;
            let longest = Longest::of(estimate, parcel.demand.mode());
            let data_mb = parcel.data_mb;
            self.pledges.insert(key, Pledge { processors, longest, data_mb, offer, until });
            self.send(step, from, Body::Accepted { inquiry, offer });
        } else {
            self.pledges.remove(&key);
            self.send(step, from, Body::Refused { inquiry, offer });
        }
    }

    /// A job is here with its data. It is accepted if that was agreed, or if the agreement is
    /// forgotten and the site can keep it all the same.
    pub(super) fn arrived(
        &mut self,
        step: &mut Step<'_>,
        key: (Peer, Serial),
        transfer: Serial,
        parcel: Arc<Parcel>,
        offer: Offer,
    ) {
        let (now, (from, _)) = (step.now, key);
        match self.verdict(from, transfer) {
            Some(Err(Late)) => return,
            Some(Ok(verdict)) => return self.tell(step, from, transfer, verdict),
            None => {}
        }
        let pledge = self.pledges.remove(&key).filter(|p| p.offer == offer && now <= p.until);
        let verdict = if pledge.is_some() || self.still(step, key, &parcel, &offer, now) {
            let entry = Entry::Took { from, transfer, parcel: Arc::clone(&parcel), offer };
            self.record(step, entry);
            step.out.push(Output::TakeIn { from, parcel, offer });
            TransferVerdict::Taken
        } else {
            self.record(step, Entry::Returned { from, transfer });
            TransferVerdict::Returned
        };
        self.tell(step, from, transfer, verdict);
    }

    fn tell(&self, step: &mut Step<'_>, from: Peer, transfer: Serial, verdict: TransferVerdict) {
        let body = match verdict {
            TransferVerdict::Taken => Body::Done { transfer },
            TransferVerdict::Returned => Body::Returned { transfer },
        };
        self.send(step, from, body);
    }

    /// What was said of this transfer before.
    fn verdict(&self, from: Peer, transfer: Serial) -> Option<Result<TransferVerdict, Late>> {
        let tombstones = self.durable.tombstones.get(&from)?;
        if transfer < tombstones.settled {
            return Some(Err(Late));
        }
        tombstones.closed.get(&transfer).copied().map(Ok)
    }
}

/// The origin knows the verdict already.
struct Late;
