//! One of the markets: a daemon's parts driven by hand.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::codec::Codec as _;
use tradewind_daemon::engine::recover;
use tradewind_daemon::live::peers::PeerMessage;
use tradewind_daemon::live::record::{MarketRecord, PeerRecord};
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::{
    Act, Ask, Input, Instruction, Live, Make, Record, Refusal, Reply, Settings, State, Step,
};
use tradewind_daemon::site::fake::FakeSite;
use tradewind_daemon::site::{PoolSetup, Site as _, Tag};
use tradewind_daemon::store::memory::{Disk, MemoryStore};
use tradewind_daemon::store::{Origin, Snapshot, Store as _};
use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Time, Times,
};
use tradewind_sched::negotiation::{Entry, Peer};
use tradewind_sched::policy::autonomous::{AutonomousSites, Links};
use tradewind_sched::policy::multiqueue::{self, MultiQueue};
use tradewind_sched::policy::{Policy, gridfill};

use crate::checks::Broken;
use crate::codec::Shelf;

pub(crate) const DAWN: Time = Time(1_800_000_000);
const PATIENCE: Span = Span(30);

/// Half of the markets plan for all their pools, and half are sites of the multi-queue grid, whose
/// jobs carry data.
#[derive(Debug)]
struct Either;

impl Make for Either {
    fn make(&self, name: &str, pools: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        if name == "easy" {
            return Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())));
        }
        let queues =
            multiqueue::MultiQueueSettings::new(300, 2).map_err(|wrong| wrong.to_string())?;
        let queues =
            multiqueue::MultiQueueSettings { overflow: multiqueue::Overflow::Migrate, ..queues };
        let build = |pool: &Pool| Box::new(MultiQueue::new(pool.nodes, queues)) as Box<_>;
        let negotiation = Settings::NEGOTIATION;
        let talks = (negotiation, Links { per_processor_mb: 15, ..Links::default() });
        Ok(Box::new(AutonomousSites::among_others(pools, talks, build)))
    }
}

/// The policy of a market, by what is drawn anyway.
fn policy(state: &State, place: usize) -> &'static str {
    let nodes: u32 = state.market.pools().as_slice().iter().map(|pool| pool.nodes).sum();
    ["easy", "multi-queue"][(nodes as usize + place) % 2]
}

/// As others call the market.
pub(crate) fn name(place: usize) -> String {
    format!("p{place}")
}

/// A daemon, its disk and its site.
pub(crate) struct Market {
    pub(crate) place: usize,
    others: Vec<String>,
    pub(crate) disk: Disk,
    pub(crate) shelf: Shelf,
    pub(crate) daemon: Option<(Live, MemoryStore)>,
    /// The state as it is written down.
    pub(crate) written: State,
    pub(crate) site: FakeSite,
    orders: VecDeque<Instruction>,
    pub(crate) inbox: VecDeque<Input>,
    told: BTreeMap<(Tag, Act), Time>,
    /// Its clock is off by so much.
    pub(crate) skew: Span,
    /// A step with such an entry is not written down, but believed: a planted fault.
    pub(crate) forgets: Option<fn(&Entry) -> bool>,
    /// What accounts begin with.
    pub(crate) grant: Money,
}

fn pools(rng: &mut Pcg64Mcg) -> Pools {
    let pool = |name: &str, rng: &mut Pcg64Mcg| Pool {
        name: format!("s/{name}"),
        site: SiteId(0),
        nodes: rng.random_range(1..4),
        performance: Performance::from_thousandths(rng.random_range(800..2_000)).unwrap(),
        price: Price(rng.random_range(0..3) * 1_000_000),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let mut all = vec![pool("x", rng)];
    if rng.random_range(0..2) == 0 {
        all.push(pool("y", rng));
    }
    Pools::new(vec![Site { name: "s".to_owned() }], all).unwrap()
}

fn unsound(wrong: &dyn std::fmt::Display) -> Broken {
    Broken { checker: "sound", what: wrong.to_string() }
}

impl Market {
    pub(crate) fn new(rng: &mut Pcg64Mcg, place: usize, markets: usize) -> Market {
        let pools = pools(rng);
        let setup = |pool: &Pool| PoolSetup {
            name: pool.name[2..].to_owned(),
            nodes: pool.nodes,
            performance: pool.performance,
            attributes: pool.attributes.clone(),
        };
        let site = FakeSite::new(pools.as_slice().iter().map(setup).collect(), DAWN);
        let market = format!("m{place}");
        let disk = Disk::new(Origin { market: market.clone(), created: DAWN.0 });
        let shelf = Shelf::default();
        let first = [
            Record::Market(MarketRecord::Created { market }),
            Record::Market(MarketRecord::Gridded {
                pools: Arc::new(pools),
                owners: vec!["o".into()],
            }),
        ];
        let rows: Vec<_> = first.iter().map(|it| (DAWN.0, shelf.record(it))).collect();
        disk.open().unwrap().append(&rows).unwrap();
        let mut written = State::empty(DAWN);
        first.iter().for_each(|record| written.apply(DAWN, record).unwrap());
        Market {
            place,
            others: (0..markets).filter(|other| *other != place).map(name).collect(),
            disk,
            shelf,
            daemon: None,
            written,
            site,
            orders: VecDeque::new(),
            inbox: VecDeque::new(),
            told: BTreeMap::new(),
            skew: Span(0),
            forgets: None,
            grant: Money(0),
        }
    }

    /// The daemon's process ends at once.
    pub(crate) fn die(&mut self) {
        self.daemon = None;
        self.disk.crash();
        self.inbox.clear();
        self.told.clear();
        self.orders.clear();
    }

    /// Starts the daemon from what is written down.
    pub(crate) fn start(&mut self, now: Time) -> Result<Vec<(Peer, PeerMessage)>, Broken> {
        let mut store = self.disk.open().map_err(|wrong| unsound(&wrong))?;
        let state = recover(&mut store, &self.shelf).map_err(|wrong| unsound(&wrong))?;
        self.written = state.clone();
        let settings = Settings {
            new_user_grant: self.grant,
            max_refusals: 3,
            peers: self.others.clone(),
            ..Settings::default()
        };
        let at = now + self.skew;
        let policy = policy(&state, self.place);
        let begun = Live::begin(state, settings, Arc::new(Either), policy, at);
        let (live, step) = begun.map_err(|wrong| unsound(&wrong))?;
        self.daemon = Some((live, store));
        Ok(self.close(step)?.1)
    }

    /// Writes a step down; what it said is worth nothing if that fails.
    fn close(&mut self, step: Step) -> Result<(Answer, Vec<(Peer, PeerMessage)>), Broken> {
        let Step { records, answer, letters } = step;
        match self.write(&records)? {
            true => Ok((answer, letters)),
            false => Ok((None, vec![])),
        }
    }

    fn write(&mut self, records: &[Record]) -> Result<bool, Broken> {
        let Some((live, store)) = &mut self.daemon else { return Ok(false) };
        let at = live.state().now();
        if let Some(forgets) = self.forgets {
            let entry = |record: &Record| match record {
                Record::Peer(PeerRecord::Negotiated { entry, .. }) => forgets(entry),
                _ => false,
            };
            if records.iter().any(entry) {
                self.die(); // after the letters are out
                return Ok(true);
            }
        }
        let rows: Vec<_> = records.iter().map(|it| (at.0, self.shelf.record(it))).collect();
        if rows.is_empty() || store.append(&rows).is_ok() {
            for record in records {
                self.written.apply(at, record).map_err(|wrong| unsound(&wrong))?;
            }
            return Ok(true);
        }
        self.die();
        // What was written of it is seen now.
        let mut store = self.disk.open().map_err(|wrong| unsound(&wrong))?;
        self.written = recover(&mut store, &self.shelf).map_err(|wrong| unsound(&wrong))?;
        self.disk.crash();
        Ok(false)
    }

    pub(crate) fn clock(&self, now: Time) -> Time {
        now + self.skew
    }

    /// A user sends a request, and it is carried out at once.
    pub(crate) fn ask(
        &mut self,
        now: Time,
        actor: Actor,
        ask: Ask,
    ) -> Result<(Answer, Vec<(Peer, PeerMessage)>), Broken> {
        let at = self.clock(now);
        let Some((live, _)) = &mut self.daemon else { return Ok((None, vec![])) };
        let step = live.step(at, Input::Asked { actor, ask }).map_err(|wrong| unsound(&wrong))?;
        self.close(step)
    }

    /// The engine gets all messages that have arrived.
    pub(crate) fn take_in(&mut self, now: Time) -> Result<Vec<(Peer, PeerMessage)>, Broken> {
        let at = self.clock(now);
        let Some((live, _)) = &mut self.daemon else { return Ok(vec![]) };
        let (mut records, mut letters) = (Vec::new(), Vec::new());
        for input in std::iter::once(Input::Tick).chain(self.inbox.drain(..)) {
            if let Input::Answered { tag, act, .. } = &input {
                self.told.remove(&(tag.clone(), *act));
            }
            let step = live.step(at, input).map_err(|wrong| unsound(&wrong))?;
            records.extend(step.records);
            letters.extend(step.letters);
        }
        let written = self.write(&records)?;
        Ok(if written { letters } else { vec![] })
    }

    pub(crate) fn plan(&mut self, now: Time) -> Result<Vec<(Peer, PeerMessage)>, Broken> {
        let at = self.clock(now);
        let mut letters = Vec::new();
        for _ in 0..4 {
            let Some((live, _)) = &mut self.daemon else { break };
            if !live.is_due(at) {
                break;
            }
            let step = live.plan(at).map_err(|wrong| unsound(&wrong))?;
            letters.extend(self.close(step)?.1);
        }
        Ok(letters)
    }

    pub(crate) fn instruct(&mut self, now: Time) {
        self.told.retain(|_, when| now - *when < PATIENCE);
        let Some((live, _)) = &self.daemon else { return };
        for order in live.orders(|tag, act| self.told.contains_key(&(tag.clone(), act))) {
            self.told.insert((order.tag.clone(), order.act), now);
            self.orders.push_back(order);
        }
    }

    /// The site's thread says the next thing.
    pub(crate) fn talk(&mut self) -> bool {
        let Some(instruction) = self.orders.pop_front() else { return false };
        let answer = instruction.carry_out(&mut self.site);
        let Instruction { tag, act, .. } = instruction;
        self.inbox.push_back(Input::Answered { tag, act, answer });
        true
    }

    pub(crate) fn look(&mut self) {
        let survey = self.site.survey();
        self.inbox.push_back(Input::Surveyed { site: SiteId(0), survey });
    }

    pub(crate) fn keep_snapshot(&mut self) {
        let Some((live, store)) = &mut self.daemon else { return };
        let (seq, at) = (store.last(), live.state().now().0);
        let body = self.shelf.state(live.state());
        drop(store.keep(&Snapshot { seq, at, version: 1, body }));
    }
}

pub(crate) type Answer = Option<Result<Reply, Refusal>>;
