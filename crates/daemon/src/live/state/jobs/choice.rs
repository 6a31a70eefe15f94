//! What a job could have had when it was given its nodes: written down for people who ask why.

use tradewind_model::{Market, Money, Place, Time};
pub use tradewind_sched::policy::evaluate::{Against, Verdict, WeighedPool};

use super::Job;

/// Pools that could have had all of the job instead, at the moment of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// When.
    pub at: Time,
    /// Which policy decided.
    pub policy: String,
    /// At most [`Choice::KEPT`]: first those that could have had the job, by start and cost.
    pub others: Vec<WeighedPool>,
    /// So many more there were.
    pub left_out: u32,
}

/// How what a job got stands beside what else there was. Only pools count that could have had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merit {
    /// Others that could have had the job.
    pub others: usize,
    /// Of them: could have begun it at once, too.
    pub at_once: usize,
    /// Of these: would have cost less.
    pub at_once_cheaper: usize,
    /// Of those that begin at once: would have been done sooner.
    pub at_once_faster: usize,
    /// Of all: would have cost less.
    pub cheaper: usize,
}

impl Choice {
    /// Other pools that are written down.
    pub const KEPT: usize = 8;

    pub(in crate::live) fn new(
        market: &Market,
        policy: &str,
        weighed: Vec<WeighedPool>,
        place: &Place,
        tasks: u32,
    ) -> Choice {
        // Of a job that lies on several pools, each of them might have had it alone.
        let is_spread = place.shares(tasks).count() > 1;
        let is_own = |it: &WeighedPool| place.shares(tasks).any(|share| share.pool == it.pool);
        let is_other = |it: &WeighedPool| is_spread || !is_own(it);
        let mut others: Vec<WeighedPool> = weighed.into_iter().filter(is_other).collect();
        others.sort_by_key(|it| match it.verdict {
            Verdict::From(start) => (start, it.price.of(tasks, it.length)),
            Verdict::Against(_) => (Time::MAX, Money::ZERO),
        });
        let left_out = u32::try_from(others.len().saturating_sub(Choice::KEPT)).unwrap_or(u32::MAX);
        others.truncate(Choice::KEPT);
        Choice { at: market.now(), policy: policy.to_owned(), others, left_out }
    }

    /// Beside what the job got: its parts.
    pub fn merit(&self, job: &Job) -> Merit {
        let tasks = job.nodes();
        let cost: Money = job.parts().iter().map(|it| it.price.of(it.nodes, it.limit)).sum();
        let length = job.parts().iter().map(|it| it.limit).max().unwrap_or_default();
        let mut merit = Merit::default();
        for other in &self.others {
            let Verdict::From(start) = other.verdict else { continue };
            let is_cheaper = other.price.of(tasks, other.length) < cost;
            let at_once = start <= self.at;
            merit.others += 1;
            merit.cheaper += usize::from(is_cheaper);
            merit.at_once += usize::from(at_once);
            merit.at_once_cheaper += usize::from(at_once && is_cheaper);
            merit.at_once_faster += usize::from(at_once && other.length < length);
        }
        merit
    }
}
