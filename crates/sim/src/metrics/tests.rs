//! Each measure on a case made by hand, and what holds for every replay.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Cause, Money, Outage, Place, Pool, PoolId, Pools, Price, Reason, RunCut, Terms, Time,
};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};

use super::*;
use crate::outage::{self, AnnouncedOutage};
use crate::result::{LossCause, Lost, Ran};
use crate::workload::{Job, LogJob, Overrun, Refusal, Rejected, prepare};
use crate::{ReplaySettings, run};

fn credits(n: i64) -> i128 {
    i128::from(Money::credits(n).0)
}

/// Four nodes at one credit.
fn pools() -> Arc<Pools> {
    let cluster = Pools::cluster(4);
    let pool = Pool { price: Price::credits(1), ..cluster.as_slice()[0].clone() };
    Arc::new(Pools::new(cluster.sites().to_vec(), vec![pool]).unwrap())
}

/// A job of a user: submission, run, nodes; its deadline and value.
fn job(user: i64, times: (i64, i64, u32), terms: Option<(i64, i64)>) -> Job {
    let (submit, run, processors) = times;
    let terms = terms.map(|(deadline, value)| Terms {
        deadline: Some(Time(deadline)),
        value: Some(Money::credits(value)),
        ..Terms::NONE
    });
    let (submit, run) = (Time(submit), Span(run));
    let terms = terms.map(Arc::new);
    let (source, number, killed) = (0, 1, false);
    Job { source, number, submit, run, processors, requested: run, user, killed, terms }
}

fn ran(start: i64, end: i64, cost: i64) -> Ran {
    let (start, end, cost) = (Time(start), Time(end), Money::credits(cost));
    Ran { start, end, cost, ..Ran::nothing(Time(0)) }
}

fn closed(nodes: u32, from: i64, until: i64) -> AnnouncedOutage {
    let (pool, from, until, cause) = (PoolId(0), Time(from), Time(until), Cause::Failure(2));
    AnnouncedOutage { announced: from, what: Outage { pool, nodes, from, until, cause } }
}

/// A wide job waits for a long one; a small one overtakes it, loses a node at 22, starts again
/// and is killed; one is refused.
fn case() -> (Workload, Run) {
    let jobs = vec![
        job(1, (0, 100, 2), Some((100, 10))),
        job(2, (10, 20, 4), Some((110, 30))),
        Job { killed: true, ..job(1, (20, 5, 1), None) },
        job(3, (30, 7, 2), Some((500, 5))),
    ];
    let outages = vec![closed(1, 22, 52)];
    let rejected = vec![Rejected { source: 9, why: Refusal::TooWide, job: None }];
    let refused = Some(Box::new(Reason::Outbid));
    let run = Run {
        jobs: vec![
            ran(0, 100, 200),
            ran(100, 120, 80),
            Ran { backfilled: true, ..ran(30, 35, 5) },
            Ran { refused, ..ran(40, 40, 0) },
        ],
        submitted: vec![],
        trades: vec![],
        lost: vec![Lost {
            job: 2,
            start: Time(20),
            end: Time(22),
            place: Place::Pool(PoolId(0)),
            cause: LossCause::Outage,
            before: Span::ZERO,
            cut: RunCut::default(),
        }],
        kept: Default::default(),
        income: vec![credits(285)],
        passes: 0,
        owners: vec![],
        counts: vec![],
    };
    (Workload { outages, rejected, ..Workload::new(pools(), jobs) }, run)
}

fn of(trim: Trim) -> Metrics {
    let (workload, run) = case();
    measure(&workload, &run, MetricOptions { trim, ..MetricOptions::default() })
}

#[track_caller]
fn check(metrics: &Metrics, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        let found = metrics.get(name).expect(name).as_f64();
        assert!((found - value).abs() < 1e-9, "{name}: {found}, not {value}");
    }
}

#[test]
fn waits_and_slowdowns_by_hand() {
    let all = of(Trim::default());
    check(&all, &[("jobs", 3.0), ("makespan_s", 120.0), ("backfill_ratio", 1.0 / 3.0)]);
    check(&all, &[("mean_wait_s", 100.0 / 3.0), ("median_wait_s", 10.0), ("max_wait_s", 90.0)]);
    check(&all, &[("mean_turnaround_s", 75.0), ("p95_turnaround_s", 110.0)]);
    check(&all, &[("mean_slowdown", 9.5 / 3.0), ("median_slowdown", 3.0)]);
    check(&all, &[("mean_bounded_slowdown", 8.0 / 3.0), ("max_bounded_slowdown", 5.5)]);
    let per_processor = [1.0, 110.0 / 80.0, 1.5];
    check(&all, &[("mean_per_processor_slowdown", per_processor.iter().sum::<f64>() / 3.0)]);
    let (workload, run) = case();
    let options = MetricOptions { slowdown_bound: Span(50), ..MetricOptions::default() };
    let bound = measure(&workload, &run, options);
    check(&bound, &[("mean_bounded_slowdown", (1.0 + 2.2 + 1.0) / 3.0)]);
}

#[test]
fn use_queue_and_losses_by_hand() {
    let all = of(Trim::default());
    check(&all, &[("utilisation", 287.0 / 480.0), ("open_utilisation", 287.0 / 450.0)]);
    check(&all, &[("mean_queue_jobs", 108.0 / 120.0), ("max_queue_jobs", 2.0)]);
    check(&all, &[("mean_queue_node_s", 7_380.0 / 120.0), ("max_queue_node_s", 94.0)]);
    check(&all, &[("killed", 1.0), ("killed_work_node_s", 5.0)]);
    check(&all, &[("interruptions", 1.0), ("lost_work_node_s", 2.0), ("refused", 1.0)]);
    assert_eq!(all.refused, BTreeMap::from([("outbid", 1)]));
    assert_eq!(all.rejected, BTreeMap::from([("wider than the machine", 1)]));
}

#[test]
fn money_deadlines_and_fairness_by_hand() {
    let all = of(Trim::default());
    check(&all, &[("total_cost", 285.0), ("mean_cost", 95.0), ("total_income", 285.0)]);
    check(&all, &[("deadline_success", 1.0 / 3.0)]);
    check(&all, &[("value_realised", 10.0), ("value_ratio", 10.0 / 45.0)]);
    let (one, two) = (1.25f64, 5.5f64);
    let jain = (one + two).powi(2) / (2.0 * (one * one + two * two));
    check(&all, &[("fairness", jain), ("worst_user_slowdown", two)]);
    assert_eq!(all.income, [credits(285)]);
}

#[test]
fn a_trimmed_job_still_uses_the_machine() {
    // Submissions from 5 to 25 count, and the time from then to then.
    let middle = of(Trim { warm_up: Span(5), cool_down: Span(5) });
    check(&middle, &[("jobs", 2.0), ("mean_wait_s", 50.0), ("refused", 0.0)]);
    // Two nodes for 20 s, one for 2 s; one closed for 3 s.
    check(&middle, &[("utilisation", 42.0 / 80.0), ("open_utilisation", 42.0 / 77.0)]);
    check(&middle, &[("mean_queue_jobs", (15.0 + 3.0) / 20.0)]);
    // Only the start is cut: up to the last end.
    let late = of(Trim { warm_up: Span(15), ..Trim::default() });
    check(&late, &[("jobs", 1.0), ("max_queue_jobs", 2.0), ("makespan_s", 15.0)]);
    check(&late, &[("utilisation", (170.0 + 80.0 + 7.0) / 420.0)]);
}

#[test]
fn what_cannot_be_measured_has_no_value() {
    let none = of(Trim { warm_up: Span(60), ..Trim::default() });
    check(&none, &[("jobs", 0.0), ("total_cost", 0.0)]);
    for name in ["mean_wait_s", "max_slowdown", "makespan_s", "deadline_success", "fairness"] {
        assert_eq!(none.get(name), None, "{name}");
    }
    assert!(none.entries().iter().any(|entry| entry.name == "fairness"));
}

#[test]
fn the_series_by_hand() {
    let (workload, run) = case();
    let point = |at, used, closed, queued, queued_nodes| SeriesPoint {
        at: Time(at),
        used,
        closed,
        queued,
        queued_nodes,
    };
    let expected = [
        point(0, 2, 0, 0, 0),
        point(10, 2, 0, 1, 4),
        point(20, 3, 0, 1, 4),
        point(22, 2, 1, 2, 5),
        point(30, 3, 1, 2, 6),
        point(35, 2, 1, 2, 6),
        point(40, 2, 1, 1, 4),
        point(52, 2, 0, 1, 4),
        point(100, 4, 0, 0, 0),
        point(120, 0, 0, 0, 0),
    ];
    assert_eq!(series(&workload, &run), expected);
}

/// Submission, run, nodes, request, user.
type Row = (i64, i64, u32, i64, i64);

fn replay(rows: &[Row], outages: &[(u32, i64, i64)], depth: Depth) -> (Workload, Run) {
    let job = |(number, &(submit, run, processors, asked, user)): (i64, &Row)| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(asked)),
        user,
        terms: None,
    };
    let log: Vec<LogJob> = (0..).zip(rows).map(job).collect();
    let mut workload = prepare(&log, pools(), Default::default(), Overrun::Kill);
    let closures = outages.iter().map(|&(nodes, from, span)| closed(nodes, from, from + span));
    workload.outages = outage::in_order(&workload.pools, closures.collect());
    let mut policy = Backfill::new(BackfillSettings { depth, ..BackfillSettings::default() });
    let run = run(&workload, ReplaySettings::default(), &mut policy, &mut []).unwrap();
    (workload, run)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0i64..60, 0i64..25, 1u32..5, 1i64..25, 0i64..3), 1..20)
}

fn outages() -> impl Strategy<Value = Vec<(u32, i64, i64)>> {
    prop::collection::vec((1u32..5, 0i64..60, 1i64..30), 0..5)
}

fn depth() -> impl Strategy<Value = Depth> {
    prop_oneof![Just(Depth::First(0)), Just(Depth::First(1)), Just(Depth::All)]
}

proptest! {
    /// What is summed up job by job equals what is read off the series second by second.
    #[test]
    fn the_queue_obeys_littles_law_and_the_series_agrees(
        rows in rows(), outages in outages(), depth in depth(),
    ) {
        let (workload, run) = replay(&rows, &outages, depth);
        let metrics = measure(&workload, &run, MetricOptions::default());
        let window = Window::of(&workload, &run, Trim::default());
        let points = series(&workload, &run);
        let (mut used, mut closed, mut queued) = (0i128, 0i128, 0i128);
        for pair in points.windows(2) {
            let seconds = i128::from(window.seconds_of(pair[0].at, pair[1].at));
            used += seconds * i128::from(pair[0].used);
            closed += seconds * i128::from(pair[0].closed);
            queued += seconds * i128::from(pair[0].queued);
            prop_assert!(pair[0].used + pair[0].closed <= 4);
        }
        let waits: i64 =
            workload.jobs.iter().zip(&run.jobs).map(|(job, ran)| (ran.start - job.submit).0).sum();
        let in_vain: i64 = run.lost.iter().map(|lost| (lost.end - lost.start).0).sum();
        let queue = QueueMetrics::of(&workload, &run, window);
        prop_assert_eq!(queue.job_seconds, i128::from(waits - in_vain));
        prop_assert_eq!(queued, queue.job_seconds);
        let max = points.iter().map(|point| i128::from(point.queued)).max();
        prop_assert_eq!(Some(queue.most_jobs), max);
        let all = i128::from(window.span().0) * 4;
        prop_assert_eq!(metrics.get("utilisation"), quotient(used, all));
        prop_assert_eq!(metrics.get("open_utilisation"), quotient(used, all - closed));
        prop_assert!(used <= all - closed);
        prop_assert_eq!(metrics.get("total_cost"), metrics.get("total_income"));
    }

    #[test]
    fn everything_else_is_consistent(
        rows in rows(), outages in outages(), depth in depth(), cut in 0i64..40,
    ) {
        let (workload, run) = replay(&rows, &outages, depth);
        let all = measure(&workload, &run, MetricOptions::default());
        let number = |name: &str| all.get(name).map(Value::as_f64);
        for measure in ["wait_s", "bounded_slowdown", "slowdown"] {
            let [median, p95, max] = ["median", "p95", "max"].map(|q| number(&format!("{q}_{measure}")));
            prop_assert!(median <= p95 && p95 <= max);
        }
        prop_assert!(number("fairness").is_none_or(|it| it > 0.0 && it <= 1.0 + 1e-9));
        prop_assert!(number("mean_bounded_slowdown").is_none_or(|it| it >= 1.0));
        prop_assert!(all.entries().iter().all(|it| it.value.is_none_or(|v| v.as_f64().is_finite())));
        // A window that leaves nothing out changes nothing; one that does counts fewer.
        let trim = Trim { warm_up: Span(cut), cool_down: Span(cut) };
        let cut_down = measure(&workload, &run, MetricOptions { trim, ..MetricOptions::default() });
        let jobs = |of: &Metrics| of.get("jobs").map(Value::as_f64);
        prop_assert!(jobs(&cut_down) <= jobs(&all));
        let whole = MetricOptions { trim: Trim::default(), ..MetricOptions::default() };
        prop_assert_eq!(measure(&workload, &run, whole), all);
    }

    #[test]
    fn twice_as_slow_a_clock_changes_no_ratio(rows in rows(), outages in outages()) {
        let (workload, run) = replay(&rows, &outages, Depth::First(1));
        let doubled: Vec<Row> =
            rows.iter().map(|&(s, r, p, q, u)| (2 * s, 2 * r, p, 2 * q, u)).collect();
        let closed: Vec<_> = outages.iter().map(|&(n, f, s)| (n, 2 * f, 2 * s)).collect();
        let (slow_workload, slow_run) = replay(&doubled, &closed, Depth::First(1));
        let bound = |seconds| MetricOptions { slowdown_bound: Span(seconds), ..MetricOptions::default() };
        let one = measure(&workload, &run, bound(10));
        let two = measure(&slow_workload, &slow_run, bound(20));
        // The shortest run bounds the slowdown by width, or 1 s that no clock changes.
        let no_length = run.jobs.iter().any(|ran| ran.start == ran.end);
        for (one, two) in one.entries().iter().zip(two.entries()) {
            if no_length && one.name == "mean_width_slowdown" {
                continue;
            }
            // Amounts of time and money double, and work that waits for long does twice.
            let factor = match one.unit {
                Unit::Ratio | Unit::Count => 1.0,
                Unit::Seconds | Unit::NodeSeconds | Unit::Credits => 2.0,
                Unit::KilowattHours | Unit::Grams => continue,
            };
            let scaled = one.value.map(|value| value.as_f64() * factor);
            let found = two.value.map(Value::as_f64);
            let near = match (scaled, found) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
                (a, b) => a == b,
            };
            prop_assert!(near, "{}: {scaled:?}, {found:?}", one.name);
        }
    }
}
