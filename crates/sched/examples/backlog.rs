//! How long a pass takes with a long queue on several sites, as a Markdown table: the first pass
//! over all jobs (a restart), then moments at which jobs end, come, are taken back, or prices
//! change. The last column is a sum over all commands: the same decisions, the same number.
//!
//! `cargo run --release -p tradewind-sched --example backlog -- [waiting] [passes] [filter] [tasks] [pools]…`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Admission, Attributes, Command, Demand, Event, JobId, Market, MarketError, Money, Performance,
    Place, Pool, PoolId, Pools, PoolsError, Price, Rates, Series, Site, SiteId, Span, Terms, Time,
    Times,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::bsf::{self, Bsf};
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cyclic, Cycles};
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings, Spread};

/// Of each pool.
const NODES: u32 = 64;
const SPEEDS: [u32; 4] = [1_000, 1_500, 2_000, 1_200];
const PRICES: [i64; 4] = [1_000_000, 1_700_000, 2_300_000, 1_100_000];

/// When jobs end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// After what they asked for.
    Expected,
    /// After a fifth of it or more.
    Early,
    /// The same, but one of ten a second late: all reservations are made again.
    Late,
}

/// What nodes cost over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prices {
    Constant,
    /// By day the price of the list and a quarter more, by night a quarter less.
    ByHour,
}

/// A site per pool.
fn pools(count: u32, prices: Prices) -> Result<Arc<Pools>, Box<dyn std::error::Error>> {
    let pools = constant(count)?;
    if prices == Prices::Constant {
        return Ok(Arc::new(pools));
    }
    let by_hour = |pool: &Pool| -> Result<_, Box<dyn std::error::Error>> {
        let (day, night) = (pool.price.0 * 5 / 4, pool.price.0 * 3 / 4);
        let day = [(0, night), (8, day), (20, night)].map(|(at, it)| (Time(at * 3_600), it));
        let series = Series::new(&day).map_err(|it| format!("{it:?}"))?;
        let series = series.repeated(Span(86_400)).map_err(|it| format!("{it:?}"))?;
        Ok(Some(Arc::new(series)))
    };
    let rates = pools.as_slice().iter().map(by_hour).collect::<Result<_, _>>()?;
    Ok(Arc::new(pools.with_rates(Rates::new(rates))))
}

fn constant(count: u32) -> Result<Pools, PoolsError> {
    let pool = |at: u32| Pool {
        name: format!("pool{at}"),
        site: SiteId(at),
        nodes: NODES,
        performance: Performance::from_thousandths(SPEEDS[at as usize % 4])
            .unwrap_or(Performance::REFERENCE),
        price: Price(PRICES[at as usize % 4]),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = (0..count).map(|at| Site { name: format!("site{at}") }).collect();
    Pools::new(sites, (0..count).map(pool).collect())
}

struct World {
    market: Market,
    policy: Box<dyn Policy>,
    ends: Ends,
    random: Pcg64Mcg,
    /// The most that a job has.
    tasks: u32,
    running: BinaryHeap<Reverse<(Time, JobId, PoolId)>>,
    wake: Option<Time>,
    events: Vec<Event>,
    /// Over all commands.
    sum: u64,
}

impl World {
    fn new(pools: Arc<Pools>, policy: Box<dyn Policy>, ends: Ends, tasks: u32) -> World {
        World {
            market: Market::new(pools, Time(0)),
            policy,
            ends,
            random: Pcg64Mcg::seed_from_u64(1),
            tasks,
            running: BinaryHeap::new(),
            wake: None,
            events: Vec::new(),
            sum: 0,
        }
    }

    fn happens(&mut self, event: Event) -> Result<(), MarketError> {
        self.market.apply(&event)?;
        self.events.push(event);
        Ok(())
    }

    /// 1 to 16 tasks (or another number), lengths exponential with a mean of 100 min; half of the jobs have a budget
    /// around the market price.
    fn submit(&mut self) -> Result<(), MarketError> {
        let draw = 1.0 - self.random.random::<f64>();
        let estimate = (-draw.ln() * 6_000.0) as i64 + 1;
        let tasks = self.random.random_range(1..=self.tasks);
        let price = self.random.random_range(1_000_000..1_800_000i64);
        let budget = Money(i64::from(tasks) * estimate * price);
        let terms = Terms { budget: self.random.random::<bool>().then_some(budget), ..Terms::NONE };
        let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(tasks, Span(estimate)) };
        let job = JobId(self.market.submitted());
        self.happens(Event::Submitted { job, demand })
    }

    /// One pass; how long the policy took.
    fn pass(&mut self) -> Result<Duration, MarketError> {
        let mut commands = Vec::new();
        let events = std::mem::take(&mut self.events);
        let begin = Instant::now();
        self.policy.decide(&self.market, &events, &mut commands);
        let took = begin.elapsed();
        self.wake = None;
        for command in commands {
            self.obey(command)?;
        }
        Ok(took)
    }

    fn obey(&mut self, command: Command) -> Result<(), MarketError> {
        match command {
            Command::Start { job, place } => {
                self.add(u64::from(job.0));
                self.start(job, &place);
                self.market.apply(&Event::Started { job, place })?;
            }
            Command::Refuse { job, .. } => {
                self.add(u64::from(job.0) << 32);
                self.market.apply(&Event::Refused { job })?;
            }
            Command::Wake { at } => {
                self.add(at.0.unsigned_abs());
                self.wake = Some(at);
            }
            Command::Preempt { .. } | Command::Trade { .. } => {}
        }
        Ok(())
    }

    fn add(&mut self, number: u64) {
        self.sum = (self.sum ^ number).wrapping_mul(0x0100_0000_01b3);
    }

    /// Draws when the job's tasks will be done, pool by pool.
    fn start(&mut self, job: JobId, place: &Place) {
        let Some(demand) = self.market.demand(job) else { return };
        let (processors, demand) = (demand.processors, demand.clone());
        let late = self.ends == Ends::Late && self.random.random_range(0..10) == 0;
        let part = match self.ends {
            Ends::Expected => 1_000,
            _ => self.random.random_range(200..=1_000),
        };
        for share in place.shares(processors) {
            self.add(u64::from(share.pool.0) << 32 | u64::from(share.nodes));
            let expected = self.market.pools().pool(share.pool).length_of(&demand);
            let takes = match late {
                true => expected + Span(1),
                false => Span((expected.0 * part + 999) / 1_000),
            };
            self.running.push(Reverse((self.market.now() + takes, job, share.pool)));
        }
    }

    /// Tasks are done.
    fn end(&mut self, job: JobId, pool: PoolId) -> Result<(), MarketError> {
        let holds = |other: usize| self.market.holds(job, PoolId(other as u32));
        let last =
            (0..self.market.pools().as_slice().len()).filter(|other| holds(*other)).count() <= 1;
        self.happens(match last {
            true => Event::Ended { job },
            false => Event::Released { job, pool },
        })
    }

    /// The next moment: ends, now and then a user cancels a job or a price changes, and as
    /// many jobs come as left.
    fn step(&mut self, number: usize, waiting: usize) -> Result<Duration, MarketError> {
        let end = self.running.peek().map(|Reverse((end, ..))| *end);
        let Some(now) = self.wake.into_iter().chain(end).min() else { return self.pass() };
        self.market.pass_to(now)?;
        while let Some(Reverse((end, job, pool))) = self.running.peek().copied()
            && end <= now
        {
            self.running.pop();
            self.end(job, pool)?;
        }
        if self.ends != Ends::Expected && number % 7 == 3 {
            let at = self.random.random_range(0..self.market.queue().len().max(1));
            let job = self.market.queue().nth(at);
            if let Some(job) = job {
                self.happens(Event::Cancelled { job })?;
            }
        }
        let constant = self.market.pools().rates().is_none();
        if constant && self.ends != Ends::Expected && number % 50 == 25 {
            let pool = PoolId(0);
            let price = Price(PRICES[0] + self.random.random_range(-50_000..50_000));
            self.happens(Event::Priced { pool, price })?;
        }
        while self.market.queue().len() < waiting {
            self.submit()?;
        }
        self.pass()
    }
}

type Make = Box<dyn Fn() -> Box<dyn Policy>>;

fn policies() -> Vec<(&'static str, Prices, Make)> {
    let fill = |depth, spread| -> Make {
        let settings = GridFillSettings { depth, spread, ..GridFillSettings::default() };
        Box::new(move || Box::new(GridFill::new(settings)))
    };
    vec![
        ("conservative", Prices::Constant, fill(Depth::All, Spread::Grid)),
        ("conservative by site", Prices::Constant, fill(Depth::All, Spread::Site)),
        ("easy", Prices::Constant, fill(Depth::First(1), Spread::Grid)),
        ("easy, prices by hour", Prices::ByHour, fill(Depth::First(1), Spread::Grid)),
        ("css", Prices::Constant, Box::new(|| Box::new(Cycles::new(Cyclic::css())))),
        (
            "whole-batch",
            Prices::Constant,
            Box::new(|| Box::new(Cycles::new(Cyclic::whole_batch()))),
        ),
        ("bsf", Prices::Constant, Box::new(|| Box::new(Bsf::new(bsf::BsfSettings::default())))),
    ]
}

fn measure(
    world: &mut World,
    waiting: usize,
    passes: usize,
) -> Result<(Duration, Vec<Duration>), MarketError> {
    (0..waiting).try_for_each(|_| world.submit())?;
    let first = world.pass()?;
    for number in 0..passes / 4 {
        world.step(number, waiting)?;
    }
    let mut all: Vec<Duration> =
        (0..passes).map(|number| world.step(number, waiting)).collect::<Result<_, _>>()?;
    all.sort_unstable();
    Ok((first, all))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let waiting = arguments.next().map_or(Ok(10_000), |it| it.parse())?;
    let passes: usize = arguments.next().map_or(Ok(200), |it| it.parse())?;
    let filter = arguments.next().unwrap_or_default();
    let tasks = arguments.next().map_or(Ok(16), |it| it.parse())?;
    let mut counts: Vec<u32> = arguments.map(|it| it.parse()).collect::<Result<_, _>>()?;
    if counts.is_empty() {
        counts = vec![2, 4, 8];
    }
    println!("| policy | pools | ends | first pass | median | 99 of 100 | slowest | sum |");
    println!("|---|--:|---|--:|--:|--:|--:|---|");
    for (name, prices, make) in policies() {
        for &count in &counts {
            for ends in [Ends::Expected, Ends::Early, Ends::Late] {
                let kind = format!("{name} | {count} | {ends:?}").to_lowercase();
                if !kind.contains(&filter) {
                    continue;
                }
                let mut world = World::new(pools(count, prices)?, make(), ends, tasks);
                let (first, all) = measure(&mut world, waiting, passes)?;
                let at = |percent: usize| {
                    let of = all.get((all.len() * percent).div_ceil(100).saturating_sub(1));
                    of.map_or(0.0, Duration::as_secs_f64) * 1e3
                };
                println!(
                    "| {kind} | {:.0} ms | {:.3} ms | {:.3} ms | {:.3} ms | {:016x} |",
                    first.as_secs_f64() * 1e3,
                    at(50),
                    at(99),
                    at(100),
                    world.sum
                );
            }
        }
    }
    Ok(())
}
