//! How long a forecast of a long queue takes: 10,000 jobs that wait for 200 nodes in 8 pools.
//!
//! `cargo run --release -p tradewind-sim --example forecast [JOBS] [LOOKS]`
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a measurement by hand")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and measures time")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use tradewind_model::{
    Admission, Attributes, Demand, Event, JobId, Market, Performance, Pool, Pools, Price, Site,
    SiteId, Span, Time, Times, random,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cyclic, Cycles};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings};
use tradewind_sim::fork::{Beliefs, Limits, fork};

/// Eight pools of 25 nodes on four sites, from half to twice the reference node.
fn pools() -> Pools {
    let pool = |at: u32| Pool {
        name: format!("pool{at}"),
        site: SiteId(at / 2),
        nodes: 25,
        performance: Performance::from_thousandths(500 + 200 * at).expect("in range"),
        price: Price::credits(i64::from(1 + at)),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = (0..4).map(|at| Site { name: format!("site{at}") }).collect();
    Pools::new(sites, (0..8).map(pool).collect()).expect("a sane grid")
}

fn market(jobs: u32) -> (Market, Beliefs) {
    let mut market = Market::new(Arc::new(pools()), Time(0));
    let mut stream = random::stream(1, "forecast", 0);
    let mut beliefs = Beliefs::default();
    for job in (0..jobs).map(JobId) {
        let processors = 1 << random::within(&mut stream, 0, 5);
        let estimate = Span(random::within(&mut stream, 60, 8 * 3_600));
        let run = Span(estimate.0 * random::within(&mut stream, 10, 100) / 100);
        beliefs.runs.insert(job, run);
        let demand = Demand::new(processors, estimate);
        market.apply(&Event::Submitted { job, demand }).expect("a sane job");
    }
    (market, beliefs)
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|it| it.parse::<u64>().expect("a number"));
    let jobs = numbers.next().unwrap_or(10_000) as u32;
    let looks = numbers.next().unwrap_or(Limits::LOOKS);
    let (market, predicted) = market(jobs);
    let fill =
        |depth| Box::new(GridFill::new(GridFillSettings { depth, ..GridFillSettings::default() }));
    for beliefs in [Beliefs::default(), predicted] {
        let policies: [(&str, Box<dyn Policy>); 3] = [
            ("css", Box::new(Cycles::new(Cyclic::css()))),
            ("easy", fill(Depth::First(1))),
            ("conservative", fill(Depth::All)),
        ];
        for (name, mut policy) in policies {
            let limits = Limits { looks, ..Limits::default() };
            let begun = Instant::now();
            let go = &mut |_| match begun.elapsed().as_secs() < 120 {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            };
            let found = fork(&market, &mut *policy, &beliefs, limits, go).expect("a sane policy");
            println!(
                "{name:>12} {} predictions: {:.2?}, {:?} after {} passes, {} started, {} open, day {}",
                beliefs.runs.len(),
                begun.elapsed(),
                found.stopped,
                found.passes,
                found.totals.started,
                found.totals.open,
                (found.until - found.from).0 / 86_400,
            );
        }
    }
}
