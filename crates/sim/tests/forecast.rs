//! Forecasts of starts in replays.
#![expect(clippy::unwrap_used, reason = "a test that cannot replay has failed")]

use std::sync::Arc;

use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings as Policy, Depth};
use tradewind_sched::policy::local::{PlainSettings, QueueOrder};
use tradewind_sched::predict::LastTwo;
use tradewind_sim::forecast::{ForecastOptions, Forecasted, forecast, score};
use tradewind_sim::models::{Lublin, Requests};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Semantics};

/// A busy machine of 64 processors.
fn log(seed: u64, jobs: usize) -> Vec<LogJob> {
    let mut drawn = Lublin::batch(64).draw(seed, jobs);
    Requests::default().apply(seed, &mut drawn);
    let job = |(number, job): (i64, tradewind_sim::models::DrawnJob)| LogJob {
        number,
        // Three times as fast as the model, or few jobs would wait.
        submit: Some(Time(job.submit.0 / 3)),
        run: Some(job.run),
        processors: Some(job.processors),
        requested: Some(job.requested),
        user: i64::from(job.user),
        terms: None,
    };
    (1..).zip(drawn).map(job).collect()
}

fn prepared(log: &[LogJob]) -> Workload {
    prepare(log, Arc::new(Pools::cluster(64)), Semantics::Textbook, Overrun::Kill)
}

fn made(log: &[LogJob]) -> Vec<Forecasted> {
    let scheduler = PlainSettings { depth: Depth::First(1), turn: QueueOrder::Arrival };
    let options = ForecastOptions::new(scheduler, Box::<LastTwo>::default());
    let mut policy = Backfill::new(Policy::default());
    forecast(&prepared(log), ReplaySettings::default(), &mut policy, options, Vec::new()).unwrap().1
}

#[test]
fn every_job_is_scored_and_the_same_call_gives_the_same() {
    let log = log(1, 1_500);
    let forecasts = made(&log);
    assert_eq!(forecasts.len(), log.len());
    assert_eq!(forecasts, made(&log));
    let score = score(&forecasts);
    assert_eq!(score.jobs, 1_500);
    assert!(score.at_once > 0 && score.at_once < 1_400, "{}", score.at_once);
    assert!(score.correlation > 0.3, "{}", score.correlation);
    // Some thirty jobs waited one after the other: ranges are rather too wide.
    for held in &score.levels {
        let off = held.covered() - f64::from(held.level);
        assert!((-5.0..10.0).contains(&off), "{} %: {}", held.level, held.covered());
    }
    assert_eq!(
        score.months.iter().map(|month| month.jobs).sum::<u64>(),
        score.jobs - score.at_once
    );
    // Against the definition: counted one after the other, month by month.
    let first = forecasts[0].at;
    for month in &score.months {
        let (mut apart, mut free) = (0, None);
        for it in forecasts.iter().filter(|it| it.said.is_some()) {
            let number = (it.at - first).0 / (30 * 86_400);
            let is_later = free.is_none_or(|free| it.at >= free);
            if number == (month.from - first).0 / (30 * 86_400) && is_later {
                (apart, free) = (apart + 1, Some(it.at + it.wait));
            }
        }
        assert_eq!(month.apart, apart);
        assert!(apart >= 1 && apart <= month.jobs);
    }
}

#[test]
fn jobs_that_start_at_once_have_no_forecast_and_others_do() {
    for job in made(&log(2, 800)) {
        assert_eq!(job.said.is_none(), job.wait == Span::ZERO, "{job:?}");
    }
}

#[test]
fn what_comes_later_changes_no_earlier_forecast() {
    let whole = log(3, 900);
    let cut = 600;
    let from = whole[cut].submit;
    let said = |log: &[LogJob]| -> Vec<_> {
        let forecasts = made(log);
        let before = |it: &&Forecasted| Some(it.at) < from;
        forecasts.iter().filter(before).map(|it| (it.job, it.said)).collect()
    };
    let expected = said(&whole);
    assert!(expected.iter().filter(|(_, said)| said.is_some()).count() > 100);
    // Without the later jobs.
    let truncated: Vec<_> = said(&whole[..cut]);
    assert_eq!(expected, truncated);
    // With other later jobs, and their widths, users and run times in another order.
    let mut other = whole.clone();
    let shapes: Vec<LogJob> = whole[cut..].iter().rev().cloned().collect();
    for (job, shape) in other[cut..].iter_mut().zip(shapes) {
        *job = LogJob { number: job.number, submit: job.submit, ..shape };
    }
    assert_eq!(expected, said(&other));
}

#[test]
fn run_times_of_jobs_that_have_not_ended_are_not_looked_at() {
    let whole = log(4, 700);
    let cut = 500;
    let from = whole[cut].submit.unwrap();
    let forecasts = made(&whole);
    let ended = |index: usize| {
        let job = forecasts.iter().find(|it| it.job == index).unwrap();
        job.at + job.wait + whole[index].run.unwrap() < from
    };
    let mut other = whole.clone();
    for (index, job) in other.iter_mut().enumerate().filter(|(index, _)| !ended(*index)) {
        let requested = job.requested.unwrap();
        let ran = (from - forecasts[index].at).0 - forecasts[index].wait.0;
        // Still longer than it has run by then.
        job.run = Some(requested.max(Span(ran + 1)));
        job.requested = Some(requested);
    }
    let before = |it: &&Forecasted| it.at < from;
    let said = |all: &[Forecasted]| -> Vec<_> {
        all.iter().filter(before).map(|it| (it.job, it.said)).collect()
    };
    assert_eq!(said(&forecasts), said(&made(&other)));
}
