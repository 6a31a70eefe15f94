//! Jobs that arrive independently of each other, as in the papers' studies of queues.

use tradewind_model::Span;

use super::draws::{Draws, wide};
use super::{DrawnJob, moment};

/// Poisson arrivals, run times of one law, widths that are all equally likely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    /// Mean seconds between arrivals: 1/λ.
    pub gap_s: f64,
    /// How long jobs run.
    pub runs: RunLaw,
    /// The narrowest and the widest job.
    pub widths: (u32, u32),
}

/// The law of run times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunLaw {
    /// Chance to run longer than x: exp(−(x / scale)^shape).
    Weibull {
        /// Often α (paper 003) or k.
        shape: f64,
        /// Often β (paper 003) or λ.
        scale_s: f64,
    },
    /// Chance to run longer than x: exp(−x / mean).
    Exponential {
        /// Mean run time in seconds.
        mean_s: f64,
    },
}

impl Poisson {
    /// Paper 003, figure 5: run times Weibull(2, 20), λ = 0.2 (published: 0.1 to 0.28), widths up
    /// to 128. Its law of widths is not given; uniform is our reading.
    pub fn weibull() -> Poisson {
        let runs = RunLaw::Weibull { shape: 2.0, scale_s: 20.0 };
        Poisson { gap_s: 5.0, runs, widths: (1, 128) }
    }

    /// Paper 004, section 5: run times of 100 min in the mean, 0.167 jobs per minute, widths up to
    /// 64.
    pub fn exponential() -> Poisson {
        let runs = RunLaw::Exponential { mean_s: 6_000.0 };
        Poisson { gap_s: 60.0 / 0.167, runs, widths: (1, 64) }
    }

    /// The first `jobs` jobs: their users and requests are left to [`super::Requests`]. Arrivals
    /// are rounded down to seconds, run times to the nearest second, from 1 on.
    pub fn draw(&self, seed: u64, jobs: usize) -> Vec<DrawnJob> {
        let mut gaps = Draws::new(seed, "poisson-gap");
        let mut runs = Draws::new(seed, "poisson-run");
        let mut widths = Draws::new(seed, "poisson-width");
        let mut now = 0.0;
        let mut draw = || {
            now += gaps.exponential(self.gap_s);
            let run = match self.runs {
                RunLaw::Weibull { shape, scale_s } => runs.weibull(shape, scale_s),
                RunLaw::Exponential { mean_s } => runs.exponential(mean_s),
            };
            let run = libm::round(run).clamp(1.0, Span::MAX.0 as f64);
            let width = widths.within(wide(self.widths));
            DrawnJob::new(moment(now), Span(run as i64), width.max(1) as u32)
        };
        (0..jobs).map(|_| draw()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(model: &Poisson) -> (f64, f64, f64) {
        let jobs = model.draw(4, 20_000);
        let mean = |of: fn(&DrawnJob) -> f64| jobs.iter().map(of).sum::<f64>() / 20_000.0;
        let last = jobs[jobs.len() - 1].submit.0 as f64;
        (last / 20_000.0, mean(|job| job.run.0 as f64), mean(|job| f64::from(job.processors)))
    }

    #[test]
    fn means_are_as_published() {
        let (gap, run, width) = means(&Poisson::weibull());
        assert!((gap - 5.0).abs() < 0.15, "{gap}");
        assert!((run - 17.72).abs() < 0.3, "{run}");
        assert!((width - 64.5).abs() < 1.0, "{width}");
        let (gap, run, width) = means(&Poisson::exponential());
        assert!((gap - 359.3).abs() < 8.0, "{gap}");
        assert!((run - 6_000.0).abs() < 150.0, "{run}");
        assert!((width - 32.5).abs() < 0.5, "{width}");
    }

    #[test]
    fn run_times_and_gaps_share_no_stream() {
        let slow = Poisson { gap_s: 500.0, ..Poisson::weibull() };
        let (a, b) = (Poisson::weibull().draw(1, 50), slow.draw(1, 50));
        assert!(a.iter().zip(&b).all(|(a, b)| (a.run, a.processors) == (b.run, b.processors)));
        assert_ne!(a, b);
    }
}
