//! The engine's loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tradewind_model::{Pools, Span, Time};
use tradewind_sched::negotiation::Peer;

use super::ahead::Ahead;
use super::clock::{self, Clock, ClockReading};
use super::full::Unwritten;
use super::handle::{CommittedRecord, Handle, Message};
use super::journal::Journal;
use super::large::Large;
use super::peers::{PeerSender, PeerSetup, ask_all};
use super::recovery::{RecoveryError, recover_pages};
use super::sites::{self, Reader, SiteSetup, Worker};
use crate::codec::Codec;
use crate::codec::pages::Pages;
use crate::live::peers::PeerMessage;
use crate::live::record::MarketRecord;
use crate::live::state::{Job, Phase};
use crate::live::{
    Act, Input, Live, Make, Record, Refusal, RefusalKind, Reply, Settings, State, Step,
};
use crate::site::{Aside, Demand, Tag};
use crate::store::{Store, StoreError};

/// Opens a journal.
pub type Open = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

/// Everything that a live market is made of.
pub struct Setup<C> {
    /// Opens the journal; again, if it could not be written.
    pub open: Open,
    /// How it is written.
    pub codec: C,
    /// Sites and pools; those that the journal knows, in their places, first.
    pub pools: Arc<Pools>,
    /// The sites themselves, in the order of the pools' sites.
    pub sites: Vec<SiteSetup>,
    /// Markets that jobs are exchanged with: those that the settings name.
    pub peers: Vec<PeerSetup>,
    /// Builds policies from their names.
    pub maker: Arc<dyn Make>,
    /// Which one, unless the journal knows another that was chosen while the market ran.
    pub policy: String,
    /// What is allowed.
    pub settings: Settings,
    /// How often what is done.
    pub timing: Timing,
}

/// How often what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Messages that are accepted before the journal is written.
    pub batch: usize,
    /// Rows between two snapshots.
    pub snapshot_every: u64,
    /// How long a site has to answer before the order is repeated.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        let patience = Duration::from_secs(30);
        Timing { batch: 1_024, snapshot_every: 20_000, patience }
    }
}

/// A running market.
#[derive(Debug)]
pub struct Engine {
    /// The way to it.
    pub handle: Handle,
    /// By site: a way to what its tasks have written.
    pub readers: Vec<Reader>,
    thread: JoinHandle<()>,
}

impl Engine {
    /// Makes the state again and starts the threads.
    ///
    /// # Errors
    /// If the journal cannot be read or written, or there is no such policy: for people.
    pub fn start<C: Codec + 'static>(setup: Setup<C>) -> Result<Engine, String> {
        let (handle, messages) = Handle::pair();
        let Setup { mut open, codec, pools, sites, peers, maker, policy, settings, timing } = setup;
        let owners = sites.iter().map(|site| site.owner.clone()).collect();
        let base = EngineSetup { codec, pools, owners, maker, policy, settings, timing };
        let gauges = Arc::clone(handle.gauges());
        let store = open().map_err(|wrong| wrong.to_string())?;
        let mut journal = Journal {
            store,
            open,
            sound: true,
            settled: (0, Instant::now()),
            snapshot_at: 0,
            since: 0,
            pages: Pages::default(),
            ahead: Ahead::start(),
            gauges,
        };
        let mut clock = Clock::new();
        let begun = base.live(&mut journal, &mut clock);
        let (mut live, mut first) = begun.map_err(|wrong| wrong.to_string())?;
        first.join_sites(&mut live).map_err(|wrong| wrong.to_string())?;
        let (first, unwritten) = match first.write(&mut journal, &base.codec) {
            Ok(letters) => (letters, None),
            Err((StoreError::Full { .. }, first)) => (Letters::new(), Some(first)),
            Err((wrong, _)) => return Err(wrong.to_string()),
        };
        // A copy of the file alone is a market from the first answer on.
        if let Err(wrong) = journal.store.settle() {
            tracing::warn!(%wrong, "the journal's log could not be moved into its file");
        }
        let at = live.state().now();
        let postmen = postmen(&live, peers, &handle)?;
        let mut workers = Vec::new();
        for (place, site) in sites.into_iter().enumerate() {
            let id = tradewind_model::SiteId(place as u32);
            let worker = Worker::start(id, site, handle.clone());
            workers.push(worker.map_err(|wrong| format!("no thread for a site: {wrong}"))?);
        }
        let readers = workers.iter().map(Worker::reader).collect();
        let mut looping = Loop {
            base,
            journal,
            clock,
            at,
            live: Some(live),
            unwritten: None,
            workers,
            large: Large::default(),
            told: BTreeMap::new(),
            asides: BTreeMap::new(),
            demand: Demand::Calm,
            watchers: vec![],
            tried: None,
            postmen,
            asked: None,
            rounds: 0,
        };
        looping.post(first);
        looping.be_read_only(unwritten);
        let thread = std::thread::Builder::new()
            .name("market".to_owned())
            .spawn(move || looping.go_on(&messages))
            .map_err(|wrong| format!("no thread for the market: {wrong}"))?;
        Ok(Engine { handle, readers, thread })
    }

    /// Waits until the engine has stopped.
    pub fn wait(self) {
        drop(self.thread.join());
    }
}

/// What does not change while the engine runs.
pub(super) struct EngineSetup<C> {
    pub(super) codec: C,
    pools: Arc<Pools>,
    owners: Vec<String>,
    maker: Arc<dyn Make>,
    policy: String,
    settings: Settings,
    timing: Timing,
}

#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the journal's sites do not go with the configuration: {0}")]
    Sites(String),
    #[error("{}; {}", .0.message, .0.hint)]
    Tokens(Refusal),
    #[error("policy `{policy}`: {why}")]
    Policy { policy: String, why: String },
}

impl<C: Codec> EngineSetup<C> {
    /// The market of the journal, with the sites of now, begun again; and what that writes.
    fn live(
        &self,
        journal: &mut Journal,
        clock: &mut Clock,
    ) -> Result<(Live, Unwritten), StartError> {
        let (mut state, pages) = recover_pages(&mut *journal.store, &self.codec)?;
        self.settings.admits_all(&state).map_err(StartError::Tokens)?;
        journal.pages = pages;
        journal.snapshot_at = journal.store.last();
        let is_idle = |job: &Job| matches!(job.phase(), Phase::Over(_));
        let is_idle = state.jobs.values().all(is_idle) && state.quotes().is_empty();
        let (last, lead) = (state.now(), state.lead());
        let ClockReading { at, lead: now, .. } = clock.read(clock::Market { last, lead, is_idle });
        let mut first = Vec::new();
        if now != lead {
            first.push(Record::Market(MarketRecord::Clock { lead: now }));
        }
        if state.name.is_empty() {
            first.push(Record::Market(MarketRecord::Created {
                market: journal.store.origin().market.clone(),
            }));
        }
        let same = state.is_gridded() && same_grid(&state, &self.pools, &self.owners);
        if !same {
            let (pools, owners) = (Arc::clone(&self.pools), self.owners.clone());
            first.push(Record::Market(MarketRecord::Gridded { pools, owners }));
        }
        for record in &first {
            state.apply(at, record).map_err(|wrong| StartError::Sites(wrong.to_string()))?;
        }
        let policy = match state.policy.is_empty() {
            true => self.policy.clone(),
            false => state.policy.clone(),
        };
        let begun = Live::begin(state, self.settings.clone(), Arc::clone(&self.maker), &policy, at);
        let (live, step) = begun.map_err(|why| StartError::Policy { policy, why })?;
        first.extend(step.records);
        let at = live.state().now();
        let records = first.into_iter().map(|record| (at, record)).collect();
        Ok((live, Unwritten { records, letters: step.letters }))
    }
}

/// Whether the sites are as they were, but for prices, which have records of their own.
fn same_grid(state: &State, pools: &Pools, owners: &[String]) -> bool {
    let now = state.market.pools();
    let alike = |(old, new): (&tradewind_model::Pool, &tradewind_model::Pool)| {
        let mut old = old.clone();
        old.price = new.price;
        old == *new
    };
    state.owners() == owners
        && now.sites() == pools.sites()
        && now.as_slice().len() == pools.as_slice().len()
        && now.as_slice().iter().zip(pools.as_slice()).all(alike)
}

/// Letters, and to whom.
pub(super) type Letters = Vec<(Peer, PeerMessage)>;

/// A thread for each peer, by its number here.
fn postmen(
    live: &Live,
    peers: Vec<PeerSetup>,
    handle: &Handle,
) -> Result<BTreeMap<Peer, PeerSender>, String> {
    let mut postmen = BTreeMap::new();
    for setup in peers {
        let Some(peer) = live.state().peers.number_of(&setup.name) else { continue };
        let market = live.state().name.clone();
        let started = PeerSender::start(peer, market, setup, handle.clone());
        let started = started.map_err(|wrong| format!("no thread for a peer: {wrong}"))?;
        postmen.insert(peer, started);
    }
    Ok(postmen)
}

type Waiting = (SyncSender<Result<Reply, Refusal>>, Result<Reply, Refusal>);

pub(super) struct Loop<C> {
    pub(super) base: EngineSetup<C>,
    pub(super) journal: Journal,
    pub(super) clock: Clock,
    /// The market's time, as it was last read.
    pub(super) at: Time,
    /// `None` while the journal cannot be written or read.
    pub(super) live: Option<Live>,
    /// While the disk is full: what `live` has that the journal has not.
    pub(super) unwritten: Option<Unwritten>,
    workers: Vec<Worker>,
    /// Submissions that wait for their turns.
    large: Large,
    /// Orders sent to sites, and when.
    pub(super) told: BTreeMap<(Tag, Act), Instant>,
    /// By site: the reservations sent to it, and when.
    asides: BTreeMap<usize, (Vec<Aside>, Instant)>,
    /// As sent to sites.
    demand: Demand,
    pub(super) watchers: Vec<SyncSender<CommittedRecord>>,
    /// When it was last tried to go on.
    pub(super) tried: Option<Instant>,
    postmen: BTreeMap<Peer, PeerSender>,
    /// When peers were last asked about jobs that went there.
    asked: Option<Instant>,
    /// How often.
    rounds: u64,
}

/// Peers are asked so often.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// So long after a failure it is tried again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

impl<C: Codec> Loop<C> {
    fn go_on(mut self, messages: &Receiver<Message>) {
        let mut ticked = Time(0);
        loop {
            let mut batch = Vec::new();
            match messages.recv_timeout(self.pause()) {
                Ok(message) => batch.push(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            batch.extend(messages.try_iter().take(self.base.timing.batch));
            let stop = batch.iter().any(|message| matches!(message, Message::Stop));
            for turn in self.large.turns(batch, stop) {
                self.take_in(turn, &mut ticked);
            }
            self.plan();
            self.instruct();
            self.inquire();
            self.set_aside();
            self.tell_demand();
            if stop {
                break;
            }
            self.keep();
        }
        self.keep_now();
        sites::stop(self.workers);
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
        let (mut records, mut answers, mut looks) = (Vec::new(), Vec::<Waiting>::new(), Vec::new());
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
                    if let Input::Answered { tag, act, .. } = &*input {
                        self.told.remove(&(tag.clone(), *act));
                    }
                    let input = in_time(live.state(), at, *input);
                    sound &= step(live, input, None);
                }
                Message::Look(look) => looks.push(look),
                Message::Watch(watcher) => self.watchers.push(watcher),
                Message::Stop => {}
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
        self.tell(records.iter().map(|record| (at, record)));
        true
    }

    /// Notifies subscribers of the last records of the journal.
    pub(super) fn tell<'a>(&mut self, records: impl ExactSizeIterator<Item = (Time, &'a Record)>) {
        let first = self.journal.store.last() + 1 - records.len() as u64;
        for (place, (at, record)) in records.enumerate() {
            let news = CommittedRecord { seq: first + place as u64, at, record: record.clone() };
            self.watchers.retain(|watcher| {
                !matches!(watcher.try_send(news.clone()), Err(TrySendError::Disconnected(_)))
            });
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
        match opened.and_then(|()| self.base.live(&mut self.journal, &mut self.clock)) {
            Ok((live, first)) => {
                self.live = Some(live);
                self.be_read_only(Some(first));
                self.told.clear();
                self.write_up();
                self.live.is_some()
            }
            Err(wrong) => {
                tracing::error!(%wrong, "cannot go on");
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

    /// Sends sites the orders that follow from the state.
    fn instruct(&mut self) {
        let Some(live) = &self.live else { return };
        let now = Instant::now();
        let patience = self.base.timing.patience;
        self.told.retain(|_, when| now.duration_since(*when) < patience);
        let told = |tag: &Tag, act| self.told.contains_key(&(tag.clone(), act));
        let mut by_site = BTreeMap::<usize, Vec<_>>::new();
        for order in clock::orders(live.orders(told), live.state().lead()) {
            by_site.entry(order.site.0 as usize).or_default().push(order);
        }
        for (site, orders) in by_site {
            self.told.extend(orders.iter().map(|it| ((it.tag.clone(), it.act), now)));
            if let Some(worker) = self.workers.get(site) {
                worker.tell(orders);
            }
        }
    }

    /// Sends sites their reservations: when that changes, and now and then.
    fn set_aside(&mut self) {
        let Some(live) = &self.live else { return };
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
    fn keep_now(&mut self) {
        if self.unwritten.is_some() {
            return;
        }
        let Some(live) = &mut self.live else { return };
        let touched = live.take_touched();
        self.journal.keep(live.state(), &touched);
    }
}

/// What happened, with moments of the market's time.
fn in_time(state: &State, at: Time, input: Input) -> Input {
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
