//! What a forecast adds up to.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Market, Span, Time};
use tradewind_sched::free::Taken;

use super::Outcome;

/// What a forecast adds up to. "New" jobs are those that waited at the fork or came later.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// New jobs that run.
    pub started: u32,
    /// Jobs that are refused.
    pub refused: u32,
    /// Jobs that wait still, or have not come, where the forecast stops.
    pub open: u32,
    /// Mean wait of new jobs that run, in seconds, from the fork or their submission. `None` if
    /// there are none, here and below.
    pub mean_wait: Option<f64>,
    /// Mean bounded slowdown of new jobs that run: (wait + run) / max(run, 10 s), at least 1. Only
    /// the wait from the fork on counts.
    pub mean_bounded_slowdown: Option<f64>,
    /// From the fork to the end of the last job that runs.
    pub makespan: Span,
    /// By site: micro-credits that its owner earns from the fork on, until the last end.
    pub income: Vec<i128>,
    /// By pool: seconds of its nodes that jobs hold from the fork on, also without success.
    pub busy: Vec<i128>,
    /// By pool: the part of its nodes' time that jobs hold over the makespan.
    pub utilisation: Vec<Option<f64>>,
}

/// Runs shorter than this count as this long in bounded slowdowns.
const BOUND: Span = Span(10);

/// A new job's time in the forecast.
pub(super) struct ForecastStay {
    pub(super) since: Time,
    pub(super) start: Time,
    pub(super) end: Time,
}

impl ForecastStay {
    fn bounded_slowdown(&self) -> f64 {
        let ran = (self.end - self.start).max(BOUND);
        ((self.end - self.since).0 as f64 / ran.0 as f64).max(1.0)
    }
}

/// Linear in the jobs.
pub(super) fn add_up<'a>(
    market: &Market,
    from: Time,
    jobs: &BTreeMap<JobId, Outcome>,
    stays: &[ForecastStay],
    held: impl Iterator<Item = &'a Taken>,
    income: Vec<i128>,
) -> Totals {
    let pools = market.pools().as_slice();
    let mut busy = vec![0i128; pools.len()];
    for Taken { share, from: start, until, .. } in held {
        let span = *until - from.max(*start);
        busy[share.pool.index()] += i128::from(share.nodes) * i128::from(span.0.max(0));
    }
    let ends = jobs.values().filter_map(Outcome::runs).map(|runs| runs.end);
    let makespan = ends.max().map_or(Span::ZERO, |end| end - from);
    let part = |(pool, busy): (&tradewind_model::Pool, &i128)| {
        let all = i128::from(pool.nodes) * i128::from(makespan.0);
        (all > 0).then(|| *busy as f64 / all as f64)
    };
    let count = |wanted: fn(&Outcome) -> bool| jobs.values().filter(|o| wanted(o)).count() as u32;
    let mean = |sum: f64| (!stays.is_empty()).then(|| sum / stays.len() as f64);
    let waited: i128 = stays.iter().map(|stay| i128::from((stay.start - stay.since).0)).sum();
    Totals {
        started: stays.len() as u32,
        refused: count(|outcome| matches!(outcome, Outcome::Refused { .. })),
        open: count(|outcome| matches!(outcome, Outcome::Open { .. })),
        mean_wait: mean(waited as f64),
        mean_bounded_slowdown: mean(stays.iter().map(ForecastStay::bounded_slowdown).sum()),
        makespan,
        income,
        utilisation: pools.iter().zip(&busy).map(part).collect(),
        busy,
    }
}
