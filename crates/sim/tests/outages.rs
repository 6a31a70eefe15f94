//! Nodes that go missing: failures, maintenance, the owner's own load.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Cause, Outage, PoolId, Pools, Span, Time};
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sim::metrics::{self, Value};
use tradewind_sim::outage::{AnnouncedOutage, in_order};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, ReplaySettings, Run, Semantics, check, placement, run};

const NODES: u32 = 4;

/// Submission, run, processors, request.
type Job = (i64, i64, u32, i64);

const FCFS: Depth = Depth::First(0);
const EASY: Depth = Depth::First(1);

fn workload(
    jobs: &[Job],
    outages: &[AnnouncedOutage],
    semantics: Semantics,
    overrun: Overrun,
) -> Workload {
    let job = |(number, &(submit, run, processors, requested)): (i64, &Job)| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(requested)),
        user: number % 3,
        terms: None,
    };
    let log: Vec<LogJob> = (1..).zip(jobs).map(job).collect();
    let mut workload = prepare(&log, Arc::new(Pools::cluster(NODES)), semantics, overrun);
    workload.outages = in_order(&workload.pools, outages.to_vec());
    workload
}

fn replay(workload: &Workload, depth: Depth, settings: ReplaySettings) -> Run {
    let mut policy = Backfill::new(BackfillSettings { depth, ..BackfillSettings::default() });
    let mut checkers = check::all(policy.promise());
    run(workload, settings, &mut policy, &mut checkers).unwrap()
}

/// Starts under textbook semantics, and the attempts that came to nothing: (job, start, end).
fn starts(
    jobs: &[Job],
    outages: &[AnnouncedOutage],
    depth: Depth,
) -> (Vec<i64>, Vec<(usize, i64, i64)>) {
    let workload = workload(jobs, outages, Semantics::Textbook, Overrun::Kill);
    let run = replay(&workload, depth, ReplaySettings::default());
    let lost = run.lost.iter().map(|lost| (lost.job, lost.start.0, lost.end.0)).collect();
    (run.jobs.iter().map(|ran| ran.start.0).collect(), lost)
}

fn outage(announced: i64, nodes: u32, (from, until): (i64, i64), cause: Cause) -> AnnouncedOutage {
    let (from, until) = (Time(from), Time(until));
    let what = Outage { pool: PoolId(0), nodes, from, until, cause };
    AnnouncedOutage { announced: Time(announced), what }
}

/// `nodes` nodes break, from the `first` on.
fn failure(first: u32, nodes: u32, span: (i64, i64)) -> AnnouncedOutage {
    outage(span.0, nodes, span, Cause::Failure(first))
}

#[test]
fn a_failure_hits_the_job_whose_node_it_is() {
    let jobs = [(0, 20, 2, 20), (0, 20, 1, 20)];
    // Nodes 0 and 1 are the first job's, 2 the second's, 3 is idle.
    let breaks = |node| starts(&jobs, &[failure(node, 1, (5, 8))], EASY);
    assert_eq!(breaks(0), (vec![5, 0], vec![(0, 0, 5)]));
    assert_eq!(breaks(1), (vec![5, 0], vec![(0, 0, 5)]));
    assert_eq!(breaks(2), (vec![0, 5], vec![(1, 0, 5)]));
    assert_eq!(breaks(3), (vec![0, 0], vec![]));
    // A failure of neighbours takes both; two idle nodes are left, and two closed until 8.
    let both = starts(&jobs, &[failure(1, 2, (5, 8))], EASY);
    assert_eq!(both, (vec![5, 8], vec![(0, 0, 5), (1, 0, 5)]));
}

#[test]
fn an_interrupted_job_has_its_old_place_in_the_queue() {
    // The second job waits for the first, which breaks: the first goes first again.
    let jobs = [(0, 20, 4, 20), (1, 5, 4, 5)];
    let broken = starts(&jobs, &[failure(0, 1, (10, 15))], FCFS);
    assert_eq!(broken, (vec![15, 35], vec![(0, 0, 10)]));
}

#[test]
fn an_end_in_the_second_of_a_failure_comes_first() {
    let jobs = [(0, 10, 4, 10), (3, 10, 4, 10)];
    let broken = starts(&jobs, &[failure(0, 4, (10, 12))], EASY);
    assert_eq!(broken, (vec![0, 12], vec![]));
}

#[test]
fn announced_maintenance_drains() {
    let maintenance = outage(0, 3, (10, 20), Cause::Maintenance);
    // The first ends in time; the second would not and waits; one node is left for the third.
    let jobs = [(0, 10, 2, 10), (1, 9, 2, 10), (1, 30, 1, 30)];
    for depth in [EASY, Depth::All] {
        assert_eq!(starts(&jobs, &[maintenance], depth), (vec![0, 20, 1], vec![]), "{depth:?}");
    }
    // No job overtakes under FCFS.
    assert_eq!(starts(&jobs, &[maintenance], FCFS), (vec![0, 20, 20], vec![]));
}

#[test]
fn maintenance_announced_too_late_interrupts_the_job_that_started_last() {
    let late = outage(5, 2, (6, 9), Cause::Maintenance);
    let jobs = [(0, 20, 2, 20), (1, 20, 2, 20)];
    assert_eq!(starts(&jobs, &[late], EASY), (vec![0, 9], vec![(1, 1, 6)]));
}

#[test]
fn a_job_that_exceeds_its_request_makes_room_for_the_owner() {
    let local = outage(0, 4, (10, 15), Cause::Local);
    let workload = workload(&[(0, 12, 1, 5)], &[local], Semantics::Textbook, Overrun::Extend);
    let run = replay(&workload, EASY, ReplaySettings::default());
    assert_eq!((run.jobs[0].start, run.lost.len()), (Time(15), 1));
    let measured = metrics::measure(&workload, &run, metrics::MetricOptions::default());
    assert_eq!(measured.get("lost_work_node_s"), Some(Value::Whole(10)));
    assert_eq!(measured.get("interruptions"), Some(Value::Whole(1)));
}

#[test]
fn more_than_there_is_cannot_be_closed() {
    let (a, b) = (outage(0, 9, (5, 10), Cause::Local), failure(0, 3, (7, 20)));
    let workload = workload(&[(0, 9, 4, 9)], &[a, b], Semantics::Textbook, Overrun::Kill);
    let nodes: Vec<u32> = workload.outages.iter().map(|outage| outage.what.nodes).collect();
    assert_eq!(nodes, [4], "the owner has all of them while the other three would break");
    assert_eq!(replay(&workload, EASY, ReplaySettings::default()).jobs[0].start, Time(10));
}

fn job() -> impl Strategy<Value = Job> {
    (0i64..60, 0i64..25, 1..=NODES, 1i64..25)
}

fn any_outage() -> impl Strategy<Value = AnnouncedOutage> {
    let cause = prop_oneof![
        Just(Cause::Local),
        Just(Cause::Maintenance),
        (0..NODES).prop_map(Cause::Failure)
    ];
    (0i64..60, 1u32..6, 0i64..30, 0i64..30, cause).prop_map(
        |(announced, nodes, ahead, span, cause)| {
            let from =
                if matches!(cause, Cause::Failure(_)) { announced } else { announced + ahead };
            outage(announced, nodes, (from, from + span), cause)
        },
    )
}

fn depth() -> impl Strategy<Value = Depth> {
    prop_oneof![Just(FCFS), Just(EASY), Just(Depth::First(3)), Just(Depth::All)]
}

fn semantics() -> impl Strategy<Value = Semantics> {
    prop_oneof![Just(Semantics::Textbook), Just(Semantics::Pyss)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Under all checkers: conservative backfilling with exact estimates keeps every promise that
    /// no announcement and no interruption undoes.
    #[test]
    fn every_job_completes_whatever_breaks(
        jobs in prop::collection::vec(job(), 1..20),
        outages in prop::collection::vec(any_outage(), 0..6),
        depth in depth(), semantics in semantics(), kind in 0..3, extend in any::<bool>(),
    ) {
        let overrun = if extend { Overrun::Extend } else { Overrun::Kill };
        let workload = workload(&jobs, &outages, semantics, overrun);
        let estimate = [Estimate::Requested, Estimate::Exact, Estimate::Predicted][kind as usize];
        let run = replay(&workload, depth, ReplaySettings { semantics, estimate });
        for (job, ran) in workload.jobs.iter().zip(&run.jobs) {
            prop_assert!(ran.start >= job.submit && ran.end == ran.start + job.run);
        }
        for lost in &run.lost {
            let (job, ran) = (&workload.jobs[lost.job], &run.jobs[lost.job]);
            prop_assert!(lost.start >= job.submit && lost.end <= ran.start);
            prop_assert!(lost.end - lost.start <= job.run, "it would have ended");
        }
        // No processor has two holders at a time.
        let places = placement::place(&workload, &run);
        for (job, ranges) in workload.jobs.iter().zip(places.jobs.iter()) {
            let held: u32 = ranges.iter().map(|range| range.last - range.first + 1).sum();
            prop_assert_eq!(held, job.processors);
        }
    }

    /// Where everything is known from the start and every estimate holds, no job is interrupted.
    #[test]
    fn what_is_known_in_time_interrupts_no_job(
        jobs in prop::collection::vec(job(), 1..20),
        closures in prop::collection::vec((1u32..6, 0i64..60, 1i64..30), 0..6),
        depth in depth(), semantics in semantics(), exact in any::<bool>(),
    ) {
        let known = |&(nodes, from, span): &(u32, i64, i64)| {
            outage(-1, nodes, (from, from + span), Cause::Maintenance)
        };
        let outages: Vec<AnnouncedOutage> = closures.iter().map(known).collect();
        let workload = workload(&jobs, &outages, semantics, Overrun::Kill);
        let estimate = if exact { Estimate::Exact } else { Estimate::Requested };
        let run = replay(&workload, depth, ReplaySettings { semantics, estimate });
        prop_assert_eq!(run.lost, []);
    }

    /// What breaks when all is done is of no interest.
    #[test]
    fn outages_after_the_last_end_change_nothing(
        jobs in prop::collection::vec(job(), 1..20), depth in depth(), nodes in 1..=NODES,
    ) {
        let plain = workload(&jobs, &[], Semantics::Textbook, Overrun::Kill);
        let expected = replay(&plain, depth, ReplaySettings::default());
        let last = expected.jobs.iter().map(|ran| ran.end.0).max().unwrap();
        let late = [failure(0, nodes, (last + 1, last + 9))];
        let with = workload(&jobs, &late, Semantics::Textbook, Overrun::Kill);
        prop_assert_eq!(replay(&with, depth, ReplaySettings::default()).jobs, expected.jobs);
    }
}
