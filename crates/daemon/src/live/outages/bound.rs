//! A bound for how long jobs of the market put off an owner's waiting job ([`owners::Delays`]).
//!
//! What is counted is written down whenever a job begins or ceases to be put off
//! ([`SiteRecord::PutOff`]), so that a restart forgets nothing of it: what a job was at the last
//! survey it was until the next one, also if the daemon was restarted in between.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{OwnersFirst, PoolId, SiteId, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::owners::{self, Expected, SiteRule};

use super::lined::JoinedLine;
use crate::live::record::SiteRecord;
use crate::live::sites::{OwnerJobKey, PutOff};
use crate::live::{ApplyError, Live};
use crate::site::Survey;

/// A pool is closed for so long if it is not known when the owner's job will start.
const CLOSED: Span = Span(3_600);

/// How long owners' jobs were put off at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// For how long in sum it may be, beside the rest of the market's jobs that run by then, and the
    /// time between two surveys. [`OwnersFirst::NO_BOUND`]: no bound.
    pub max_delay: Span,
    /// The longest of a job, so far.
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

    /// Jobs that wait, as far as they are listed.
    fn waits(&self) -> BTreeSet<OwnerJobKey> {
        self.survey.queue.iter().map(|job| (job.name.clone(), job.tasks)).collect()
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
    ) -> Result<(Bound, Vec<Taken>), ApplyError> {
        let (max_delay, now) = (seen.rule.max_delay, seen.ahead.now);
        let is_bound = max_delay < OwnersFirst::NO_BOUND;
        self.count_put_off(seen, is_bound.then(|| seen.put_off()))?;
        if !is_bound {
            return Ok((Bound::default(), load));
        }
        let none = PutOff::default();
        let delays = self.state.put_off_at(seen.site).unwrap_or(&none);
        let waits = seen.waits();
        let reached = delays.reached(now, max_delay).filter(|job| waits.contains(*job));
        let first: BTreeSet<OwnerJobKey> = reached.cloned().collect();
        let bound = Bound { max_delay, longest: delays.longest(now), reached: first.len() };
        let closed = seen.closed(&first);
        let pools = seen.ahead.pools.iter().filter_map(|pool| Some((*pool, *closed.get(&pool.0)?)));
        let load = pools.fold(load, |load, (pool, until)| {
            owners::close(load, pool, seen.ahead.taken.iter().copied(), (now, until))
        });
        Ok((bound, load))
    }

    /// Writes down which jobs are put off from now on; `None`: nothing is counted here.
    fn count_put_off(
        &mut self,
        seen: &SurveyedQueue<'_>,
        put_off: Option<BTreeSet<OwnerJobKey>>,
    ) -> Result<(), ApplyError> {
        let none = PutOff::default();
        let delays = self.state.put_off_at(seen.site).unwrap_or(&none);
        let change = match put_off {
            None => delays.change(|_| false, &BTreeSet::new()),
            Some(put_off) => {
                let waits = seen.waits();
                // What is not listed may still wait where the list is cut.
                let is_cut = seen.survey.queue_beyond > 0;
                delays.change(|job| is_cut || waits.contains(job), &put_off)
            }
        };
        match change.is_empty() {
            true => Ok(()),
            false => self.put(seen.ahead.now, SiteRecord::PutOff { site: seen.site.0, change }),
        }
    }
}
