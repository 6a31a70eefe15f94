//! How much of a machine a log asks for, and the same log asking for more or less.

use tradewind_model::{Span, Time};

use crate::workload::LogJob;

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
/// first is multiplied by offered / wanted and rounded half up. Run times and widths stay, and so
/// does the order. `None` if [`offered`] is, or if a time would be beyond [`Time::MAX`].
pub fn scaled(jobs: &[LogJob], processors: u32, thousandths: u32) -> Option<Vec<LogJob>> {
    let (used, there_is) = offered(jobs, processors)?;
    let (times, over) = (used * 1_000, there_is * i128::from(thousandths.max(1)));
    let (first, _) = ends(jobs)?;
    let moved = |submit: Time| {
        let distance = (i128::from((submit - first).0) * times + over / 2) / over;
        let distance = i64::try_from(distance).ok().filter(|it| *it <= (Time::MAX - first).0)?;
        Some(first + Span(distance))
    };
    let scaled = |job: &LogJob| {
        let submit = match job.submit {
            Some(submit) => Some(moved(submit)?),
            None => None,
        };
        Some(LogJob { submit, ..job.clone() })
    };
    jobs.iter().map(scaled).collect()
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
