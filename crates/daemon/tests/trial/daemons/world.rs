//! The daemons' parts driven by hand, a step of one of them at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::AddAssign;
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::codec::Codec as _;
use tradewind_daemon::engine::{RecoveryError, StandbyByHand, recover, replay};
use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::{Act, Ask, Input, Instruction, Live, Record, Reply, Settings, State};
use tradewind_daemon::site::fake::FakeSite;
use tradewind_daemon::site::{Site as _, SiteError, Tag};
use tradewind_daemon::store::{Origin, Store as _};
use tradewind_model::{Money, Pools, SiteId, Span, Time};

use super::Mutant;
use super::database::{Database, Fault, LEASE, Session};
use super::orders::{Hand, Place, PlaceKind, Stray};
use crate::checks::{self, Broken, unsound};
use crate::codec::Shelf;
use crate::people::{self, Promises};
use crate::world::{DAWN, PATIENCE, Policies, pools, sites};

/// What is left of a task at a cluster is cleared away after this time.
const SWEPT: Span = Span(3_600);

/// A daemon, which may be frozen or cut off.
pub(super) struct Daemon {
    pub(super) owned: Option<Owned>,
    /// What it knows while it does not own the market.
    pub(super) standby: StandbyByHand<Shelf>,
    frozen: bool,
    /// From the database.
    is_cut: bool,
    /// From sites.
    pub(super) lacks: [bool; 2],
    skew: Span,
}

impl Daemon {
    fn new(shelf: &Shelf, pools: &Pools) -> Daemon {
        Daemon {
            owned: None,
            standby: StandbyByHand::new(
                shelf.clone(),
                Arc::new(pools.clone()),
                (Arc::new(Policies), "easy"),
                settings(),
            ),
            frozen: false,
            is_cut: false,
            lacks: [false; 2],
            skew: Span(0),
        }
    }

    /// It does not own the market any more, and lives.
    fn leave(&mut self) {
        let Some(owned) = self.owned.take() else { return };
        let is_whole = owned.draft.is_none() && owned.session.is_sound();
        self.standby.leave(Some(owned.live).filter(|_| is_whole).zip(owned.session.written));
    }
}

fn settings() -> Settings {
    let new_user_grant = Money(3_000_000_000);
    Settings { new_user_grant, max_refusals: 4, ..Settings::default() }
}

/// What is written next, and what is answered then.
type Draft = (Vec<Record>, Option<(Ask, Reply)>);

/// What it does while it believes that it owns the market.
pub(super) struct Owned {
    live: Live,
    pub(super) session: Session,
    /// Until when it gives orders, by its own count.
    until: Time,
    orders: [VecDeque<Instruction>; 2],
    /// An order that is allowed and noted, and is given next.
    pub(super) hand: Option<Hand>,
    pub(super) inbox: VecDeque<Input>,
    told: BTreeMap<(Tag, Act), Time>,
    draft: Option<Draft>,
    pub(super) gone: BTreeSet<Tag>,
}

/// That enough happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) terms: u64,
    pub(crate) stale_rows: u64,
    pub(crate) stale_orders: u64,
    /// Of an earlier term, by one that was frozen after its site had admitted them.
    pub(crate) late_orders: u64,
    pub(crate) ran: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.terms += more.terms;
        self.stale_rows += more.stale_rows;
        self.stale_orders += more.stale_orders;
        self.late_orders += more.late_orders;
        self.ran += more.ran;
    }
}

pub(crate) struct World {
    pub(super) rng: Pcg64Mcg,
    pub(super) mutant: Option<Mutant>,
    pub(super) now: Time,
    /// How far the database's clock is off.
    skew: Span,
    trouble: u32,
    pub(super) database: Database,
    shelf: Shelf,
    pub(super) daemons: Vec<Daemon>,
    pub(super) sites: Vec<FakeSite>,
    pub(super) places: [Place; 2],
    /// Orders that their sites have admitted, and whose daemons do not wait for them any more.
    pub(super) strays: Vec<Stray>,
    promises: Promises,
    pub(crate) counts: Counts,
}

fn unread(wrong: &RecoveryError) -> Broken {
    Broken { checker: "replayed", what: wrong.to_string() }
}

impl World {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>) -> World {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let pools = pools(&mut rng);
        let sites = sites(&pools);
        let origin = Origin { market: "trial".to_owned(), created: DAWN.0 };
        let database = Database::new(origin, mutant);
        let shelf = Shelf::default();
        let daemons = rng.random_range(2..4);
        let made = (0..daemons).map(|_| Daemon::new(&shelf, &pools)).collect();
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
        World {
            trouble: rng.random_range(5..60),
            rng,
            mutant,
            now: DAWN,
            skew: Span(0),
            database,
            shelf,
            daemons: made,
            sites,
            places: [Place::new(PlaceKind::Local), Place::new(PlaceKind::Cluster)],
            strays: Vec::new(),
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
        if what == 5 {
            self.kill(which);
        }
        let daemon = &mut self.daemons[which];
        match what {
            0..=2 => daemon.frozen = true,
            3 | 4 => self.daemons.iter_mut().for_each(|it| it.frozen = false),
            5 => {}
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
        self.land();
        for (place, site) in self.places.iter_mut().zip(&mut self.sites) {
            site.advance(self.now);
            let may_go = place.has_listed();
            let is_old = |(_, since): &(&Tag, &Time)| may_go && self.now - **since > SWEPT;
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
                false => daemon.leave(),
            }
        }
    }

    /// A daemon does one of the things that it does.
    fn step(&mut self, which: usize) -> Result<(), Broken> {
        let daemon = &self.daemons[which];
        if daemon.frozen {
            return Ok(());
        }
        let Some(owned) = &daemon.owned else { return self.stand_by(which) };
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

    /// A standby reads what was written, or owns the market, if it can.
    fn stand_by(&mut self, which: usize) -> Result<(), Broken> {
        if self.daemons[which].is_cut {
            return Ok(());
        }
        match self.chance(500) {
            true => self.follow(which),
            false => self.take(which),
        }
    }

    fn follow(&mut self, which: usize) -> Result<(), Broken> {
        let standby = &mut self.daemons[which].standby;
        standby.go_on(&mut self.database).map_err(|wrong| unread(&wrong))
    }

    fn take(&mut self, which: usize) -> Result<(), Broken> {
        let daemon = &mut self.daemons[which];
        if daemon.is_cut {
            return Ok(());
        }
        let Some(mut session) = self.database.take(which, self.now + self.skew) else {
            return Ok(());
        };
        self.counts.terms += 1;
        let state = daemon.standby.finish(&mut session).map_err(|wrong| unread(&wrong))?;
        self.begin(which, session, state)
    }

    /// It goes on from what is written down.
    fn begin(&mut self, which: usize, session: Session, state: State) -> Result<(), Broken> {
        let policy = Some(state.policy.clone()).filter(|it| !it.is_empty());
        let policy = policy.unwrap_or_else(|| "easy".to_owned());
        let at = self.clock(which);
        let begun = Live::begin(state, settings(), Arc::new(Policies), &policy, at);
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
            Some(mut session) => {
                let state = recover(&mut session, &self.shelf).map_err(|wrong| unread(&wrong))?;
                self.begin(which, session, state)
            }
            None => {
                daemon.standby.leave(None);
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
        owned.hand = Some(Hand { site, order, is_admitted: false });
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
                let survey = self.sites[site].survey();
                place.keep(term, survey.as_ref().ok());
                survey
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

    /// The owner gives the market up; an order that its site has admitted is waited for, but not for long.
    fn hand_over(&mut self, which: usize) {
        let daemon = &mut self.daemons[which];
        let may = |owned: &&mut Owned| owned.hand.as_ref().is_none_or(|it| it.is_admitted);
        if let Some(owned) = daemon.owned.as_mut().filter(may).filter(|_| !daemon.is_cut) {
            self.strays.extend(owned.hand.take().map(|hand| Stray::of(hand, owned.session.term)));
            self.database.give_up(owned.session.term);
            daemon.leave();
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
                checks::replayed(state, &again.map_err(|wrong| unread(&wrong))?)?;
            }
        }
        if thorough {
            self.check_standbys()?;
        }
        Ok(())
    }

    /// What they show is what the journal says up to their last row.
    fn check_standbys(&self) -> Result<(), Broken> {
        for daemon in self.daemons.iter().filter(|it| it.owned.is_none()) {
            let Some(live) = daemon.standby.live() else { continue };
            let mut look = self.database.look();
            let last = daemon.standby.last();
            let again = replay(&mut look, &self.shelf, State::empty(Time(0)), 0, last);
            checks::replayed(live.state(), &again.map_err(|wrong| unread(&wrong))?)?;
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
        self.give_whole(which);
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
                self.give_whole(which);
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
