use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{self as swf, sample};

fn factor(numerator: i64, denominator: i64) -> Factor {
    Factor::new(numerator, denominator).unwrap()
}

#[test]
fn slices_partition_a_log() {
    let log = sample(1, 300, 64);
    let cut = |from: Option<i64>, to: Option<i64>| {
        let (from, to) = (from.map(Time), to.map(Time));
        slice(&log, Slice { from, to, clock: SliceClock::Kept }).jobs
    };
    let middle = log.jobs[150].submit.0;
    let parts = [cut(None, Some(1_000)), cut(Some(1_000), Some(middle)), cut(Some(middle), None)];
    assert!(parts[1].len() > 100 && parts[2].first().unwrap().submit == Time(middle));
    assert_eq!(parts.concat(), log.jobs);
}

#[test]
fn a_slice_may_begin_at_0() {
    let mut log = sample(1, 50, 64);
    log.header.set("UnixStartTime", "1000");
    let from = log.jobs[10].submit - Span(5);
    let part = slice(&log, Slice { from: Some(from), to: None, clock: SliceClock::FromZero });
    assert_eq!(part.jobs[0].submit, Time(5));
    assert_eq!(part.header.unix_start(), Some(1_000 + from.0));
    assert_eq!(part.header.number("MaxJobs"), Some(40));
    assert_eq!(part.summary, Summary::of(&part.jobs, &[]));
    let free = slice(&log, Slice { clock: SliceClock::FromZero, ..Slice::default() });
    assert_eq!(free.jobs[0].submit, Time(0));
}

#[test]
fn a_factor_of_one_changes_nothing() {
    let log = sample(2, 200, 64);
    assert_eq!(scale_arrivals(&log, factor(7, 7)).unwrap(), log);
    assert_eq!(scale_runs(&log, factor(1, 1)).unwrap(), log);
}

#[test]
fn a_load_is_met() {
    let log = sample(8, 400, 64);
    let load = |log: &Log| {
        let work: i64 =
            log.jobs.iter().map(|job| job.run.unwrap().0 * i64::from(job.held().unwrap())).sum();
        let span = (log.jobs[399].submit - log.jobs[0].submit).0;
        work as f64 / (64 * span) as f64
    };
    for (n, d) in [(9, 10), (1, 3), (2, 1)] {
        let scaled = scale_to_load(&log, 64, factor(n, d)).unwrap();
        assert!((load(&scaled) - n as f64 / d as f64).abs() < 1e-4, "{}", load(&scaled));
    }
    let none = first(&log, 1);
    assert_eq!(scale_to_load(&none, 64, factor(1, 2)), Err(TransformError::NoLoad));
}

#[test]
fn widths_fit_the_machine() {
    let log = sample(3, 200, 64);
    let narrow = fit_machine(&log, 16, Wide::Narrowed);
    assert_eq!(narrow.jobs.len(), 200);
    assert_eq!(narrow.jobs.iter().filter_map(Record::held).max(), Some(16));
    assert_eq!((narrow.header.max_procs(), narrow.header.max_nodes()), (Some(16), None));
    let dropped = fit_machine(&log, 16, Wide::Dropped);
    let expected: Vec<Record> =
        log.jobs.iter().filter(|job| job.held() <= Some(16)).copied().collect();
    assert!(expected.len() < 200);
    assert_eq!(dropped.jobs, expected);
    assert_eq!(first(&log, 7).jobs, log.jobs[..7]);
}

#[test]
fn times_beyond_the_range_are_refused() {
    let log = sample(4, 20, 64);
    let tiny = factor(1, 1_000_000_000);
    assert_eq!(scale_arrivals(&log, tiny), Err(TransformError::Beyond));
    assert_eq!(scale_runs(&log, tiny.inverse()), Err(TransformError::Beyond));
    assert_eq!(Factor::new(0, 1), None);
}

/// Three weeks of a log whose users differ.
fn weeks() -> Log {
    let mut log = sample(5, 400, 64);
    let last = log.jobs[399].submit.0;
    for job in &mut log.jobs {
        job.submit = Time(1_000 + job.submit.0 * (3 * WEEK.0 - 1) / last);
    }
    log
}

#[test]
fn resampled_streams_are_the_users_own_moved_by_weeks() {
    let log = weeks();
    let new = resample(&log, 1, Resample { users: Some(30), weeks: None }).unwrap();
    let phase = |job: &Record| ((job.submit - Time(1_000)).0 % WEEK.0, job.run, job.processors);
    let streams = |log: &Log| {
        let mut by_user: BTreeMap<i64, Vec<_>> = BTreeMap::new();
        for job in &log.jobs {
            by_user.entry(job.user).or_default().push(phase(job));
        }
        by_user.values_mut().for_each(|jobs| jobs.sort());
        by_user
    };
    let (old, drawn) = (streams(&log), streams(&new));
    assert!(drawn.values().all(|jobs| old.values().any(|own| own == jobs)));
    assert!(drawn.len() == 30 && old.len() == 12);
    // In all weeks, each stream is whole: the load follows the number of users.
    let ratio = new.jobs.len() as f64 / log.jobs.len() as f64;
    assert!((1.9..3.1).contains(&ratio), "{ratio}");
    let numbers: Vec<i64> = new.jobs.iter().map(|job| job.number).collect();
    assert!(numbers == (1..=new.jobs.len() as i64).collect::<Vec<_>>());
    assert!(new.jobs.is_sorted_by_key(|job| job.submit));
}

#[test]
fn resampling_follows_its_seed_and_its_weeks() {
    let log = weeks();
    let draw = |seed, weeks| resample(&log, seed, Resample { users: None, weeks }).unwrap();
    assert_eq!(draw(1, None), draw(1, None));
    assert_ne!(draw(1, None).jobs, draw(2, None).jobs);
    // Six weeks: every stream twice.
    assert_eq!(draw(1, Some(6)).jobs.len(), 2 * draw(1, Some(3)).jobs.len());
    let empty = first(&log, 0);
    assert_eq!(resample(&empty, 1, Resample::default()), Err(TransformError::Empty));
}

#[test]
fn what_is_made_can_be_written_and_read() {
    let log = resample(&weeks(), 1, Resample::default()).unwrap();
    let back = swf::parse(&crate::input::Input::new("sample", swf::write(&log))).unwrap();
    assert_eq!(back, log);
}

proptest! {
    /// No rounding error adds up: every submission is within half a second of its exact place.
    #[test]
    fn arrivals_are_scaled_exactly(n in 1i64..5_000, d in 1i64..5_000) {
        let log = sample(6, 60, 64);
        let scaled = scale_arrivals(&log, factor(n, d)).unwrap();
        let first = log.jobs[0].submit;
        for (old, new) in log.jobs.iter().zip(&scaled.jobs) {
            let (old, new) = ((old.submit - first).0, (new.submit - first).0);
            prop_assert!((2 * (new * n - old * d)).abs() <= n);
        }
        prop_assert!(scaled.jobs.is_sorted_by_key(|job| job.submit));
    }

    #[test]
    fn runs_never_vanish(n in 1i64..100, d in 1i64..100_000) {
        let log = sample(7, 40, 64);
        let scaled = scale_runs(&log, factor(n, d)).unwrap();
        prop_assert!(scaled.jobs.iter().all(|job| job.run.unwrap().0 >= 1));
    }
}
