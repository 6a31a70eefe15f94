//! Two forecasts from one fork, side by side.

use tradewind_model::{JobId, Money, Span};

use super::{Forecast, Outcome, Runs};

/// A job whose outcome differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeChange<'a> {
    /// Id of the job in the market.
    pub job: JobId,
    /// In the one forecast.
    pub before: &'a Outcome,
    /// In the other.
    pub after: &'a Outcome,
}

impl OutcomeChange<'_> {
    fn both(&self) -> Option<(&Runs, &Runs)> {
        Some((self.before.runs()?, self.after.runs()?))
    }

    /// How much later it starts, if it runs in both; negative: sooner.
    pub fn start(&self) -> Option<Span> {
        self.both().map(|(before, after)| after.start - before.start)
    }

    /// How much later it ends, if it runs in both; negative: sooner.
    pub fn end(&self) -> Option<Span> {
        self.both().map(|(before, after)| after.end - before.end)
    }

    /// How much more it costs, if it runs in both; negative: less.
    pub fn cost(&self) -> Option<Money> {
        self.both().map(|(before, after)| after.cost - before.cost)
    }
}

/// What differs between two forecasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison<'a> {
    /// Jobs whose outcomes differ, in the order of submission.
    pub changes: Vec<OutcomeChange<'a>>,
    /// Jobs with the same outcome in both.
    pub same: u32,
    /// Jobs that run in both and end sooner in the second.
    pub sooner: u32,
    /// Jobs that run in both and end later in the second.
    pub later: u32,
    /// Jobs that run in the second only.
    pub gained: u32,
    /// Jobs that run in the first only.
    pub lost: u32,
}

/// Compares two forecasts of one market, job by job; jobs that are in one only (of other
/// [`super::Beliefs::coming`]) are left out. O(n log n). What they add up to is in
/// [`Forecast::totals`] of each.
pub fn compare<'a>(before: &'a Forecast, after: &'a Forecast) -> Comparison<'a> {
    let (changes, same) = (Vec::new(), 0);
    let mut found = Comparison { changes, same, sooner: 0, later: 0, gained: 0, lost: 0 };
    for (job, one) in &before.jobs {
        let Some(other) = after.jobs.get(job) else { continue };
        if one == other {
            found.same += 1;
            continue;
        }
        let change = OutcomeChange { job: *job, before: one, after: other };
        match (one.runs(), other.runs()) {
            (Some(one), Some(other)) if other.end < one.end => found.sooner += 1,
            (Some(one), Some(other)) if other.end > one.end => found.later += 1,
            (None, Some(_)) => found.gained += 1,
            (Some(_), None) => found.lost += 1,
            _ => {}
        }
        found.changes.push(change);
    }
    found
}
