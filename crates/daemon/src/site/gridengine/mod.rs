//! Grid Engine, as a manager for `Driver`: its commands, its lists, and what is special about it.
//!
//! A pool is a queue, or some hosts of one; its nodes are units of so many slots. A task is one
//! job whose name is the task's tag: numbers of jobs start again from 1 when the cluster is set up
//! again, names do not. Grid Engine forgets a job as soon as it is over; its accounting, which comes
//! some seconds late, is the second witness, for jobs that could not write their end.
//!
//! | module | what |
//! |---|---|
//! | `settings` | what is configured |
//! | `words` | what is said to Grid Engine |
//! | `replies` | what it answers |
//! | `cluster` | both, with errors |
//! | `pools` | what is free |
//! | `resources` | memory, GPUs and the like |
//! | `queue` | waiting jobs of others |
//! | `rule` | how the scheduler goes through them |
//! | `ends` | how a task ended that could not say so |
//! | `reserve` | advance reservations |
//! | `doctor` | whether all is well |

mod cluster;
mod doctor;
mod ends;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod pools;
mod queue;
mod replies;
mod reserve;
mod resources;
mod rule;
mod settings;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tradewind_io::settings::cluster::Mode;
use tradewind_model::Time;

use self::cluster::GridEngineCluster;
use self::replies::{GridEngineJob, Instance, Status};
use self::settings::{Pool, Unit};
use super::clock::now;
use super::limits::Limits;
use super::managed::bundle::{Words, ahead};
use super::managed::driver::judge::{self, TaskVerdict};
use super::managed::driver::manager::{
    self, ManagedTask, PoolsView, Reservation, ReservationsOf, SubmitAnswer, TaskSubmission,
};
use super::managed::driver::missing::MissingTasks;
use super::managed::driver::{Base, Driver, ManagedSettings, Manager, Ownership, SurveyPart};
use super::managed::spool::{Here, Trace};
use super::managed::tickets::Ticket;
use super::queued::WaitingJobs;
use super::resources::Resources;
use super::{Aside, Finding, Order, PoolSurvey, Site, SiteError, Tag};

/// So long a task may be unknown to Grid Engine before it counts as lost: accounting is written
/// every 15 s, unless the cluster's owner has chosen otherwise.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// Opens a site under Grid Engine. The cluster itself is not asked.
///
/// # Errors
/// If something in the settings means nothing to Grid Engine, the site's folder cannot be used,
/// another adapter uses it, or a file in it is damaged.
pub fn open(settings: ManagedSettings, patience: Duration) -> io::Result<Box<dyn Site>> {
    open_as(settings, patience, None)
}

/// The same for a term of ownership: the site refuses orders of earlier ones.
///
/// # Errors
/// As [`open`].
pub fn open_for(
    settings: ManagedSettings,
    patience: Duration,
    owned: Ownership,
) -> io::Result<Box<dyn Site>> {
    open_as(settings, patience, Some(owned))
}

fn open_as(
    mut settings: ManagedSettings,
    patience: Duration,
    owned: Option<Ownership>,
) -> io::Result<Box<dyn Site>> {
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    let pools = settings::pools(&settings).map_err(invalid)?;
    let options = settings::options(&settings.cluster.options).map_err(invalid)?;
    // Grid Engine is punctual with `-a`: nothing is gained by holding jobs.
    if settings.cluster.mode == Mode::HoldRelease {
        settings.cluster.mode = Mode::Begin;
    }
    let master = Master {
        pools,
        options,
        instances: Vec::new(),
        reservations: Vec::new(),
        units: Vec::new(),
        missing: MissingTasks::new(patience),
        rule: rule::KnownRule::default(),
        resources: resources::HostResources::named(&settings.cluster.options),
    };
    Ok(Box::new(Driver::open(settings, master, owned)?))
}

/// Grid Engine's master, and what it has listed last.
#[derive(Debug)]
struct Master {
    pools: Vec<Pool>,
    /// Words for every `qsub`, such as `-P` and a project.
    options: Vec<String>,
    instances: Vec<Instance>,
    /// Those that do not end just now.
    reservations: Vec<replies::AdvanceReservation>,
    /// Slots of a unit by pool, as the cluster said last.
    units: Vec<Option<u32>>,
    missing: MissingTasks,
    rule: rule::KnownRule,
    resources: resources::HostResources,
}

impl Master {
    /// Slots of a unit of the pool at this place, once they are known.
    fn known_unit(&self, place: usize) -> Option<u32> {
        let known = self.units.get(place).copied().flatten();
        known.or_else(|| self.pools.get(place)?.slots(&[]))
    }

    /// The same; the cluster is asked if need be.
    fn unit(&mut self, base: &Base, place: usize) -> Result<u32, SiteError> {
        if self.known_unit(place).is_none() {
            self.jobs(base)?;
        }
        self.known_unit(place).ok_or_else(|| {
            let queue = self.pools.get(place).map_or("", |pool| pool.queue.as_str());
            SiteError::Unknown(format!("the queue {queue:?} has none of the pool's hosts"))
        })
    }
}

impl manager::ManagerJob for GridEngineJob {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn mark(&self) -> &str {
        &self.name
    }

    fn account(&self) -> &str {
        &self.owner
    }

    fn waits(&self) -> bool {
        !self.is_placed() && !self.stays()
    }

    fn holds_nodes(&self) -> bool {
        self.is_placed() && !self.stays()
    }

    fn is_running(&self) -> bool {
        self.is_placed() && !self.state.contains('d')
    }

    /// In error, until somebody clears that or deletes it.
    fn stays(&self) -> bool {
        self.state.contains('E')
    }

    fn reason(&self) -> &str {
        &self.state
    }

    fn shown(&self) -> String {
        self.state.clone()
    }

    fn is_held(&self) -> bool {
        self.state.contains('h')
    }
}

impl Manager for Master {
    type Job = GridEngineJob;

    const NAME: &'static str = "Grid Engine";
    const LISTS_BY: &'static str = "qstat -f";
    /// Queues come with the jobs.
    const PARTS: &'static [SurveyPart] = &[SurveyPart::Reservations, SurveyPart::Jobs];
    const KEEPS_ENDED: bool = false;
    const CANCEL_KILLS: bool = true;
    const UNRESERVE_KILLS: bool = true;

    fn words(&self) -> &'static Words {
        &words::WORDS
    }

    fn mark(ticket: &Ticket) -> String {
        words::name_of(&ticket.tag)
    }

    fn jobs(&mut self, base: &Base) -> Result<Vec<GridEngineJob>, SiteError> {
        let status = GridEngineCluster(&base.tool).status()?;
        self.units = self.pools.iter().map(|pool| pool.slots(&status.instances)).collect();
        let Status { instances, jobs } = status;
        self.instances = instances;
        let open = |tag: &Tag| base.tickets.get(tag).filter(|ticket| ticket.ended.is_none());
        let is_listed = |ticket: &Ticket| {
            let name = words::name_of(&ticket.tag);
            jobs.iter().any(|job| job.name == name && job.owner == ticket.account)
        };
        self.missing.retain(|tag| open(tag).is_some_and(|ticket| !is_listed(ticket)));
        Ok(jobs)
    }

    fn list_reservations(
        &mut self,
        base: &Base,
        whose: ReservationsOf<'_>,
    ) -> Result<(), SiteError> {
        // Places of others are always asked for: pools are counted from the list until the next one.
        let is_meant = |name: &str| {
            let is_of_others = !words::is_reservation_of(name, &base.markets);
            let is_of = |market| words::is_reservation_of(name, [market]);
            is_of_others || matches!(whose, ReservationsOf::Market(market) if is_of(market))
        };
        let is_there = |one: &replies::AdvanceReservation| !one.state.contains('d');
        let wanted = |one: &replies::AdvanceReservation| is_there(one) && is_meant(&one.name);
        self.reservations = GridEngineCluster(&base.tool).reservations(wanted)?;
        self.reservations.retain(is_there);
        Ok(())
    }

    fn reservations(&self) -> Vec<Reservation> {
        self.reservations.iter().map(reserve::of_list).collect()
    }

    fn pools(
        &mut self,
        base: &Base,
        view: &PoolsView<'_, GridEngineJob>,
    ) -> Result<Vec<PoolSurvey>, SiteError> {
        let theirs: Vec<&GridEngineJob> = view.theirs().collect();
        let waiting: Vec<&GridEngineJob> =
            theirs.iter().copied().filter(|job| !job.is_placed()).collect();
        self.rule.ask(base, &self.pools, &waiting);
        let reservations: Vec<&replies::AdvanceReservation> = self
            .reservations
            .iter()
            .filter(|one| !words::is_reservation_of(&one.name, &base.markets))
            .collect();
        let running = theirs.iter().filter(|job| job.is_placed());
        let numbers = running.map(|job| job.id.split('.').next().unwrap_or_default());
        let inside = match reservations.iter().any(|one| one.from <= view.now) {
            true => GridEngineCluster(&base.tool).details(numbers)?.reservation,
            false => BTreeMap::new(),
        };
        let others = pools::Others {
            jobs: &theirs,
            reservations: &reservations,
            inside: &inside,
            now: view.now,
        };
        if let Err(wrong) = self.resources.ask(base, &self.pools, &self.instances) {
            tracing::debug!(%wrong, "what hosts have besides slots is not known");
        }
        let cluster = (self.instances.as_slice(), &self.resources);
        let mut seen = pools::look(&self.pools, cluster, &others);
        for (pool, survey) in self.pools.iter().zip(&mut seen) {
            survey.max = Some(self.resources.most(pool, &self.instances));
        }
        Ok(seen)
    }

    fn queue(&mut self, _: &Base, view: &PoolsView<'_, GridEngineJob>) -> WaitingJobs {
        let cluster = (self.instances.as_slice(), &self.resources);
        queue::of(&self.pools, cluster, view.theirs(), |job| self.rule.reserves(job))
    }

    fn limits(&mut self, base: &Base) -> Option<Arc<Limits>> {
        Some(self.rule.limits(base, &self.pools))
    }

    /// Only jobs in error are listed after their end.
    fn over(_: &Ticket, _: &GridEngineJob, _: Option<Option<&Trace>>, _: Time) -> TaskVerdict {
        TaskVerdict::AskRecords
    }

    /// A job that is over leaves the list at once: its accounting says more than its absence.
    fn absent(ticket: &Ticket, trace: Option<Option<&Trace>>, now: Time) -> TaskVerdict {
        let has_end = trace.flatten().is_some_and(|trace| trace.end.is_some());
        match judge::absent::<Self>(ticket, trace, now) {
            verdict @ (TaskVerdict::Look | TaskVerdict::Nothing) => verdict,
            verdict if has_end => verdict,
            _ => TaskVerdict::AskRecords,
        }
    }

    fn records(
        &mut self,
        base: &Base,
        task: &ManagedTask<'_, GridEngineJob>,
    ) -> Result<Option<TaskVerdict>, SiteError> {
        self.ask_records(base, task)
    }

    /// Hosts, or units of them.
    fn nodes(&self, base: &Base, pool: &str, here: &Here) -> Vec<String> {
        let pool = base.pool(pool).and_then(|place| self.pools.get(place));
        if pool.is_some_and(|pool| pool.unit == Unit::Host) {
            return here.nodes.clone();
        }
        let mut ranks: BTreeMap<&str, u32> = BTreeMap::new();
        let mut names = Vec::new();
        for host in &here.nodes {
            let rank = ranks.entry(host).or_default();
            *rank += 1;
            names.push(format!("{host}/{}.{rank}", here.id));
        }
        names
    }

    fn check(&mut self, base: &Base, order: &Order, place: usize) -> Result<(), SiteError> {
        if let Some(name) = words::unmet(order) {
            let why = format!("{name:?} means nothing to Grid Engine: leave it out");
            return Err(SiteError::Capped(why));
        }
        // The longest name of a folder; the manager takes any.
        if words::job_name(&order.tag).len() > 200 {
            return Err(SiteError::Refused("the market's name is too long".to_owned()));
        }
        let slots = order.nodes.saturating_mul(self.unit(base, place)?);
        let resources = self.checked_resources(base, order, place)?;
        let of_units = self.of_units(order.nodes, place).map_err(SiteError::Capped)?;
        if order.aside && base.cluster.mode == Mode::Reservation && resources.len() > of_units.len()
        {
            let why = format!("{}: its reservation has only slots", resources.join(", "));
            return Err(SiteError::Capped(why));
        }
        if let Some(Unit::Shared(unit)) = self.pools.get(place).map(|pool| pool.unit)
            && unit.of_task(&order.passed_through) > 1
        {
            let why = "a task of several units needs them on one host, which Grid Engine does not \
                       promise: ask for fewer processors or less memory for each task";
            return Err(SiteError::Capped(why.to_owned()));
        }
        if slots > 1 && self.pools.get(place).is_some_and(|pool| pool.environment.is_none()) {
            let wanted = "its owner must add `options = { pe = \"…\" }`, a parallel environment";
            return Err(SiteError::Capped(format!("more than one slot: {wanted}")));
        }
        Ok(())
    }

    fn script(&self, script: String) -> Result<String, SiteError> {
        Ok(script.replacen('\n', &format!("\n{}", words::CODES), 1))
    }

    fn submit(&self, base: &Base, one: &TaskSubmission<'_>) -> SubmitAnswer {
        (self.qsub(base, one), None)
    }

    fn cancel(
        &self,
        base: &Base,
        ticket: &Ticket,
        _: Option<&GridEngineJob>,
    ) -> Result<(), SiteError> {
        GridEngineCluster(&base.tool).delete(&ticket.account, &words::name_of(&ticket.tag))
    }

    fn reservation_name(base: &Base, market: &str, job: u64, pool: &str) -> String {
        words::reservation_name(market, job, base.pool(pool).unwrap_or(usize::MAX))
    }

    fn is_reservation_of(_: &Base, name: &str, market: &str) -> bool {
        words::is_reservation_of(name, [market])
    }

    fn fits(
        &mut self,
        base: &Base,
        known: &Reservation,
        wanted: &Aside,
    ) -> Result<bool, SiteError> {
        let place = base.pool(&wanted.pool).unwrap_or(usize::MAX);
        let slots = wanted.nodes.saturating_mul(self.unit(base, place)?);
        Ok(reserve::will_do(known, wanted, slots))
    }

    fn reserve(&mut self, base: &Base, name: &str, wanted: &Aside) -> Result<(), SiteError> {
        let place = base.pool(&wanted.pool).unwrap_or(usize::MAX);
        self.unit(base, place)?;
        let of_units = self.of_units(wanted.nodes, place).map_err(SiteError::Refused)?;
        self.qrsub(base, name, (wanted, &of_units))
    }

    fn unreserve(&mut self, base: &Base, known: &Reservation) -> Result<(), SiteError> {
        GridEngineCluster(&base.tool).unreserve(&known.owner, &known.id)?;
        self.reservations.retain(|it| it.id != known.id);
        Ok(())
    }

    fn doctor(&mut self, base: &Base) -> Vec<Finding> {
        let known =
            self.jobs(base).and_then(|_| self.resources.ask(base, &self.pools, &self.instances));
        if let Err(wrong) = known {
            tracing::debug!(%wrong, "what hosts have besides slots is not known");
        }
        doctor::look(base, &self.pools, &self.resources)
    }
}

impl Master {
    /// The same, if a host of the pool has that much.
    fn checked_resources(
        &mut self,
        base: &Base,
        order: &Order,
        place: usize,
    ) -> Result<Vec<String>, SiteError> {
        let asked = Resources::asked(&order.passed_through);
        let has_memory = self.pools.get(place).is_some_and(|it| matches!(it.unit, Unit::Shared(_)));
        if asked == Resources::default() && !has_memory {
            return Ok(Vec::new());
        }
        if self.resources.is_unknown() {
            self.jobs(base)?;
            self.resources.ask(base, &self.pools, &self.instances)?;
        }
        let words = self.resources_of(order, place).map_err(SiteError::Capped)?;
        let pool = self.pools.get(place);
        let most = pool.map(|pool| self.resources.most(pool, &self.instances)).unwrap_or_default();
        match most.hold(&asked) {
            true => Ok(words),
            false => {
                Err(SiteError::Capped(format!("no host of the pool has {asked}; they have {most}")))
            }
        }
    }

    /// The memory of so many units of the pool, as `-l` takes it.
    fn of_units(&self, nodes: u32, place: usize) -> Result<Vec<String>, String> {
        let unit = self.pools.get(place).map_or(Unit::Host, |pool| pool.unit);
        self.resources.of_units(u64::from(nodes), unit)
    }

    /// What the order asks for besides slots, as `-l` takes it.
    fn resources_of(&self, order: &Order, place: usize) -> Result<Vec<String>, String> {
        let unit = self.pools.get(place).map_or(Unit::Host, |pool| pool.unit);
        let slots = self.known_unit(place).unwrap_or(1);
        self.resources.words(&order.passed_through, order.nodes, (unit, slots))
    }

    fn qsub(&self, base: &Base, one: &TaskSubmission<'_>) -> Result<(), SiteError> {
        let (Some(pool), Some(slots)) = (self.pools.get(one.pool), self.known_unit(one.pool))
        else {
            return Err(SiteError::Unknown(format!("nothing is known of {:?}", one.order.pool)));
        };
        let resources = self.resources_of(one.order, one.pool).map_err(SiteError::Refused)?;
        let reserved = match base.cluster.mode {
            Mode::Reservation => self.reservation_for(base, one.order, &resources)?,
            Mode::Begin | Mode::HoldRelease => None,
        };
        let mut limit = words::hard_limit(one.order, base.grace());
        if let Some(reserved) = &reserved {
            // A job that might outlive its reservation is refused.
            limit = limit.min(reserved.until - reserved.from);
        }
        let words = words::qsub(&words::QsubWords {
            order: one.order,
            pool,
            slots,
            limit,
            begin: ahead(one.order, now()),
            reservation: reserved.as_ref().map(|one| one.id.as_str()),
            resources: &resources,
            options: &self.options,
        });
        GridEngineCluster(&base.tool).submit(&one.ticket.account, words, &one.script)
    }
}
