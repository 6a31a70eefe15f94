//! The checker for accepted offers: each ends kept, or as a breach that was stated, with the
//! difference paid by the market; or its own side gave it up.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::live::record::OfferRecord;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Happening, Job, OfferOutcome, Phase, Promise, State};
use tradewind_daemon::live::{Ask, Input, Live, Record, Reply, Withheld};
use tradewind_daemon::site::Site;
use tradewind_daemon::site::fake::{FakeSite, InjectedFault};
use tradewind_io::submission::OnBreach;
use tradewind_model::{Guard, Money, OwnersFirst, PoolId, Price, Series, Span, Time};

use crate::checks::{Check, broken};
use crate::world::World;

/// A market may wait so long for news of a site before it states a breach.
const SILENCE: Span = Span(60);
/// Prices that change with time come again after so long.
const PRICES_REPEAT: Span = Span(400);

/// In half of the worlds more is left to the owners than they are expected to need, and the market's
/// jobs put them off for a minute at most: offers are kept all the same.
pub(crate) fn owners_first(seed: u64) -> BTreeMap<String, OwnersFirst> {
    let names: &[&str] = if (seed / 4).is_multiple_of(2) { &["a", "b"] } else { &[] };
    let first = OwnersFirst { guard: Guard::Spare, max_delay: Span(60) };
    names.iter().map(|name| ((*name).to_owned(), first)).collect()
}

/// Offers that were accepted, and acknowledged to their users.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accepted(BTreeMap<(u64, u64), (Promise, bool)>);

impl Accepted {
    /// The jobs were acknowledged: what they were promised must stay.
    pub(crate) fn note(&mut self, state: &State, jobs: &[u64]) {
        for job in jobs.iter().filter_map(|number| state.jobs.get(number)) {
            for promise in &job.promises {
                let key = (job.number, promise.quote);
                self.0.entry(key).or_insert_with(|| (promise.clone(), false));
            }
        }
    }

    /// How they stand at any time.
    pub(crate) fn check(&mut self, state: &State) -> Check {
        for ((number, quote), (promise, is_decided)) in &mut self.0 {
            let Some(job) = state.jobs.get(number) else { continue };
            let Some(now) = job.promises.iter().find(|it| it.quote == *quote) else {
                return broken("offers", format!("job {number} has lost its promise {quote}"));
            };
            let same = now.window == promise.window && now.nodes == promise.nodes;
            if !same || now.cost != promise.cost || now.slack != promise.slack {
                return broken("offers", format!("job {number} was promised something else"));
            }
            if *is_decided && now.is_open() {
                return broken("offers", format!("job {number}: {quote} is open again"));
            }
            *is_decided |= !now.is_open();
        }
        state.jobs.values().try_for_each(paid)
    }

    /// At the end every one of them is decided.
    pub(crate) fn decided(&self, state: &State) -> Check {
        let open = self.0.keys().find(|(number, quote)| {
            let job = state.jobs.get(number);
            job.is_some_and(|job| job.promises.iter().any(|it| it.quote == *quote && it.is_open()))
        });
        match open {
            Some((job, _)) => broken("offers", format!("job {job}'s offer was never decided")),
            None => Ok(()),
        }
    }
}

/// What a job pays that accepted an offer, and what is said of it.
fn paid(job: &Job) -> Check {
    let number = job.number;
    let counts = |it: &&Promise| !matches!(it.outcome, OfferOutcome::Void(_));
    let cost = job.promises.iter().filter(counts).map(|it| it.cost).min();
    if let Some(cost) = cost.filter(|cost| job.paid > *cost) {
        return broken("offers", format!("job {number} paid {} of at most {cost}", job.paid));
    }
    let breaches = job.promises.iter().filter(|it| it.is_breached()).count();
    let stated = job.history.iter().filter(|(_, it)| matches!(it, Happening::Breached(_))).count();
    if stated != breaches {
        return broken("offers", format!("job {number}: {breaches} breaches, {stated} stated"));
    }
    if breaches == 0 && (job.covered > Money(0) || job.covering > Money(0)) {
        return broken("offers", format!("the market paid for job {number} without a breach"));
    }
    match job.covering > Money(0) && job.phase() != Phase::Running {
        true => broken("offers", format!("the market's money is held for job {number}")),
        false => Ok(()),
    }
}

/// No promise is broken in silence: what is open after its slack is stated.
pub(crate) fn stated(state: &State, at: Time) -> Check {
    let is_silent =
        |job: &&Job| job.promise().is_some_and(|it| it.is_open() && at > it.latest() + SILENCE);
    match state.jobs.values().find(is_silent) {
        Some(job) => broken("offers", format!("job {} waits in silence", job.number)),
        None => Ok(()),
    }
}

/// What was just written down as kept was kept: the job has the promised nodes at the promised
/// prices, and where sites' clocks and memories are sound its work began there in time.
fn kept(state: &State, record: &OfferRecord, sites: Option<&[FakeSite]>) -> Check {
    let OfferRecord::Kept { job, began } = record else { return Ok(()) };
    let Some(job) = state.jobs.get(job).filter(|job| job.in_window()) else { return Ok(()) };
    let Some(promise) = job.promise() else {
        return broken("offers", format!("job {} was promised nothing", job.number));
    };
    let booked = promise.window.parts(promise.nodes);
    let same = booked.iter().zip(job.parts()).all(|(it, part)| {
        (it.share.pool, it.share.nodes, it.price) == (part.pool, part.nodes, part.price)
    });
    if !same || *began > promise.latest() {
        return broken("offers", format!("job {} has another window", job.number));
    }
    if job.barrier().is_some_and(|it| it.at.is_none_or(|at| at > promise.latest())) {
        return broken("offers", format!("the parts of job {} begin later", job.number));
    }
    let ran = |sites: &[FakeSite]| {
        let mut runs = sites.iter().flat_map(FakeSite::history);
        runs.any(|ran| ran.tag.job == job.number && ran.since <= promise.latest())
    };
    match job.barrier().is_some() || sites.is_none_or(ran) {
        true => Ok(()),
        false => broken("offers", format!("job {} never began in its window", job.number)),
    }
}

/// A request about an accepted offer.
pub(crate) fn update(rng: &mut Pcg64Mcg, live: &Live) -> (Actor, Ask) {
    let administrator = Actor { user: "root".to_owned(), role: Role::Administrator };
    let state = live.state();
    let promised = state.jobs.values().filter(|job| job.promise().is_some());
    let jobs: Vec<u64> = promised.map(|job| job.number).collect();
    let job = jobs.get(rng.random_range(0..=jobs.len())).copied().unwrap_or(1);
    let on_breach = OnBreach::ALL[rng.random_range(0..3usize)].1;
    let ask = match rng.random_range(0..3) {
        0 => Ask::Update { job, on_breach: None, quote: Some(state.last_quote()) },
        1 => Ask::Release { job },
        _ => Ask::Update { job, on_breach: Some(on_breach), quote: None },
    };
    (administrator, ask)
}

impl World {
    /// Offers that were accepted: what was promised must stay.
    pub(crate) fn note_offers(&mut self, ask: &Ask, reply: &Reply) {
        let Some((live, _)) = &self.daemon else { return };
        match (ask, reply) {
            (Ask::Submit { quote: Some(_), .. }, Reply::Jobs(jobs)) => {
                self.promises.accepted.note(live.state(), jobs);
            }
            (Ask::Update { job, quote: Some(_), .. }, _) => {
                self.promises.accepted.note(live.state(), &[*job]);
            }
            _ => {}
        }
    }

    /// Offers that were just written down as kept were kept.
    pub(crate) fn kept_offers(&self, records: &[Record]) -> Check {
        let Some((live, _)) = &self.daemon else { return Ok(()) };
        for record in records {
            let Record::Offer(record @ OfferRecord::Kept { job, .. }) = record else { continue };
            let is_sound = self.rates.clock == 0 && !self.clouded.contains(job);
            kept(live.state(), record, is_sound.then_some(&self.sites[..]))?;
        }
        Ok(())
    }

    /// Owners change their prices and hours, and sites are cut off or hang for a while.
    pub(crate) fn trouble_for_offers(&mut self) {
        if self.chance(self.rates.terms) {
            let terms = self.other_terms();
            self.inbox.push_back(terms);
        }
        let site = self.rng.random_range(0..2usize);
        match self.rng.random_range(0..3) {
            0 if self.chance(self.rates.cut) => {
                let faults =
                    [InjectedFault::Away, InjectedFault::LostBefore, InjectedFault::LostAfter];
                let fault = faults[self.rng.random_range(0..3usize)].clone();
                self.sites[site].weather(Some(fault));
            }
            1 if self.chance(100) => self.sites[site].weather(None),
            _ => {}
        }
    }

    fn pool_size(&self, pool: PoolId) -> u32 {
        let pools = self.sites.iter().flat_map(Site::pools);
        pools.map(|pool| pool.nodes).nth(pool.index()).unwrap_or(1)
    }

    /// Two prices in turn, of which the first holds now. All repeat equally often, as those of a week
    /// do: what could happen at once then comes soon.
    fn hourly(&mut self, pool: PoolId, first: i64) -> BTreeMap<PoolId, Arc<Series>> {
        let second = self.rng.random_range(0..6) * 1_000_000;
        let change = self.rng.random_range(1..PRICES_REPEAT.0);
        let steps = [(self.now, first), (self.now + Span(change), second)];
        let rate = Series::new(&steps).and_then(|rate| rate.repeated(PRICES_REPEAT)).unwrap();
        BTreeMap::from([(pool, Arc::new(rate))])
    }

    fn other_terms(&mut self) -> Input {
        let pool = PoolId(self.rng.random_range(0..3));
        let first = self.rng.random_range(0..6) * 1_000_000;
        let prices = vec![(pool, Price(first))];
        let rates = match self.has_hourly_prices && self.rng.random_range(0..3) == 0 {
            true => self.hourly(pool, first),
            false => BTreeMap::new(),
        };
        let from = self.now + Span(self.rng.random_range(0..100));
        let until = from + Span(self.rng.random_range(1..200));
        let nodes = self.pool_size(pool).min(self.rng.random_range(1..3));
        let withheld = Withheld { pool, nodes, from, until };
        let withheld = (self.rng.random_range(0..2) == 0).then_some(withheld);
        Input::Terms { prices, rates, withheld: withheld.into_iter().collect() }
    }
}
