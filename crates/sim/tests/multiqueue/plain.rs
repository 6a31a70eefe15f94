//! Sites with one queue against the backfilling of whole markets.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Cause, Outage, PoolId, Pools, Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::autonomous::{AutonomousSites, HomeRule, NoTransport};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth, Order};
use tradewind_sched::policy::local::{LocalScheduler, Plain, PlainSettings, QueueOrder};
use tradewind_sched::policy::multiqueue::MultiQueue;
use tradewind_sim::outage::{AnnouncedOutage, in_order};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Semantics, check, run};

use super::drive::PROCESSORS;
use super::mechanism::any_settings;

fn log() -> impl Strategy<Value = Vec<LogJob>> {
    let job = (0i64..60, 0i64..25, 1u32..=PROCESSORS, 1i64..25);
    prop::collection::vec(job, 1..30).prop_map(|jobs| {
        let job = |(number, (submit, run, processors, asked))| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(asked)),
            user: 1,
            terms: None,
        };
        (0..).zip(jobs).map(job).collect()
    })
}

fn outages() -> impl Strategy<Value = Vec<AnnouncedOutage>> {
    let one = (0i64..60, 0i64..20, 1i64..20, 1u32..3, any::<bool>());
    let outage = one.prop_map(|(announced, notice, length, nodes, fails)| {
        let from = Time(announced + notice);
        let cause = if fails { Cause::Failure(0) } else { Cause::Maintenance };
        let what = Outage { pool: PoolId(0), nodes, from, until: from + Span(length), cause };
        AnnouncedOutage { announced: Time(announced), what }
    });
    prop::collection::vec(outage, 0..3)
}

fn starts(workload: &Workload, semantics: Semantics, policy: &mut dyn Policy) -> Vec<i64> {
    let mut checkers = check::all(policy.promise());
    let settings = ReplaySettings { semantics, ..ReplaySettings::default() };
    let run = run(workload, settings, policy, &mut checkers).unwrap();
    run.jobs.iter().map(|ran| ran.start.0).collect()
}

fn workload(log: &[LogJob], outages: Vec<AnnouncedOutage>, overrun: Overrun) -> Workload {
    let pools = Arc::new(Pools::cluster(PROCESSORS));
    let workload = prepare(log, pools, Semantics::Textbook, overrun);
    Workload { outages: in_order(&workload.pools, outages), ..workload }
}

fn isolated(
    workload: &Workload,
    build: impl Fn(u32) -> Box<dyn LocalScheduler>,
) -> AutonomousSites<NoTransport> {
    let build = |pool: &tradewind_model::Pool| build(pool.nodes);
    AutonomousSites::isolated(&workload.pools, HomeRule::FirstSuitable, build)
}

fn depth() -> impl Strategy<Value = Depth> {
    let some = [0, 1, 1, 2].map(Depth::First);
    prop::sample::select(some.into_iter().chain([Depth::All; 2]).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn one_queue_starts_jobs_when_backfilling_does(
        log in log(), outages in outages(), depth in depth(), shortest in any::<bool>(),
        (late, pyss) in any::<(bool, bool)>(),
    ) {
        let overrun = if late { Overrun::Extend } else { Overrun::Kill };
        // With all jobs reserved `Backfill` lets jobs move in passes in which nothing happened,
        // too: pyss makes such passes, and so do the ends of jobs that were interrupted. A site
        // alone is not asked then.
        let all = depth == Depth::All;
        let (pyss, outages) = (pyss && !all, if all { Vec::new() } else { outages });
        let semantics = if pyss { Semantics::Pyss } else { Semantics::Textbook };
        let workload = workload(&log, outages, overrun);
        let (order, turn) = match shortest {
            true => (Order::Shortest, QueueOrder::Shortest),
            false => (Order::Arrival, QueueOrder::Arrival),
        };
        let build = |processors| -> Box<dyn LocalScheduler> {
            Box::new(Plain::new(processors, PlainSettings { depth, turn }))
        };
        let mut backfill = Backfill::new(BackfillSettings { depth, order, ..BackfillSettings::default() });
        prop_assert_eq!(
            starts(&workload, semantics, &mut isolated(&workload, build)),
            starts(&workload, semantics, &mut backfill)
        );
    }

    #[test]
    fn checkers_agree_with_the_mechanism(
        log in log(), outages in outages(), settings in any_settings(), late in any::<bool>(),
    ) {
        let overrun = if late { Overrun::Extend } else { Overrun::Kill };
        let workload = workload(&log, outages, overrun);
        let build = |processors| -> Box<dyn LocalScheduler> {
            Box::new(MultiQueue::new(processors, settings))
        };
        starts(&workload, Semantics::Textbook, &mut isolated(&workload, build));
    }
}
