//! The workload model of Lublin and Feitelson: "The workload on parallel supercomputers: modeling
//! the characteristics of rigid jobs", Journal of Parallel and Distributed Computing 63 (2003).
//!
//! Parameters are those of the authors' program (`lublin99.c`), for its 128 processors; a machine
//! of P processors replaces log₂ 128 by log₂ P and keeps the distance of `medium` to it.

use tradewind_model::Span;

use super::draws::{Draws, Gamma};
use super::{DrawnJob, moment};

const SLOTS: usize = 48;
const SLOT_S: f64 = 1_800.0;

/// Rigid jobs on a supercomputer with a daily cycle; time 0 is midnight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lublin {
    /// Number of processors jobs want.
    pub widths: WidthLaw,
    /// How long they run, given their width.
    pub runs: RunTimes,
    /// When they are submitted.
    pub arrivals: Arrivals,
}

/// A job is serial with the chance `serial`; else log₂ of its width is uniform within
/// `low..medium` with the chance `low_share`, and within `medium..high` otherwise. With the chance
/// `power_of_two` (of all jobs) it is rounded first, so that the width is a power of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WidthLaw {
    /// The machine: no job is wider.
    pub processors: u32,
    /// Share of jobs on one processor.
    pub serial: f64,
    /// Share of all jobs that are parallel and have a power of two for a width.
    pub power_of_two: f64,
    /// log₂ of the minimum width of a parallel job.
    pub low: f64,
    /// log₂ of the width where the density changes.
    pub medium: f64,
    /// log₂ of the greatest width.
    pub high: f64,
    /// Share of parallel jobs below `medium`.
    pub low_share: f64,
}

/// ln of the run time is of the law `short` with the chance p = `slope` × width + `offset`, cut to
/// 0..=1, and of `long` otherwise. Published slopes are for up to 128 processors: jobs of some 230
/// processors and more are all long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunTimes {
    /// ln of seconds.
    pub short: Gamma,
    /// ln of seconds.
    pub long: Gamma,
    /// Slope of p, per processor.
    pub slope: f64,
    /// Value of p at 0 processors.
    pub offset: f64,
    /// Above this it is drawn again (12: 45 hours).
    pub max: f64,
}

/// ln of the gap between arrivals at the mean pace is of the law `gap`; the pace follows the
/// density of `day` over the half hours of a day, counted from midnight, from 5:00 on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    /// ln of seconds; the published shape is for rush hours.
    pub gap: Gamma,
    /// What the shape of `gap` is multiplied by, for the whole day instead of rush hours.
    pub rush: f64,
    /// Of half hours.
    pub day: Gamma,
    /// Above this a gap is drawn again (13: five days).
    pub max: f64,
}

/// How often a number is drawn again: with published parameters, never more than a few times.
const REDRAWS: usize = 1_000;

/// The first half hour of the model's day, which ends the night.
const DAY_BEGINS: usize = 11;

impl Lublin {
    /// Jobs that wait in queues: the published values for batch jobs.
    pub fn batch(processors: u32) -> Lublin {
        let widths = WidthLaw {
            serial: 0.2927,
            power_of_two: 0.6686,
            low_share: 0.875,
            ..WidthLaw::on(processors, 1.2, 2.0)
        };
        let runs = RunTimes {
            short: Gamma { shape: 6.57, scale: 0.823 },
            long: Gamma { shape: 639.1, scale: 0.0156 },
            slope: -0.003,
            offset: 0.6986,
            max: 12.0,
        };
        let arrivals = Arrivals {
            gap: Gamma { shape: 6.0415, scale: 0.8531 },
            rush: 1.0519,
            day: Gamma { shape: 6.1271, scale: 5.274 },
            max: 13.0,
        };
        Lublin { widths, runs, arrivals }
    }

    /// Jobs that people wait for: the published values for interactive jobs.
    pub fn interactive(processors: u32) -> Lublin {
        // The published widest interactive job has 2^5.5 of 2^7 processors.
        let widths = WidthLaw {
            serial: 0.1541,
            power_of_two: 0.625,
            low_share: 0.705,
            ..WidthLaw::up_to(processors, libm::log2(f64::from(processors.max(1))) - 1.5, 1.0, 2.5)
        };
        let runs = RunTimes {
            short: Gamma { shape: 3.8351, scale: 0.6605 },
            long: Gamma { shape: 7.073, scale: 0.6856 },
            slope: -0.0118,
            offset: 0.9156,
            max: 12.0,
        };
        let arrivals = Arrivals {
            gap: Gamma { shape: 6.551, scale: 0.6621 },
            rush: 0.9797,
            day: Gamma { shape: 8.9186, scale: 3.668 },
            max: 13.0,
        };
        Lublin { widths, runs, arrivals }
    }

    /// Both kinds together, not distinguished: the published values for the whole sample.
    pub fn mixed(processors: u32) -> Lublin {
        let widths = WidthLaw {
            serial: 0.244,
            power_of_two: 0.576,
            low_share: 0.86,
            ..WidthLaw::on(processors, 0.8, 2.5)
        };
        let runs = RunTimes {
            short: Gamma { shape: 4.2, scale: 0.94 },
            long: Gamma { shape: 312.0, scale: 0.03 },
            slope: -0.0054,
            offset: 0.78,
            max: 12.0,
        };
        let arrivals = Arrivals {
            gap: Gamma { shape: 10.2303, scale: 0.4871 },
            rush: 1.0225,
            day: Gamma { shape: 8.1737, scale: 3.9631 },
            max: 13.0,
        };
        Lublin { widths, runs, arrivals }
    }

    /// The first `jobs` jobs: their users and requests are left to [`super::Requests`]. Run times
    /// and arrivals are rounded down to seconds.
    pub fn draw(&self, seed: u64, jobs: usize) -> Vec<DrawnJob> {
        let mut widths = Draws::new(seed, "lublin-width");
        let mut runs = Draws::new(seed, "lublin-run");
        let mut gaps = Draws::new(seed, "lublin-gap");
        let mut clock = DayClock::new(self.arrivals.weights());
        let mut draw = || {
            let processors = self.widths.draw(&mut widths);
            let run = self.runs.draw(&mut runs, processors);
            let submit = moment(clock.after(self.arrivals.draw(&mut gaps)));
            DrawnJob::new(submit, run, processors)
        };
        (0..jobs).map(|_| draw()).collect()
    }
}

impl WidthLaw {
    /// Up to the whole machine.
    fn on(processors: u32, low: f64, below_high: f64) -> WidthLaw {
        WidthLaw::up_to(processors, libm::log2(f64::from(processors.max(1))), low, below_high)
    }

    fn up_to(processors: u32, high: f64, low: f64, below_high: f64) -> WidthLaw {
        let high = high.max(0.0);
        let low = low.min(high);
        let medium = (high - below_high).max(low);
        let (serial, power_of_two, low_share) = (0.0, 0.0, 1.0);
        WidthLaw {
            processors: processors.max(1),
            serial,
            power_of_two,
            low,
            medium,
            high,
            low_share,
        }
    }

    fn draw(&self, draws: &mut Draws) -> u32 {
        let kind = draws.unit();
        if kind <= self.serial {
            return 1;
        }
        let (low, high) = match draws.unit() <= self.low_share {
            true => (self.low, self.medium),
            false => (self.medium, self.high),
        };
        let log = draws.between(low, high);
        if kind <= self.serial + self.power_of_two {
            let log = (libm::round(log) as u32).min(self.processors.ilog2());
            return 1 << log;
        }
        (libm::round(libm::exp2(log)) as u32).clamp(1, self.processors)
    }
}

impl RunTimes {
    /// The chance of a `short` run for a job of this width.
    pub fn short_chance(&self, processors: u32) -> f64 {
        (self.slope * f64::from(processors) + self.offset).clamp(0.0, 1.0)
    }

    fn draw(&self, draws: &mut Draws, processors: u32) -> Span {
        let chance = self.short_chance(processors);
        let log = at_most(self.max, || {
            let law = if draws.unit() <= chance { self.short } else { self.long };
            draws.gamma(law)
        });
        Span((libm::exp(log) as i64).max(1))
    }
}

impl Arrivals {
    /// Seconds at the mean pace.
    fn draw(&self, draws: &mut Draws) -> f64 {
        let law = Gamma { shape: self.gap.shape * self.rush, ..self.gap };
        libm::exp(at_most(self.max, || draws.gamma(law)))
    }

    /// The pace in each half hour from midnight on, 1 in the mean: the share of the law `day`
    /// within half a step of the half hour's number, where the night counts on from 48.
    ///
    /// Integrated by Simpson's rule; the law's constant factor cancels.
    pub fn weights(&self) -> [f64; SLOTS] {
        const STEPS: usize = 32;
        let Gamma { shape, scale } = self.day;
        let log_density = |x: f64| (shape - 1.0) * libm::log(x) - x / scale;
        // Relative to the densest moment of the day, so that nothing overflows.
        let (begin, end) = (DAY_BEGINS as f64 - 0.5, (DAY_BEGINS + SLOTS) as f64 - 0.5);
        let top = log_density(((shape - 1.0) * scale).clamp(begin, end));
        let factor = |step: usize| match step {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let mut weights = [0.0; SLOTS];
        for number in DAY_BEGINS..DAY_BEGINS + SLOTS {
            let at = |step: usize| number as f64 - 0.5 + step as f64 / STEPS as f64;
            let term = |step: usize| factor(step) * libm::exp(log_density(at(step)) - top);
            weights[(number - 1) % SLOTS] = (0..=STEPS).map(term).sum();
        }
        let mean = weights.iter().sum::<f64>() / SLOTS as f64;
        // A law so narrow that no moment meets it says nothing about the day.
        if mean > 0.0 { weights.map(|weight| weight / mean) } else { [1.0; SLOTS] }
    }
}

/// Draws again what is above `max`; after [`REDRAWS`] times, it is `max`.
fn at_most(max: f64, mut draw: impl FnMut() -> f64) -> f64 {
    (0..REDRAWS).map(|_| draw()).find(|drawn| *drawn <= max).unwrap_or(max)
}

/// A clock that goes faster where the day's weights are high: seconds at the mean pace go in,
/// seconds of the day come out.
struct DayClock {
    weights: [f64; SLOTS],
    /// Half hours that are over.
    slots: u64,
    /// Seconds at the mean pace that are spent of the present half hour's.
    spent: f64,
}

impl DayClock {
    fn new(weights: [f64; SLOTS]) -> DayClock {
        DayClock { weights, slots: 0, spent: 0.0 }
    }

    /// The time after `gap` more seconds at the mean pace.
    fn after(&mut self, gap: f64) -> f64 {
        self.spent += gap;
        loop {
            let weight = self.weights[(self.slots % SLOTS as u64) as usize];
            if weight > 0.0 && self.spent <= weight * SLOT_S {
                return self.slots as f64 * SLOT_S + self.spent / weight;
            }
            self.spent -= weight * SLOT_S;
            self.slots += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: usize = 40_000;

    fn share(jobs: &[DrawnJob], is: impl Fn(&DrawnJob) -> bool) -> f64 {
        jobs.iter().filter(|job| is(job)).count() as f64 / jobs.len() as f64
    }

    #[test]
    fn widths_have_the_published_shares() {
        for (model, serial, powers) in
            [(Lublin::batch(128), 0.2927, 0.6686), (Lublin::mixed(128), 0.244, 0.576)]
        {
            let jobs = model.draw(1, JOBS);
            assert!((share(&jobs, |job| job.processors == 1) - serial).abs() < 0.02);
            // Some of the other parallel jobs are powers of two by chance, small ones above all.
            let drawn = share(&jobs, |job| job.processors > 1 && job.processors.is_power_of_two());
            assert!(drawn > powers - 0.01 && drawn < powers + 0.1, "{drawn}");
            let below = share(&jobs, |job| f64::from(job.processors) < 2f64.powf(4.4));
            assert!(below > 0.75 && below < 0.93, "{below}");
            assert!(jobs.iter().all(|job| (1..=128).contains(&job.processors)));
            assert!(jobs.iter().any(|job| job.processors == 128));
        }
        let odd = Lublin::batch(100).draw(1, 2_000);
        assert!(odd.iter().all(|job| job.processors <= 100));
        assert!(Lublin::batch(1).draw(1, 100).iter().all(|job| job.processors == 1));
    }

    #[test]
    fn mean_log_runs_follow_the_width() {
        let model = Lublin::batch(128);
        let jobs = model.draw(2, JOBS);
        for (low, high) in [(1, 1), (2, 16), (17, 128)] {
            let some: Vec<_> =
                jobs.iter().filter(|job| (low..=high).contains(&job.processors)).collect();
            let mean = |of: &dyn Fn(&DrawnJob) -> f64| {
                some.iter().map(|job| of(job)).sum::<f64>() / some.len() as f64
            };
            let drawn = mean(&|job| (job.run.0 as f64).ln());
            let expected = mean(&|job| {
                let p = model.runs.short_chance(job.processors);
                p * 6.57 * 0.823 + (1.0 - p) * 639.1 * 0.0156
            });
            assert!((drawn - expected).abs() < 0.12, "{low}..{high}: {drawn}, not {expected}");
        }
        assert!(jobs.iter().all(|job| (1..=162_754).contains(&job.run.0)));
    }

    #[test]
    fn arrivals_follow_the_day() {
        let model = Lublin::mixed(128);
        let weights = model.arrivals.weights();
        assert!((weights.iter().sum::<f64>() - 48.0).abs() < 1e-9);
        let jobs = model.draw(3, JOBS);
        for quarter in 0..8 {
            let slots = quarter * 6..quarter * 6 + 6;
            let within =
                |job: &DrawnJob| slots.contains(&((job.submit.0 % 86_400 / 1_800) as usize));
            let drawn = share(&jobs, within);
            let expected = weights[slots.clone()].iter().sum::<f64>() / 48.0;
            assert!((drawn - expected).abs() < 0.015, "{slots:?}: {drawn}, not {expected}");
        }
        assert!(jobs.is_sorted_by_key(|job| job.submit));
    }

    /// Against the law's own shape: the busiest half hours are in the afternoon, the quietest
    /// before the morning, and neighbours differ little but at the seam.
    #[test]
    fn the_day_has_a_rush_and_a_night() {
        for model in [Lublin::batch(64), Lublin::interactive(64), Lublin::mixed(64)] {
            let weights = model.arrivals.weights();
            let busiest = (0..SLOTS).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap();
            let quietest = (0..SLOTS).min_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap();
            assert!((22..=36).contains(&busiest), "{busiest}");
            assert!((0..=10).contains(&quietest), "{quietest}");
        }
    }

    #[test]
    fn more_jobs_begin_with_the_same_ones() {
        let model = Lublin::batch(64);
        assert_eq!(model.draw(5, 10)[..], model.draw(5, 500)[..10]);
        assert_ne!(model.draw(5, 10), model.draw(6, 10));
    }
}
