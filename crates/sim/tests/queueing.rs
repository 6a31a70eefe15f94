//! The queueing formulas against our own simulator: replications of Poisson arrivals at a cluster
//! under FCFS, whose 95 % confidence intervals must hold what the formulas say. Times are
//! thousands of seconds, so that whole seconds do not matter.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use tradewind_model::random::{stream, within};
use tradewind_model::{Pools, Terms};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth, Order};
use tradewind_sim::models::{Poisson, RunLaw};
use tradewind_sim::queueing::*;
use tradewind_sim::replications::{Estimated, estimate};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, run};

const REPLICATIONS: u64 = 12;
const JOBS: usize = 22_000;
/// The first ones find an empty machine.
const IGNORED: usize = 2_000;
const SCALE: f64 = 10_000.0;

/// Which of the jobs are looked at, and how they queue.
struct Station {
    servers: u32,
    order: Order,
    model: Poisson,
    /// The class of a job, 0 being the highest, by its place in the row.
    class: fn(usize) -> i64,
    /// Takes jobs of these widths only.
    widths: (u32, u32),
}

/// A job's class, wait and run time.
type Life = (i64, f64, f64);

impl Station {
    fn new(servers: u32, load: f64, runs: RunLaw) -> Station {
        let gap_s = law(runs).moments().unwrap().mean / (load * f64::from(servers));
        let model = Poisson { gap_s, runs, widths: (1, 1) };
        Station { servers, order: Order::Arrival, model, class: |_| 0, widths: (1, 1) }
    }

    fn rate(&self) -> f64 {
        1.0 / self.model.gap_s
    }

    fn moments(&self) -> Moments {
        law(self.model.runs).moments().unwrap()
    }

    /// The jobs of one replication.
    fn lives(&self, seed: u64) -> Vec<Life> {
        let drawn = self.model.draw(seed, JOBS);
        let taken = drawn
            .iter()
            .enumerate()
            .filter(|(_, job)| (self.widths.0..=self.widths.1).contains(&job.processors));
        let log: Vec<LogJob> = taken
            .map(|(index, job)| {
                let priority = -(self.class)(index);
                LogJob {
                    number: index as i64,
                    submit: Some(job.submit),
                    run: Some(job.run),
                    processors: Some(1),
                    terms: Some(Arc::new(Terms { priority, ..Terms::default() })),
                    ..LogJob::default()
                }
            })
            .collect();
        let pools = Arc::new(Pools::cluster(self.servers));
        let workload = prepare(&log, pools, Default::default(), Overrun::default());
        let mut policy = Backfill::new(BackfillSettings {
            depth: Depth::First(0),
            order: self.order,
            ..BackfillSettings::default()
        });
        let run = run(&workload, ReplaySettings::default(), &mut policy, &mut []).unwrap();
        self.measured(&workload, &run.jobs)
    }

    fn measured(&self, workload: &Workload, ran: &[tradewind_sim::Ran]) -> Vec<Life> {
        let all = workload.jobs.iter().zip(ran);
        all.filter(|(job, _)| job.number as usize >= IGNORED)
            .map(|(job, ran)| {
                let wait = (ran.start - job.submit).0 as f64;
                ((self.class)(job.number as usize), wait, job.run.0 as f64)
            })
            .collect()
    }

    fn replications(&self) -> Replications {
        Replications((1..=REPLICATIONS).map(|seed| self.lives(seed)).collect())
    }
}

/// Lives of all measured jobs, replication by replication.
struct Replications(Vec<Vec<Life>>);

impl Replications {
    /// The mean of something over the jobs of one class, with its confidence interval.
    fn mean(&self, class: i64, of: fn(&Life) -> f64) -> Estimated {
        let one = |lives: &Vec<Life>| {
            let values: Vec<f64> = lives.iter().filter(|life| life.0 == class).map(of).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        estimate(&self.0.iter().map(one).collect::<Vec<f64>>()).unwrap()
    }

    /// The mean wait of all.
    fn wait(&self) -> Estimated {
        self.mean(0, wait)
    }
}

fn wait(life: &Life) -> f64 {
    life.1
}

fn slowdown(life: &Life) -> f64 {
    life.1 / life.2
}

fn law(runs: RunLaw) -> Law {
    match runs {
        RunLaw::Weibull { shape, scale_s } => Law::Weibull { shape, scale: scale_s },
        RunLaw::Exponential { mean_s } => Law::Exponential { mean: mean_s },
    }
}

fn weibull(shape: f64) -> RunLaw {
    RunLaw::Weibull { shape, scale_s: SCALE }
}

/// Whether the interval holds the value.
fn holds(interval: Estimated, value: f64) -> bool {
    (interval.mean - value).abs() <= interval.half_width.unwrap()
}

#[track_caller]
fn check(interval: Estimated, value: f64) {
    assert!(holds(interval, value), "{value} is outside of {interval:?}");
    // An interval that holds everything says nothing.
    assert!(interval.half_width.unwrap() < 0.12 * interval.mean, "{interval:?}");
}

#[test]
fn one_server() {
    for runs in [RunLaw::Exponential { mean_s: SCALE }, weibull(2.0), weibull(40.0)] {
        let station = Station::new(1, 0.7, runs);
        check(station.replications().wait(), mg1(station.rate(), &station.moments()).unwrap().wait);
    }
    let station = Station::new(1, 0.7, weibull(4.0));
    let answer = mg1(station.rate(), &station.moments()).unwrap();
    check(station.replications().mean(0, slowdown), answer.slowdown.unwrap());
}

#[test]
fn several_servers_with_exponential_times() {
    for servers in [2, 5, 16] {
        let station = Station::new(servers, 0.7, RunLaw::Exponential { mean_s: SCALE });
        let simulated = station.replications().wait();
        let setup = Servers { count: servers, rate: station.rate() };
        let (_, expected) = mmm(setup, SCALE, Readings::corrected()).unwrap();
        check(simulated, expected);
        let doubled = mgm(setup, &station.moments(), without_half()).unwrap().wait;
        assert!(!holds(simulated, doubled));
    }
}

/// (8) and (12) as they are printed.
fn without_half() -> Readings {
    let mut readings = Readings::corrected();
    readings.set(Equation::E8, Reading::Printed);
    readings
}

/// The approximation for times that are not exponential, and that it needs the half.
#[test]
fn several_servers_with_other_times() {
    for (servers, shape) in [(2, 2.0), (5, 2.0), (5, 0.8)] {
        let station = Station::new(servers, 0.85, weibull(shape));
        let setup = Servers { count: servers, rate: station.rate() };
        let answer = |readings| mgm(setup, &station.moments(), readings).unwrap();
        let simulated = station.replications().wait();
        check(simulated, answer(Readings::corrected()).wait);
        let doubled = answer(without_half()).wait;
        let far = simulated.mean + 4.0 * simulated.half_width.unwrap();
        assert!(doubled > far, "without the half, {doubled} is not far from {simulated:?}");
    }
}

/// Where the approximation shows: nearly constant times, and servers that are often idle.
#[test]
fn several_servers_with_nearly_constant_times_wait_a_little_longer() {
    let station = Station::new(5, 0.7, weibull(4.0));
    let setup = Servers { count: 5, rate: station.rate() };
    let expected = mgm(setup, &station.moments(), Readings::corrected()).unwrap().wait;
    let simulated = station.replications().wait();
    assert!(!holds(simulated, expected) && simulated.mean > expected);
    assert!(simulated.mean < 1.1 * expected, "{expected} {simulated:?}");
}

#[test]
fn classes_of_priority() {
    // One of seven is high, two are middling, four low.
    let class = |index: usize| {
        let ball = within(&mut stream(1, "class", index as u64), 0, 6);
        [0, 1, 1, 2, 2, 2, 2][ball as usize]
    };
    let station = Station { order: Order::Priority, class, ..Station::new(1, 0.7, weibull(3.0)) };
    let service = station.moments();
    let classes = [1.0, 2.0, 4.0].map(|seventh| Class { share: seventh / 7.0, service });
    let answer = priority(station.rate(), &classes).unwrap();
    let simulated = station.replications();
    for (class, expected) in (0..).zip(&answer.classes) {
        check(simulated.mean(class, wait), expected.wait);
        check(simulated.mean(class, slowdown), expected.slowdown.unwrap());
    }
}

/// Every partition runs one job at a time: a cluster of one, for the widths that it takes.
#[test]
fn partitions_of_a_site() {
    let runs = weibull(4.0);
    let model = Poisson { widths: (1, 64), ..Station::new(1, 1.4, runs).model };
    let sizes = [14, 40, 74];
    let moments = law(runs).moments().unwrap();
    let mix = Mix::alike(&Widths::Uniform { low: 1, high: 64 }, moments).unwrap();
    let readings = Readings::corrected();
    let site = Site { processors: 128, rate: 1.0 / model.gap_s, mix: &mix, readings };
    let answer = partitioned(&site, &sizes).unwrap();
    let stations: Vec<Station> = [(1, 14), (15, 40), (41, 64)]
        .map(|widths| Station { model, widths, ..Station::new(1, 1.0, runs) })
        .into();
    let parts: Vec<Replications> = stations.iter().map(Station::replications).collect();
    for (part, expected) in parts.iter().zip(&answer.partitions) {
        check(part.wait(), expected.wait);
    }
    let together = |at: usize| parts.iter().flat_map(|part| part.0[at].clone()).collect();
    let all = Replications((0..REPLICATIONS as usize).map(together).collect());
    check(all.wait(), answer.wait);
    check(all.mean(0, slowdown), answer.slowdown.unwrap());
    // (20) as printed gives each partition the same weight.
    let mut readings = Readings::corrected();
    readings.set(Equation::E20, Reading::Printed);
    let as_printed = partitioned(&Site { readings, ..site }, &sizes).unwrap();
    assert!(!holds(all.wait(), as_printed.wait));
}
