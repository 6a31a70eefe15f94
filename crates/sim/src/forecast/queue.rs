//! The queue at the moment of a submission, and what a look-ahead makes of it.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Market, PoolId, Span, Time};
use tradewind_sched::policy::availability::{expected_length, expected_span};
use tradewind_sched::policy::local::{ExpectedJob, LookAhead, Moments, PlainSettings, SiteJob};

/// What is known of a job that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// How long it is expected to run, when it was submitted.
    pub(super) predicted: Span,
    /// How long its user says it runs.
    pub(super) requested: Span,
}

/// Which lengths a look-ahead takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lengths {
    /// Those that were learned: the scheduler decides by its own.
    Predicted,
    /// Users' requests, for the scheduler, too.
    Requested,
}

/// How far a look-ahead goes, and the scheduler in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) scheduler: PlainSettings,
    pub(super) moments: Moments,
    /// Waiting jobs that are looked at; later ones count as work.
    pub(super) waiting: usize,
}

/// Expected starts of waiting jobs, in their order.
pub(super) fn starts(
    market: &Market,
    known: &BTreeMap<JobId, Known>,
    (lengths, reach): (Lengths, Reach),
    jobs: &[JobId],
) -> Vec<Time> {
    let now = market.now();
    let mut ahead = LookAhead::new(market.processors(), reach.scheduler, now);
    for run in market.running() {
        let elapsed = now - run.start;
        let job = expected(market, known, (run.job, elapsed), lengths);
        job.into_iter().for_each(|job| ahead.runs(job, run.start));
    }
    let last = jobs.last().copied();
    let waiting = market.queue().take_while(|job| last.is_none_or(|last| *job <= last));
    for (place, job) in waiting.enumerate() {
        let Some(job) = expected(market, known, (job, Span::ZERO), lengths) else { continue };
        match place < reach.waiting {
            true => ahead.waits(job),
            false => ahead.counts(job),
        }
    }
    ahead.starts(jobs, reach.moments)
}

/// A job that has run for `elapsed`, or waits.
fn expected(
    market: &Market,
    known: &BTreeMap<JobId, Known>,
    (job, elapsed): (JobId, Span),
    lengths: Lengths,
) -> Option<ExpectedJob> {
    let demand = market.demand(job)?;
    let Known { predicted, requested } = *known.get(&job)?;
    let pool = market.pools().pool(PoolId(0));
    let longest = expected_span(requested, elapsed);
    let (told, length) = match lengths {
        Lengths::Requested => (longest, longest),
        Lengths::Predicted => {
            (expected_length(pool, demand, elapsed), expected_span(predicted, elapsed).min(longest))
        }
    };
    let processors = demand.processors;
    let wanted = SiteJob { job, processors, length: told, submitted: market.now() };
    Some(ExpectedJob { wanted, length })
}
