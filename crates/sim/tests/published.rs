//! Published schedules, job by job. Runs only if `TRADEWIND_EASY_REFERENCE` names that of EASY: a log
//! that is input and answer in one (submit, simulated wait, run, processors, request). Those of the
//! same study for other rules are looked for beside it.
#![expect(clippy::disallowed_methods, reason = "the log is named by the environment")]
#![expect(clippy::unwrap_used, reason = "a file that cannot be replayed is a test that fails")]

use std::sync::Arc;

use tradewind_io::swf;
use tradewind_model::Pools;
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Order};
use tradewind_sim::workload::{LogJob, Overrun, prepare};
use tradewind_sim::{Estimate, ReplaySettings, Semantics, check, run};

/// Starts that differ, of how many.
fn differing(
    log: &swf::Log,
    semantics: Semantics,
    estimate: Estimate,
    knobs: BackfillSettings,
) -> (usize, usize) {
    let jobs: Vec<LogJob> = log
        .jobs
        .iter()
        .map(|job| LogJob {
            number: job.number,
            submit: Some(job.submit),
            run: job.run,
            processors: job.held(),
            requested: job.requested_time,
            user: job.user,
            terms: None,
        })
        .collect();
    let processors = log.header.max_procs().unwrap();
    let workload = prepare(&jobs, Arc::new(Pools::cluster(processors)), semantics, Overrun::Kill);
    let mut policy = Backfill::new(knobs);
    let settings = ReplaySettings { semantics, estimate };
    let mut checkers = check::all(policy.promise());
    let run = run(&workload, settings, &mut policy, &mut checkers).unwrap();
    let published = workload.jobs.iter().map(|job| log.jobs[job.source].start());
    let differing = published.zip(&run.jobs).filter(|(start, ran)| *start != Some(ran.start));
    (differing.count(), run.jobs.len())
}

#[test]
fn easy_starts_every_job_when_the_published_schedule_does() {
    let Ok(path) = std::env::var("TRADEWIND_EASY_REFERENCE") else { return };
    let log = swf::load(&path).unwrap();
    let (differ, of) =
        differing(&log, Semantics::Pyss, Estimate::Requested, BackfillSettings::default());
    assert_eq!((differ, of), (0, log.jobs.len()));
    // The other order within a second is really another schedule.
    let (differ, of) =
        differing(&log, Semantics::Textbook, Estimate::Requested, BackfillSettings::default());
    println!("textbook: {differ} of {of} starts differ");
    assert!(differ > 0);
}

#[test]
fn learned_run_times_and_shortest_candidates_give_the_published_schedules() {
    let Ok(path) = std::env::var("TRADEWIND_EASY_REFERENCE") else { return };
    let in_order = BackfillSettings::default();
    let shortest = BackfillSettings { candidates: Some(Order::Shortest), ..in_order };
    for (name, estimate, knobs) in [
        ("easy_clairvoyant", Estimate::Exact, in_order),
        ("easypp_clairvoyant", Estimate::Exact, shortest),
        ("easypp_tsafrir", Estimate::Predicted, shortest),
        ("easypp_sgdlinear", Estimate::PublishedLinear, shortest),
    ] {
        let log = swf::load(&path.replace("easy_res", &format!("{name}_res"))).unwrap();
        let (differ, of) = differing(&log, Semantics::Pyss, estimate, knobs);
        println!("{name}: {differ} of {of} starts differ");
        assert_eq!((differ, of), (0, log.jobs.len()), "{name}");
    }
}
