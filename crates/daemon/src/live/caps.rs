//! Limits of sites are no refusals: a job that met one goes elsewhere, or waits until it may try
//! again.
//!
//! Nothing here is written down but that a job waits and why: what sites allow is read again, or
//! learned again, after a restart. Policies learn of it by the attribute [`RESOURCES`]: a pool that
//! is closed to a job is not among those that it asks for.

mod again;
mod over;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_io::submission::Submission;
use tradewind_model::{Demand, PoolId, SiteId, Span, Time};

use super::answer::Refusal;
use super::demand::{Chosen, choose, promised};
use super::state::{Job, JobHold, Phase, Setback, TaskReport};
use super::{ApplyError, Live};
use crate::live::ledger::budgets::HeldPower;
use crate::live::record::{JobRecord, MarketRecord, Record};
use crate::site::limits::{Cap, Charged, Holds, Limits};
use crate::site::{Survey, Tag};
use over::{hopeless, over};

/// After a limit was met, one more job than fitted is tried so much later, at first.
const FIRST_WAIT: Span = Span(30);
/// The same, at most.
const LAST_WAIT: Span = Span(900);
/// What holds for a user or for a job is believed so long: limits may be changed.
const BELIEVED: Span = Span(3_600);

/// Whose jobs a manager counts together: the account, and what they are charged to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CapHolder {
    account: String,
    charged: Charged,
}

/// A limit on jobs at one time that was met.
#[derive(Debug, Clone)]
struct ReachedCap {
    word: String,
    /// So many jobs were there then, ours and others, or as many as were tried since.
    max: u32,
    /// When one more is tried.
    until: Time,
    wait: Span,
    /// More than were there then have been tried.
    is_raised: bool,
}

/// What a site's last survey said.
#[derive(Debug, Clone)]
struct Told {
    limits: Arc<Limits>,
    foreign: BTreeMap<String, u32>,
    lingering: BTreeMap<String, u32>,
    all_jobs: u32,
}

impl Told {
    /// Jobs of others that the account has there.
    fn foreign(&self, account: &str) -> u32 {
        self.foreign.get(account).copied().unwrap_or(0)
    }

    /// Jobs of the market that the manager still counts, though they are over.
    fn lingering(&self, account: &str) -> u32 {
        self.lingering.get(account).copied().unwrap_or(0)
    }
}

/// Why a pool or a site is closed to a job, for people.
type ClosedReason = String;

/// All that is known of limits.
#[derive(Debug, Default)]
pub(super) struct Caps {
    told: BTreeMap<SiteId, Told>,
    met: BTreeMap<(SiteId, CapHolder), ReachedCap>,
    /// Accounts that a pool is closed to, as it said: until when that is believed, and why.
    shut: BTreeMap<(PoolId, CapHolder), (Time, String)>,
    /// Jobs that a pool is closed to: the same.
    barred: BTreeMap<(u64, PoolId), (Time, String)>,
    /// Limits that present tasks have met.
    tags: BTreeMap<Tag, Cap>,
    /// Jobs in the queue to which some pools are closed for now.
    narrowed: BTreeSet<u64>,
    /// Jobs that are held because all are.
    held: BTreeSet<u64>,
    /// Jobs of the market that are there or may go there, if that was counted since they changed.
    counts: OnceCell<CountedJobs>,
    /// What is held of budgets of energy and carbon, if that was added up since it changed.
    power: OnceCell<HeldPower>,
    /// Jobs that were given nodes just now, and of which it is not looked yet whether they may keep
    /// them.
    undecided: BTreeSet<u64>,
    /// When jobs were last looked at that wait for a limit.
    looked: Option<Time>,
}

/// By site and whose.
type CountedJobs = BTreeMap<(SiteId, CapHolder), u32>;

impl Caps {
    /// Keeps what follows from records; this one is about to be applied.
    pub(super) fn heed(&mut self, record: &Record) {
        match record {
            Record::Job(JobRecord::Held { job, hold } | JobRecord::Left { job, hold })
                if is_limit(hold) =>
            {
                self.held.insert(*job);
            }
            Record::Job(JobRecord::Ended { job, .. }) => self.pardon(*job),
            _ => {}
        }
        if matches!(
            record,
            Record::Job(_) | Record::Market(_) | Record::Ledger(_) | Record::Offer(_)
        ) {
            self.power = OnceCell::new();
        }
        let moves = matches!(
            record,
            Record::Job(JobRecord::Joined { .. })
                | Record::Job(JobRecord::Left { .. })
                | Record::Market(MarketRecord::Decided { .. })
                | Record::Job(JobRecord::Started { .. })
                | Record::Job(JobRecord::Released { .. })
                | Record::Job(JobRecord::Interrupted { .. })
                | Record::Job(JobRecord::Ended { .. })
        );
        if moves {
            self.counts = OnceCell::new();
        }
    }

    /// After a restart: a job that is held for a limit.
    pub(super) fn hold(&mut self, job: u64) {
        self.held.insert(job);
    }

    /// All pools may be tried again for the job.
    pub(super) fn pardon(&mut self, job: u64) {
        let of_job: Vec<_> = self
            .barred
            .range((job, PoolId(0))..=(job, PoolId(u32::MAX)))
            .map(|(key, _)| *key)
            .collect();
        for key in of_job {
            self.barred.remove(&key);
        }
    }

    /// Whether jobs must be counted there.
    fn counts_at(&self, site: SiteId) -> bool {
        let reads = |limits: &Limits| limits.users.is_some() || !limits.qos.is_empty();
        self.told.get(&site).is_some_and(|told| reads(&told.limits))
            || self.met.keys().any(|(of, _)| *of == site)
    }

    /// Whose job it is for the site.
    ///
    /// # Errors
    /// Why the user has no account there.
    fn whose(
        &self,
        site: SiteId,
        name: &str,
        user: &str,
        job: &Submission,
    ) -> Result<CapHolder, String> {
        let limits = self.told.get(&site).map(|told| &told.limits);
        let account = limits.map_or(Ok(user), |limits| limits.account(name, user))?.to_owned();
        let options = limits.map_or(&[][..], |limits| &limits.options);
        Ok(CapHolder { account, charged: Charged::of(options, &job.passed_through) })
    }

    /// How often the site's scheduler looks for jobs to start, as far as the site says.
    pub(super) fn round_at(&self, site: SiteId) -> Span {
        let queue = self.told.get(&site).and_then(|told| told.limits.queue);
        queue.map_or(Span::ZERO, |queue| queue.interval)
    }
}

/// Whether a job with this hold is tried again once a limit leaves room for it.
fn is_limit(hold: &JobHold) -> bool {
    matches!(hold, JobHold::Capped(_) | JobHold::OverBudget(_))
}

/// How a job stands to the limits of all sites and to budgets of energy and carbon.
enum Fit {
    /// It may ask for this; some pools may be closed to it for now.
    Fits(Chosen, bool),
    /// All pools that could have it are closed for now; it is held for this.
    Later(JobHold),
    Never(Refusal),
}

impl Live {
    /// What the submission would ask of the market, within what sites allow `user` at all.
    ///
    /// # Errors
    /// If no nodes could ever meet it: the message says what is missing.
    pub fn demand_of(&self, user: &str, submission: &Submission) -> Result<Demand, Refusal> {
        self.chosen_of(None, user, submission, None).map(|chosen| chosen.demand)
    }

    /// The same with what it was computed with. `number` is the job's, if it has one; pools of which
    /// it needs `width` nodes come first, if that is given.
    ///
    /// # Errors
    /// As [`Live::demand_of`].
    pub(super) fn chosen_of(
        &self,
        number: Option<u64>,
        user: &str,
        submission: &Submission,
        width: Option<u32>,
    ) -> Result<Chosen, Refusal> {
        let chosen = self.pick(user, submission, width, &BTreeMap::new())?;
        let closed = self.closed_to(number, user, submission, &chosen.demand);
        match closed.is_empty() {
            true => Ok(chosen),
            false => self.pick(user, submission, width, &closed).map_err(|_| hopeless(&closed)),
        }
    }

    /// What the submission asks for without the pools that are closed to it.
    fn pick(
        &self,
        user: &str,
        submission: &Submission,
        width: Option<u32>,
        closed: &BTreeMap<PoolId, ClosedReason>,
    ) -> Result<Chosen, Refusal> {
        choose(submission, self.place_of(user), &self.state, &self.max, width, closed)
    }

    fn site_named(&self, site: SiteId) -> &str {
        self.state.market.pools().sites().get(site.0 as usize).map_or("", |site| &site.name)
    }

    /// Pools that will never have the job, or none of its user's, and why. `number` is the job's, if
    /// it has one.
    fn closed_to(
        &self,
        number: Option<u64>,
        user: &str,
        submission: &Submission,
        demand: &Demand,
    ) -> BTreeMap<PoolId, ClosedReason> {
        let mut closed = BTreeMap::new();
        let mut places: BTreeMap<SiteId, usize> = BTreeMap::new();
        for (id, pool) in self.state.market.pools().iter() {
            let place = places.entry(pool.site).or_default();
            let of_site = *place;
            *place += 1;
            let site = self.site_named(pool.site);
            let why = match self.caps.whose(pool.site, site, user, submission) {
                Err(why) => Some(why),
                Ok(whose) => {
                    let barred = number.and_then(|number| self.caps.barred.get(&(number, id)));
                    let shut = || self.caps.shut.get(&(id, whose.clone()));
                    let said = barred.or_else(shut).map(|(_, why)| why.clone());
                    said.or_else(|| {
                        let told = self.caps.told.get(&pool.site)?;
                        let length = pool.length_of(demand);
                        let nodes = demand.processors.min(pool.nodes);
                        over(&told.limits, of_site, &whose, length, nodes)
                    })
                }
            };
            closed.extend(why.map(|why| (id, format!("{}: {why}", pool.name))));
        }
        closed
    }

    /// Sites that have as many jobs of the user as may be there at one time, and why.
    fn full_for(&self, user: &str, submission: &Submission) -> BTreeMap<SiteId, ClosedReason> {
        let mut full = BTreeMap::new();
        for (place, site) in self.state.market.pools().sites().iter().enumerate() {
            let id = SiteId(place as u32);
            let Ok(whose) = self.caps.whose(id, &site.name, user, submission) else { continue };
            let why = self.fullness(id, user, &whose);
            full.extend(why.map(|why| (id, format!("{}: {why}", site.name))));
        }
        full
    }

    fn fullness(&self, site: SiteId, user: &str, whose: &CapHolder) -> Option<String> {
        let told = self.caps.told.get(&site);
        if let Some((told, max)) = told.and_then(|it| Some((it, it.limits.all_jobs?)))
            && told.all_jobs >= max
        {
            return Some(format!("MaxJobCount: {} of {max} jobs are there", told.all_jobs));
        }
        if !self.caps.counts_at(site) {
            return None;
        }
        let ours = self.counts().get(&(site, whose.clone())).copied().unwrap_or(0);
        let ours = ours + told.map_or(0, |it| it.lingering(&whose.account));
        let foreign = told.map_or(0, |it| it.foreign(&whose.account));
        let say = |word: &str, there: u32, max: u32| {
            format!("{word}: {there} of {max} jobs of {user} are there")
        };
        let read = told.and_then(|it| it.limits.of(&whose.account, &whose.charged).ok()?.jobs);
        if let Some((max, word)) = read {
            // Of others it is not known which QOS and which project they have.
            let only = |limits: &Limits| {
                let own = limits.users.as_ref().and_then(|users| users.get(&whose.account));
                // The account `root` is for administrators' own work.
                own.is_some_and(|own| own.keys().filter(|name| *name != "root").count() == 1)
            };
            let counts = word.starts_with("Assoc") && told.is_some_and(|it| only(&it.limits));
            let there = ours + if counts { foreign } else { 0 };
            if there >= max {
                return Some(say(&word, there, max));
            }
        }
        let met = self.caps.met.get(&(site, whose.clone()))?;
        let there = ours.saturating_add(foreign);
        (there >= met.max).then(|| say(&met.word, there, met.max))
    }

    /// These jobs were given nodes.
    pub(super) fn decide_on(&mut self, jobs: &[u64]) {
        self.caps.undecided = jobs.iter().copied().collect();
    }

    /// It is decided whether the job keeps its nodes.
    pub(super) fn decided(&mut self, job: u64) {
        self.caps.undecided.remove(&job);
    }

    pub(super) fn undecided(&self) -> &BTreeSet<u64> {
        &self.caps.undecided
    }

    /// What is held of budgets of energy and carbon.
    pub(super) fn power_held(&self) -> &HeldPower {
        self.caps.power.get_or_init(|| self.state.power_held())
    }

    /// Jobs in the queue count wherever they may go.
    fn counts(&self) -> &CountedJobs {
        self.caps.counts.get_or_init(|| {
            let mut counts = CountedJobs::new();
            let pools = self.state.market.pools();
            let is_counted: Vec<bool> = (0..pools.sites().len())
                .map(|site| self.caps.counts_at(SiteId(site as u32)))
                .collect();
            for (id, number) in &self.state.jobs.numbers {
                let Some(job) = self.state.jobs.get(number) else { continue };
                let mut sites = BTreeSet::new();
                match job.phase() {
                    Phase::Running => {
                        let open = job.parts().iter().filter(|part| part.exit.is_none());
                        sites.extend(open.map(|part| self.state.site_of(part.pool)));
                    }
                    _ => {
                        let Some(demand) = self.state.market.demand(*id) else { continue };
                        let own = pools.iter().filter(|(_, pool)| pool.suits(demand));
                        sites.extend(own.map(|(_, pool)| pool.site));
                    }
                }
                sites.retain(|site| is_counted.get(site.0 as usize) == Some(&true));
                for site in sites {
                    let name = self.site_named(site);
                    let whose = self.caps.whose(site, name, &job.user, &job.submission);
                    let Ok(whose) = whose else { continue };
                    *counts.entry((site, whose)).or_default() += 1;
                }
            }
            counts
        })
    }

    /// How a job that is not in the queue stands to the limits. A window that is booked stands.
    fn fit(&self, job: &Job) -> Fit {
        let (user, submission) = (&job.user, &job.submission);
        if job.booking.is_some() && !job.lost_window() {
            let place = self.place_of(user);
            let chosen = promised(submission, place, &self.state, &self.max, job.nodes());
            return chosen.map_or_else(Fit::Never, |chosen| Fit::Fits(chosen, false));
        }
        let mut chosen = match self.pick(user, submission, None, &BTreeMap::new()) {
            Ok(chosen) => chosen,
            Err(refusal) => return Fit::Never(refusal),
        };
        let mut closed = self.closed_to(Some(job.number), user, submission, &chosen.demand);
        if !closed.is_empty() {
            match self.pick(user, submission, None, &closed) {
                Ok(other) => chosen = other,
                Err(_) => return Fit::Never(hopeless(&closed)),
            }
        }
        let full = self.full_for(user, submission);
        let hungry = self.too_hungry(job, &chosen.demand);
        let pools = self.state.market.pools();
        let (mut whys, mut is_hungry) = (BTreeSet::new(), false);
        let why = |(id, pool): (PoolId, &tradewind_model::Pool)| {
            let why = full.get(&pool.site).or_else(|| hungry.get(&id))?;
            Some((id, why.clone()))
        };
        loop {
            let asked = pools.iter().filter(|(_, pool)| pool.suits(&chosen.demand));
            let shut: BTreeMap<PoolId, ClosedReason> = asked.filter_map(why).collect();
            if shut.is_empty() {
                return Fit::Fits(chosen, !whys.is_empty());
            }
            is_hungry |= shut.keys().any(|id| hungry.contains_key(id));
            whys.extend(shut.values().cloned());
            closed.extend(shut);
            match self.pick(user, submission, None, &closed) {
                Ok(other) => chosen = other,
                Err(_) => {
                    let whys = whys.into_iter().collect::<Vec<_>>().join("; ");
                    let hold = if is_hungry { JobHold::OverBudget } else { JobHold::Capped };
                    return Fit::Later(hold(whys));
                }
            }
        }
    }

    /// Pools that would suit the job but for limits of their sites, now or at all: which limits, for
    /// people.
    pub fn left_out(&self, number: u64) -> Vec<String> {
        let Some(job) = self.state.jobs.get(&number) else { return Vec::new() };
        let (user, submission) = (&job.user, &job.submission);
        let pools = self.state.market.pools();
        let Ok(Chosen { demand, .. }) = self.pick(user, submission, None, &BTreeMap::new()) else {
            return Vec::new();
        };
        let closed = self.closed_to(Some(number), user, submission, &demand);
        let full = self.full_for(user, submission);
        let hungry = self.too_hungry(job, &demand);
        let suits = |(_, pool): &(PoolId, &tradewind_model::Pool)| pool.suits(&demand);
        // Where it may go it counts itself.
        let asked = job.id().and_then(|id| self.state.market.demand(id));
        let may_not = |pool: &tradewind_model::Pool| match job.phase() {
            Phase::Held(hold) => is_limit(hold),
            Phase::Waiting => asked.is_some_and(|asked| !pool.suits(asked)),
            _ => false,
        };
        let why = |(id, pool): (PoolId, &tradewind_model::Pool)| {
            let full = || full.get(&pool.site).or(hungry.get(&id)).filter(|_| may_not(pool));
            closed.get(&id).or_else(full).cloned()
        };
        let whys: BTreeSet<String> = pools.iter().filter(suits).filter_map(why).collect();
        whys.into_iter().collect()
    }

    /// What a job that joins the queue asks for now; or it is held until other jobs have ended.
    ///
    /// # Errors
    /// In the inner result: if no nodes could ever meet it.
    pub(super) fn demand_within(
        &mut self,
        number: u64,
    ) -> Result<Result<Chosen, Refusal>, JobHold> {
        let Some(job) = self.state.jobs.get(&number) else {
            return Err(JobHold::Capped(String::new()));
        };
        match self.fit(job) {
            Fit::Fits(chosen, is_narrowed) => {
                match is_narrowed {
                    true => self.caps.narrowed.insert(number),
                    false => self.caps.narrowed.remove(&number),
                };
                Ok(Ok(chosen))
            }
            Fit::Later(hold) => Err(hold),
            Fit::Never(refusal) => Ok(Err(refusal)),
        }
    }

    /// Takes in what a survey says of limits, and of tasks that met one; these stop, unless work of
    /// their job has begun.
    pub(super) fn learn_caps(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        if let Some(limits) = &survey.limits {
            let (limits, foreign) = (Arc::clone(limits), survey.foreign.clone());
            let (lingering, all_jobs) = (survey.lingering.clone(), survey.all_jobs);
            self.caps.told.insert(site, Told { limits, foreign, lingering, all_jobs });
            self.caps.counts = OnceCell::new();
        }
        self.caps.shut.retain(|_, (until, _)| *until > at);
        self.caps.barred.retain(|_, (until, _)| *until > at);
        let tasks = &self.state.tasks;
        self.caps.tags.retain(|tag, _| tasks.contains_key(tag));
        let is_new = |(tag, cap): &(&Tag, &Cap)| {
            self.is_current(tag) && self.caps.tags.get(tag) != Some(cap)
        };
        let new: Vec<(Tag, Cap)> = survey
            .capped
            .iter()
            .filter(is_new)
            .map(|(tag, cap)| (tag.clone(), cap.clone()))
            .collect();
        self.caps.tags.extend(new.iter().cloned());
        for (tag, cap) in new {
            self.learn_cap(at, site, &tag, cap);
            let job = self.state.jobs.get(&tag.job);
            let has_begun = |job: &Job| !job.is_gathering() && job.began().is_some();
            if job.is_some_and(|job| !has_begun(job)) {
                self.stop_rest(at, &tag)?;
            }
        }
        Ok(())
    }

    /// A task of a job met a limit.
    fn learn_cap(&mut self, at: Time, site: SiteId, tag: &Tag, cap: Cap) {
        let Some((job, task)) = self.state.jobs.get(&tag.job).zip(self.state.tasks.get(tag)) else {
            return;
        };
        let name = self.site_named(site);
        let Ok(whose) = self.caps.whose(site, name, &job.user, &job.submission) else { return };
        let pool = task.pool;
        match cap.holds {
            Holds::ForThisJob => {
                self.caps.barred.insert((tag.job, pool), (at + BELIEVED, cap.word));
            }
            Holds::ForThisUser => {
                self.caps.shut.insert((pool, whose), (at + BELIEVED, cap.word));
            }
            Holds::ForNow => {
                let others = self.caps.told.get(&site).map_or(0, |told| {
                    told.foreign(&whose.account).saturating_add(told.lingering(&whose.account))
                });
                let max = self.there(site, &whose).saturating_add(others);
                let known = self.caps.met.get(&(site, whose.clone()));
                let wait = match known {
                    Some(met) if met.is_raised => Span((met.wait.0 * 2).min(LAST_WAIT.0)),
                    Some(met) => met.wait,
                    None => FIRST_WAIT,
                };
                let met =
                    ReachedCap { word: cap.word, max, until: at + wait, wait, is_raised: false };
                self.caps.met.insert((site, whose), met);
                self.caps.counts = OnceCell::new();
            }
        }
    }

    /// Jobs of the market that the site has, of those that did not meet a limit.
    fn there(&self, site: SiteId, whose: &CapHolder) -> u32 {
        let name = self.site_named(site);
        let is_there = |(tag, task): &(&Tag, &super::state::Task)| {
            let has = matches!(task.known, TaskReport::Acknowledged | TaskReport::Seen(_))
                && !task.is_over();
            has && self.state.site_of(task.pool) == site && !self.caps.tags.contains_key(*tag)
        };
        let is_its = |(tag, _): &(&Tag, &super::state::Task)| {
            let job = self.state.jobs.get(&tag.job);
            let of = |job: &Job| self.caps.whose(site, name, &job.user, &job.submission);
            job.is_some_and(|job| of(job).as_ref() == Ok(whose))
        };
        self.state.tasks.iter().filter(is_there).filter(is_its).count() as u32
    }

    /// The limit that a part of the job met, if one did.
    pub(super) fn met_by(&self, job: &Job) -> Option<(PoolId, String)> {
        (0..job.parts().len()).zip(job.parts()).find_map(|(place, part)| {
            let cap = self.caps.tags.get(&job.tag(&self.state.name, place))?;
            Some((part.pool, cap.word.clone()))
        })
    }

    /// A job that met a limit gives its nodes back; it joins the queue again for other pools, or
    /// waits.
    pub(super) fn set_back_by_limit(
        &mut self,
        at: Time,
        number: u64,
        (pool, word): (PoolId, String),
    ) -> Result<(), ApplyError> {
        let why = format!("{}: {word}", self.state.market.pools().pool(pool).name);
        let setback = Setback::Capped(pool, word);
        self.lose_window(at, number, &setback)?;
        self.put(at, JobRecord::Interrupted { job: number, setback })?;
        match self.state.jobs.get(&number).is_some_and(|job| job.origin.is_some()) {
            // Its market has other choices.
            true => self.shelve(at, number, JobHold::Rejected(why)),
            false => {
                self.shelve(at, number, JobHold::Capped(why))?;
                self.enqueue(at, number)
            }
        }
    }
}
