//! Grids of equal sites, and the jobs that are submitted to them.

use std::sync::Arc;

use tradewind_model::{
    Admission, Attributes, Performance, Pool, Pools, Price, Site, SiteId, Span, Terms, Times,
    random,
};
use tradewind_sim::Semantics;
use tradewind_sim::models::{Poisson, RunLaw};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};

use super::parameters::{HOMES, JOBS, OVERESTIMATE, RATE};
use crate::case::{Case, Size};

/// The paper's grid.
pub(super) const SITES: u32 = 8;
/// Of each site.
pub(super) const PROCESSORS: u32 = 64;
/// The mean run time of the paper, 100 min.
const RUN_S: f64 = 6_000.0;

/// What one run is drawn for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) sites: u32,
    pub(super) jobs: usize,
    /// Offered: what arrives over what all sites can do.
    pub(super) load: f64,
    /// Number of the replication, from 0.
    pub(super) number: u32,
}

/// Jobs of a run on the paper's grid.
pub(super) fn jobs(case: &Case) -> usize {
    let jobs = case.number(&JOBS);
    match case.size {
        Size::Full => jobs as usize,
        Size::Quick => (jobs / 8.0) as usize,
    }
}

/// The offered load of the stated rate.
pub(in crate::papers) fn stated_load(case: &Case) -> f64 {
    case.number(&RATE) / 60.0 * work() / f64::from(SITES * PROCESSORS)
}

/// Processor-seconds of a job, in the mean.
fn work() -> f64 {
    RUN_S * f64::from(PROCESSORS + 1) / 2.0
}

/// Sites of one pool each; `None` for no sites.
pub(super) fn pools(sites: u32) -> Option<Arc<Pools>> {
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
    Pools::new(names, all).ok().map(Arc::new)
}

/// The paper's jobs: Poisson arrivals, exponential run times, uniform widths.
pub(super) fn draw(case: &Case, draw: Draw) -> Option<Workload> {
    let Draw { sites, jobs, load, number } = draw;
    let gap_s = work() / (load * f64::from(sites * PROCESSORS));
    let (runs, widths) = (RunLaw::Exponential { mean_s: RUN_S }, (1, PROCESSORS));
    // The same jobs at every load: only the gaps are scaled.
    let drawn = Poisson { gap_s, runs, widths }.draw(seed(case, number), jobs);
    let mut homes = Homes::new(case, sites, number);
    let mut asks = random::stream(case.seed, "multi-queue-request", number.into());
    let max = (1_000.0 * case.number(&OVERESTIMATE)) as i64;
    let log: Vec<LogJob> = (1..)
        .zip(drawn)
        .map(|(id, job)| {
            let thousandths = random::within(&mut asks, 1_000, max);
            LogJob {
                number: id,
                submit: Some(job.submit),
                run: Some(job.run),
                processors: Some(job.processors),
                requested: Some(Span(job.run.0 * thousandths / 1_000)),
                terms: Some(homes.next()),
                ..LogJob::default()
            }
        })
        .collect();
    Some(prepare(&log, pools(sites)?, Semantics::Textbook, Overrun::Kill))
}

/// The seed of a replication.
pub(super) fn seed(case: &Case, number: u32) -> u64 {
    let mut seeds = random::stream(case.seed, "multi-queue", number.into());
    random::within(&mut seeds, 0, i64::MAX) as u64
}

/// Deals jobs to sites.
pub(super) struct Homes {
    law: &'static str,
    sites: i64,
    seed: u64,
    number: u32,
    dealt: u32,
}

impl Homes {
    pub(super) fn new(case: &Case, sites: u32, number: u32) -> Homes {
        let (law, sites) = (case.word(&HOMES), i64::from(sites));
        Homes { law, sites, seed: case.seed, number, dealt: 0 }
    }

    /// Terms that name the next job's home and nothing else.
    pub(super) fn next(&mut self) -> Arc<Terms> {
        let site = match self.law {
            "turns" => i64::from(self.dealt) % self.sites,
            "skewed" => self.skewed(),
            _ => self.chance(self.sites),
        };
        self.dealt = self.dealt.wrapping_add(1);
        Arc::new(Terms { home: Some(SiteId(site as u32)), ..Terms::NONE })
    }

    /// Below `end`, each as likely.
    fn chance(&self, end: i64) -> i64 {
        let key = u64::from(self.number) << 32 | u64::from(self.dealt);
        random::within(&mut random::stream(self.seed, "multi-queue-home", key), 0, end - 1)
    }

    /// Site k of n with a chance in proportion to n − k.
    fn skewed(&self) -> i64 {
        let mut ticket = self.chance(self.sites * (self.sites + 1) / 2);
        let mut site = 0;
        while ticket >= self.sites - site {
            ticket -= self.sites - site;
            site += 1;
        }
        site
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::LOAD;
    use super::*;
    use crate::case::Value;

    fn homes(law: &'static str, count: usize) -> Vec<u32> {
        let case = Case::new(&LOAD, 1, Size::Quick).with(&HOMES, Value::Word(law));
        let mut homes = Homes::new(&case, SITES, 0);
        let mut at = vec![0; SITES as usize];
        for _ in 0..count {
            at[homes.next().home.unwrap().0 as usize] += 1;
        }
        at
    }

    #[test]
    fn homes_follow_their_law() {
        assert_eq!(homes("turns", 17), [3, 2, 2, 2, 2, 2, 2, 2]);
        assert!(homes("even", 8_000).iter().all(|count| (850..1_150).contains(count)));
        let skewed = homes("skewed", 36_000);
        for (at, count) in skewed.iter().enumerate() {
            let expected = 1_000 * (8 - at as u32);
            assert!(count.abs_diff(expected) < expected / 10 + 50, "{at}: {count}");
        }
    }

    #[test]
    fn the_same_jobs_come_at_every_load() {
        let case = Case::new(&LOAD, 1, Size::Quick);
        let at = |load| draw(&case, Draw { sites: 8, jobs: 500, load, number: 3 }).unwrap();
        let (low, high) = (at(0.5), at(1.0));
        for (a, b) in low.jobs.iter().zip(&high.jobs) {
            assert_eq!((a.run, a.processors, &a.terms), (b.run, b.processors, &b.terms));
            assert!((a.submit.0 - 2 * b.submit.0).abs() <= 2, "{a:?} {b:?}");
        }
    }

    #[test]
    fn the_stated_rate_is_an_overload() {
        let load = stated_load(&Case::new(&LOAD, 1, Size::Full));
        assert!((load - 1.06).abs() < 0.001, "{load}");
    }
}
