//! The price of decentralisation: messages per job, against the number of sites, when every site
//! is asked and when two are.
//!
//! `cargo run --release -p tradewind-sim --example decentral -- [jobs per site] [sites]…`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and measures time")]

use std::sync::Arc;
use std::time::Instant;

use tradewind_model::{
    Admission, Attributes, Performance, Pool, Pools, PoolsError, Price, Site, SiteId, Times,
};
use tradewind_sched::negotiation;
use tradewind_sched::policy::local::LocalScheduler;
use tradewind_sched::policy::multiqueue::{self, MultiQueue};
use tradewind_sim::models::Poisson;
use tradewind_sim::network::NetworkSettings;
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Semantics, run};

/// Of each site.
const PROCESSORS: u32 = 64;

fn pools(sites: u32) -> Result<Arc<Pools>, PoolsError> {
    let pool = |index| Pool {
        name: format!("site-{index}"),
        site: SiteId(index),
        nodes: PROCESSORS,
        performance: Performance::REFERENCE,
        price: Price(0),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let all: Vec<Pool> = (0..sites).map(pool).collect();
    let names = all.iter().map(|pool| Site { name: pool.name.clone() }).collect();
    Pools::new(names, all).map(Arc::new)
}

/// The paper's jobs, at an offered load of 0.9 for so many sites.
fn workload(sites: u32, jobs: usize) -> Result<Workload, PoolsError> {
    let paper = Poisson::exponential();
    let needs = 6_000.0 * f64::from(PROCESSORS + 1) / 2.0;
    let gap_s = needs / (0.9 * f64::from(PROCESSORS) * f64::from(sites));
    let drawn = Poisson { gap_s, ..paper }.draw(1, jobs);
    let log: Vec<LogJob> = (1..)
        .zip(drawn)
        .map(|(number, job)| LogJob {
            number,
            submit: Some(job.submit),
            run: Some(job.run),
            processors: Some(job.processors),
            requested: Some(job.requested),
            ..LogJob::default()
        })
        .collect();
    Ok(prepare(&log, pools(sites)?, Semantics::Textbook, Overrun::Kill))
}

fn hybrid(pool: &Pool) -> Box<dyn LocalScheduler> {
    Box::new(MultiQueue::new(pool.nodes, multiqueue::MultiQueueSettings::default()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let each = numbers.next().unwrap_or(Ok(20))? as usize;
    let given: Vec<u32> = numbers.collect::<Result<_, _>>()?;
    let sizes = if given.is_empty() { vec![8, 64, 512] } else { given };
    println!("sites  asks  jobs  messages/job  passed-on  response-s  wall-s");
    for sites in sizes {
        let workload = workload(sites, each * sites as usize)?;
        let all = negotiation::NegotiationSettings::default();
        let two = negotiation::NegotiationSettings::sampling(2);
        for (name, knobs) in [("nobody", None), ("all", Some(all)), ("two", Some(two))] {
            let settings = NetworkSettings { negotiation: knobs, ..NetworkSettings::default() };
            let mut grid = settings.sites(&workload.pools, hybrid);
            let clock = Instant::now();
            let ran = run(&workload, Default::default(), &mut grid, &mut [])?;
            let wall = clock.elapsed().as_secs_f64();
            let jobs = workload.jobs.len() as f64;
            let stays = workload.jobs.iter().zip(&ran.jobs).map(|(job, ran)| ran.end - job.submit);
            let response = stays.map(|stay| stay.0 as f64).sum::<f64>() / jobs;
            let sent = grid.network().map_or(0, |network| network.traffic().sent());
            let messages = sent as f64 / jobs;
            let passed = grid.passed_on() as f64 / jobs;
            println!(
                "{sites:5}  {name:6}  {jobs:6}  {messages:8.2}  {passed:6.3}  {response:8.0}  {wall:7.2}"
            );
        }
    }
    Ok(())
}
