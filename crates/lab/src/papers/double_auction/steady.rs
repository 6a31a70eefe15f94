//! The experiment of figure 5: Poisson arrivals at five sites, beside the queueing model.

use std::sync::Arc;

use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Terms,
    Times, random,
};
use tradewind_sched::policy::dispatch::{
    Clearing, Deadline, Dispatch, DispatchRule, DispatchSettings,
};
use tradewind_sim::models::{DrawnJob, Poisson, RunLaw};
use tradewind_sim::queueing::{
    Class, Goal, Law, Mix, QueueingNetwork, Queues, Readings, Setup, Widths, network,
};
use tradewind_sim::workload::{Job, Workload};
use tradewind_sim::{Estimate, Run, Semantics, run};

use super::parameters::{
    QUEUES, STEADY_CYCLE, STEADY_GATE, TIES, VALUATION, WAIT, WIDEST, gate, span, ties, wait,
};
use super::testbed::thirds;
use super::valued;
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// A part is a replication of all points. Names in the tally: `system/scale/point/measure`.
pub(in crate::papers) static STEADY: Experiment = Experiment {
    id: "steady-load",
    summary: "runs the auction on five sites under Poisson arrivals, and works the model out",
    parameters: &[&STEADY_CYCLE, &WIDEST, &QUEUES, &STEADY_GATE, &TIES, &WAIT, &VALUATION],
    logs: &[],
    parts,
    part,
};

/// The scales of the Weibull run times, and how many rates each is shown at.
pub(super) const SCALES: [(u32, usize); 2] = [(20, 7), (25, 5)];

/// The rate of a point in jobs per second.
pub(super) fn rate(point: usize) -> f64 {
    0.10 + 0.03 * point as f64
}

const SITES: u32 = 5;
const PROCESSORS: u32 = 128;
const SHAPE: f64 = 2.0;
/// Ticks in a second.
const TICKS: i64 = 1_000;

/// Jobs and sites of one simulation.
#[derive(Debug, Clone, Copy)]
struct System {
    name: &'static str,
    widest: u32,
    /// Of each site.
    queues: [u32; 3],
}

/// The jobs that the model can have, then those as wide as a site.
fn systems(case: &Case) -> [System; 2] {
    let whole = [PROCESSORS, 0, 0];
    let queues = if case.word(&QUEUES) == "one" { whole } else { thirds(PROCESSORS) };
    let widest = case.number(&WIDEST).round() as u32;
    [
        System { name: "dam", widest, queues },
        System { name: "wide", widest: PROCESSORS, queues: whole },
    ]
}

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 30,
        Size::Quick => 3,
    }
}

/// Jobs that are ignored, and as many that are measured.
fn half(case: &Case) -> usize {
    match case.size {
        Size::Full => 5_000,
        Size::Quick => 500,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    for (scale, points) in SCALES {
        for point in 0..points {
            let at = format!("{scale}/{point}");
            let [dam, wide] = systems(case);
            let jobs = simulate(case, (index, scale, point), dam, &at, &mut tally);
            simulate(case, (index, scale, point), wide, &at, &mut tally);
            if index == 0 {
                let classes = classes(case, &jobs.unwrap_or_default());
                theory(case, (scale, point), &classes, &at, &mut tally);
            }
        }
    }
    tally
}

/// The jobs that were measured; `None` if there is nothing to simulate.
fn simulate(
    case: &Case,
    (index, scale, point): (u32, u32, usize),
    system: System,
    at: &str,
    tally: &mut Tally,
) -> Option<Vec<Job>> {
    let mut seeds = random::stream(case.seed, "steady-load", index.into());
    let seed = random::within(&mut seeds, 0, i64::MAX).cast_unsigned();
    let jobs = Poisson {
        gap_s: TICKS as f64 / rate(point),
        runs: RunLaw::Weibull { shape: SHAPE, scale_s: f64::from(scale) * TICKS as f64 },
        widths: (1, system.widest),
    };
    let drawn = jobs.draw(seed, 2 * half(case));
    let workload = workload(seed, system.queues, &drawn)?;
    let run = replay(case, seed, &workload)?;
    let (mut wait, mut slowdown) = (0.0, 0.0);
    for (job, ran) in workload.jobs.iter().zip(&run.jobs).skip(half(case)) {
        let own = (ran.start - job.submit).0 as f64;
        wait += own / TICKS as f64;
        slowdown += own / job.run.0 as f64;
    }
    let count = half(case) as f64;
    tally.add(&format!("{}/{at}/wait", system.name), wait / count);
    tally.add(&format!("{}/{at}/slowdown", system.name), slowdown / count);
    Some(workload.jobs)
}

fn replay(case: &Case, seed: u64, workload: &Workload) -> Option<Run> {
    let settings = DispatchSettings {
        cycle: span(case, &STEADY_CYCLE, TICKS),
        gate: gate(case, &STEADY_GATE),
        deadline: Deadline::Ignore,
        ties: ties(case),
        wait: wait(case),
        seed,
        clearing: Clearing::List,
        ..DispatchSettings::of(DispatchRule::Auction)
    };
    let exact =
        tradewind_sim::ReplaySettings { semantics: Semantics::Textbook, estimate: Estimate::Exact };
    run(workload, exact, &mut Dispatch::new(settings), &mut []).ok()
}

/// Values, deadlines and prices as in the study of the log.
fn workload(seed: u64, queues: [u32; 3], drawn: &[DrawnJob]) -> Option<Workload> {
    let job = |(source, job): (usize, &DrawnJob)| {
        let mut terms = random::stream(seed, "terms", source as u64);
        let value = Money(random::within(&mut terms, 90_000_000_000, 160_000_000_000));
        let deadline = job.submit + Span(random::within(&mut terms, job.run.0, 3 * job.run.0));
        let terms = Terms { value: Some(value), deadline: Some(deadline), ..Terms::NONE };
        Job {
            source,
            number: source as i64,
            submit: job.submit,
            run: job.run,
            processors: job.processors,
            requested: job.run,
            user: 1,
            killed: false,
            terms: Some(Arc::new(terms)),
        }
    };
    let jobs = drawn.iter().enumerate().map(job).collect();
    let pools = Arc::new(grid(seed, queues)?);
    Some(Workload::new(pools, jobs))
}

fn grid(seed: u64, queues: [u32; 3]) -> Option<Pools> {
    let mut pools = Vec::new();
    for site in 0..SITES {
        let mut prices = random::stream(seed, "price", site.into());
        let price = Price(random::within(&mut prices, 4_500_000, 9_500_000) / TICKS);
        for (queue, nodes) in queues.into_iter().enumerate().filter(|(_, nodes)| *nodes > 0) {
            pools.push(Pool {
                name: format!("site {site} queue {queue}"),
                site: SiteId(site),
                nodes,
                performance: Performance::REFERENCE,
                price,
                attributes: Attributes::new(),
                admission: Admission::NONE,
                times: Times::Work,
            });
        }
    }
    let sites = (0..SITES).map(|site| Site { name: format!("site {site}") }).collect();
    Pools::new(sites, pools).ok()
}

/// The model, as printed and as corrected; without numbers where it is not stable.
fn theory(
    case: &Case,
    (scale, point): (u32, usize),
    classes: &[Class],
    at: &str,
    tally: &mut Tally,
) {
    for (name, readings) in [("printed", Readings::printed()), ("corrected", Readings::corrected())]
    {
        let Some(model) = model(case, scale, (rate(point), classes), readings) else { continue };
        tally.add(&format!("{name}/{at}/wait"), model.wait);
        tally.add(&format!("{name}/{at}/slowdown"), model.slowdown.unwrap_or(f64::NAN));
    }
}

/// Four classes of equal shares, whose valuation takes no time; or those of these jobs of a run.
fn classes(case: &Case, jobs: &[Job]) -> Vec<Class> {
    match case.word(&VALUATION) {
        "run" => valued::classes(jobs, span(case, &STEADY_CYCLE, TICKS), TICKS),
        _ => {
            let service = Law::Deterministic { value: 0.0 }.moments();
            service.map(|service| vec![Class { share: 0.25, service }; 4]).unwrap_or_default()
        }
    }
}

/// With the best three partitions.
fn model(
    case: &Case,
    scale: u32,
    (rate, classes): (f64, &[Class]),
    readings: Readings,
) -> Option<QueueingNetwork> {
    let runs = Law::Weibull { shape: SHAPE, scale: scale.into() }.moments().ok()?;
    let widths = Widths::Uniform { low: 1, high: case.number(&WIDEST).round() as u32 };
    let setup = Setup {
        sites: SITES,
        processors: PROCESSORS,
        classes: classes.to_vec(),
        mix: Mix::alike(&widths, runs).ok()?,
        queues: Queues::Best { count: 3, goal: Goal::Wait },
        readings,
    };
    network(rate, &setup).ok()
}
