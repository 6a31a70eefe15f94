//! Drawn grids of real schedulers, through the kernel.

use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Admission, Attributes, JobId, Outage, OutageId, Performance, Place, Pool, Pools, Price, Rates,
    Series, Site, SiteId, Span, Terms, Time, TimeMode, Times, random,
};
use tradewind_sched::negotiation::{self, Choose, Discover};
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::autonomous::{AutonomousSites, HomeRule};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::local::{
    Load, LocalScheduler, Origin, Plain, PlainSettings, QueueOrder, SiteJob,
};
use tradewind_sched::policy::multiqueue::{self, MultiQueue, Overflow};
use tradewind_sim::network::{Faults, Links, NetworkSettings, SimulatedNetwork, Traffic};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Run, Semantics, SimError, check, outage, run};

use super::audit::Audited;

/// How a site schedules for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Plain(Depth),
    Hybrid(multiqueue::MultiQueueSettings),
    /// A planted fault: conservative, but jobs from elsewhere are taken to be shorter than they
    /// are, and so get in the way.
    Gullible,
}

impl Mechanism {
    pub(crate) fn build(self, pool: &Pool) -> Box<dyn LocalScheduler> {
        let plain =
            |depth| Plain::new(pool.nodes, PlainSettings { depth, turn: QueueOrder::Arrival });
        match self {
            Mechanism::Plain(depth) => Box::new(plain(depth)),
            Mechanism::Hybrid(settings) => Box::new(MultiQueue::new(pool.nodes, settings)),
            Mechanism::Gullible => Box::new(Gullible(plain(Depth::All))),
        }
    }
}

#[derive(Debug)]
struct Gullible(Plain);

impl Gullible {
    fn believes(wanted: SiteJob, origin: Origin) -> SiteJob {
        let length = if origin == Origin::Remote { Span(1) } else { wanted.length };
        SiteJob { length, ..wanted }
    }
}

impl LocalScheduler for Gullible {
    fn join(&mut self, wanted: SiteJob, origin: Origin, now: Time) {
        self.0.join(Gullible::believes(wanted, origin), origin, now);
    }
    fn leave(&mut self, job: JobId, now: Time) {
        self.0.leave(job, now);
    }
    fn adopt(&mut self, wanted: SiteJob, start: Time, now: Time) {
        self.0.adopt(wanted, start, now);
    }

    fn closed(&mut self, closure: OutageId, now: Time) {
        self.0.closed(closure, now);
    }

    fn ended(&mut self, job: JobId, ran: Span, now: Time) {
        self.0.ended(job, ran, now);
    }
    fn interrupted(&mut self, job: JobId, now: Time) {
        self.0.interrupted(job, now);
    }
    fn announced(&mut self, closure: OutageId, what: Outage, now: Time) {
        self.0.announced(closure, what, now);
    }
    fn reopened(&mut self, closure: OutageId, now: Time) {
        self.0.reopened(closure, now);
    }
    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, surplus: &mut Vec<JobId>) {
        self.0.decide(now, starts, surplus);
    }
    fn wake(&self) -> Option<Time> {
        self.0.wake()
    }
    fn next_end(&self) -> Option<Time> {
        self.0.next_end()
    }
    fn promise(&self, wanted: &SiteJob, origin: Origin, now: Time, from: Time) -> Option<Time> {
        self.0.promise(&Gullible::believes(*wanted, origin), origin, now, from)
    }
    fn load(&self) -> Load {
        self.0.load()
    }
    fn reservation(&self, job: JobId) -> Option<Time> {
        self.0.reservation(job)
    }
}

/// Nodes, performance in thousandths and price of each site.
pub(crate) fn pools(sites: &[(u32, u32, i64)]) -> Arc<Pools> {
    let site = |index| Site { name: format!("site-{index}") };
    let pool = |(index, &(nodes, thousandths, price)): (usize, &(u32, u32, i64))| Pool {
        name: format!("pool-{index}"),
        site: SiteId(index as u32),
        nodes,
        performance: Performance::from_thousandths(thousandths).unwrap(),
        price: Price(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let all = sites.iter().enumerate().map(pool).collect();
    Arc::new(Pools::new((0..sites.len()).map(site).collect(), all).unwrap())
}

/// Autonomous sites over the simulated network.
pub(crate) type Grid = AutonomousSites<SimulatedNetwork>;

/// The messages between its sites.
pub(crate) fn traffic(grid: &Grid) -> Traffic {
    grid.network().unwrap().traffic()
}

/// Home, submission, run, processors, request.
pub(crate) type Job = (u32, i64, i64, u32, i64);

pub(crate) fn workload(pools: &Arc<Pools>, jobs: &[Job]) -> Workload {
    let log: Vec<LogJob> = (1..)
        .zip(jobs)
        .map(|(number, &(home, submit, run, processors, requested))| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(requested)),
            user: 1,
            terms: Some(Arc::new(Terms { home: Some(SiteId(home)), ..Terms::NONE })),
        })
        .collect();
    prepare(&log, Arc::clone(pools), Semantics::Textbook, Overrun::Kill)
}

/// What was run, and the federation after it.
pub(crate) fn live(
    workload: &Workload,
    settings: NetworkSettings,
    mechanism: Mechanism,
) -> Result<(Run, Grid), String> {
    let federation = settings.sites(&workload.pools, |pool| mechanism.build(pool));
    let mut audited = Audited::new(federation);
    let mut checkers = check::all(audited.promise());
    let ran = run(workload, tradewind_sim::ReplaySettings::default(), &mut audited, &mut checkers);
    let ran = ran.map_err(|error: SimError| error.to_string());
    match audited.complaint {
        Some(what) => Err(what),
        None => Ok((ran?, audited.federation)),
    }
}

pub(crate) struct World {
    pub(crate) workload: Workload,
    pub(crate) settings: NetworkSettings,
    pub(crate) mechanism: Mechanism,
}

fn mechanism(within: &mut impl FnMut(i64, i64) -> i64) -> Mechanism {
    match within(0, 3) {
        0 => Mechanism::Plain(Depth::First(1)),
        1 => Mechanism::Plain(Depth::All),
        _ => {
            let alpha = [100, 300, 500, 1_000][within(0, 3) as usize];
            let settings = multiqueue::MultiQueueSettings::new(alpha, within(1, 6) as u32).unwrap();
            let overflow = [Overflow::Queue, Overflow::Migrate][within(0, 1) as usize];
            Mechanism::Hybrid(multiqueue::MultiQueueSettings { overflow, ..settings })
        }
    }
}

fn knobs(within: &mut impl FnMut(i64, i64) -> i64) -> negotiation::NegotiationSettings {
    let discover = [Discover::All, Discover::Sample(2), Discover::Sample(1)];
    negotiation::NegotiationSettings {
        choose: Choose::ALL[within(0, 5) as usize].0,
        discover: discover[within(0, 2) as usize],
        rounds: within(1, 3) as u32,
        horizon: Span(within(-50, 100).max(0)),
        hops: within(1, 3) as u32,
        ..negotiation::NegotiationSettings::default()
    }
}

pub(crate) fn world(seed: u64) -> World {
    let mut rng: Pcg64Mcg = random::stream(seed, "grid", 0);
    let mut within = |low, high| random::within(&mut rng, low, high);
    let sites = within(2, 5);
    let site = |within: &mut dyn FnMut(i64, i64) -> i64| {
        (within(1, 16) as u32, [1_000, 2_000, 1_500][within(0, 2) as usize], within(0, 9))
    };
    let pools = pools(&(0..sites).map(|_| site(&mut within)).collect::<Vec<_>>());
    let widest = i64::from(pools.as_slice().iter().map(|pool| pool.nodes).max().unwrap());
    let mut jobs: Vec<Job> = (0..within(5, 60))
        .map(|_| {
            let requested = within(1, 300);
            let run = within(0, requested);
            (within(0, sites - 1) as u32, within(0, 900), run, within(1, widest) as u32, requested)
        })
        .collect();
    jobs.sort_by_key(|job| job.1);
    let mut workload = workload(&pools, &jobs);
    if within(0, 2) == 0 {
        let closure = |pool, from: i64, nodes| Outage {
            pool,
            nodes,
            from: Time(from),
            until: Time(from + 200),
            cause: tradewind_model::Cause::Failure(0),
        };
        let one = |(pool, it): (tradewind_model::PoolId, &Pool)| {
            let (announced, nodes) = (within(0, 800), within(1, i64::from(it.nodes)) as u32);
            let what = closure(pool, announced + within(0, 50), nodes);
            outage::AnnouncedOutage { announced: Time(announced), what }
        };
        workload.outages = outage::in_order(&pools, pools.iter().map(one).collect());
    }
    let faults = match within(0, 1) {
        0 => Faults::none(),
        _ => Faults::draw(seed, sites as u32, Time(0), Time(1_200)),
    };
    let latency = (Span(within(0, 1)), Span(within(1, 3)));
    let links = Links { latency, per_processor_mb: within(0, 50) as u64, ..Links::default() };
    let settings = NetworkSettings { negotiation: Some(knobs(&mut within)), links, faults, seed };
    let mechanism = mechanism(&mut within);
    if within(0, 2) == 0 {
        let mut rate = |_| {
            let mut at = 0;
            let mut step = |_| {
                at += within(1, 300);
                (Time(at), within(0, 9))
            };
            Series::new(&(0..5).map(&mut step).collect::<Vec<_>>()).ok().map(Arc::new)
        };
        let rates = (0..sites).map(&mut rate).collect();
        workload.pools = Arc::new(Pools::clone(&workload.pools).with_rates(Rates::new(rates)));
    }
    World { mechanism, workload, settings }
}

/// What each job paid is, second by second, what its pool cost; or the price on which it agreed when
/// it was passed on, which is the mean of its expected time, rounded up.
fn check_costs(workload: &Workload, ran: &Run) {
    let pools = &workload.pools;
    let sum = |pool, from: Time, length: Span| -> i64 {
        (0..length.0).map(|second| pools.price_at(pool, from + Span(second)).0).sum()
    };
    for (at, (job, run)) in workload.jobs.iter().zip(&ran.jobs).enumerate() {
        let Place::Pool(pool) = run.place else { unreachable!("one pool each") };
        let agreed = ran.trades.iter().filter(|it| it.job == at).map(|it| &it.trade).next_back();
        let (each, took) = (i64::from(job.processors), run.end - run.start);
        let paid = match agreed {
            Some(trade) if trade.pool == pool => trade.price.0 * took.0,
            _ => sum(pool, run.start, took),
        };
        assert_eq!(run.cost.0, each * paid, "job {at}");
    }
    for struck in &ran.trades {
        let (job, trade) = (&workload.jobs[struck.job], &struck.trade);
        let length = pools.pool(trade.pool).length_in(TimeMode::WORK, job.requested);
        let whole = trade.price.of(job.processors, length);
        assert_eq!(trade.ask, Some(whole));
        // An offer that is kept late says no more when it was to start.
        if trade.expected > struck.at {
            let exact = sum(trade.pool, trade.expected, length);
            assert_eq!(trade.price.0, (exact + length.0 - 1) / length.0, "job {}", struck.job);
        }
    }
}

fn live_or_tell(seed: u64) -> Grid {
    let World { workload, settings, mechanism } = world(seed);
    let (ran, federation) = live(&workload, settings, mechanism).unwrap_or_else(|what| {
        let command = "cargo test -p tradewind-sim --test federation one_grid";
        unreachable!("{what}\nagain: TRADEWIND_SEED={seed} {command}")
    });
    assert!(ran.jobs.iter().all(|job| job.refused.is_none()));
    check_costs(&workload, &ran);
    federation
}

#[test]
fn many_grids() {
    let count = super::protocol::number("TRADEWIND_SEEDS").map_or(400, |count| count / 5);
    let moved: u64 = (0..count).map(|seed| live_or_tell(seed).passed_on()).sum();
    println!("{moved} jobs moved");
    assert!(moved > 3 * count);
}

#[test]
fn one_grid() {
    if let Some(seed) = super::protocol::number("TRADEWIND_SEED") {
        live_or_tell(seed);
    }
}

#[test]
fn a_reservation_that_a_remote_job_delays_is_noticed() {
    let caught = (0..200).any(|seed| {
        let World { workload, settings, .. } = world(seed);
        let faulty = live(&workload, settings.clone(), Mechanism::Gullible);
        let sound = live(&workload, settings, Mechanism::Plain(Depth::All));
        faulty.is_err_and(|what| what.contains("reserved")) && sound.is_ok()
    });
    assert!(caught);
}

#[test]
fn sites_that_keep_to_themselves_are_isolated_ones() {
    for seed in 0..100 {
        let World { mut workload, settings, mechanism } = world(seed);
        let pools = Arc::clone(&workload.pools);
        let narrow = |job: &tradewind_sim::workload::Job| {
            let home = job.terms.as_ref().and_then(|terms| terms.home).unwrap();
            job.processors <= pools.as_slice()[home.0 as usize].nodes
        };
        workload.jobs.retain(narrow);
        let alone = NetworkSettings { negotiation: None, ..settings };
        let (ours, _) = live(&workload, alone, mechanism).unwrap();
        let mut isolated =
            AutonomousSites::isolated(&workload.pools, HomeRule::FirstSuitable, |pool| {
                mechanism.build(pool)
            });
        let kernel = tradewind_sim::ReplaySettings::default();
        let theirs = run(&workload, kernel, &mut isolated, &mut []).unwrap();
        assert_eq!(ours.jobs, theirs.jobs, "seed {seed}");
    }
}
