//! Cases made by hand: ties, holes that fit exactly, early ends, overruns.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth, Order};
use tradewind_sim::workload::{LogJob, Overrun, prepare};
use tradewind_sim::{Ran, ReplaySettings, check, run};

/// Submission, run, processors, request.
type Job = (i64, i64, u32, i64);

/// Starts on four processors.
fn starts(jobs: &[Job], depth: Depth, overrun: Overrun) -> Vec<i64> {
    let ran = replay(jobs, BackfillSettings { depth, ..BackfillSettings::default() }, overrun);
    ran.iter().map(|ran| ran.start.0).collect()
}

/// What happened to jobs on four processors.
fn replay(jobs: &[Job], knobs: BackfillSettings, overrun: Overrun) -> Vec<Ran> {
    let numbered = (1..).zip(jobs);
    let log: Vec<LogJob> = numbered
        .map(|(number, &(submit, run, processors, requested))| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(requested)),
            user: 1,
            terms: None,
        })
        .collect();
    let workload = prepare(&log, Arc::new(Pools::cluster(4)), Default::default(), overrun);
    let mut policy = Backfill::new(knobs);
    let mut checkers = check::all(policy.promise());
    run(&workload, ReplaySettings::default(), &mut policy, &mut checkers).unwrap().jobs
}

const FCFS: Depth = Depth::First(0);
const EASY: Depth = Depth::First(1);

#[test]
fn a_hole_that_fits_exactly_is_used_and_one_second_more_is_not() {
    let with = |estimate| [(0, 10, 3, 10), (1, 5, 4, 5), (2, 8, 1, estimate)];
    assert_eq!(starts(&with(8), EASY, Overrun::Kill), [0, 10, 2]);
    assert_eq!(starts(&with(9), EASY, Overrun::Kill), [0, 10, 15]);
    assert_eq!(starts(&with(8), FCFS, Overrun::Kill), [0, 10, 15]);
}

#[test]
fn processors_that_the_head_leaves_over_may_be_used_for_longer() {
    let jobs = [(0, 10, 3, 10), (1, 5, 3, 5), (2, 90, 1, 90)];
    assert_eq!(starts(&jobs, EASY, Overrun::Kill), [0, 10, 2]);
}

#[test]
fn ties_go_to_the_earlier_submission() {
    let jobs = [(0, 5, 4, 5), (1, 5, 3, 5), (1, 5, 2, 5), (1, 5, 2, 5)];
    assert_eq!(starts(&jobs, EASY, Overrun::Kill), [0, 5, 10, 10]);
    assert_eq!(starts(&jobs, Depth::All, Overrun::Kill), [0, 5, 10, 10]);
}

#[test]
fn an_early_end_moves_all_jobs_up() {
    let jobs = [(0, 3, 4, 20), (1, 5, 4, 5), (2, 5, 2, 5)];
    for depth in [FCFS, EASY, Depth::All] {
        assert_eq!(starts(&jobs, depth, Overrun::Kill), [0, 3, 8]);
    }
}

#[test]
fn conservative_protects_the_second_in_the_queue_and_easy_does_not() {
    // The third would delay the second's reservation at 10, but not the head's at 4.
    let jobs = [(0, 4, 2, 4), (0, 10, 1, 10), (1, 2, 2, 2), (1, 5, 4, 5), (2, 20, 1, 20)];
    let easy = starts(&jobs, EASY, Overrun::Kill);
    let conservative = starts(&jobs, Depth::All, Overrun::Kill);
    assert_eq!(easy[..4], [0, 0, 4, 22]);
    assert_eq!(conservative[..4], [0, 0, 4, 10]);
}

#[test]
fn a_job_that_exceeds_its_request_is_killed_or_runs_on() {
    let jobs = [(0, 20, 4, 10), (1, 5, 4, 5)];
    assert_eq!(starts(&jobs, EASY, Overrun::Kill), [0, 10]);
    assert_eq!(starts(&jobs, EASY, Overrun::Extend), [0, 20]);
    assert_eq!(starts(&jobs, Depth::All, Overrun::Extend), [0, 20]);
}

#[test]
fn jobs_of_no_length_stand_in_nobodys_way() {
    let jobs = [(0, 0, 4, 5), (0, 0, 4, 5), (0, 3, 4, 3)];
    for depth in [FCFS, EASY, Depth::All] {
        assert_eq!(starts(&jobs, depth, Overrun::Kill), [0, 0, 0]);
    }
}

#[test]
fn by_expansion_factor_a_short_job_overtakes_a_long_one_that_waits_as_long() {
    let log: Vec<LogJob> = [(0, 10, 4), (1, 100, 4), (1, 10, 4), (2, 30, 4)]
        .into_iter()
        .zip(1..)
        .map(|((submit, run, processors), number)| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(run)),
            ..LogJob::default()
        })
        .collect();
    let workload =
        prepare(&log, Arc::new(Pools::cluster(4)), Default::default(), Overrun::default());
    for depth in [FCFS, EASY, Depth::All] {
        let mut policy = Backfill::new(BackfillSettings {
            depth,
            order: Order::Expansion,
            ..BackfillSettings::default()
        });
        let mut checkers = check::all(policy.promise());
        let run = run(&workload, ReplaySettings::default(), &mut policy, &mut checkers).unwrap();
        // At 10 the factors are 1.09, 1.9 and 1.27; at 20 they are 1.19 and 1.6.
        assert_eq!(run.jobs.iter().map(|ran| ran.start.0).collect::<Vec<_>>(), [0, 50, 10, 20]);
    }
}

#[test]
fn who_starts_in_the_same_second_as_an_earlier_job_has_not_passed_it_by() {
    let shortest =
        BackfillSettings { depth: FCFS, order: Order::Shortest, ..BackfillSettings::default() };
    let backfilled = |width| {
        let jobs = [(0, 10, 4, 10), (1, 9, width, 9), (2, 3, 2, 3)];
        let ran = replay(&jobs, shortest, Overrun::Kill);
        ran.iter().map(|ran| (ran.start.0, ran.backfilled)).collect::<Vec<_>>()
    };
    assert_eq!(backfilled(2), [(0, false), (10, false), (10, false)]);
    assert_eq!(backfilled(3), [(0, false), (13, false), (10, true)]);
}
