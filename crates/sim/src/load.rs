//! How much of a machine a log asks for, and the same log asking for more or less.

use std::sync::Arc;

use tradewind_model::{Span, Terms, Time};

use crate::workload::{Job, LogJob};

/// The offered load as a fraction: processor seconds that jobs run for, over those of the machine
/// between the first and the last submission. Jobs that say too little of themselves or are too
/// wide do not count. `None` if all jobs come at once.
pub fn offered(jobs: &[LogJob], processors: u32) -> Option<(i128, i128)> {
    let area = |job: &LogJob| {
        let (run, width) = (job.submit.and(job.run)?, job.processors?);
        (width <= processors).then(|| i128::from(run.0) * i128::from(width))
    };
    let used: i128 = jobs.iter().filter_map(area).sum();
    let (first, last) = ends(jobs)?;
    let there_is = i128::from((last - first).0) * i128::from(processors);
    (used > 0 && there_is > 0).then_some((used, there_is))
}

/// The same jobs at another offered load, in thousandths: each submission's distance from the
/// first is multiplied by offered / wanted and rounded half up. Run times and widths stay, and a
/// deadline is as far from the submission as before; [`keep_order`] keeps the order. `None` if
/// [`offered`] is, or if a time would be beyond [`Time::MAX`].
pub fn scaled(jobs: &[LogJob], processors: u32, thousandths: u32) -> Option<Vec<LogJob>> {
    let (used, there_is) = offered(jobs, processors)?;
    moved(jobs, used * 1_000, there_is * i128::from(thousandths.max(1)))
}

/// The same jobs submitted `divisor` times as fast: each submission's distance from the first is
/// divided by it and rounded half up. Everything else is as with [`scaled`]. No divisor counts
/// as 1.
pub fn squeezed(jobs: &[LogJob], divisor: u32) -> Vec<LogJob> {
    // Closer together, no time can be beyond the last.
    moved(jobs, 1, i128::from(divisor.max(1))).unwrap_or_else(|| jobs.to_vec())
}

/// Puts `jobs` that were moved, and that may have come to one second, in the order in which their
/// log had them submitted: `before` are the log's jobs as they were.
pub fn keep_order(jobs: &mut [Job], before: &[LogJob]) {
    jobs.sort_by_key(|job| (job.submit, before[job.source].submit, job.number));
}

/// Submissions' distances from the first, times `times` and over `over`.
fn moved(jobs: &[LogJob], times: i128, over: i128) -> Option<Vec<LogJob>> {
    let Some((first, _)) = ends(jobs) else { return Some(jobs.to_vec()) };
    let moved = |submit: Time| {
        let distance = (i128::from((submit - first).0) * times + over / 2) / over;
        let distance = i64::try_from(distance).ok().filter(|it| *it <= (Time::MAX - first).0)?;
        Some(first + Span(distance))
    };
    let job = |job: &LogJob| {
        let Some(from) = job.submit else { return Some(job.clone()) };
        let to = moved(from)?;
        let terms = job.terms.as_ref().map(|terms| shifted(terms, to - from));
        Some(LogJob { submit: Some(to), terms, ..job.clone() })
    };
    jobs.iter().map(job).collect()
}

/// The same terms of a job that is submitted so much later.
pub(crate) fn shifted(terms: &Arc<Terms>, by: Span) -> Arc<Terms> {
    if terms.deadline.is_none() && terms.earliest_start.is_none() {
        return Arc::clone(terms);
    }
    let at = |time: Option<Time>| {
        time.map(|time| Time(time.0.saturating_add(by.0).clamp(Time::MIN.0, Time::MAX.0)))
    };
    let (deadline, earliest_start) = (at(terms.deadline), at(terms.earliest_start));
    Arc::new(Terms { deadline, earliest_start, ..Terms::clone(terms) })
}

/// The first and the last submission.
fn ends(jobs: &[LogJob]) -> Option<(Time, Time)> {
    let submits = || jobs.iter().filter_map(|job| job.submit);
    submits().min().zip(submits().max())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(submit: i64, run: i64, processors: u32) -> LogJob {
        LogJob {
            number: 1,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: None,
            user: 1,
            terms: None,
        }
    }

    #[test]
    fn by_hand() {
        // 10·2 + 20·1 of 4·100; the wide job does not count.
        let jobs = [job(50, 10, 2), job(100, 1, 9), job(150, 20, 1)];
        assert_eq!(offered(&jobs, 4), Some((40, 400)));
        let twice = scaled(&jobs, 4, 200).unwrap();
        assert_eq!(twice.iter().map(|job| job.submit).collect::<Vec<_>>(), {
            [50, 75, 100].map(|at| Some(Time(at)))
        });
        assert_eq!(offered(&jobs[..1], 4), None);
    }

    #[test]
    fn squeezed_jobs_keep_their_order_and_the_time_that_they_have() {
        let due = |submit: i64, number, deadline: Option<i64>| {
            let terms = Terms { deadline: deadline.map(Time), ..Terms::NONE };
            LogJob { number, terms: Some(Arc::new(terms)), ..job(submit, 5, 1) }
        };
        let mut log = vec![due(1_040, 1, Some(1_100)), due(1_000, 2, None), due(1_015, 3, None)];
        log.push(LogJob { submit: None, ..job(0, 1, 1) });
        let fast = squeezed(&log, 10);
        let submits = fast.iter().map(|job| job.submit.map(|at| at.0)).collect::<Vec<_>>();
        assert_eq!(submits, [Some(1_004), Some(1_000), Some(1_002), None], "15 s are half up 2 s");
        let deadline = |job: &LogJob| job.terms.as_ref().unwrap().deadline;
        assert_eq!((deadline(&fast[0]), deadline(&fast[1])), (Some(Time(1_064)), None));
        assert_eq!(squeezed(&log, 1), log);

        let all_at_once = squeezed(&log, 1_000);
        let pools = Arc::new(tradewind_model::Pools::cluster(4));
        let mut workload =
            crate::workload::prepare(&all_at_once, pools, Default::default(), Default::default());
        let numbers = |jobs: &[Job]| jobs.iter().map(|job| job.number).collect::<Vec<_>>();
        assert_eq!(numbers(&workload.jobs), [1, 2, 3]);
        keep_order(&mut workload.jobs, &log);
        assert_eq!(numbers(&workload.jobs), [2, 3, 1]);
    }

    proptest! {
        #[test]
        fn the_load_is_as_wanted_and_the_order_stays(
            shapes in proptest::collection::vec((0i64..100_000, 1i64..5_000, 1u32..9), 20..60),
            wanted in 50u32..2_000,
        ) {
            let mut jobs: Vec<LogJob> = shapes.into_iter().map(|(s, r, p)| job(s, r, p)).collect();
            jobs.sort_by_key(|job| job.submit);
            prop_assume!(offered(&jobs, 8).is_some_and(|(used, there)| used * 50 > there));
            let other = scaled(&jobs, 8, wanted).unwrap();
            prop_assert!(other.is_sorted_by_key(|job| job.submit));
            let (used, there_is) = offered(&other, 8).unwrap();
            let got = used as f64 / there_is as f64 * 1_000.0;
            prop_assert!((got / f64::from(wanted) - 1.0).abs() < 0.02, "{got} {wanted}");
        }
    }
}
