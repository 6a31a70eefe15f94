//! A bound for how long jobs of the market put off an owner's waiting job ([`owners::Delays`]).
//!
//! What is counted begins with the daemon's start: nothing of it is written down.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{OwnersFirst, PoolId, SiteId, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::owners::{self, Expected, SiteRule};

use super::lined::JoinedLine;
use crate::live::Live;
use crate::site::Survey;

/// A waiting job by its name and its tasks: when a task of an array has started, the next one is
/// another job.
pub(in crate::live) type OwnerJobKey = (String, u32);

/// A pool is closed for so long if it is not known when the owner's job will start.
const CLOSED: Span = Span(3_600);

/// How long owners' jobs were put off at a site, as far as was noticed since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// For how long in sum it may be, beside the rest of the market's jobs that run by then, and the
    /// time between two surveys. [`OwnersFirst::NO_BOUND`]: no bound.
    pub max_delay: Span,
    /// The longest of a job, since the start of the daemon.
    pub longest: Span,
    /// So many waiting jobs have reached the bound: no job of the market starts before them.
    pub reached: usize,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound { max_delay: OwnersFirst::NO_BOUND, longest: Span::ZERO, reached: 0 }
    }
}

/// What a survey of a site says, and a look ahead at its queue.
pub(super) struct SurveyedQueue<'a> {
    pub(super) site: SiteId,
    pub(super) survey: &'a Survey,
    pub(super) ahead: &'a owners::Survey,
    pub(super) rule: SiteRule,
    pub(super) line: &'a JoinedLine,
    pub(super) expected: &'a [Expected],
    /// The first of `ahead.taken` are not the market's.
    pub(super) of_others: usize,
}

impl SurveyedQueue<'_> {
    /// The survey's job that a job of the look-ahead belongs to.
    fn job(&self, index: usize) -> Option<OwnerJobKey> {
        let place = self.line.first.partition_point(|first| *first <= index).checked_sub(1)?;
        let job = self.survey.queue.get(place)?;
        Some((job.name.clone(), job.tasks))
    }

    /// Jobs that would run now without those of the market.
    fn put_off(&self) -> BTreeSet<OwnerJobKey> {
        let is_market = |index: usize| index >= self.of_others;
        let put_off = owners::put_off(self.ahead, self.rule, is_market);
        put_off.into_iter().filter_map(|index| self.job(index)).collect()
    }

    /// The pools in which no job of the market starts, and until when, if these jobs come first.
    fn closed(&self, first: &BTreeSet<OwnerJobKey>) -> BTreeMap<PoolId, Time> {
        let now = self.ahead.now;
        let mut closed = BTreeMap::new();
        for (job, &index) in self.survey.queue.iter().zip(&self.line.first) {
            if !first.contains(&(job.name.clone(), job.tasks)) {
                continue;
            }
            let start = match self.expected.get(index) {
                Some(Expected::Starts { start, .. }) if *start > now => *start,
                _ => now + CLOSED,
            };
            let pools = self.ahead.waiting.get(index).map(|job| &job.pools);
            for pool in pools.into_iter().flat_map(|pools| pools.iter()) {
                let until = closed.entry(*pool).or_insert(start);
                *until = start.max(*until);
            }
        }
        closed
    }
}

impl Live {
    /// Counts how long jobs are put off; the load to come, with all nodes of the pools in which no
    /// further job of the market may start.
    pub(super) fn keep_bound(
        &mut self,
        seen: &SurveyedQueue<'_>,
        load: Vec<Taken>,
    ) -> (Bound, Vec<Taken>) {
        let max_delay = seen.rule.max_delay;
        let delays = self.delays.entry(seen.site).or_default();
        if max_delay >= OwnersFirst::NO_BOUND {
            return (Bound::default(), load);
        }
        let now = seen.ahead.now;
        let waits: BTreeSet<OwnerJobKey> =
            seen.survey.queue.iter().map(|job| (job.name.clone(), job.tasks)).collect();
        delays.look(now, |job| waits.contains(job), seen.put_off());
        let first: BTreeSet<OwnerJobKey> = delays.reached(max_delay).cloned().collect();
        let bound = Bound { max_delay, longest: delays.longest(), reached: first.len() };
        let closed = seen.closed(&first);
        let pools = seen.ahead.pools.iter().filter_map(|pool| Some((*pool, *closed.get(&pool.0)?)));
        let load = pools.fold(load, |load, (pool, until)| {
            owners::close(load, pool, seen.ahead.taken.iter().copied(), (now, until))
        });
        (bound, load)
    }
}
