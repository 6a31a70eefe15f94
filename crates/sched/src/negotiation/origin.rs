//! The side that holds a job and would pass it on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{Span, Time};

use super::choice;
use super::durable::{Entry, Handing};
use super::machine::{Alarm, Negotiator, Output, Preference, Step};
use super::message::{Body, Offer, Parcel, Peer, Serial, StartQuote, Ticket};
use super::settings::Discover;

/// A search for a site that takes a job.
#[derive(Debug)]
pub(super) struct Inquiry {
    parcel: Arc<Parcel>,
    wish: Preference,
    /// Number of rounds begun.
    round: u32,
    /// How long offers are collected now: twice as long after every rest.
    window: Span,
    /// Where not all sites are asked: those asked since the last pause.
    asked: BTreeSet<Peer>,
    /// Answers still expected in this round.
    silent: usize,
    /// Of those who have not refused since.
    offers: BTreeMap<Peer, Offer>,
    phase: OriginPhase,
    /// When the phase ends by itself.
    due: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginPhase {
    Collecting,
    Committing { to: Peer, offer: Offer, tries: u32, wait: Span },
    Resting,
}

/// A job in doubt is asked about again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    due: Time,
    wait: Span,
}

impl Negotiator {
    pub(super) fn pass_on(&mut self, step: &mut Step<'_>, parcel: Arc<Parcel>, wish: Preference) {
        let ticket = parcel.ticket;
        let far = parcel.hops >= self.settings.hops;
        let here = self.durable.here.contains(&ticket);
        if far || !here || !self.would_search(ticket, step.now) {
            return;
        }
        self.resting.remove(&ticket);
        let inquiry = Inquiry {
            parcel,
            wish,
            round: 0,
            window: self.settings.window,
            asked: BTreeSet::new(),
            silent: 0,
            offers: BTreeMap::new(),
            phase: OriginPhase::Resting,
            due: step.now,
        };
        let id = self.serial();
        self.asking.insert(ticket, id);
        self.ask(step, id, inquiry);
    }

    /// The job starts here, or is over: no other site is needed.
    pub(super) fn stop_asking(&mut self, step: &mut Step<'_>, ticket: Ticket) {
        let Some(id) = self.asking.get(&ticket).copied() else { return };
        let Some(inquiry) = self.take_inquiry(id) else { return };
        self.asking.remove(&ticket);
        if let OriginPhase::Committing { to, .. } = inquiry.phase {
            self.send(step, to, Body::Cancel { inquiry: id });
        }
    }

    /// The inquiry, to be put back with [`Negotiator::wait`] or dropped with its alarm.
    fn take_inquiry(&mut self, id: Serial) -> Option<Inquiry> {
        let inquiry = self.inquiries.remove(&id)?;
        self.alarms.remove(&(inquiry.due, Alarm::Inquiry(id)));
        Some(inquiry)
    }

    fn wait(&mut self, id: Serial, inquiry: Inquiry) {
        self.alarms.insert((inquiry.due, Alarm::Inquiry(id)));
        self.inquiries.insert(id, inquiry);
    }

    /// One round of questions.
    fn ask(&mut self, step: &mut Step<'_>, id: Serial, mut inquiry: Inquiry) {
        let to: Vec<Peer> = match self.settings.discover {
            Discover::All => self.peers.iter().copied().filter(|peer| *peer != self.me).collect(),
            Discover::Sample(choices) => {
                choice::sample(&mut self.rng, choices, &self.peers, &inquiry.asked, self.me)
            }
        };
        let admitted = |peer: &&Peer| step.host.admits(&inquiry.parcel, **peer, None);
        let to: Vec<Peer> = to.iter().filter(admitted).copied().collect();
        for &peer in &to {
            let parcel = Arc::clone(&inquiry.parcel);
            // The offers are collected, the commit goes there and back, and the job travels.
            let handshake = Span(inquiry.window.0 * 2);
            let lead = Span(handshake.0 + step.host.transfer(&parcel, peer).0);
            self.send(step, peer, Body::Discover { inquiry: id, parcel, lead });
        }
        inquiry.round += 1;
        inquiry.silent = to.len();
        if matches!(self.settings.discover, Discover::Sample(_)) {
            inquiry.asked.extend(to);
        }
        inquiry.phase = OriginPhase::Collecting;
        inquiry.due = step.now + inquiry.window;
        self.wait(id, inquiry);
    }

    /// An offer came. One that comes after the choice still counts if the choice fails, and one
    /// that comes during a rest ends it. However long the window, the first offer waits for others
    /// no longer than a plain one, lest it expire.
    pub(super) fn offered(&mut self, step: &mut Step<'_>, from: Peer, id: Serial, offer: Offer) {
        let Some(mut inquiry) = self.take_inquiry(id) else { return };
        let new = inquiry.offers.insert(from, offer).is_none();
        inquiry.silent = inquiry.silent.saturating_sub(usize::from(new));
        match inquiry.phase {
            OriginPhase::Committing { .. } => self.wait(id, inquiry),
            OriginPhase::Collecting if inquiry.silent > 0 => {
                inquiry.due = inquiry.due.min(step.now + self.settings.window);
                self.wait(id, inquiry);
            }
            OriginPhase::Collecting | OriginPhase::Resting => self.choose(step, id, inquiry),
        }
    }

    /// Takes the best offer up, or asks on, or gives up.
    fn choose(&mut self, step: &mut Step<'_>, id: Serial, mut inquiry: Inquiry) {
        let (now, choose) = (step.now, self.settings.choose);
        let home = match inquiry.wish {
            Preference::Better => step.host.at_home(&inquiry.parcel),
            Preference::Must => None,
        };
        let budget = inquiry.parcel.demand.terms().budget;
        inquiry.offers.retain(|from, Offer { quote, expires }| {
            let there = self.clock_of(*from, now);
            let here = StartQuote { start: quote.start - (there - now), ..*quote };
            there <= *expires
                && budget.is_none_or(|max| quote.cost <= max)
                && home.is_none_or(|home| choice::gains(choose, &here, &home))
                && step.host.admits(&inquiry.parcel, *from, Some(quote))
                && step.host.affords(&inquiry.parcel, quote)
        });
        match choice::best(choose, &inquiry.offers) {
            Some((to, offer)) => {
                let wait = inquiry.window;
                inquiry.phase = OriginPhase::Committing { to, offer, tries: 0, wait };
                self.commit(step, id, inquiry);
            }
            None => self.ask_on(step, id, inquiry),
        }
    }

    fn commit(&mut self, step: &mut Step<'_>, id: Serial, mut inquiry: Inquiry) {
        let OriginPhase::Committing { to, offer, tries, wait } = inquiry.phase else { return };
        let parcel = Arc::clone(&inquiry.parcel);
        let lead = Span(inquiry.window.0 + step.host.transfer(&parcel, to).0);
        self.send(step, to, Body::Commit { inquiry: id, parcel, offer, lead });
        inquiry.due = step.now + wait;
        let wait = self.longer(wait);
        inquiry.phase = OriginPhase::Committing { to, offer, tries: tries + 1, wait };
        self.wait(id, inquiry);
    }

    fn longer(&self, wait: Span) -> Span {
        Span(wait.0 * 2).min(self.settings.retry_max).max(wait)
    }

    /// No site was found in this round.
    fn ask_on(&mut self, step: &mut Step<'_>, id: Serial, mut inquiry: Inquiry) {
        let ticket = inquiry.parcel.ticket;
        if inquiry.wish == Preference::Better && inquiry.round >= self.settings.rounds {
            self.asking.remove(&ticket);
            self.resting.insert(ticket, step.now + self.settings.pause);
            return;
        }
        inquiry.offers.clear();
        let others = self.peers.iter().filter(|peer| **peer != self.me).count();
        let asked_all = match self.settings.discover {
            Discover::All => true,
            Discover::Sample(_) => inquiry.asked.len() >= others,
        };
        if asked_all {
            inquiry.asked.clear();
            inquiry.window = self.longer(inquiry.window);
            inquiry.phase = OriginPhase::Resting;
            inquiry.due = step.now + self.settings.pause;
            self.wait(id, inquiry);
        } else {
            self.ask(step, id, inquiry);
        }
    }

    pub(super) fn inquiry_due(&mut self, step: &mut Step<'_>, id: Serial) {
        let Some(mut inquiry) = self.take_inquiry(id) else { return };
        match inquiry.phase {
            OriginPhase::Collecting => self.choose(step, id, inquiry),
            OriginPhase::Resting => self.ask(step, id, inquiry),
            OriginPhase::Committing { to, offer, tries, .. } => {
                if tries < self.settings.tries && self.clock_of(to, step.now) <= offer.expires {
                    self.commit(step, id, inquiry);
                } else {
                    self.send(step, to, Body::Cancel { inquiry: id });
                    inquiry.offers.remove(&to);
                    self.choose(step, id, inquiry);
                }
            }
        }
    }

    pub(super) fn refused(&mut self, step: &mut Step<'_>, from: Peer, id: Serial, offer: Offer) {
        if !self.commits_to(id, from, offer) {
            return;
        }
        let Some(mut inquiry) = self.take_inquiry(id) else { return };
        inquiry.offers.remove(&from);
        self.choose(step, id, inquiry);
    }

    /// Whether the search waits for exactly this answer.
    fn commits_to(&self, id: Serial, peer: Peer, answer: Offer) -> bool {
        let phase = self.inquiries.get(&id).map(|inquiry| inquiry.phase);
        matches!(phase, Some(OriginPhase::Committing { to, offer, .. }) if to == peer && offer == answer)
    }

    pub(super) fn accepted(&mut self, step: &mut Step<'_>, from: Peer, id: Serial, offer: Offer) {
        if self.commits_to(id, from, offer) {
            let Some(mut inquiry) = self.take_inquiry(id) else { return };
            let (parcel, quote) = (&inquiry.parcel, &offer.quote);
            if step.host.admits(parcel, from, Some(quote)) && step.host.affords(parcel, quote) {
                return self.hand_over(step, id, &inquiry, from, offer);
            }
            self.send(step, from, Body::Cancel { inquiry: id });
            inquiry.offers.remove(&from);
            return self.choose(step, id, inquiry);
        }
        let asks_there = self.inquiries.get(&id).is_some_and(
            |inquiry| matches!(inquiry.phase, OriginPhase::Committing { to, .. } if to == from),
        );
        let on_its_way = self
            .durable
            .handing
            .values()
            .any(|handing| handing.inquiry == id && handing.to == from);
        if !asks_there && !on_its_way {
            self.send(step, from, Body::Cancel { inquiry: id });
        }
    }

    /// The point of no return: from here on the job is in doubt.
    fn hand_over(
        &mut self,
        step: &mut Step<'_>,
        id: Serial,
        inquiry: &Inquiry,
        to: Peer,
        offer: Offer,
    ) {
        let ticket = inquiry.parcel.ticket;
        self.asking.remove(&ticket);
        let transfer = self.serial();
        let parcel = Parcel { hops: inquiry.parcel.hops + 1, ..Parcel::clone(&inquiry.parcel) };
        let handing = Handing { to, inquiry: id, parcel: Arc::new(parcel), offer };
        self.record(step, Entry::Handing { transfer, handing });
        step.out.push(Output::Hold(ticket));
        self.send_migrate(step, transfer);
    }

    /// Sends a job that is in doubt, and sets the alarm for the next time.
    pub(super) fn send_migrate(&mut self, step: &mut Step<'_>, transfer: Serial) {
        let Some(Handing { to, inquiry, parcel, offer }) =
            self.durable.handing.get(&transfer).cloned()
        else {
            return;
        };
        let travel = step.host.transfer(&parcel, to);
        let wait = self.retries.get(&transfer).map_or(self.settings.window, |retry| retry.wait);
        let due = step.now + travel + wait;
        self.retries.insert(transfer, Retry { due, wait: self.longer(wait) });
        self.alarms.insert((due, Alarm::Handing(transfer)));
        self.send(step, to, Body::Migrate { transfer, inquiry, parcel, offer });
    }

    /// The handing that an answer of `from` is about, which the answer closes.
    fn close_handing(&mut self, from: Peer, transfer: Serial) -> Option<Ticket> {
        let handing = self.durable.handing.get(&transfer).filter(|handing| handing.to == from)?;
        let ticket = handing.parcel.ticket;
        if let Some(retry) = self.retries.remove(&transfer) {
            self.alarms.remove(&(retry.due, Alarm::Handing(transfer)));
        }
        Some(ticket)
    }

    pub(super) fn done(&mut self, step: &mut Step<'_>, from: Peer, transfer: Serial) {
        let Some(ticket) = self.close_handing(from, transfer) else { return };
        self.record(step, Entry::Gave(transfer));
        step.out.push(Output::HandedOver { ticket, to: from });
    }

    pub(super) fn returned(&mut self, step: &mut Step<'_>, from: Peer, transfer: Serial) {
        let Some(ticket) = self.close_handing(from, transfer) else { return };
        self.record(step, Entry::Kept(transfer));
        step.out.push(Output::Release(ticket));
    }
}
