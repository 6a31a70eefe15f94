//! The state machine: inputs, outputs, and the state between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use tradewind_model::{Longest, Span, Time, random};

use super::durable::{Durable, Entry};
use super::message::{Body, Envelope, Offer, Parcel, Peer, Serial, StartQuote, Ticket};
use super::origin::{Inquiry, Retry};
use super::settings::NegotiationSettings;
use super::volunteer::Pledge;

/// Whether a job could as well stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// It goes on waiting here, and may start here at any time before it is sent.
    Better,
    /// It cannot run here: other sites are asked until one takes it.
    Must,
}

/// What happens to a negotiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A job was submitted here.
    Joined(Ticket),
    /// A job that waits here should go to a site that can do more for it. Ignored while it is
    /// asked for, is left alone after a failed search, has been passed on as often as allowed, or
    /// is not here.
    PassOn(Arc<Parcel>, Preference),
    /// The job starts here: stop asking.
    Started(Ticket),
    /// A job of this site has ended, was refused or withdrawn. A job in doubt cannot be withdrawn
    /// before the doubt is over.
    Over(Ticket),
    /// A message came.
    Heard(Envelope),
    /// Time has passed: [`Negotiator::due`] has come.
    Tick,
}

/// What a negotiator wants done, in order. All entries of a step must be written down before the
/// first message of the step leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Write this down.
    Record(Entry),
    /// A message to send.
    Send(Envelope),
    /// A job came in: let it wait here, below the site's own.
    TakeIn {
        /// The sending site.
        from: Peer,
        /// The job, with what it asks for.
        parcel: Arc<Parcel>,
        /// On which terms.
        offer: Offer,
    },
    /// The job goes out: it must not start here any more.
    Hold(Ticket),
    /// The job came back: it waits here again.
    Release(Ticket),
    /// The job has arrived elsewhere; it was held already.
    HandedOver {
        /// Id of the job, the same at all sites.
        ticket: Ticket,
        /// Whose it is.
        to: Peer,
    },
}

/// What a volunteer has agreed to take and has not got yet, as one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pledged {
    /// Processors of all of them.
    pub processors: u32,
    /// Their longest estimates.
    pub longest: Longest,
    /// Their data, in megabytes.
    pub data_mb: u64,
}

/// The site's own scheduler, as far as negotiation must know it. Questions without effect.
pub trait Host: Debug {
    /// What the site could do for another's job that arrives at `from`, beside what it has
    /// pledged and without delaying its own jobs; `None`: nothing.
    fn quote(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote>;

    /// What the site will do for a job that waits here, if it is known.
    fn at_home(&self, parcel: &Parcel) -> Option<StartQuote>;

    /// How long the job takes from here to there, with its data.
    fn transfer(&self, parcel: &Parcel, to: Peer) -> Span;

    /// Whether a job of this site may go to that one: before it is asked, and on the terms that it
    /// has offered.
    fn admits(&self, _parcel: &Parcel, _to: Peer, _offer: Option<&StartQuote>) -> bool {
        true
    }

    /// Whether a job of this site may still be transferred on these terms: its account can pay.
    fn affords(&self, _parcel: &Parcel, _offer: &StartQuote) -> bool {
        true
    }
}

/// A site among others.
#[derive(Debug, Clone)]
pub struct Member {
    /// Id of this site.
    pub me: Peer,
    /// All sites; itself may be among them.
    pub peers: Arc<[Peer]>,
    /// How it negotiates.
    pub settings: NegotiationSettings,
    /// Draws which sites to ask, where not all are asked.
    pub seed: u64,
}

/// Something to be done later. A stale alarm is never kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    Inquiry(Serial),
    Handing(Serial),
}

/// One site's side of all its negotiations.
///
/// A step costs O(log n) for n jobs here, beside the messages that it sends and one look at every
/// pledge or every offer of one search.
#[derive(Debug)]
pub struct Negotiator {
    pub(super) me: Peer,
    pub(super) peers: Arc<[Peer]>,
    pub(super) settings: NegotiationSettings,
    pub(super) rng: Pcg64Mcg,
    pub(super) durable: Durable,
    /// From here on: forgotten in a crash.
    next: u32,
    pub(super) inquiries: BTreeMap<Serial, Inquiry>,
    pub(super) asking: BTreeMap<Ticket, Serial>,
    /// Jobs whose last search failed, and until when they are left alone.
    pub(super) resting: BTreeMap<Ticket, Time>,
    pub(super) retries: BTreeMap<Serial, Retry>,
    /// By origin and its inquiry.
    pub(super) pledges: BTreeMap<(Peer, Serial), Pledge>,
    pub(super) alarms: BTreeSet<(Time, Alarm)>,
    /// Clocks that differ from this site's.
    ahead: BTreeMap<Peer, Span>,
}

/// What a step works with: the moment, the host, and where its outputs go.
pub(super) struct Step<'a> {
    pub(super) now: Time,
    pub(super) host: &'a dyn Host,
    pub(super) out: &'a mut Vec<Output>,
}

impl Negotiator {
    /// A site's first start.
    pub fn new(member: Member) -> Negotiator {
        Negotiator::with(Durable::default(), member)
    }

    fn with(durable: Durable, member: Member) -> Negotiator {
        let Member { me, peers, settings, seed } = member;
        let key = (u64::from(me.0) << 32) | u64::from(durable.epoch);
        Negotiator {
            me,
            peers,
            settings,
            rng: random::stream(seed, "discover", key),
            durable,
            next: 0,
            inquiries: BTreeMap::new(),
            asking: BTreeMap::new(),
            resting: BTreeMap::new(),
            retries: BTreeMap::new(),
            pledges: BTreeMap::new(),
            alarms: BTreeSet::new(),
            ahead: BTreeMap::new(),
        }
    }

    /// A site that comes back with what it had written down. Everything else is forgotten: the
    /// jobs in doubt are asked about again, and searches have to be requested again.
    pub fn restart(
        mut durable: Durable,
        member: Member,
        now: Time,
        host: &dyn Host,
        out: &mut Vec<Output>,
    ) -> Negotiator {
        durable.apply(&Entry::Restarted);
        out.push(Output::Record(Entry::Restarted));
        let mut negotiator = Negotiator::with(durable, member);
        let mut step = Step { now, host, out };
        let open: Vec<Serial> = negotiator.durable.handing.keys().copied().collect();
        for transfer in open {
            negotiator.send_migrate(&mut step, transfer);
        }
        negotiator
    }

    /// What this site must not forget.
    pub fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Whether a search for the job is under way.
    pub fn asks_for(&self, ticket: Ticket) -> bool {
        self.asking.contains_key(&ticket)
    }

    /// The jobs that searches are under way for.
    pub fn searches(&self) -> impl ExactSizeIterator<Item = Ticket> + '_ {
        self.asking.keys().copied()
    }

    /// Whether a request to pass the job on would be accepted at `now`, as far as earlier searches
    /// go.
    pub fn would_search(&self, ticket: Ticket, now: Time) -> bool {
        let rests = self.resting.get(&ticket).is_some_and(|until| now < *until);
        !rests && !self.asking.contains_key(&ticket)
    }

    /// The peer's clock is so much ahead of this site's, as far as its messages show. It matters
    /// for which offer is the best and which has expired, not for safety.
    pub fn clock_is_ahead(&mut self, peer: Peer, by: Span) {
        match by {
            Span::ZERO => self.ahead.remove(&peer),
            by => self.ahead.insert(peer, by),
        };
    }

    /// By how much the peer's clock is ahead of this site's, as far as is known.
    pub fn clock_ahead_of(&self, peer: Peer) -> Span {
        self.ahead.get(&peer).copied().unwrap_or(Span::ZERO)
    }

    /// The moment on the peer's clock.
    pub(super) fn clock_of(&self, peer: Peer, now: Time) -> Time {
        now + self.clock_ahead_of(peer)
    }

    /// When to call with [`Input::Tick`].
    pub fn due(&self) -> Option<Time> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Takes one input in. `now` never goes back.
    pub fn step(&mut self, now: Time, input: Input, host: &dyn Host, out: &mut Vec<Output>) {
        let mut step = Step { now, host, out };
        match input {
            Input::Joined(ticket) => self.record(&mut step, Entry::Joined(ticket)),
            Input::PassOn(parcel, wish) => self.pass_on(&mut step, parcel, wish),
            Input::Started(ticket) => self.stop_asking(&mut step, ticket),
            Input::Over(ticket) => {
                self.stop_asking(&mut step, ticket);
                self.resting.remove(&ticket);
                self.record(&mut step, Entry::Over(ticket));
            }
            Input::Heard(envelope) => self.heard(&mut step, envelope),
            Input::Tick => self.tick(&mut step),
        }
    }

    fn heard(&mut self, step: &mut Step<'_>, Envelope { from, to, settled, body }: Envelope) {
        if to != self.me || from == self.me {
            return; // for another site
        }
        self.settle(step, from, settled);
        match body {
            Body::Discover { inquiry, parcel, lead } => {
                self.asked(step, from, inquiry, &parcel, lead);
            }
            Body::Volunteer { inquiry, offer } => self.offered(step, from, inquiry, offer),
            Body::Commit { inquiry, parcel, offer, lead } => {
                self.committed(step, (from, inquiry), &parcel, offer, lead);
            }
            Body::Accepted { inquiry, offer } => self.accepted(step, from, inquiry, offer),
            Body::Refused { inquiry, offer } => self.refused(step, from, inquiry, offer),
            Body::Cancel { inquiry } => {
                self.pledges.remove(&(from, inquiry));
            }
            Body::Migrate { transfer, inquiry, parcel, offer } => {
                self.arrived(step, (from, inquiry), transfer, parcel, offer);
            }
            Body::Done { transfer } => self.done(step, from, transfer),
            Body::Returned { transfer } => self.returned(step, from, transfer),
        }
    }

    fn tick(&mut self, step: &mut Step<'_>) {
        while let Some((at, alarm)) = self.alarms.first().copied()
            && at <= step.now
        {
            self.alarms.remove(&(at, alarm));
            match alarm {
                Alarm::Inquiry(inquiry) => self.inquiry_due(step, inquiry),
                Alarm::Handing(transfer) => self.send_migrate(step, transfer),
            }
        }
    }

    /// A serial that was never used.
    pub(super) fn serial(&mut self) -> Serial {
        let serial = self.next_serial();
        self.next += 1;
        serial
    }

    fn next_serial(&self) -> Serial {
        Serial { epoch: self.durable.epoch, number: self.next }
    }

    pub(super) fn record(&mut self, step: &mut Step<'_>, entry: Entry) {
        self.durable.apply(&entry);
        step.out.push(Output::Record(entry));
    }

    pub(super) fn send(&self, step: &mut Step<'_>, to: Peer, body: Body) {
        let open = self.durable.handing.iter().find(|(_, handing)| handing.to == to);
        let settled = open.map_or(self.next_serial(), |(transfer, _)| *transfer);
        step.out.push(Output::Send(Envelope { from: self.me, to, settled, body }));
    }
}
