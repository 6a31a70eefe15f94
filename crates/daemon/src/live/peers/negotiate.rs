//! The negotiator at work: what it hears, what it wants done, and which jobs it is to pass on.

use std::cell::OnceCell;
use std::sync::Arc;

use tradewind_io::submission::{Conditions, Submission};
use tradewind_model::{Money, Time};
use tradewind_sched::negotiation::{
    Durable, Entry, Input, Member, Negotiator, Offer, Output, Parcel, Peer, Preference, Ticket,
};
use tradewind_sched::policy::outlook::{Outlook, Promised, StartEstimate};

use super::desk::Desk;
use super::message::{taken_in, ticket, weight};
use super::{HEAVIEST, MOST_WAITING, PeerMessage, Traveller};
use crate::live::answer::{Refusal, RefusalKind};
use crate::live::money::Account;
use crate::live::record::{JobRecord, LedgerRecord, PeerRecord, Record};
use crate::live::rights::{Actor, Role};
use crate::live::state::peers::PeerEntry;
use crate::live::state::{Booking, Finish, Job, JobHold, Phase, Quote};
use crate::live::{ApplyError, Live};

impl Live {
    /// Peers that are configured get numbers, and the negotiation goes on. A market that never
    /// had any has nothing to do with it.
    pub(in crate::live) fn meet(&mut self, at: Time) -> Result<(), ApplyError> {
        for name in self.settings.peers.clone() {
            if self.state.peers.number_of(&name).is_none() {
                let last = self.state.peers.directory.keys().next_back().map_or(0, |peer| peer.0);
                let known = PeerEntry::named(&name);
                self.put(at, PeerRecord::Peered { peer: Peer(last + 1), known })?;
                self.welcome(at, Account::Peer(name))?;
            }
        }
        if self.state.peers.directory.is_empty() {
            return Ok(());
        }
        self.mind_removed(at)?;
        let named = |name: &String| self.state.peers.number_of(name);
        let peers: Arc<[Peer]> = self.settings.peers.iter().filter_map(named).collect();
        let member = Member { me: Peer(0), peers, settings: self.negotiation(), seed: 0 };
        let mut out = Vec::new();
        let durable = self.state.peers.durable.clone();
        let negotiator = Negotiator::restart(durable, member, at, &self.desk(at), &mut out);
        self.negotiator = Some(negotiator);
        self.carry_out(at, out, None)
    }

    /// What can be told from the state, kept up to date; the record is about to be applied.
    pub(in crate::live) fn remember_peers(&mut self, record: &Record) {
        match record {
            Record::Job(JobRecord::Held { job, hold: JobHold::Nowhere })
            | Record::Peer(PeerRecord::CameBack { job, .. }) => self.index.nowhere.extend([*job]),
            Record::Peer(PeerRecord::Negotiated {
                entry: Entry::Gave(transfer) | Entry::Kept(transfer),
                ..
            }) => {
                let handing = self.state.peers.durable.handing.get(transfer);
                let number = handing.map(|it| u64::from(it.parcel.ticket.job.0));
                match record {
                    Record::Peer(PeerRecord::Negotiated { entry: Entry::Gave(_), .. }) => {
                        self.index.away.extend(number);
                    }
                    _ => self.index.nowhere.extend(number),
                }
            }
            _ => {}
        }
    }

    /// What the negotiation would still know after a crash, if there is one: the same as
    /// [`crate::live::state::peers::Peers::durable`].
    pub fn negotiated(&self) -> Option<&Durable> {
        self.negotiator.as_ref().map(Negotiator::durable)
    }

    /// Jobs for which peers are asked now.
    pub fn searches(&self) -> usize {
        self.negotiator.as_ref().map_or(0, |it| it.searches().len())
    }

    /// Whether jobs can go anywhere at all.
    pub(in crate::live) fn has_peers(&self) -> bool {
        self.negotiator.is_some() && !self.settings.peers.is_empty()
    }

    /// One input of the negotiator, and all that follows from it.
    pub(super) fn negotiate(
        &mut self,
        at: Time,
        input: Input,
        traveller: Option<&Traveller>,
    ) -> Result<(), ApplyError> {
        let Some(mut negotiator) = self.negotiator.take() else { return Ok(()) };
        if self.outlook.get().is_some_and(|outlook| outlook.at() < at) {
            self.outlook = OnceCell::new();
        }
        let mut out = Vec::new();
        negotiator.step(at, input, &self.desk(at), &mut out);
        self.negotiator = Some(negotiator);
        self.carry_out(at, out, traveller)
    }

    fn desk(&self, at: Time) -> Desk<'_> {
        Desk {
            at,
            state: &self.state,
            settings: &self.settings,
            outlook: &self.outlook,
            away: &self.index.away,
            exchange: self.policy.exchange(),
        }
    }

    fn carry_out(
        &mut self,
        at: Time,
        out: Vec<Output>,
        traveller: Option<&Traveller>,
    ) -> Result<(), ApplyError> {
        for output in out {
            match output {
                Output::Record(entry) => self.write_entry(at, entry, traveller)?,
                Output::Send(envelope) => self.dispatch(at, envelope),
                Output::TakeIn { from, parcel, offer } => {
                    self.settle_guest(at, from, &parcel, offer)?;
                }
                Output::Release(ticket) => self.back_home(at, u64::from(ticket.job.0))?,
                // The entry has done it.
                Output::Hold(_) | Output::HandedOver { .. } => {}
            }
        }
        Ok(())
    }

    /// The entry, in one step with what it means for jobs: with *Took* the job is there.
    fn write_entry(
        &mut self,
        at: Time,
        entry: Entry,
        traveller: Option<&Traveller>,
    ) -> Result<(), ApplyError> {
        let Entry::Took { from, offer, .. } = &entry else {
            return self.put(at, PeerRecord::Negotiated { entry, guest: None });
        };
        let unknown = ApplyError::Other("a job came in of which nothing is known");
        let traveller = traveller.ok_or_else(|| unknown.clone())?;
        let name = self.state.peers.directory.get(from).ok_or(unknown)?.name.clone();
        let number = self.state.jobs.last + 1;
        let user = format!("{}@{name}", traveller.user);
        let submission = Arc::new(taken_in(&traveller.submission, &offer.quote));
        let record = Record::Job(JobRecord::Submitted {
            job: number,
            user,
            submission,
            array: None,
            key: None,
        });
        self.put(at, record)?;
        self.count_in(number);
        self.put(at, PeerRecord::Negotiated { entry, guest: Some((number, traveller.array)) })
    }

    /// A new account gets what new users get.
    pub(in crate::live) fn welcome(
        &mut self,
        at: Time,
        account: Account,
    ) -> Result<(), ApplyError> {
        if self.state.ledger.accounts.knows(&account) || self.settings.new_user_grant <= Money::ZERO
        {
            return Ok(());
        }
        let note = match account {
            Account::Peer(_) => "new peer",
            _ => "new user",
        };
        let (amount, note) = (self.settings.new_user_grant, note.to_owned());
        self.put(at, LedgerRecord::Moved { from: Account::Bank, to: account, amount, note })
    }

    /// A job that came in has the window that was offered, or waits like others. If the policy says
    /// itself what it promises, the job joins its queues.
    fn settle_guest(
        &mut self,
        at: Time,
        from: Peer,
        parcel: &Parcel,
        offer: Offer,
    ) -> Result<(), ApplyError> {
        let number = self.state.jobs.last;
        let ours = self.state.jobs.get(&number).and_then(ticket) == Some(parcel.ticket);
        if !ours || parcel.ticket.home != from {
            return Err(ApplyError::Job(number));
        }
        if self.policy.exchange().is_some() {
            return self.enqueue(at, number);
        }
        let latest = offer.quote.start.max(at) + self.settings.negotiation.horizon;
        let opening = self.opening(at, number).filter(|opening| opening.start <= latest);
        match opening {
            Some(opening) => self.book_guest(at, number, opening),
            None => self.enqueue(at, number),
        }
    }

    /// The earliest place for a job that is not in the queue.
    fn opening(&self, at: Time, number: u64) -> Option<StartEstimate> {
        let job = self.state.jobs.get(&number)?;
        let demand = self.demand_of(&job.user, &job.submission).ok()?;
        let outlook = || Outlook::new(&self.state.market, at, MOST_WAITING);
        let outlook = self.outlook.get_or_init(outlook);
        outlook.open(&self.state.market, &demand, at, Promised::default())
    }

    /// As if its user had accepted a quote.
    fn book_guest(
        &mut self,
        at: Time,
        number: u64,
        opening: StartEstimate,
    ) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Err(ApplyError::Job(number)) };
        let demand = self.demand_of(&job.user, &job.submission);
        let Ok(demand) = demand else { return self.enqueue(at, number) };
        let StartEstimate { start, place, terms, cost } = opening;
        let ends = terms.iter().map(|(_, length)| start + *length).collect();
        let prices = terms.iter().map(|(price, _)| *price).collect();
        let quote = Quote {
            number: self.state.offers.last + 1,
            user: job.user.clone(),
            tasks: demand.processors,
            work: demand.estimate,
            times: demand.mode(),
            booking: Booking { start, ends, place, prices, groups: None },
            cost,
            expires: start,
            slack: None,
        };
        let id = quote.number;
        self.put_quote(at, quote)?;
        self.book(at, number, id)
    }

    /// A job that was in doubt is this market's, and here.
    fn back_home(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        match job.cancelled_by.is_some() {
            true => self.finish(at, number, Finish::Cancelled),
            false => self.enqueue(at, number),
        }
    }

    /// Letters of a peer. Those that make no sense here are passed over in silence, as if they
    /// were lost: their sender asks again or elsewhere.
    pub(in crate::live) fn letters(
        &mut self,
        at: Time,
        actor: &Actor,
        (market, sent): (&str, Time),
        letters: &[PeerMessage],
    ) -> Result<Result<(), Refusal>, ApplyError> {
        let peer = match self.recognise(at, actor, market)? {
            Ok(peer) => peer,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(negotiator) = &mut self.negotiator {
            negotiator.clock_is_ahead(peer, ahead(at, sent));
        }
        for letter in letters {
            self.decide_before_talks(at)?;
            if let Some(envelope) = self.state.envelope(peer, letter, &self.max) {
                self.negotiate(at, Input::Heard(envelope), letter.word.job())?;
            }
        }
        Ok(Ok(()))
    }

    /// Which peer it is that speaks. The market that it is at first, it stays.
    pub(in crate::live) fn recognise(
        &mut self,
        at: Time,
        actor: &Actor,
        market: &str,
    ) -> Result<Result<Peer, Refusal>, ApplyError> {
        let refuse = |kind, message: String, hint: &str| Ok(Err(Refusal::new(kind, message, hint)));
        if actor.role != Role::Peer {
            let hint = "`tradewind token new NAME --role peer` makes a peer's token";
            return refuse(RefusalKind::Forbidden, "only a peer may do this".to_owned(), hint);
        }
        let name = &actor.user;
        let configured = self.settings.peers.contains(name);
        let Some(peer) = self.state.peers.number_of(name).filter(|_| configured) else {
            let message = format!("there is no peer `{name}`");
            return refuse(
                RefusalKind::Forbidden,
                message,
                "`[[peers]]` of the configuration names them",
            );
        };
        if market == self.state.name {
            let hint = "every market has a name of its own; a copy of one is no peer of it";
            return refuse(RefusalKind::Conflict, format!("{market} is this market itself"), hint);
        }
        let known = self.state.peers.directory.get(&peer).cloned();
        match known.as_ref().and_then(|known| known.market.as_deref()) {
            Some(before) if before == market => Ok(Ok(peer)),
            Some(before) => {
                let message = format!("peer `{name}` was market {before}, and is {market} now");
                let hint = "name it differently in `[[peers]]`: it is another market";
                refuse(RefusalKind::Conflict, message, hint)
            }
            None => {
                let before = known.unwrap_or_else(|| PeerEntry::named(name));
                let known = PeerEntry { market: Some(market.to_owned()), ..before };
                self.put(at, PeerRecord::Peered { peer, known })?;
                Ok(Ok(peer))
            }
        }
    }

    /// What time brings to negotiations.
    pub(in crate::live) fn negotiations_due(&mut self, at: Time) -> Result<(), ApplyError> {
        let due = self.negotiator.as_ref().and_then(Negotiator::due);
        if due.is_some_and(|due| due <= at) {
            self.decide_before_talks(at)?;
            self.negotiate(at, Input::Tick, None)?;
        }
        self.depart(at);
        self.seek(at)
    }

    pub(super) fn may_go(&self, at: Time, job: &Job, wish: Preference) -> bool {
        let here = match wish {
            Preference::Better => job.phase() == Phase::Waiting,
            Preference::Must => job.phase() == Phase::Held(&JobHold::Nowhere),
        };
        let lead = self.state.lead();
        let ripe = job.submission.terms.earliest_start.is_none_or(|start| start + lead <= at);
        let fresh = job.attempt < self.settings.max_refusals;
        let free = job.origin.is_none() && job.booking.is_none();
        here && ripe && fresh && free && may_travel(&job.submission)
    }

    /// Searches end for jobs that do not wait any more.
    pub(in crate::live) fn mind_searches(&mut self, at: Time) -> Result<(), ApplyError> {
        let Some(negotiator) = &self.negotiator else { return Ok(()) };
        let waits = |ticket: &Ticket| {
            let job = self.state.jobs.get(&u64::from(ticket.job.0));
            job.is_some_and(|it| {
                matches!(it.phase(), Phase::Waiting | Phase::Held(JobHold::Nowhere))
            })
        };
        let moot: Vec<Ticket> = negotiator.searches().filter(|it| !waits(it)).collect();
        for ticket in moot {
            self.negotiate(at, Input::Started(ticket), None)?;
        }
        Ok(())
    }

    /// A job that the negotiation knows is over.
    pub(in crate::live) fn over_for_peers(
        &mut self,
        at: Time,
        number: u64,
    ) -> Result<(), ApplyError> {
        self.index.nowhere.remove(&number);
        let Some(ticket) = self.state.jobs.get(&number).and_then(ticket) else { return Ok(()) };
        match self.state.peers.durable.here.contains(&ticket) {
            true => self.negotiate(at, Input::Over(ticket), None),
            false => Ok(()),
        }
    }
}

/// Whether the job's user lets it leave home, and it is not too heavy for a message.
pub(in crate::live) fn may_travel(submission: &Submission) -> bool {
    let Conditions { shapes, groups, licences, data, .. } = &submission.terms;
    let is_plain = shapes.is_none() && groups.is_none() && licences.is_none() && data.is_none();
    !submission.stay_home && is_plain && weight(submission) <= HEAVIEST
}

/// By how much a clock is ahead that showed `sent` a moment before this one showed `at`. What may
/// be the way is no difference.
fn ahead(at: Time, sent: Time) -> tradewind_model::Span {
    let by = sent - at;
    match by.0.abs() <= 3 {
        true => tradewind_model::Span::ZERO,
        false => by,
    }
}
