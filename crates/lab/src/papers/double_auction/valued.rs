//! The first stage of the queueing model as a run of the auction has it: how long a job waits to be
//! valued, and the shares p_j of the classes of its bid (equations 3 to 6).

use tradewind_model::{Money, Span, Time};
use tradewind_sim::queueing::{Class, Infinite, Moment, Moments};
use tradewind_sim::workload::Job;

/// The classes, whose shares sum to 1.
const CLASSES: usize = 4;

/// A job as the first cycle after its submission sees it.
#[derive(Debug, Clone, Copy)]
struct Valued {
    /// From its submission to that cycle, in seconds.
    after: f64,
    /// Equation 2 with H = 1, in micro-credits.
    bid: i128,
}

/// Classes of jobs in a run with this cycle, from the highest bids to the lowest: bids of at least
/// twice the median, of at least the median, of at least half of it, and the others. The paper
/// says that there are four and not what divides them. Classes without jobs are left out.
pub(super) fn classes(jobs: &[Job], cycle: Span, ticks: i64) -> Vec<Class> {
    let Some(first) = jobs.iter().map(|job| job.submit).min() else { return Vec::new() };
    let valued: Vec<Valued> = jobs.iter().map(|job| value(job, first, cycle, ticks)).collect();
    let mut bids: Vec<i128> = valued.iter().map(|it| it.bid).collect();
    bids.sort_unstable();
    let median = bids[bids.len() / 2];
    let class = |bid: i128| match bid {
        _ if bid >= 2 * median => 0,
        _ if bid >= median => 1,
        _ if 2 * bid >= median => 2,
        _ => CLASSES - 1,
    };
    let mut parts: [Vec<f64>; CLASSES] = Default::default();
    valued.iter().for_each(|it| parts[class(it.bid)].push(it.after));
    let all = valued.len() as f64;
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.map(|part| Class { share: part.len() as f64 / all, service: moments(part) }).collect()
}

fn value(job: &Job, first: Time, cycle: Span, ticks: i64) -> Valued {
    let cycle = cycle.0.max(1);
    let since = (job.submit - first).0.rem_euclid(cycle);
    let after = (cycle - since) % cycle;
    let terms = job.terms.as_deref();
    let value = terms.and_then(|terms| terms.value).unwrap_or(Money::ZERO);
    let deadline = terms.and_then(|terms| terms.deadline).unwrap_or(job.submit);
    let left = (deadline - job.submit).0.saturating_sub(after).max(1);
    let bid = i128::from(value.0) * i128::from(after + 1) / i128::from(left);
    Valued { after: after as f64 / ticks as f64, bid }
}

/// Of times that may be zero.
fn moments(times: &[f64]) -> Moments {
    let mean = |of: &dyn Fn(f64) -> f64| {
        times.iter().map(|time| of(*time)).sum::<f64>() / times.len() as f64
    };
    let at_once = Infinite {
        moment: Moment::Inverse,
        law: "the times of valuation",
        why: "a job that is submitted as a cycle begins is valued at once",
    };
    let inverse = match times.iter().all(|time| *time > 0.0) {
        true => Ok(mean(&|time| 1.0 / time)),
        false => Err(at_once),
    };
    Moments { mean: mean(&|time| time), square: Ok(mean(&|time| time * time)), inverse }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tradewind_model::Terms;

    use super::*;

    fn job(submit: i64, value: i64, deadline: i64) -> Job {
        let (value, deadline) = (Some(Money(value)), Some(Time(deadline)));
        Job {
            source: 0,
            number: 0,
            submit: Time(submit),
            run: Span(1),
            processors: 1,
            requested: Span(1),
            user: 1,
            killed: false,
            terms: Some(Arc::new(Terms { value, deadline, ..Terms::NONE })),
        }
    }

    #[test]
    fn a_job_is_valued_in_the_first_cycle_after_its_submission() {
        // Cycles at 5, 15, 25; ten ticks are a second. Bids: 40, 60 · 6/1, 10 · 2/10, 90.
        let jobs = [job(5, 40, 6), job(10, 60, 16), job(14, 10, 25), job(25, 90, 26)];
        let classes = classes(&jobs, Span(10), 10);
        let shares: Vec<f64> = classes.iter().map(|class| class.share).collect();
        assert_eq!(shares, [0.25, 0.25, 0.5], "the median is 90: 360, then 90, then 40 and 2");
        let means: Vec<f64> = classes.iter().map(|class| class.service.mean).collect();
        assert_eq!(means, [0.5, 0.0, 0.05]);
    }
}
