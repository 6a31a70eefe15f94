//! A log that is streamed gives what it gives as a whole.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{JobId, Pools, Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth, Order};
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cyclic, Cycles};
use tradewind_sim::metrics::{MetricOptions, Tally, measure};
use tradewind_sim::stream::{StreamError, Streamed, stream};
use tradewind_sim::workload::{Job, LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, Ran, ReplaySettings, Semantics, run};

const PROCESSORS: u32 = 8;

fn policies() -> Vec<(&'static str, Box<dyn Policy>)> {
    let knobs = |depth, order| BackfillSettings { depth, order, candidates: None };
    let fill = |depth, order| -> Box<dyn Policy> { Box::new(Backfill::new(knobs(depth, order))) };
    vec![
        ("fcfs", fill(Depth::First(0), Order::Arrival)),
        ("easy", fill(Depth::First(1), Order::Arrival)),
        ("shortest", fill(Depth::First(1), Order::Shortest)),
        ("fair", fill(Depth::First(1), Order::FairShare(Span(60)))),
        ("conservative", fill(Depth::All, Order::Arrival)),
        ("css", Box::new(Cycles::new(Cyclic::css()))),
    ]
}

/// Gap, run, processors, request beyond the run, user.
type Drawn = (i64, i64, u32, i64, i64);

fn workload(drawn: &[Drawn]) -> Workload {
    let mut at = 0;
    let job = |(number, &(gap, run, processors, beyond, user)): (usize, &Drawn)| {
        at += gap;
        LogJob {
            // Some have lower numbers than those ahead of them.
            number: (number ^ 3) as i64,
            submit: Some(Time(at)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span((run + beyond).max(1))),
            user,
            terms: None,
        }
    };
    let log: Vec<LogJob> = drawn.iter().enumerate().map(job).collect();
    prepare(&log, Arc::new(Pools::cluster(PROCESSORS)), Semantics::Textbook, Overrun::Kill)
}

type Outcome = Result<Streamed, StreamError<Infallible>>;

/// Jobs as they end.
fn streamed(
    workload: &Workload,
    jobs: &[Job],
    estimate: Estimate,
    policy: &mut dyn Policy,
) -> (Outcome, Vec<(JobId, Job, Ran)>) {
    let mut all = Vec::new();
    let mut source = jobs.iter().cloned().map(Ok);
    let pools = Arc::clone(&workload.pools);
    let mut done = |id, job, ran| all.push((id, job, ran));
    let result = stream(pools, &mut source, estimate, policy, &mut done);
    (result, all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn it_is_the_same_replay(
        drawn in prop::collection::vec(
            (0i64..6, 0i64..20, 1u32..=PROCESSORS, 0i64..15, 0i64..3), 1..600,
        ),
        learned in any::<bool>(),
    ) {
        let workload = workload(&drawn);
        let estimate = if learned { Estimate::Learned } else { Estimate::Requested };
        // Cycles of a long queue take long.
        let few = |name: &str| name != "css" || drawn.len() < 100;
        for (name, mut policy) in policies().into_iter().filter(|it| few(it.0)) {
            let settings = ReplaySettings { semantics: Semantics::Textbook, estimate };
            let whole = run(&workload, settings, policy.as_mut(), &mut []).unwrap();
            let (_, mut policy) = policies().into_iter().find(|it| it.0 == name).unwrap();
            let (result, mut jobs) = streamed(&workload, &workload.jobs, estimate, policy.as_mut());
            let result = result.unwrap();
            prop_assert_eq!(result.jobs as usize, workload.jobs.len());
            prop_assert_eq!((result.passes, &result.income), (whole.passes, &whole.income));
            prop_assert!(jobs.windows(2).all(|pair| pair[0].2.end <= pair[1].2.end));
            let mut tally = Tally::default();
            jobs.iter().for_each(|(id, job, ran)| tally.add(*id, job, ran));
            let measured = tally.measure(&workload.pools, &result, BTreeMap::new());
            prop_assert_eq!(measured, measure(&workload, &whole, MetricOptions::default()), "{}", name);
            jobs.sort_by_key(|(id, ..)| *id);
            let expected = workload.jobs.iter().cloned().zip(whole.jobs.iter().cloned());
            let expected = expected.enumerate().map(|(at, (job, ran))| (JobId(at as u32), job, ran));
            prop_assert_eq!(jobs, expected.collect::<Vec<_>>(), "{}", name);
        }
    }
}

#[test]
fn wrong_jobs_end_it_after_those_before_them() {
    let workload = workload(&[(0, 5, 1, 0, 0), (7, 5, 2, 0, 0), (3, 5, 1, 0, 0)]);
    let mut jobs = workload.jobs.clone();
    jobs[2].submit = Time(1);
    let mut easy = Backfill::new(BackfillSettings::default());
    let (result, ended) = streamed(&workload, &jobs, Estimate::Requested, &mut easy);
    assert_eq!(ended.len(), 2);
    let number = jobs[2].number;
    assert_eq!(result, Err(StreamError::Order { number, submit: Time(1), ahead: Time(7) }));
    jobs[1].processors = 9;
    let mut easy = Backfill::new(BackfillSettings::default());
    let (result, ended) = streamed(&workload, &jobs, Estimate::Requested, &mut easy);
    assert_eq!(ended.len(), 1);
    let number = jobs[1].number;
    assert_eq!(result, Err(StreamError::TooWide { number, wanted: 9, there: 8 }));
}

#[test]
fn what_is_kept_are_the_jobs_that_are_there() {
    let drawn: Vec<Drawn> = (0..5_000).map(|at| (3, 2 + at % 5, 1, 0, 0)).collect();
    let workload = workload(&drawn);
    let mut easy = Backfill::new(BackfillSettings::default());
    let (result, _) = streamed(&workload, &workload.jobs, Estimate::Requested, &mut easy);
    assert!(result.unwrap().most_at_once <= 4);
}
