//! The daemons' parts driven by hand, a step of one of them at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::AddAssign;
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::codec::Codec as _;
use tradewind_daemon::engine::{recover, replay};
use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::{Act, Ask, Input, Instruction, Live, Record, Reply, Settings, State};
use tradewind_daemon::site::fake::FakeSite;
use tradewind_daemon::site::{Site as _, SiteError, Tag};
use tradewind_daemon::store::{Origin, Store as _};
use tradewind_model::{Money, SiteId, Span, Time};

use super::Mutant;
use super::database::{Database, Fault, LEASE, Session};
use crate::checks::{self, Broken, unsound};
use crate::codec::Shelf;
use crate::people::{self, Promises};
use crate::world::{DAWN, PATIENCE, Policies, pools, sites};

/// What is left of a task at a cluster is cleared away after this time.
const SWEPT: Span = Span(3_600);

/// A daemon, which may be frozen or cut off.
#[derive(Default)]
struct Daemon {
    owned: Option<Owned>,
    frozen: bool,
    /// From the database.
    is_cut: bool,
    /// From sites.
    lacks: [bool; 2],
    skew: Span,
}

/// What is written next, and what is answered then.
type Draft = (Vec<Record>, Option<(Ask, Reply)>);

/// What it does while it believes that it owns the market.
struct Owned {
    live: Live,
    session: Session,
    /// Until when it gives orders, by its own count.
    until: Time,
    orders: [VecDeque<Instruction>; 2],
    /// An order that is allowed and noted, and is given next.
    hand: Option<(usize, Instruction)>,
    inbox: VecDeque<Input>,
    told: BTreeMap<(Tag, Act), Time>,
    draft: Option<Draft>,
    gone: BTreeSet<Tag>,
}

/// A cluster, and what its spool knows.
#[derive(Default)]
struct Place {
    /// The newest term that it has seen.
    newest: u64,
    forgotten: BTreeMap<Tag, Time>,
}

/// That enough happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) terms: u64,
    pub(crate) stale_rows: u64,
    pub(crate) stale_orders: u64,
    pub(crate) ran: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.terms += more.terms;
        self.stale_rows += more.stale_rows;
        self.stale_orders += more.stale_orders;
        self.ran += more.ran;
    }
}

pub(crate) struct World {
    rng: Pcg64Mcg,
    mutant: Option<Mutant>,
    now: Time,
    /// How far the database's clock is off.
    skew: Span,
    trouble: u32,
    database: Database,
    shelf: Shelf,
    daemons: Vec<Daemon>,
    sites: Vec<FakeSite>,
    places: [Place; 2],
    promises: Promises,
    pub(crate) counts: Counts,
}

impl World {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>) -> World {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let pools = pools(&mut rng);
        let sites = sites(&pools);
        let origin = Origin { market: "trial".to_owned(), created: DAWN.0 };
        let database = Database::new(origin, mutant);
        let shelf = Shelf::default();
        let first = [
            Record::Market(MarketRecord::Created { market: "trial".to_owned() }),
            Record::Market(MarketRecord::Gridded {
                pools: Arc::new(pools),
                owners: vec!["o".into(), "p".into()],
            }),
        ];
        let rows: Vec<_> = first.iter().map(|it| (DAWN.0, shelf.record(it))).collect();
        let mut session = database.take(0, DAWN).unwrap();
        session.append(&rows).unwrap();
        database.give_up(session.term);
        let daemons = rng.random_range(2..4);
        World {
            trouble: rng.random_range(5..60),
            rng,
            mutant,
            now: DAWN,
            skew: Span(0),
            database,
            shelf,
            daemons: (0..daemons).map(|_| Daemon::default()).collect(),
            sites,
            places: Default::default(),
            promises: Promises::default(),
            counts: Counts::default(),
        }
    }

    fn chance(&mut self, of_thousand: u32) -> bool {
        self.rng.random_range(0..1_000) < of_thousand
    }

    /// A time of faults.
    pub(crate) fn live_through(&mut self, steps: u32) -> Result<(), Broken> {
        for _ in 0..steps {
            if self.chance(self.trouble) {
                self.misfortune();
            }
            if self.rng.random_range(0..8) == 0 {
                let span = if self.chance(40) { 5_000 } else { self.rng.random_range(0..30) };
                self.pass(Span(span));
            }
            let daemon = self.rng.random_range(0..self.daemons.len());
            self.step(daemon)?;
            self.check()?;
        }
        Ok(())
    }

    fn misfortune(&mut self) {
        let which = self.rng.random_range(0..self.daemons.len());
        let which = match self.database.holder() {
            Some(holder) if self.chance(600) => holder,
            _ => which,
        };
        let site = self.rng.random_range(0..2usize);
        let jump = Span(self.rng.random_range(-100..100));
        let what = self.rng.random_range(0..12);
        let daemon = &mut self.daemons[which];
        match what {
            0..=2 => daemon.frozen = true,
            3 | 4 => self.daemons.iter_mut().for_each(|it| it.frozen = false),
            5 => daemon.owned = None,
            6 => {
                daemon.is_cut = !daemon.is_cut;
                if let Some(owned) = daemon.owned.as_ref().filter(|_| daemon.is_cut) {
                    self.database.lose(&owned.session);
                }
            }
            7 => daemon.lacks[site] = !daemon.lacks[site],
            8 => daemon.skew = jump,
            9 => self.skew = jump,
            10 => self.database.fail_over(),
            _ => {
                let fault = if jump.0 > 0 { Fault::Request } else { Fault::Answer };
                self.database.fail_next(fault);
            }
        }
    }

    /// Time goes on everywhere; leases are renewed meanwhile, whatever else their owners do.
    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        let at = self.now + self.skew;
        for (place, site) in self.places.iter_mut().zip(&mut self.sites) {
            site.advance(self.now);
            let is_old = |(_, since): &(&Tag, &Time)| self.now - **since > SWEPT;
            let old = place.forgotten.iter().filter(is_old).map(|(tag, _)| tag.clone());
            for tag in old.collect::<Vec<Tag>>() {
                site.sweep(&tag);
                place.forgotten.remove(&tag);
            }
        }
        for daemon in self.daemons.iter_mut().filter(|it| !it.frozen && !it.is_cut) {
            let Some(owned) = &mut daemon.owned else { continue };
            match self.database.renew(owned.session.term, at) {
                true => owned.until = self.now + LEASE - Span(LEASE.0 / 8),
                false => daemon.owned = None,
            }
        }
    }

    /// A daemon does one of the things that it does.
    fn step(&mut self, which: usize) -> Result<(), Broken> {
        let daemon = &self.daemons[which];
        if daemon.frozen {
            return Ok(());
        }
        let Some(owned) = &daemon.owned else { return self.take(which) };
        if owned.draft.is_some() {
            return self.write(which);
        }
        if owned.hand.is_some() && self.chance(600) {
            // Frozen with an order in its hand, sometimes.
            match self.chance(150) {
                true => self.daemons[which].frozen = true,
                false => self.give(which),
            }
            return Ok(());
        }
        let site = self.rng.random_range(0..2usize);
        match self.rng.random_range(0..12) {
            0..=2 => self.prepare(which, site),
            3 | 4 => self.look(which, site),
            5 => self.wish(which)?,
            6 | 7 => self.take_in(which)?,
            8 => self.plan(which)?,
            9 => self.set_aside(which),
            10 if self.chance(30) => self.hand_over(which),
            _ => self.instruct(which),
        }
        Ok(())
    }

    fn clock(&self, which: usize) -> Time {
        self.now + self.daemons[which].skew
    }

    /// A standby owns the market, if it can.
    fn take(&mut self, which: usize) -> Result<(), Broken> {
        if self.daemons[which].is_cut {
            return Ok(());
        }
        let Some(session) = self.database.take(which, self.now + self.skew) else { return Ok(()) };
        self.counts.terms += 1;
        self.begin(which, session)
    }

    /// It goes on from what is written down.
    fn begin(&mut self, which: usize, mut session: Session) -> Result<(), Broken> {
        let state = recover(&mut session, &self.shelf);
        let state =
            state.map_err(|wrong| Broken { checker: "replayed", what: wrong.to_string() })?;
        let settings = Settings {
            new_user_grant: Money(3_000_000_000),
            max_refusals: 4,
            ..Settings::default()
        };
        let policy = Some(state.policy.clone()).filter(|it| !it.is_empty());
        let policy = policy.unwrap_or_else(|| "easy".to_owned());
        let at = self.clock(which);
        let begun = Live::begin(state, settings, Arc::new(Policies), &policy, at);
        let (mut live, step) = begun.map_err(|wrong| unsound(&wrong))?;
        let joined = live.join_sites(at).map_err(|wrong| unsound(&wrong))?;
        let records = step.records.into_iter().chain(joined.records).collect();
        self.promises.read(live.state());
        self.daemons[which].owned = Some(Owned {
            live,
            until: self.now + LEASE - Span(LEASE.0 / 8),
            session,
            orders: Default::default(),
            hand: None,
            inbox: VecDeque::new(),
            told: BTreeMap::new(),
            draft: Some((records, None)),
            gone: self.database.gone(),
        });
        Ok(())
    }

    /// What was decided is written, then answered.
    fn write(&mut self, which: usize) -> Result<(), Broken> {
        let daemon = &mut self.daemons[which];
        let Some(owned) = daemon.owned.as_mut().filter(|_| !daemon.is_cut) else { return Ok(()) };
        let Some((records, answer)) = owned.draft.take() else { return Ok(()) };
        let at = owned.live.state().now().0;
        let rows: Vec<_> = records.iter().map(|it| (at, self.shelf.record(it))).collect();
        let written = if rows.is_empty() { Ok(()) } else { owned.session.append(&rows) };
        if written.is_ok() {
            self.note();
            if let Some((ask, reply)) = answer {
                self.promises.note(&ask, &reply);
            }
            return Ok(());
        }
        let Some(owned) = daemon.owned.take() else { return Ok(()) };
        match self.database.again(&owned.session) {
            Some(session) => self.begin(which, session),
            None => {
                self.counts.stale_rows += 1;
                Ok(())
            }
        }
    }

    /// What checks need to know of what is written.
    fn note(&mut self) {
        let owner = self.daemons.iter().filter_map(|it| it.owned.as_ref());
        for owned in owner.filter(|it| it.session.term == self.database.term()) {
            self.promises.read(owned.live.state());
        }
    }

    /// The next order is allowed by the lease, and noted of its site.
    fn prepare(&mut self, which: usize, site: usize) {
        let daemon = &mut self.daemons[which];
        let Some(owned) = daemon.owned.as_mut() else { return };
        if owned.hand.is_some() || owned.until <= self.now {
            return;
        }
        let Some(order) = owned.orders[site].pop_front() else { return };
        if daemon.is_cut || !self.database.admits(owned.session.term) {
            let answer = Err(SiteError::Unknown("not noted".to_owned()));
            owned.inbox.push_back(Input::Answered { tag: order.tag, act: order.act, answer });
            return;
        }
        owned.hand = Some((site, order));
    }

    /// It is given.
    fn give(&mut self, which: usize) {
        let daemon = &mut self.daemons[which];
        let Some(owned) = daemon.owned.as_mut() else { return };
        let Some((site, order)) = owned.hand.take() else { return };
        let place = &mut self.places[site];
        let term = owned.session.term;
        let is_stale = place.newest > term && self.mutant != Some(Mutant::OrderWithoutEpoch);
        self.counts.stale_orders += u64::from(is_stale);
        let answer = if daemon.lacks[site] || is_stale {
            Err(SiteError::Away("it is refused, or not reached".to_owned()))
        } else if order.act == Act::Submit && owned.gone.contains(&order.tag) {
            Ok(())
        } else {
            place.newest = place.newest.max(term);
            order.carry_out(&mut self.sites[site])
        };
        let tag = order.tag;
        let is_over = order.act != Act::Submit && answer.is_ok() && self.sites[site].is_gone(&tag);
        if is_over && self.database.note_gone(term, &tag) {
            owned.gone.insert(tag.clone());
            place.forgotten.entry(tag.clone()).or_insert(self.now);
        }
        owned.inbox.push_back(Input::Answered { tag, act: order.act, answer });
    }

    /// A site is surveyed; it learns of the term.
    fn look(&mut self, which: usize, site: usize) {
        let daemon = &mut self.daemons[which];
        let Some(owned) = daemon.owned.as_mut() else { return };
        let (place, term) = (&mut self.places[site], owned.session.term);
        let is_stale = place.newest > term && self.mutant != Some(Mutant::OrderWithoutEpoch);
        let survey = match daemon.lacks[site] || is_stale {
            true => Err(SiteError::Away("it is refused, or not reached".to_owned())),
            false => {
                place.newest = place.newest.max(term);
                self.sites[site].survey()
            }
        };
        owned.inbox.push_back(Input::Surveyed { site: SiteId(site as u32), survey });
    }

    /// A user sends a request to a daemon that believes to be the owner.
    fn wish(&mut self, which: usize) -> Result<(), Broken> {
        let at = self.clock(which);
        let Some(owned) = self.daemons[which].owned.as_mut() else { return Ok(()) };
        let (actor, ask) = people::draw(&mut self.rng, &owned.live, &self.promises);
        let step = owned.live.step(at, Input::Asked { actor, ask: ask.clone() });
        let step = step.map_err(|wrong| unsound(&wrong))?;
        let answer = step.answer.and_then(Result::ok).map(|reply| (ask, reply));
        owned.draft = Some((step.records, answer));
        Ok(())
    }

    /// One that has nothing to write.
    fn idle(&mut self, which: usize) -> Option<&mut Owned> {
        self.daemons[which].owned.as_mut().filter(|owned| owned.draft.is_none())
    }

    /// The engine gets all messages that have arrived.
    fn take_in(&mut self, which: usize) -> Result<(), Broken> {
        let at = self.clock(which);
        let Some(owned) = self.idle(which) else { return Ok(()) };
        let mut records = Vec::new();
        for input in std::iter::once(Input::Tick).chain(owned.inbox.drain(..)) {
            if let Input::Answered { tag, act, .. } = &input {
                owned.told.remove(&(tag.clone(), *act));
            }
            let step = owned.live.step(at, input);
            records.extend(step.map_err(|wrong| unsound(&wrong))?.records);
        }
        owned.draft = Some((records, None));
        Ok(())
    }

    fn plan(&mut self, which: usize) -> Result<(), Broken> {
        let at = self.clock(which);
        let Some(owned) = self.idle(which) else { return Ok(()) };
        if owned.live.is_due(at) {
            let step = owned.live.plan(at).map_err(|wrong| unsound(&wrong))?;
            owned.draft = Some((step.records, None));
        }
        Ok(())
    }

    fn instruct(&mut self, which: usize) {
        let now = self.now;
        let Some(owned) = self.daemons[which].owned.as_mut() else { return };
        owned.told.retain(|_, when| now - *when < PATIENCE);
        for order in owned.live.orders(|tag, act| owned.told.contains_key(&(tag.clone(), act))) {
            owned.told.insert((order.tag.clone(), order.act), now);
            if order.order.as_ref().is_some_and(|it| it.gather.is_some()) {
                self.promises.together.insert((order.tag.job, order.tag.attempt));
            }
            owned.orders[order.site.0 as usize].push_back(order);
        }
    }

    fn set_aside(&mut self, which: usize) {
        let daemon = &mut self.daemons[which];
        let Some(owned) = daemon.owned.as_mut() else { return };
        let mut all = owned.live.asides();
        for (number, place) in self.places.iter().enumerate() {
            let site = SiteId(number as u32);
            let wanted = all.remove(&site).unwrap_or_default();
            let may = owned.until > self.now && place.newest <= owned.session.term;
            if may
                && !daemon.lacks[number]
                && let Ok(denied) = self.sites[number].set_aside("trial", &wanted)
            {
                owned.inbox.push_back(Input::SetAside { site, denied });
            }
        }
    }

    /// The owner gives the market up; an order in its hand is waited for.
    fn hand_over(&mut self, which: usize) {
        let daemon = &mut self.daemons[which];
        let is_ready = |owned: &&Owned| owned.hand.is_none();
        if let Some(owned) = daemon.owned.as_ref().filter(is_ready).filter(|_| !daemon.is_cut) {
            self.database.give_up(owned.session.term);
            daemon.owned = None;
        }
    }

    fn check(&mut self) -> Result<(), Broken> {
        checks::once(&self.sites, &self.promises, &BTreeSet::new())?;
        let thorough = self.rng.random_range(0..60) == 0;
        let term = self.database.term();
        let owners = self.daemons.iter_mut().filter_map(|it| it.owned.as_mut());
        for owned in owners.filter(|it| it.session.term == term && it.draft.is_none()) {
            let state = owned.live.state();
            checks::kept(state, &self.promises)?;
            checks::books(state)?;
            checks::money(state)?;
            checks::budgets(state)?;
            if thorough {
                let mut look = self.database.look();
                let again = replay(&mut look, &self.shelf, State::empty(Time(0)), 0, u64::MAX);
                let again = again
                    .map_err(|wrong| Broken { checker: "replayed", what: wrong.to_string() })?;
                checks::replayed(state, &again)?;
            }
        }
        Ok(())
    }

    /// Faults end, all daemons wake, and everything must finish.
    pub(crate) fn calm_down(&mut self) -> Result<(), Broken> {
        self.skew = Span(0);
        for daemon in &mut self.daemons {
            (daemon.frozen, daemon.is_cut, daemon.lacks) = (false, false, [false; 2]);
            daemon.skew = Span(0);
        }
        let mut last = Ok(());
        for _ in 0..2_000 {
            for which in 0..self.daemons.len() {
                self.round(which)?;
            }
            self.pass(Span(10));
            self.check()?;
            let term = self.database.term();
            let owners = self.daemons.iter().filter_map(|it| it.owned.as_ref());
            let Some(owned) = owners.into_iter().find(|it| it.session.term == term) else {
                continue;
            };
            let state = owned.live.state();
            last = checks::finished(state, self.now);
            if last.is_ok() {
                self.counts.ran +=
                    self.sites.iter().map(|it| it.history().len() as u64).sum::<u64>();
                return checks::whole(state, &self.sites, &BTreeSet::new());
            }
        }
        last
    }

    /// Everything that goes on at a daemon, once.
    fn round(&mut self, which: usize) -> Result<(), Broken> {
        let is_owner = |world: &World| world.daemons[which].owned.is_some();
        if !is_owner(self) {
            self.take(which)?;
        }
        self.write(which)?;
        if !is_owner(self) {
            return Ok(());
        }
        self.give(which);
        for site in 0..2 {
            self.look(which, site);
        }
        self.take_in(which)?;
        self.write(which)?;
        self.plan(which)?;
        self.write(which)?;
        self.instruct(which);
        for site in 0..2 {
            while is_owner(self)
                && self.daemons[which].owned.as_ref().is_some_and(|it| !it.orders[site].is_empty())
            {
                self.prepare(which, site);
                let idle = self.daemons[which].owned.as_ref().is_some_and(|it| it.hand.is_none());
                self.give(which);
                if idle {
                    break;
                }
            }
        }
        self.set_aside(which);
        self.take_in(which)?;
        self.write(which)
    }
}
