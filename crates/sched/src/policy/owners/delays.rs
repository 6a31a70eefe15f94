//! How long jobs of the market have put off owners' jobs, and a bound for it.
//!
//! A job of the market *puts off* an owner's job while the site's scheduler would start the owner's
//! job now if no job of the market ran there. Where running jobs end when expected this does not
//! happen, since the market takes only what the look-ahead leaves. Jobs that end early, and jobs that
//! are submitted later, make it happen; under EASY, where an early end changes which jobs are
//! backfilled, to the same job again and again.
//!
//! The bound: once an owner's job has been put off for [`SiteRule::max_delay`](super::SiteRule::max_delay) in
//! sum, no further job of the market starts in its pools until it has started. Those that run end by
//! their limits. So jobs of the market put off an owner's job by no more than `max_delay` and the
//! longest of their time limits, whatever the rule of the site's scheduler. Two exceptions: windows
//! that the market has promised before are kept; and where the queue is seen in surveys, the time
//! between two of them is added.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{PoolId, Span, Time};

use super::MAX_ENTRIES;
use crate::policy::availability::Taken;

/// Of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Delay {
    so_far: Span,
    /// Whether it has been put off since the last look.
    grows: bool,
}

/// How long waiting jobs have been put off, by their names `K`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delays<K> {
    seen: Option<Time>,
    jobs: BTreeMap<K, Delay>,
    longest: Span,
}

impl<K> Default for Delays<K> {
    fn default() -> Delays<K> {
        Delays { seen: None, jobs: BTreeMap::new(), longest: Span::ZERO }
    }
}

impl<K: Ord> Delays<K> {
    /// A look at the queue: which jobs still wait, and which of them are put off from now on. Those
    /// that were at the last look have been since then. At most [`MAX_ENTRIES`] are kept.
    pub fn look(&mut self, now: Time, waits: impl Fn(&K) -> bool, put_off: BTreeSet<K>) {
        let since = self.seen.map_or(Span::ZERO, |seen| (now - seen).max(Span::ZERO));
        self.seen = Some(now);
        for (job, delay) in &mut self.jobs {
            if delay.grows {
                delay.so_far += since;
                self.longest = self.longest.max(delay.so_far);
            }
            delay.grows = put_off.contains(job);
        }
        self.jobs.retain(|job, _| waits(job));
        for job in put_off {
            if self.jobs.len() < MAX_ENTRIES || self.jobs.contains_key(&job) {
                self.jobs.entry(job).or_insert(Delay { so_far: Span::ZERO, grows: true });
            }
        }
    }

    /// Jobs that have been put off for as long as `most`: no further job of the market starts in
    /// their pools.
    pub fn reached(&self, most: Span) -> impl Iterator<Item = &K> {
        self.jobs.iter().filter(move |(_, delay)| delay.so_far >= most).map(|(job, _)| job)
    }

    /// When the next job reaches `most`, if nothing else happens.
    pub fn next(&self, most: Span) -> Option<Time> {
        let growing = self.jobs.values().filter(|delay| delay.grows && delay.so_far < most);
        let longest = growing.map(|delay| delay.so_far).max()?;
        Some(self.seen? + Span(most.0 - longest.0))
    }

    /// Whether no waiting job was ever put off.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The longest that a job has been put off so far.
    pub fn longest(&self) -> Span {
        self.longest
    }
}

/// The load to come of which, in a pool with so many nodes, no node is left to the market before
/// `until`, beside what is `busy` now. Steps of other pools, and what begins later, stay.
pub fn close(
    load: Vec<Taken>,
    (pool, nodes): (PoolId, u32),
    busy: impl Iterator<Item = Taken>,
    (now, until): (Time, Time),
) -> Vec<Taken> {
    if until <= now {
        return load;
    }
    let busy: Vec<Taken> =
        busy.filter(|it| it.share.pool == pool && it.from <= now && it.until > now).collect();
    let ends = busy.iter().map(|it| it.until).filter(|at| *at < until);
    let moments: BTreeSet<Time> = ends.chain([now]).collect();
    let ends = moments.iter().copied().skip(1).chain([until]);
    let room = |at: Time| {
        let taken = busy.iter().filter(|it| it.until > at).map(|it| u64::from(it.share.nodes));
        u64::from(nodes).saturating_sub(taken.sum())
    };
    let whole = moments.iter().zip(ends).filter_map(|(from, to)| {
        let nodes = u32::try_from(room(*from)).unwrap_or(u32::MAX);
        (nodes > 0).then(|| Taken::new(pool, nodes, *from, to))
    });
    let (here, mut all): (Vec<Taken>, Vec<Taken>) =
        load.into_iter().partition(|it| it.share.pool == pool);
    let later = here.into_iter().filter(|it| it.until > until);
    let later = later.map(|it| Taken { from: it.from.max(until), ..it });
    all.extend(super::load::bounded(whole.chain(later).collect()));
    all.sort_by_key(|it| (it.share.pool, it.from));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_is_put_off_is_summed() {
        let mut delays = Delays::default();
        let most = Span(50);
        delays.look(Time(100), |_| true, ["a", "b"].into());
        assert_eq!((delays.reached(most).count(), delays.next(most)), (0, Some(Time(150))));
        delays.look(Time(130), |_| true, ["b"].into());
        assert_eq!((delays.longest(), delays.next(most)), (Span(30), Some(Time(150))));
        delays.look(Time(140), |_| true, ["a"].into());
        assert_eq!(delays.next(most), Some(Time(160)), "`a` has 30, `b` stays at 40");
        delays.look(Time(170), |_| true, BTreeSet::new());
        assert_eq!(delays.reached(most).copied().collect::<Vec<_>>(), ["a"]);
        delays.look(Time(180), |job| *job == "b", ["b"].into());
        assert_eq!((delays.reached(most).count(), delays.longest()), (0, Span(60)));
        // With no time at all, a job is reached as soon as it is put off.
        assert_eq!(delays.reached(Span::ZERO).count(), 1);
    }

    #[test]
    fn a_closed_pool_has_no_free_node() {
        let taken = |pool: u32, nodes, from, until| {
            Taken::new(PoolId(pool), nodes, Time(from), Time(until))
        };
        let busy = [taken(0, 3, -9, 40), taken(0, 2, -9, 90), taken(1, 4, -9, 90)];
        let load = vec![taken(0, 1, 5, 20), taken(0, 4, 60, 80), taken(1, 2, 90, 100)];
        let closed = close(load.clone(), (PoolId(0), 8), busy.into_iter(), (Time(0), Time(70)));
        let expected =
            [taken(0, 3, 0, 40), taken(0, 6, 40, 70), taken(0, 4, 70, 80), taken(1, 2, 90, 100)];
        assert_eq!(closed, expected);
        let open = close(load.clone(), (PoolId(0), 8), busy.into_iter(), (Time(0), Time(0)));
        assert_eq!(open, load);
    }
}
