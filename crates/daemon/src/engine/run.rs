//! The engine's loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use tradewind_model::{Span, Time};
use tradewind_sched::negotiation::Peer;

use super::clock::{self, Clock, ClockReading};
use super::full::{self, Unwritten};
use super::handle::{CommittedRecord, Message, tell_all};
use super::journal::Journal;
use super::large::Large;
use super::lease::Lease;
use super::peers::{PeerSender, ask_all};
use super::sent::SentOrders;
use super::sites::{Reader, Worker};
use super::standby::{self, LeaseHold, TermEnd};
use super::start::{EngineSetup, StartError};
use super::strays;
use crate::codec::Codec;
use crate::live::peers::PeerMessage;
use crate::live::{
    Input, Instruction, Live, Record, Refusal, RefusalKind, Reply, RuleChange, State, Step,
};
use crate::site::{Aside, Demand, Tag};
use crate::store::StoreError;

/// Letters, and to whom.
pub(super) type Letters = Vec<(Peer, PeerMessage)>;

type PendingReply = (SyncSender<Result<Reply, Refusal>>, Result<Reply, Refusal>);

pub(super) struct Loop<C> {
    pub(super) base: Arc<EngineSetup<C>>,
    pub(super) journal: Journal,
    pub(super) clock: Clock,
    /// The market's time, as it was last read.
    pub(super) at: Time,
    /// `None` while the journal cannot be written or read.
    pub(super) live: Option<Live>,
    /// While the disk is full: what `live` has that the journal has not.
    pub(super) unwritten: Option<Unwritten>,
    pub(super) workers: Vec<Worker>,
    /// Whether orders may leave.
    pub(super) lease: Arc<Lease>,
    /// What keeps the lease; `None`: the market is this process's alone.
    pub(super) hold: Option<Box<dyn LeaseHold>>,
    /// Submissions that wait for their turns.
    pub(super) large: Large,
    /// Orders sent to sites.
    pub(super) told: SentOrders,
    /// By site: the reservations sent to it, and when.
    pub(super) asides: BTreeMap<usize, (Vec<Aside>, Instant)>,
    /// As sent to sites.
    pub(super) demand: Demand,
    pub(super) watchers: Vec<SyncSender<CommittedRecord>>,
    /// When it was last tried to go on.
    pub(super) tried: Option<Instant>,
    pub(super) postmen: BTreeMap<Peer, PeerSender>,
    /// When peers were last asked about jobs that went there.
    pub(super) asked: Option<Instant>,
    /// How often.
    pub(super) rounds: u64,
}

/// Peers are asked so often.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// So long after a failure it is tried again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

impl<C: Codec> Loop<C> {
    pub(super) fn readers(&self) -> Vec<Reader> {
        self.workers.iter().map(Worker::reader).collect()
    }

    /// Runs the market until it is stopped, given up or lost.
    pub(super) fn go_on(&mut self, messages: &Receiver<Message>) -> TermEnd {
        let mut ticked = Time(0);
        loop {
            if let Some(why) = self.lease.lost() {
                return TermEnd::Lost(why);
            }
            let mut batch = Vec::new();
            match messages.recv_timeout(self.pause()) {
                Ok(message) => batch.push(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return TermEnd::Stopped,
            }
            batch.extend(messages.try_iter().take(self.base.timing.batch));
            let stop = batch.iter().any(|message| matches!(message, Message::Stop));
            let leaver = standby::leaver(&mut batch, self.hold.is_some());
            let surveyed: Vec<usize> = batch.iter().filter_map(surveyed_site).collect();
            for turn in self.large.turns(batch, stop || leaver.is_some()) {
                self.take_in(turn, &mut ticked);
            }
            surveyed.into_iter().filter_map(|site| self.workers.get(site)).for_each(Worker::heard);
            self.plan();
            self.instruct();
            self.inquire();
            self.set_aside();
            self.tell_demand();
            if stop {
                return TermEnd::Stopped;
            }
            if let Some(leaver) = leaver {
                return TermEnd::HandedOver(leaver);
            }
            self.keep();
        }
    }

    /// How long there may be nothing to do.
    fn pause(&self) -> Duration {
        let live = self.live.as_ref().filter(|_| self.unwritten.is_none());
        match live.map(|live| live.sleep(self.at, Span(1)).0) {
            _ if !self.large.is_empty() => Duration::ZERO,
            None => AGAIN,
            Some(seconds) => Duration::from_millis(if seconds > 0 { 1_000 } else { 50 }),
        }
    }

    /// Makes a step of each message, and writes all of them down at once.
    fn take_in(&mut self, batch: Vec<Message>, ticked: &mut Time) {
        if self.live.is_none() && !self.revive() {
            batch.into_iter().for_each(|it| it.refuse(unavailable()));
            return;
        }
        if self.unwritten.is_some() && !self.catch_up() {
            return self.take_in_read_only(batch);
        }
        let Some(live) = &mut self.live else { return };
        let (last, lead) = (live.state().now(), live.state().lead());
        // A caller gets an answer without waiting for the clock.
        let is_asked = batch.iter().any(|message| matches!(message, Message::Ask(..)));
        let is_free = || live.is_idle() && live.state().quotes().is_empty();
        let is_idle = lead > Span::ZERO && !is_asked && is_free();
        let ClockReading { at, lead: now, .. } =
            self.clock.read(clock::Market { last, lead, is_idle });
        self.at = at;
        let (mut records, mut answers, mut looks) =
            (Vec::new(), Vec::<PendingReply>::new(), Vec::new());
        let mut letters = Letters::new();
        let mut step =
            |live: &mut Live, input, reply: Option<SyncSender<_>>| match live.step(at, input) {
                Ok(Step { records: new, answer, letters: more }) => {
                    records.extend(new);
                    letters.extend(more);
                    answers.extend(reply.zip(answer));
                    true
                }
                Err(wrong) => {
                    tracing::error!(%wrong, "a mistake of this program");
                    false
                }
            };
        let mut sound = true;
        if now != lead {
            sound = step(live, Input::Clock { lead: now }, None);
        }
        if at > *ticked {
            *ticked = at;
            sound &= step(live, Input::Tick, None);
        }
        for message in batch {
            match message {
                Message::Ask(actor, ask, reply) => {
                    sound &= step(live, Input::Asked { actor, ask: *ask }, Some(reply));
                }
                Message::Input(input) => {
                    note_answer(&mut self.told, &input);
                    let input = in_time(live.state(), at, *input);
                    sound &= step(live, input, None);
                }
                Message::Look(look) => looks.push(look),
                Message::Watch(watcher) => self.watchers.push(watcher),
                Message::Stop | Message::HandOver(_) => {}
            }
        }
        if self.write(at, sound, &records) {
            self.post(letters);
            answers.into_iter().for_each(|(reply, answer)| drop(reply.send(answer)));
        } else {
            answers.into_iter().for_each(|(reply, _)| drop(reply.send(Err(unavailable()))));
            // Callers that only query need not know of it.
            self.revive();
        }
        if let Some(live) = &self.live {
            looks.into_iter().for_each(|look| look(live));
        }
    }

    /// Writes records and notifies subscribers. If that fails, the state must not be used.
    fn write(&mut self, at: Time, sound: bool, records: &[Record]) -> bool {
        if !sound {
            self.live = None;
            return false;
        }
        if let Err(wrong) = self.journal.write(&self.base.codec, at, records) {
            tracing::error!(%wrong, "the journal cannot be written");
            self.live = None;
            return false;
        }
        if let Some(live) = &self.live {
            strays::say(live.state(), records);
        }
        self.tell(records.iter().map(|record| (at, record)));
        true
    }

    /// Notifies subscribers of the last records of the journal.
    pub(super) fn tell<'a>(&mut self, records: impl ExactSizeIterator<Item = (Time, &'a Record)>) {
        let first = self.journal.store.last() + 1 - records.len() as u64;
        for (place, (at, record)) in records.enumerate() {
            let news = CommittedRecord { seq: first + place as u64, at, record: record.clone() };
            tell_all(&mut self.watchers, &news);
        }
    }

    /// Tries to go on after the journal could not be written, now and then.
    fn revive(&mut self) -> bool {
        if self.tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
            return false;
        }
        self.tried = Some(Instant::now());
        let opened = match self.journal.sound {
            true => Ok(()),
            false => self.journal.reopen(),
        };
        let opened = opened.map_err(StartError::Store);
        // The term began before: other rules are not taken up in the middle of it.
        let rules = RuleChange::Later;
        match opened.and_then(|()| self.base.live(&mut self.journal, &mut self.clock, rules)) {
            Ok((live, first)) => {
                self.live = Some(live);
                self.be_read_only(Some(first));
                self.told.clear();
                self.write_up();
                self.live.is_some()
            }
            Err(StartError::Store(wrong @ StoreError::Superseded { .. })) => {
                self.lease.lose(wrong.to_string());
                false
            }
            Err(wrong) => {
                tracing::error!(%wrong, "cannot go on");
                // A full disk may have ended the way to the journal, too: another is opened.
                self.journal.sound = false;
                false
            }
        }
    }

    /// Asks the policy, if it has news.
    fn plan(&mut self) {
        if self.unwritten.is_some() {
            return;
        }
        let Some(live) = &mut self.live else { return };
        let at = self.at.max(live.state().now());
        // A decision may bring news: a job that no account can pay for leaves the queue again.
        for _ in 0..8 {
            let Some(live) = &mut self.live else { return };
            if !live.is_due(at) {
                return;
            }
            let begin = Instant::now();
            let (sound, records, letters) = match live.plan(at) {
                Ok(step) => (true, step.records, step.letters),
                Err(wrong) => {
                    tracing::error!(%wrong, "the policy asked for what cannot be");
                    (false, Vec::new(), Letters::new())
                }
            };
            self.journal.gauges.passes.add(1, begin.elapsed());
            tracing::debug!(took_us = begin.elapsed().as_micros(), "planned");
            if !self.write(at, sound, &records) {
                return;
            }
            self.post(letters);
        }
    }

    /// Letters leave: their content is written down.
    pub(super) fn post(&self, letters: Letters) {
        let mut by_peer = BTreeMap::<Peer, Vec<PeerMessage>>::new();
        for (peer, letter) in letters {
            by_peer.entry(peer).or_default().push(letter);
        }
        for (peer, letters) in by_peer {
            if let Some(postman) = self.postmen.get(&peer) {
                postman.letters(self.at, letters);
            }
        }
    }

    /// Asks peers what happened to jobs that went there.
    fn inquire(&mut self) {
        let Some(live) = &self.live else { return };
        if self.postmen.is_empty() || self.asked.is_some_and(|asked| asked.elapsed() < ASK_EVERY) {
            return;
        }
        self.asked = Some(Instant::now());
        self.rounds += 1;
        ask_all(&self.postmen, live.wanted(), self.rounds);
    }

    /// Sends sites the orders that follow from the state, while they may leave.
    fn instruct(&mut self) {
        let Some(live) = self.live.as_ref().filter(|_| self.lease.holds()) else { return };
        let now = Instant::now();
        let told = |tag: &Tag, act| self.told.is_told(tag, act, now);
        let mut by_site = BTreeMap::<usize, Vec<_>>::new();
        let is_read_only = self.unwritten.is_some();
        let may_leave = |order: &Instruction| !is_read_only || full::may_leave(live, order);
        let orders = live.orders(told).into_iter().filter(may_leave).collect();
        for order in clock::orders(orders, live.state().lead()) {
            by_site.entry(order.site.0 as usize).or_default().push(order);
        }
        for (site, orders) in by_site {
            self.told.sent(&orders, now);
            if let Some(worker) = self.workers.get(site) {
                worker.tell(orders);
            }
        }
    }

    /// Sends sites their reservations: when that changes, and now and then.
    fn set_aside(&mut self) {
        let Some(live) = self.live.as_ref().filter(|_| self.lease.holds()) else { return };
        let mut all = live.asides();
        for (place, worker) in self.workers.iter().enumerate() {
            let wanted = all.remove(&tradewind_model::SiteId(place as u32)).unwrap_or_default();
            let wanted = clock::asides(wanted, live.state().lead());
            let known = self.asides.get(&place).is_some_and(|(told, when)| {
                *told == wanted && (wanted.is_empty() || when.elapsed() < self.base.timing.patience)
            });
            if !known {
                worker.set_aside(&live.state().name, wanted.clone());
                self.asides.insert(place, (wanted, Instant::now()));
            }
        }
    }

    /// Tells sites when jobs begin to wait for nodes, and when none does any more.
    fn tell_demand(&mut self) {
        let Some(live) = &self.live else { return };
        let demand = match live.state().market.head() {
            None => Demand::Calm,
            Some(_) => Demand::Waiting,
        };
        if demand != self.demand {
            self.demand = demand;
            self.workers.iter().for_each(|worker| worker.expect(demand));
        }
    }

    fn keep(&mut self) {
        self.journal.settle();
        if self.journal.is_long(self.base.timing.snapshot_every) {
            self.keep_now();
        }
    }

    /// Keeps a snapshot, so that the next start is quick. Without it nothing is lost.
    pub(super) fn keep_now(&mut self) {
        if self.unwritten.is_some() {
            return;
        }
        let Some(live) = &mut self.live else { return };
        let touched = live.take_touched();
        self.journal.keep(live.state(), &touched);
    }
}

/// The site of which the message brings a survey.
fn surveyed_site(message: &Message) -> Option<usize> {
    match message {
        Message::Input(input) => match &**input {
            Input::Surveyed { site, .. } => Some(site.0 as usize),
            _ => None,
        },
        _ => None,
    }
}

/// What the input says of orders and of sites that are back.
fn note_answer(told: &mut SentOrders, input: &Input) {
    match input {
        Input::Answered { tag, act, answer } => {
            told.answered((tag, *act), answer, Instant::now());
        }
        Input::Surveyed { site, survey } => told.surveyed(*site, survey.is_ok()),
        _ => {}
    }
}

/// What happened, with moments of the market's time.
pub(super) fn in_time(state: &State, at: Time, input: Input) -> Input {
    match input {
        Input::Surveyed { site, survey: Ok(survey) } => {
            Input::Surveyed { site, survey: Ok(clock::survey(state, at, survey)) }
        }
        other => other,
    }
}

pub(super) fn unavailable() -> Refusal {
    let message = "the journal cannot be written: look whether it was done before you ask again";
    Refusal::new(RefusalKind::Unavailable, message, "the daemon's log says why; is the disk full?")
}
