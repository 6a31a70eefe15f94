//! In which other shapes the jobs of a log could have run.

use std::sync::Arc;

use tradewind_model::{JobShape, Shapes, SpeedUp, Terms};

use super::draws::Draws;
use crate::workload::Job;

/// Draws a speed-up law ([`SpeedUp`], Downey 1997) for each job. The logged width and requested time are
/// one point of the job's curve; its other shapes have half and double as many nodes, and so on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moldable {
    /// A, as a multiple of the logged width, between these two: its logarithm is uniform. At least 1 node
    /// is taken.
    pub parallelism: (f64, f64),
    /// σ is uniform between these two.
    pub variance: (f64, f64),
    /// Widths are within the logged one divided and multiplied by this number, a power of 2.
    pub reach: u32,
}

impl Default for Moldable {
    /// A from half to four times the logged width, σ from 0 to 2, up to four times as narrow or wide.
    fn default() -> Moldable {
        Moldable { parallelism: (0.5, 4.0), variance: (0.0, 2.0), reach: 4 }
    }
}

impl Moldable {
    /// The widest reach.
    pub const MAX_REACH: u32 = 64;
    /// The greatest multiple of the logged width, and the greatest σ.
    pub const MAX: f64 = 1_000.0;

    /// Gives each job its shapes on a machine of so many processors. A job's draws depend on the seed and
    /// on its place in the log. A job of a single shape stays as it is.
    pub fn apply(&self, jobs: &mut [Job], processors: u32, seed: u64) {
        for job in jobs {
            let law = self.law(job, seed);
            let known = JobShape { nodes: job.processors, time: job.requested };
            let listed = law.shapes(&self.widths(job.processors, processors), known);
            let Ok(Some(shapes)) = Shapes::new(&listed) else { continue };
            let none = || Terms { user: job.user, ..Terms::NONE };
            let terms = job.terms.as_deref().cloned().unwrap_or_else(none);
            job.terms = Some(Arc::new(Terms { shapes: Some(shapes), ..terms }));
        }
    }

    /// What is drawn for a job.
    fn law(&self, job: &Job, seed: u64) -> SpeedUp {
        let place = job.source as u64;
        let (low, high) = self.parallelism;
        let of = |noun: &str| Draws::of(seed, noun, place).unit();
        let multiple = low * libm::pow(high / low, of("moldable-parallelism"));
        let a = f64::from(job.processors) * multiple * 1_000.0;
        let a = (a.clamp(0.0, SpeedUp::MAX_PARALLELISM as f64) as u64).max(1_000);
        let (low, high) = self.variance;
        let sigma = (low + (high - low) * of("moldable-variance")) * 1_000.0;
        let sigma = sigma.clamp(0.0, SpeedUp::MAX_VARIANCE as f64) as u64;
        // Both are in range.
        SpeedUp::new(a, sigma).unwrap_or(SpeedUp::SERIAL)
    }

    /// The widths beside the logged one.
    fn widths(&self, logged: u32, processors: u32) -> Vec<u32> {
        let mut widths = Vec::new();
        let mut times = 2;
        while times <= self.reach {
            widths.push(logged / times);
            widths.push(logged.saturating_mul(times));
            times *= 2;
        }
        widths.retain(|width| (1..=processors).contains(width));
        widths
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::{Span, Time};

    use super::*;

    fn job(source: usize, processors: u32) -> Job {
        Job {
            source,
            number: 1,
            submit: Time(0),
            run: Span(100),
            processors,
            requested: Span(3_600),
            user: 3,
            killed: false,
            terms: None,
        }
    }

    #[test]
    fn the_logged_shape_is_one_of_them_and_seeds_draw_others() {
        let draw = |seed| {
            let mut jobs: Vec<Job> = (0..200).map(|place| job(place, 8)).collect();
            Moldable::default().apply(&mut jobs, 100, seed);
            jobs
        };
        let (one, same, other) = (draw(1), draw(1), draw(2));
        assert_eq!(one, same);
        assert_ne!(one, other);
        let shapes = one.iter().filter_map(|job| job.terms.as_ref()?.shapes.clone());
        let shapes: Vec<Shapes> = shapes.collect();
        assert!(shapes.len() > 190, "{} are moldable", shapes.len());
        for shapes in &shapes {
            let first = JobShape { nodes: 8, time: Span(3_600) };
            assert_eq!(shapes.as_slice()[0], first);
            let known = [2, 4, 8, 16, 32];
            assert!(shapes.as_slice().iter().all(|shape| known.contains(&shape.nodes)));
        }
        assert!(shapes.iter().any(|shapes| shapes.of_width(32).is_some()));
        assert_eq!(one[0].terms.as_ref().map(|terms| terms.user), Some(3));
    }

    #[test]
    fn nothing_is_wider_than_the_machine_and_a_serial_law_leaves_jobs_as_they_are() {
        let mut jobs = vec![job(0, 8)];
        let model = Moldable { parallelism: (100.0, 100.0), variance: (0.0, 0.0), reach: 64 };
        model.apply(&mut jobs, 40, 1);
        let shapes = jobs[0].terms.as_ref().and_then(|terms| terms.shapes.clone()).unwrap();
        let mut widths: Vec<u32> = shapes.as_slice().iter().map(|shape| shape.nodes).collect();
        widths.sort_unstable();
        assert_eq!(widths, [1, 2, 4, 8, 16, 32]);
        let mut serial = vec![job(0, 1)];
        let model = Moldable { parallelism: (1.0, 1.0), ..Moldable::default() };
        model.apply(&mut serial, 40, 1);
        assert_eq!(serial[0].terms, None, "no width is quicker");
    }
}
