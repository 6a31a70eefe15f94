//! The world: a daemon's parts driven by hand, in virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::codec::Codec as _;
use tradewind_daemon::engine::{recover, replay};
use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::{
    Act, ApplyError, Input, Instruction, LineSettings, Live, Make, Record, Settings, State, Step,
};
use tradewind_daemon::site::fake::{FakeSite, InjectedFault, LocalJob};
use tradewind_daemon::site::queued::QueuedJob;
use tradewind_daemon::site::{PoolSetup, Site as _, SiteError, Tag};
use tradewind_daemon::store::memory::{Disk, MemoryStore, StoreFault as DiskFault};
use tradewind_daemon::store::{Origin, Snapshot, Store as _};
use tradewind_model::{
    Admission, Attribute, Energy, Money, OwnersFirst, Performance, Pool, Pools, Power, Preemption,
    Price, Series, Site, SiteId, SitePower, Span, Time, Times,
};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::{Policy, gridfill};

use crate::checks::{self, Broken, unsound};
use crate::codec::Shelf;
use crate::counts::Counts;
use crate::mutants::Mutant;
use crate::notices;
use crate::offers;
use crate::people::{self, Promises};
use crate::put_off::{self, PutOffCheck};
use crate::rates::Rates;

#[derive(Debug)]
pub(crate) struct Policies;

impl Make for Policies {
    fn make(&self, policy: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        let depth = match policy {
            "easy" => Depth::First(1),
            "fcfs" => Depth::First(0),
            other => return Err(format!("there is no policy `{other}`")),
        };
        let settings =
            gridfill::GridFillSettings { depth, ..gridfill::GridFillSettings::default() };
        Ok(Box::new(gridfill::GridFill::new(settings)))
    }
}

/// Far ahead of the clock of this machine: what looks at such a market sees it stand still.
pub(crate) const DAWN: Time = Time(4_000_000_000);
/// A site has so long to answer before the order is repeated.
pub(crate) const PATIENCE: Span = Span(30);

pub(crate) struct World {
    pub(crate) rng: Pcg64Mcg,
    pub(crate) rates: Rates,
    /// The first worlds, in which pages look for rare states, have one price per pool at a time.
    pub(crate) has_hourly_prices: bool,
    mutant: Option<Mutant>,
    pub(crate) now: Time,
    /// The daemon's clock is off by so much.
    skew: Span,
    disk: Disk,
    pub(crate) shelf: Shelf,
    pub(crate) daemon: Option<(Live, MemoryStore)>,
    pub(crate) sites: Vec<FakeSite>,
    /// Sites in whose own queues jobs of the market wait.
    in_line: BTreeMap<String, LineSettings>,
    owners_first: BTreeMap<String, OwnersFirst>,
    /// Sites whose owners get nodes of preemptible jobs back.
    preemption: BTreeMap<String, Preemption>,
    /// By site: the owners' waiting jobs.
    pub(crate) owners_queues: [Vec<QueuedJob>; 2],
    put_off: PutOffCheck,
    perhaps_put_off: Option<PutOffCheck>,
    /// What each site's thread has still to say.
    orders: Vec<VecDeque<Instruction>>,
    /// Messages that are on their way to the engine.
    pub(crate) inbox: VecDeque<Input>,
    told: BTreeMap<(Tag, Act), Time>,
    pub(crate) promises: Promises,
    /// Jobs that ran where a site lost its memory: the market cannot know of them.
    doubtful: BTreeSet<u64>,
    /// Jobs that had nodes where a site lost its memory.
    pub(crate) clouded: BTreeSet<u64>,
    pub(crate) counts: Counts,
    silent: bool,
}

pub(crate) fn pools(rng: &mut Pcg64Mcg) -> Pools {
    let sites: Vec<Site> = ["a", "b"].map(|name| Site { name: name.to_owned() }).into();
    let mut pools = Vec::new();
    for (site, name) in [(0, "a/x"), (0, "a/y"), (1, "b/x")] {
        let watts = Attribute::Number(rng.random_range(0..500) * 1_000);
        pools.push(Pool {
            name: name.to_owned(),
            site: SiteId(site),
            nodes: rng.random_range(1..5),
            performance: Performance::from_thousandths(rng.random_range(1..4) * 1_000).unwrap(),
            price: Price(rng.random_range(0..4) * 1_000_000),
            attributes: [(Energy::BUSY.to_owned(), watts)].into(),
            admission: Admission::NONE,
            // The owner of the second site counts work.
            times: [Times::Wall, Times::Work][site as usize],
        });
    }
    let carbon = |low| Series::new(&[(DAWN, low), (DAWN + Span(200), 400_000)]).ok();
    let of = |low| SitePower { carbon: carbon(low), price: None };
    let power = Power { sites: vec![of(100_000), of(600_000)] };
    Pools::new(sites, pools).unwrap().with_power(power)
}

pub(crate) fn sites(pools: &Pools) -> Vec<FakeSite> {
    let of = |site: SiteId| {
        let pools = pools.as_slice().iter().filter(|pool| pool.site == site);
        let setup = |pool: &Pool| PoolSetup {
            name: pool.name[2..].to_owned(),
            nodes: pool.nodes,
            performance: pool.performance,
            attributes: pool.attributes.clone(),
        };
        FakeSite::new(pools.map(setup).collect(), DAWN)
    };
    vec![of(SiteId(0)), of(SiteId(1))]
}

impl World {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>) -> World {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let pools = notices::with_terms(pools(&mut rng), seed);
        let disk = Disk::new(Origin { market: "trial".to_owned(), created: DAWN.0 });
        let rates = Rates::draw(&mut rng);
        let world = World {
            rng,
            rates,
            has_hourly_prices: seed >= 120,
            mutant,
            now: DAWN,
            skew: Span(0),
            disk,
            shelf: Shelf::default(),
            daemon: None,
            sites: sites(&pools),
            in_line: put_off::in_line(seed),
            owners_first: offers::owners_first(seed),
            preemption: notices::preemption(seed),
            owners_queues: Default::default(),
            put_off: PutOffCheck::default(),
            perhaps_put_off: None,
            orders: vec![VecDeque::new(), VecDeque::new()],
            inbox: VecDeque::new(),
            told: BTreeMap::new(),
            promises: Promises::default(),
            doubtful: BTreeSet::new(),
            clouded: BTreeSet::new(),
            counts: Counts::default(),
            silent: false,
        };
        let first = [
            Record::Market(MarketRecord::Created { market: "trial".to_owned() }),
            Record::Market(MarketRecord::Gridded {
                pools: Arc::new(pools),
                owners: vec!["o".into(), "p".into()],
            }),
        ];
        let rows: Vec<_> = first.iter().map(|it| (DAWN.0, world.shelf.record(it))).collect();
        world.disk.open().unwrap().append(&rows).unwrap();
        world
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The market, if the daemon runs.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.daemon.as_ref().map(|(live, _)| live)
    }

    /// What really ran, and what the daemon thinks: for people.
    pub(crate) fn story(&self) -> String {
        let mut lines = vec![format!("now {}, the daemon's clock off by {}", self.now, self.skew)];
        let runs = self.sites.iter().flat_map(FakeSite::history);
        lines.extend(runs.map(|ran| format!("{} from {}: {:?}", ran.tag, ran.since, ran.ended)));
        let jobs = self.live().into_iter().flat_map(|live| live.state().jobs.values());
        lines.extend(jobs.map(|job| format!("job {}: {:?}", job.number, job.history)));
        lines.join("\n")
    }

    pub(crate) fn chance(&mut self, of_thousand: u32) -> bool {
        self.rng.random_range(0..1_000) < of_thousand
    }

    /// The daemon's clock.
    fn clock(&self) -> Time {
        self.now + self.skew
    }

    /// A time of faults.
    pub(crate) fn live_through(&mut self, steps: u32) -> Result<(), Broken> {
        for _ in 0..steps {
            self.misfortune();
            self.trouble_for_offers();
            self.step()?;
        }
        Ok(())
    }

    fn misfortune(&mut self) {
        let site = self.rng.random_range(0..2usize);
        let pool = self.rng.random_range(0..self.sites[site].pools().len());
        let node = self.rng.random_range(0..4);
        if self.chance(self.rates.site) {
            let fault = self.fault();
            self.sites[site].plan(Some(fault));
        }
        if self.chance(self.rates.amnesia) {
            let live = self.sites[site].history().iter().filter(|ran| ran.ended.is_none());
            self.doubtful.extend(live.map(|ran| ran.tag.job));
            self.clouded.extend(self.sites[site].busy().map(|tag| tag.job));
            self.sites[site].crash(self.rng.random_range(0..4));
        }
        if self.chance(self.rates.nodes) {
            match self.rng.random_range(0..2) {
                0 => self.sites[site].break_node(pool, node),
                _ => self.sites[site].mend_node(pool, node),
            }
        }
        if self.chance(self.rates.owner) {
            let name = ["p", "q", "r"][self.rng.random_range(0..3usize)];
            let from = self.now + Span(self.rng.random_range(0..60));
            let shown = self.now + Span(self.rng.random_range(0..60));
            let length = Span(self.rng.random_range(1..200));
            let nodes = self.rng.random_range(1..3);
            match self.rng.random_range(0..4) {
                0 => self.sites[site].end_local(name),
                _ => {
                    self.sites[site].set_local(name, LocalJob { pool, nodes, shown, from, length });
                }
            }
        }
        if self.chance(self.rates.backlog) {
            put_off::submit(self, site);
        }
        if self.chance(self.rates.hold) {
            let tasks = self.daemon.iter().flat_map(|(live, _)| live.state().tasks.keys());
            let tasks: Vec<Tag> = tasks.cloned().collect();
            match tasks.get(self.rng.random_range(0..=tasks.len())) {
                Some(tag) if node == 0 => self.sites[site].preempt(tag),
                Some(tag) => self.sites[site].hold(tag, Span(node.into())),
                None => self.sites[site].release(),
            }
        }
        if self.chance(self.rates.clock) {
            self.skew = Span(self.rng.random_range(-100..100));
            // What people say by their clocks is later by this from now on.
            self.inbox.push_back(Input::Clock { lead: Span(self.skew.0.max(0)) });
        }
        if self.chance(self.rates.disk) {
            let faults = [DiskFault::Full, DiskFault::DiesBefore, DiskFault::DiesAfter];
            self.disk.fail_next(faults[self.rng.random_range(0..3usize)]);
        }
        if self.chance(self.rates.crash) {
            self.die();
        }
    }

    fn fault(&mut self) -> InjectedFault {
        match self.rng.random_range(0..8) {
            0 => InjectedFault::Away,
            1 => InjectedFault::Refused,
            2 => InjectedFault::LostBefore,
            3 => InjectedFault::LostAfter,
            4 => InjectedFault::Late(Span(self.rng.random_range(0..100))),
            5 => InjectedFault::Twice,
            6 => InjectedFault::Garbage(3),
            _ => InjectedFault::Garbage(self.rng.random_range(0..InjectedFault::GARBAGE)),
        }
    }

    /// The daemon's process ends at once. Orders sent by then stay sent.
    fn die(&mut self) {
        self.daemon = None;
        self.disk.crash();
        self.inbox.clear();
        self.told.clear();
        self.orders.iter_mut().for_each(VecDeque::clear);
    }

    /// One of the things that go on.
    fn step(&mut self) -> Result<(), Broken> {
        self.counts.steps += 1;
        if self.daemon.is_none() {
            self.start()?;
            return Ok(());
        }
        let site = self.rng.random_range(0..2usize);
        match self.rng.random_range(0..13) {
            0 | 1 => {
                let span = Span(self.rng.random_range(0..30));
                self.pass(span);
            }
            2 | 3 => self.talk(site),
            4 | 5 => self.look(site),
            6 => self.wish()?,
            7..=9 => self.take_in()?,
            10 => self.plan()?,
            11 => self.set_aside(),
            _ => self.instruct(),
        }
        self.check()
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        let now = self.now;
        self.sites.iter_mut().for_each(|site| site.advance(now));
    }

    /// The daemon starts, from what is written down.
    fn start(&mut self) -> Result<(), Broken> {
        let mut store = self.disk.open().map_err(|wrong| unsound(&wrong))?;
        let recovered = recover(&mut store, &self.shelf);
        let mut state =
            recovered.map_err(|wrong| Broken { checker: "replayed", what: wrong.to_string() })?;
        if let Some(mutant) = self.mutant {
            mutant.spoil(&mut state);
        }
        let settings = Settings {
            new_user_grant: Money(3_000_000_000),
            max_refusals: 4,
            in_line: self.in_line.clone(),
            owners_first: self.owners_first.clone(),
            preemption: self.preemption.clone(),
            ..Settings::default()
        };
        let policy = match state.policy.as_str() {
            "" => "easy".to_owned(),
            other => other.to_owned(),
        };
        let begun = Live::begin(state, settings, Arc::new(Policies), &policy, self.clock());
        let (mut live, mut step) = begun.map_err(|wrong| unsound(&wrong))?;
        let joined = live.join_sites(self.clock()).map_err(|wrong| unsound(&wrong))?;
        step.records.extend(joined.records);
        self.promises.read(live.state());
        if let Some(it) = self.perhaps_put_off.take().filter(|it| it.fits(live.state())) {
            self.put_off = it;
        }
        self.daemon = Some((live, store));
        self.write(&step.records);
        Ok(())
    }

    /// Writes records down; whether that went well. If not, the daemon starts again.
    fn write(&mut self, records: &[Record]) -> bool {
        let Some((live, store)) = &mut self.daemon else { return false };
        let at = live.state().now().0;
        let mut rows: Vec<_> = records.iter().map(|it| (at, self.shelf.record(it))).collect();
        if self.mutant == Some(Mutant::LosesARow) && self.counts.steps > 100 && rows.len() > 1 {
            rows.pop();
        }
        if rows.is_empty() || store.append(&rows).is_ok() {
            records.iter().for_each(|record| self.count(record));
            return true;
        }
        self.die();
        false
    }

    /// A site's thread says the next thing.
    fn talk(&mut self, site: usize) {
        let Some(mut instruction) = self.orders[site].pop_front() else { return };
        if let Some(order) = &mut instruction.order
            && self.mutant == Some(Mutant::NeverWaits)
        {
            order.gather = None;
        }
        if instruction.act == Act::Recall && self.mutant == Some(Mutant::KillsForAPlan) {
            instruction.act = Act::Withdraw;
        }
        let fake = &mut self.sites[site];
        let answer = instruction.carry_out(fake);
        let Instruction { tag, act, order, .. } = instruction;
        if let Some(order) = order.filter(|_| answer.is_err())
            && self.mutant == Some(Mutant::HandsInAgain)
        {
            let mut again = *order;
            again.tag.attempt += 100;
            drop(fake.submit(&again));
        }
        self.inbox.push_back(Input::Answered { tag, act, answer });
    }

    /// A site's thread looks at the site.
    fn look(&mut self, site: usize) {
        let survey = self.sites[site].survey();
        self.inbox.push_back(Input::Surveyed { site: SiteId(site as u32), survey });
    }

    /// A user sends a request, and the engine carries it out at once.
    fn wish(&mut self) -> Result<(), Broken> {
        let Some((live, _)) = &mut self.daemon else { return Ok(()) };
        let (actor, ask) = match self.rng.random_range(0..1_000) < self.rates.deals {
            true => people::deal(&mut self.rng, live, &self.promises),
            false => people::draw(&mut self.rng, live, &self.promises),
        };
        let at = self.now + self.skew;
        let step = live.step(at, Input::Asked { actor, ask: ask.clone() });
        let Step { records, answer, .. } = step.map_err(|wrong| unsound(&wrong))?;
        let safe = self.write(&records) || self.mutant == Some(Mutant::AnswersTooSoon);
        if let Some(Ok(reply)) = answer.filter(|_| safe) {
            self.promises.note(&ask, &reply);
            self.note_offers(&ask, &reply);
        }
        Ok(())
    }

    /// The engine gets all messages that have arrived.
    fn take_in(&mut self) -> Result<(), Broken> {
        let at = self.clock();
        let Some((live, _)) = &mut self.daemon else { return Ok(()) };
        let (mut records, mut put_off) = (Vec::new(), self.put_off.clone());
        let foreseen = people::foreseen(live);
        let inputs = std::iter::once(Input::Tick).chain(self.inbox.drain(..)).chain([foreseen]);
        for input in inputs {
            if let Input::Answered { tag, act, .. } = &input {
                self.told.remove(&(tag.clone(), *act));
            }
            let surveyed = put_off::surveyed(&input);
            let step = live.step(at, input);
            records.extend(step.map_err(|wrong: ApplyError| unsound(&wrong))?.records);
            surveyed.map_or(Ok(()), |surveyed| put_off.took(live, surveyed))?;
        }
        let is_written = self.write(&records);
        // What failed may be written all the same.
        self.perhaps_put_off = (!is_written).then(|| put_off.clone());
        if is_written {
            self.counts.put_off += u64::from(put_off.longest > self.put_off.longest);
            self.put_off = put_off;
        }
        if is_written && let Some((live, _)) = &self.daemon {
            offers::stated(live.state(), at)?;
            self.kept_offers(&records)?;
        }
        if self.chance(20) {
            self.keep_snapshot();
        }
        Ok(())
    }

    fn keep_snapshot(&mut self) {
        let Some((live, store)) = &mut self.daemon else { return };
        let (seq, at) = (store.last(), live.state().now().0);
        let body = self.shelf.state(live.state());
        drop(store.keep(&Snapshot { seq, at, version: 1, body }));
    }

    fn plan(&mut self) -> Result<(), Broken> {
        let at = self.clock();
        for _ in 0..4 {
            let Some((live, _)) = &mut self.daemon else { return Ok(()) };
            if !live.is_due(at) {
                return Ok(());
            }
            let step = live.plan(at).map_err(|wrong| unsound(&wrong))?;
            self.write(&step.records);
        }
        Ok(())
    }

    fn instruct(&mut self) {
        let now = self.now;
        self.told.retain(|_, when| now - *when < PATIENCE);
        let Some((live, _)) = &self.daemon else { return };
        for order in live.orders(|tag, act| self.told.contains_key(&(tag.clone(), act))) {
            self.told.insert((order.tag.clone(), order.act), now);
            if order.order.as_ref().is_some_and(|it| it.gather.is_some()) {
                self.promises.together.insert((order.tag.job, order.tag.attempt));
            }
            let silent = self.mutant == Some(Mutant::FallsSilent) && self.silent;
            if !silent {
                self.orders[order.site.0 as usize].push_back(order);
            }
        }
    }

    /// The sites' threads send the reservations.
    fn set_aside(&mut self) {
        let Some((live, _)) = &self.daemon else { return };
        let mut all = live.asides();
        for (place, fake) in self.sites.iter_mut().enumerate() {
            let site = SiteId(place as u32);
            let wanted = all.remove(&site).unwrap_or_default();
            let denied = match fake.set_aside("trial", &wanted) {
                Ok(denied) => denied,
                Err(SiteError::Refused(why)) => {
                    wanted.iter().map(|aside| (aside.job, why.clone())).collect()
                }
                Err(_) => continue,
            };
            self.inbox.push_back(Input::SetAside { site, denied });
        }
    }

    fn check(&mut self) -> Result<(), Broken> {
        checks::once(&self.sites, &self.promises, &self.doubtful)?;
        checks::together(&self.sites, &self.promises)?;
        checks::mercy(&self.sites, &self.promises)?;
        let thorough = self.chance(20);
        let Some((live, store)) = &mut self.daemon else { return Ok(()) };
        let state = live.state();
        checks::slips(state, &self.sites, &self.clouded)?;
        checks::kept(state, &self.promises)?;
        checks::uncancelled(state)?;
        checks::books(state)?;
        checks::energy(state)?;
        checks::past(state)?;
        checks::money(state)?;
        self.promises.accepted.check(state)?;
        checks::budgets(state)?;
        notices::check(state, &self.preemption)?;
        if thorough {
            let again = replay(store, &self.shelf, State::empty(Time(0)), 0, u64::MAX);
            let again =
                again.map_err(|wrong| Broken { checker: "replayed", what: wrong.to_string() })?;
            checks::replayed(state, &again)?;
        }
        Ok(())
    }

    /// Faults end, and everything must finish.
    pub(crate) fn calm_down(&mut self) -> Result<(), Broken> {
        self.silent = true;
        self.skew = Span(0);
        for site in &mut self.sites {
            site.weather(None);
            for pool in 0..site.pools().len() {
                (0..4).for_each(|node| site.mend_node(pool, node));
            }
            ["p", "q", "r"].iter().for_each(|name| site.end_local(name));
            site.set_queue(Vec::new());
            site.release();
        }
        let mut last = Ok(());
        for _ in 0..2_000 {
            self.round()?;
            let Some((live, _)) = &self.daemon else { continue };
            last = checks::finished(live.state(), self.now);
            if last.is_ok() {
                self.promises.accepted.decided(live.state())?;
                let paid = live.state().jobs.values().filter(|job| job.covered > Money(0));
                self.counts.covered += paid.count() as u64;
                let told = self.sites.iter().map(|site| site.notified().len() as u64);
                self.counts.told += told.sum::<u64>();
                return checks::whole(live.state(), &self.sites, &self.clouded);
            }
        }
        last
    }

    /// Everything that goes on, once.
    fn round(&mut self) -> Result<(), Broken> {
        self.counts.steps += 1;
        if self.daemon.is_none() {
            self.start()?;
        }
        self.pass(Span(20));
        self.inbox.push_back(Input::Terms {
            prices: vec![],
            rates: BTreeMap::new(),
            withheld: vec![],
        });
        for site in 0..2 {
            self.talk_all(site);
            self.look(site);
        }
        self.take_in()?;
        self.plan()?;
        self.instruct();
        self.set_aside();
        self.check()
    }

    fn talk_all(&mut self, site: usize) {
        while !self.orders[site].is_empty() {
            self.talk(site);
        }
    }
}
