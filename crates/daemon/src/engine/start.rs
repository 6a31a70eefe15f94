//! How a market starts: from its journal, with its sites, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tradewind_model::{LicenceId, Pools, SiteId};
use tradewind_sched::negotiation::Peer;

use super::ahead::PageThread;
use super::clock::{self, Clock, ClockReading};
use super::full::Unwritten;
use super::handle::{Handle, Message, TermHandle};
use super::journal::Journal;
use super::large::Large;
use super::lease::Lease;
use super::peers::{PeerSender, PeerSetup};
use super::recovery::{RecoveryError, recover_pages};
use super::run::{Letters, Loop};
use super::sent::SentOrders;
use super::sites::{Reader, SiteSetup, Worker};
use super::standby::{Followed, LeaseHold, Life, MarketRole, SharedSetup, Sharing, Term};
use crate::codec::Codec;
use crate::codec::pages::Pages;
use crate::live::record::MarketRecord;
use crate::live::state::{Job, Phase};
use crate::live::{Live, Make, Record, Refusal, RuleChange, Settings, State};
use crate::site::Demand;
use crate::store::{Store, StoreError};

/// Opens a journal.
pub type OpenStore = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

/// Everything that a live market is made of.
pub struct Setup<C> {
    /// Opens the journal; again, if it could not be written.
    pub open: OpenStore,
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

/// By site, a way to what its tasks have written: of the daemon that owns the market.
#[derive(Debug, Clone, Default)]
pub struct Readers(Arc<Mutex<Vec<Reader>>>);

impl Readers {
    /// That of the site; `None`: there is none, or this daemon is a standby.
    pub fn get(&self, site: SiteId) -> Option<Reader> {
        let readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        readers.get(site.0 as usize).cloned()
    }

    pub(super) fn set(&self, readers: Vec<Reader>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = readers;
    }
}

/// A running market.
#[derive(Debug)]
pub struct Engine {
    /// The way to it.
    pub handle: Handle,
    /// By site: a way to what its tasks have written.
    pub readers: Readers,
    thread: JoinHandle<()>,
}

impl Engine {
    /// Makes the state again and starts the threads, of a market that only this process can own.
    ///
    /// # Errors
    /// If the journal cannot be read or written, or there is no such policy: for people.
    pub fn start<C: Codec + 'static>(setup: Setup<C>) -> Result<Engine, String> {
        let Setup { open, codec, pools, sites, peers, maker, policy, settings, timing } = setup;
        let owners = sites.iter().map(|site| site.owner.clone()).collect();
        let base = EngineSetup { codec, pools, owners, maker, policy, settings, timing };
        let base = Arc::new(base);
        let (handle, messages) = Handle::pair();
        let readers = Readers::default();
        let (lease, rules) = (Lease::endless(), RuleChange::AtOnce);
        let term = Term { open, lease, hold: None, epoch: 0, rules };
        let looping = begin(&base, term, (sites, peers), &handle)?;
        readers.set(looping.readers());
        let life = Life::alone(base, handle.clone(), readers.clone(), looping);
        Engine::run(handle, readers, life, messages)
    }

    /// The same of a market whose journal several daemons follow: this one owns it if `first` is
    /// given, and else is a standby until it can own it.
    ///
    /// # Errors
    /// If this daemon is to own the market, as [`Engine::start`]; or if there is no thread.
    pub fn share<C: Codec + 'static>(
        setup: SharedSetup<C>,
        first: Option<Term>,
        followed: Box<dyn Followed>,
    ) -> Result<Engine, String> {
        let SharedSetup {
            codec,
            pools,
            owners,
            maker,
            policy,
            settings,
            timing,
            mut sites,
            changed,
        } = setup;
        let base = EngineSetup { codec, pools, owners, maker, policy, settings, timing };
        let base = Arc::new(base);
        let (handle, messages) = Handle::pair();
        let readers = Readers::default();
        let looping = match first {
            None => None,
            Some(term) => {
                let opened = sites(term.epoch)?;
                handle.gauges().set_role(MarketRole::Owner { epoch: term.epoch });
                let looping = begin(&base, term, opened, &handle)?;
                readers.set(looping.readers());
                Some(looping)
            }
        };
        if looping.is_none() {
            handle.gauges().set_role(MarketRole::standby());
        }
        let is_standby = looping.is_none();
        let ours = (handle.clone(), readers.clone());
        let sharing = Sharing::new(followed, sites, changed);
        let mut life = Life::shared(base, ours, looping, sharing);
        if is_standby {
            life.prepare()?;
        }
        Engine::run(handle, readers, life, messages)
    }

    fn run<C: Codec + 'static>(
        handle: Handle,
        readers: Readers,
        life: Life<C>,
        messages: std::sync::mpsc::Receiver<Message>,
    ) -> Result<Engine, String> {
        let thread = std::thread::Builder::new()
            .name("market".to_owned())
            .spawn(move || life.go_on(&messages))
            .map_err(|wrong| format!("no thread for the market: {wrong}"))?;
        Ok(Engine { handle, readers, thread })
    }

    /// Waits until the engine has stopped.
    pub fn wait(self) {
        drop(self.thread.join());
    }
}

/// Sites and peers, opened.
pub(super) type Partners = (Vec<SiteSetup>, Vec<PeerSetup>);

/// The market of the journal, for this daemon to own.
fn begin<C: Codec>(
    base: &Arc<EngineSetup<C>>,
    term: Term,
    partners: Partners,
    handle: &Handle,
) -> Result<Loop<C>, String> {
    let Term { mut open, lease, hold, rules, .. } = term;
    let store = open().map_err(|wrong| wrong.to_string())?;
    let mut journal = journal(store, open, handle);
    let mut clock = Clock::new();
    let begun = base.live(&mut journal, &mut clock, rules).map_err(|wrong| wrong.to_string())?;
    assemble(base, (journal, clock), begun, partners, (lease, hold), handle)
}

/// An open journal, of which nothing is known yet.
pub(super) fn journal(store: Box<dyn Store>, open: OpenStore, handle: &Handle) -> Journal {
    Journal {
        store,
        open,
        last: None,
        sound: true,
        settled: (0, Instant::now()),
        snapshot_at: 0,
        since: 0,
        pages: Pages::default(),
        ahead: PageThread::start(),
        gauges: Arc::clone(handle.gauges()),
    }
}

/// A market with its threads: its first records are written down.
pub(super) fn assemble<C: Codec>(
    base: &Arc<EngineSetup<C>>,
    (mut journal, clock): (Journal, Clock),
    (mut live, mut first): (Live, Unwritten),
    (sites, peers): Partners,
    (lease, hold): (Arc<Lease>, Option<Box<dyn LeaseHold>>),
    handle: &Handle,
) -> Result<Loop<C>, String> {
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
    let engine = TermHandle::new(handle.clone(), Arc::clone(&lease));
    let postmen = postmen(&live, peers, &engine)?;
    let mut workers = Vec::new();
    for (place, site) in sites.into_iter().enumerate() {
        let worker = Worker::start(SiteId(place as u32), site, engine.clone(), Arc::clone(&lease));
        workers.push(worker.map_err(|wrong| format!("no thread for a site: {wrong}"))?);
    }
    let mut looping = Loop {
        base: Arc::clone(base),
        journal,
        clock,
        at,
        live: Some(live),
        unwritten: None,
        workers,
        lease,
        hold,
        large: Large::default(),
        told: SentOrders::new(base.timing.patience),
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
    Ok(looping)
}

/// What does not change while the engine runs.
pub(super) struct EngineSetup<C> {
    pub(super) codec: C,
    pub(super) pools: Arc<Pools>,
    pub(super) owners: Vec<String>,
    pub(super) maker: Arc<dyn Make>,
    pub(super) policy: String,
    pub(super) settings: Settings,
    pub(super) timing: Timing,
}

/// Why there is no market.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the journal's sites do not go with the configuration: {0}")]
    Sites(String),
    #[error("{}; {}", .0.message, .0.hint)]
    Tokens(Refusal),
    /// The reason names the policy.
    #[error("{0}")]
    Policy(String),
}

impl<C: Codec> EngineSetup<C> {
    /// The market of the journal, with the sites of now, begun again; and what that writes.
    pub(super) fn live(
        &self,
        journal: &mut Journal,
        clock: &mut Clock,
        rules: RuleChange,
    ) -> Result<(Live, Unwritten), StartError> {
        let (state, pages) = recover_pages(&mut *journal.store, &self.codec)?;
        journal.pages = pages;
        self.begin(state, journal, clock, rules)
    }

    /// The same of a state that is that of the journal's last row.
    pub(super) fn begin(
        &self,
        mut state: State,
        journal: &mut Journal,
        clock: &mut Clock,
        rules: RuleChange,
    ) -> Result<(Live, Unwritten), StartError> {
        self.settings.admits_all(&state).map_err(StartError::Tokens)?;
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
        let settings = Settings { rules, ..self.settings.clone() };
        let begun = Live::begin(state, settings, Arc::clone(&self.maker), &policy, at);
        let (live, step) = begun.map_err(StartError::Policy)?;
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
    let gives_back = |pools: &Pools| -> Vec<_> {
        (0..pools.sites().len() as u32).map(|site| pools.preemption(SiteId(site))).collect()
    };
    let licences = |pools: &Pools| -> Vec<_> {
        let ids = (0..).map(LicenceId).zip(pools.licences());
        ids.map(|(id, licence)| (licence.clone(), pools.licence_owner(id))).collect()
    };
    state.owners() == owners
        && now.sites() == pools.sites()
        && gives_back(now) == gives_back(pools)
        && licences(now) == licences(pools)
        && now.links() == pools.links()
        && now.power() == pools.power()
        && now.as_slice().len() == pools.as_slice().len()
        && now.as_slice().iter().zip(pools.as_slice()).all(alike)
}

/// A thread for each peer, by its number here.
fn postmen(
    live: &Live,
    peers: Vec<PeerSetup>,
    engine: &TermHandle,
) -> Result<BTreeMap<Peer, PeerSender>, String> {
    let mut postmen = BTreeMap::new();
    for setup in peers {
        let Some(peer) = live.state().peers.number_of(&setup.name) else { continue };
        let market = live.state().name.clone();
        let started = PeerSender::start(peer, market, setup, engine.clone());
        let started = started.map_err(|wrong| format!("no thread for a peer: {wrong}"))?;
        postmen.insert(peer, started);
    }
    Ok(postmen)
}
