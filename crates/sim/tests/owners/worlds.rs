//! Drawn sites with owners who queue, and jobs of the market beside them.

use std::sync::Arc;

use tradewind_model::random::{stream, within};
use tradewind_model::{
    Admission, Attributes, Guard, JobData, Link, Links, Performance, Pool, PoolId, Pools,
    Preemptible, Preemption, Price, Site, SiteId, Span, Standing, Terms, Time, Times,
};
use tradewind_sched::policy::backfill::{self, Backfill, Depth};
use tradewind_sched::policy::gapfill::GapFill;
use tradewind_sched::policy::gridfill::{self, GridFill};
use tradewind_sched::policy::owners::SiteRule;
use tradewind_sched::policy::{Order, Policy};
use tradewind_sim::workload::OwnersLoad;
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, Semantics, check, run};

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Owners' jobs are submitted before the market's jobs, or all the time.
    pub(crate) owners: Submitted,
    /// How long owners' jobs run.
    pub(crate) ends: Ends,
    /// Where the market's jobs stand.
    pub(crate) market: Standing,
    /// How much the market leaves to them.
    pub(crate) guard: Guard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Submitted {
    Before,
    AllTheTime,
    /// As long as the market has jobs, and at least as much work as the nodes can do.
    ForEver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// As long as their time limits.
    AtLimits,
    /// Any part of them.
    Early,
    /// Up to twice as long: they are not stopped.
    Beyond,
}

pub(crate) struct World {
    pub(crate) workload: Workload,
    policy: u64,
}

struct Lots(rand_pcg::Pcg64Mcg);

impl Lots {
    fn draw(&mut self, low: i64, high: i64) -> i64 {
        within(&mut self.0, low, high)
    }
}

fn pool(index: usize, nodes: u32) -> Pool {
    Pool {
        name: format!("pool{index}"),
        site: SiteId(0),
        nodes,
        performance: Performance::REFERENCE,
        price: Price(3),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    }
}

fn jobs(
    lots: &mut Lots,
    count: i64,
    widest: u32,
    (submit, limit): (i64, i64),
    ends: Ends,
) -> Vec<LogJob> {
    let job = |number: i64| {
        let limit = lots.draw(60, limit);
        let run = match ends {
            Ends::AtLimits => limit,
            Ends::Early => lots.draw(1, limit),
            Ends::Beyond => lots.draw(1, 2 * limit),
        };
        // Most jobs are narrow.
        let widest = if lots.draw(0, 3) == 0 { widest } else { widest.div_ceil(3) };
        LogJob {
            number,
            submit: Some(Time(lots.draw(0, submit))),
            run: Some(Span(run)),
            processors: u32::try_from(lots.draw(1, widest.into())).ok(),
            requested: Some(Span(limit)),
            user: 1,
            terms: None,
        }
    };
    (0..count).map(job).collect()
}

/// Submissions as close to each other as this load demands, in thousandths of what the nodes can do.
fn spread(log: &mut [LogJob], nodes: u32, load: i64) {
    let work = |job: &LogJob| job.run.map_or(0, |run| run.0) * job.processors.map_or(0, i64::from);
    let all: i64 = log.iter().map(work).sum();
    let length = all * 1_000 / (i64::from(nodes) * load);
    for job in log {
        job.submit = job.submit.map(|at| Time(at.0 * length / 40_000));
    }
}

impl World {
    pub(crate) fn drawn(seed: u64, kind: Kind) -> World {
        let mut lots = Lots(stream(seed, "owners-world", 0));
        let count = lots.draw(1, 2);
        let nodes: Vec<u32> = (0..count).map(|_| lots.draw(2, 24) as u32).collect();
        let pools: Vec<Pool> = nodes.iter().enumerate().map(|(at, n)| pool(at, *n)).collect();
        let grid = Arc::new(Pools::new(vec![Site { name: "site".to_owned() }], pools).unwrap());
        let mut owners = Vec::new();
        for (at, nodes) in nodes.iter().enumerate() {
            let depths = [Depth::First(0), Depth::First(1), Depth::First(4), Depth::All];
            let depth = depths[lots.draw(0, 3) as usize];
            let count = lots.draw(5, 40);
            let submit = match kind.owners {
                Submitted::Before => 0,
                Submitted::AllTheTime | Submitted::ForEver => 40_000,
            };
            // What comes for ever is more than the nodes can do.
            let count = if kind.owners == Submitted::ForEver { count / 2 + 10 } else { count };
            let mut log = jobs(&mut lots, count, *nodes, (submit, 14_400), kind.ends);
            if kind.owners == Submitted::ForEver {
                spread(&mut log, *nodes, lots.draw(1_000, 1_500));
            }
            let rule = SiteRule { guard: kind.guard, ..SiteRule::new(depth) };
            let pools = vec![PoolId(at as u32)];
            let overrun = match kind.ends {
                Ends::Beyond => Overrun::Extend,
                Ends::AtLimits | Ends::Early => Overrun::Kill,
            };
            let load = OwnersLoad::new(&log, &grid, pools, rule, overrun);
            owners.push(OwnersLoad { market: kind.market, ..load });
        }
        let count = lots.draw(5, 40);
        // The market's jobs are shorter than the owners', as what fills gaps is.
        let limit = lots.draw(120, 3_600);
        let widest = nodes.iter().copied().max().unwrap_or(1);
        let log = jobs(&mut lots, count, widest, (40_000, limit), Ends::Early);
        let mut workload = prepare(&log, grid, Semantics::Textbook, Overrun::Kill);
        workload.owners = owners;
        World { workload, policy: lots.draw(0, 2) as u64 }
    }

    /// The time limit of each job of the market in the unlucky world.
    pub(crate) const UNLUCKY_LIMIT: i64 = 400;

    /// Ten nodes under EASY, and owners' jobs of three and eight nodes in turn. While the next one of
    /// eight waits for the one of three, whose limit is far away, a short job of seven could run; the
    /// market has one node too many for it. Before that is free, the job of three ends early, that of
    /// eight starts, and beside it, to its limit, another job of the market.
    pub(crate) fn unlucky() -> World {
        let job = |number: i64, submit: i64, processors, requested: i64, run: i64| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(requested)),
            user: 1,
            terms: None,
        };
        let grid = Pools::new(vec![Site { name: "site".to_owned() }], vec![pool(0, 10)]).unwrap();
        let grid = Arc::new(grid);
        let limit = World::UNLUCKY_LIMIT;
        let rounds = (0..8).flat_map(|round| {
            let run = if round == 0 { limit - 1 } else { limit - 12 };
            let (narrow, wide) = (100_000 + 1_000 * round, 1_000);
            [job(2 * round, 0, 3, narrow, run), job(2 * round + 1, 0, 8, wide, 11)]
        });
        let log: Vec<LogJob> = rounds.chain([job(99, 5, 7, 50, 50)]).collect();
        let rule = SiteRule::new(Depth::First(1));
        let load = OwnersLoad::new(&log, &grid, vec![PoolId(0)], rule, Overrun::Kill);
        let next = |round: i64| (round * (limit - 1) - 1).max(1);
        let log: Vec<LogJob> =
            (0..8).map(|round| job(round, next(round), 1, limit, limit)).collect();
        let mut workload = prepare(&log, grid, Semantics::Textbook, Overrun::Kill);
        workload.owners = vec![load];
        World { workload, policy: 1 }
    }

    /// The same with a bound for how long an owner's job is put off.
    pub(crate) fn bounded(mut self, max_delay: Span) -> World {
        self.workload.owners.iter_mut().for_each(|load| load.rule.max_delay = max_delay);
        self
    }

    /// The same with so many of a hundred jobs of the market preemptible, drawn by their numbers, and
    /// this notice.
    pub(crate) fn preemptible(mut self, percent: u64, notice: i64, how: Preemptible) -> World {
        for job in &mut self.workload.jobs {
            let mut lots = Lots(stream(job.number as u64, "preemptible", 0));
            if lots.draw(0, 99) < percent as i64 {
                let preemptible = Some(how);
                job.terms = Some(Arc::new(Terms { user: job.user, preemptible, ..Terms::NONE }));
            }
        }
        let of = Preemption { notice: Span(notice), discount: 500 };
        let pools = Pools::clone(&self.workload.pools).with_preemption(vec![of]);
        self.workload.pools = Arc::new(pools);
        self
    }

    /// The same, where the data of preemptible jobs takes so long to each site and away from it.
    pub(crate) fn with_data(mut self, seconds: (u64, u64)) -> World {
        let sites = self.workload.pools.sites().to_vec();
        let link =
            |site: &Site| Link { between: [site.name.clone(), "store".to_owned()], bandwidth: 8 };
        let links = Links::new(sites.iter().map(link).collect()).unwrap();
        let place = || "store".to_owned();
        let data = JobData { input: seconds.0, from: place(), output: seconds.1, to: place() };
        let data = links.stage(&sites, data).unwrap();
        for job in &mut self.workload.jobs {
            if let Some(terms) = job.terms.take() {
                let data = terms.preemptible.map(|_| Arc::clone(&data));
                job.terms = Some(Arc::new(Terms { data, ..(*terms).clone() }));
            }
        }
        self
    }

    fn policy(&self) -> Box<dyn Policy> {
        let depth = [Depth::First(0), Depth::First(1), Depth::All][self.policy as usize];
        let order = Order::Arrival;
        match self.workload.pools.single() {
            Some(_) => Box::new(Backfill::new(backfill::BackfillSettings {
                depth,
                order,
                ..Default::default()
            })),
            None => Box::new(GridFill::new(gridfill::GridFillSettings {
                depth,
                ..gridfill::GridFillSettings::default()
            })),
        }
    }

    pub(crate) fn run(&self) -> Run {
        let pools = self.workload.owners.iter().flat_map(|load| load.pools.iter().copied());
        let mut policy: Box<dyn Policy> =
            match self.workload.jobs.iter().any(|it| it.preemptible().is_some()) {
                true => Box::new(GapFill::new(self.policy(), pools)),
                false => self.policy(),
            };
        let mut checkers = check::all(policy.promise());
        run(&self.workload, ReplaySettings::default(), policy.as_mut(), &mut checkers).unwrap()
    }
}
