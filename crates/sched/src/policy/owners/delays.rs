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

/// How long one waiting job has been put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobDelay {
    /// In sum, without what has not ended.
    pub sum: Span,
    /// Since when it is put off now; `None`: it is not.
    pub since: Option<Time>,
}

/// How long waiting jobs have been put off, by their names `K`. At most [`MAX_ENTRIES`] jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delays<K> {
    /// Those that wait and were put off at some time.
    pub jobs: BTreeMap<K, JobDelay>,
    /// The longest of a job, as far as it has ended.
    pub longest: Span,
}

/// What a look at the queue changes: which jobs are put off from now on, which no longer, and which
/// do not wait any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayChange<K> {
    /// Put off from now on.
    pub began: Vec<K>,
    /// They wait on, and are not put off.
    pub paused: Vec<K>,
    /// They have started or were withdrawn.
    pub left: Vec<K>,
}

impl<K> DelayChange<K> {
    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.began.is_empty() && self.paused.is_empty() && self.left.is_empty()
    }
}

impl JobDelay {
    /// In sum until `now`.
    fn until(&self, now: Time) -> Span {
        let growing = self.since.map_or(Span::ZERO, |since| (now - since).max(Span::ZERO));
        self.sum + growing
    }
}

impl<K> Default for Delays<K> {
    fn default() -> Delays<K> {
        Delays { jobs: BTreeMap::new(), longest: Span::ZERO }
    }
}

impl<K: Ord + Clone> Delays<K> {
    /// What a look at the queue changes: which jobs still wait, and which of them are put off from
    /// now on. What a job was at the last look it has been since then.
    pub fn change(&self, waits: impl Fn(&K) -> bool, put_off: &BTreeSet<K>) -> DelayChange<K> {
        let known = || self.jobs.iter().filter(|(job, _)| waits(job));
        let paused = known().filter(|(job, it)| it.since.is_some() && !put_off.contains(job));
        let left = self.jobs.keys().filter(|job| !waits(job)).cloned();
        let grows = |job: &&K| self.jobs.get(job).is_some_and(|it| it.since.is_some());
        let room = MAX_ENTRIES.saturating_sub(known().count());
        let waiting = || put_off.iter().filter(|job| waits(job));
        let again = waiting().filter(|job| self.jobs.contains_key(job) && !grows(job));
        let new = waiting().filter(|job| !self.jobs.contains_key(job)).take(room);
        DelayChange {
            began: again.chain(new).cloned().collect(),
            paused: paused.map(|(job, _)| job.clone()).collect(),
            left: left.collect(),
        }
    }

    /// Makes a [change](Delays::change) at `now`.
    pub fn apply(&mut self, now: Time, change: &DelayChange<K>) {
        let left: BTreeSet<&K> = change.left.iter().collect();
        for job in change.paused.iter().chain(&change.left) {
            if let Some(delay) = self.jobs.get_mut(job) {
                *delay = JobDelay { sum: delay.until(now), since: None };
                self.longest = self.longest.max(delay.sum);
            }
        }
        self.jobs.retain(|job, _| !left.contains(job));
        for job in &change.began {
            self.jobs.entry(job.clone()).or_default().since.get_or_insert(now);
        }
    }

    /// Jobs that have been put off for as long as `most` by `now`: no further job of the market
    /// starts in their pools.
    pub fn reached(&self, now: Time, most: Span) -> impl Iterator<Item = &K> {
        self.jobs.iter().filter(move |(_, delay)| delay.until(now) >= most).map(|(job, _)| job)
    }

    /// When the next job after `now` reaches `most`, if nothing else happens.
    pub fn next(&self, now: Time, most: Span) -> Option<Time> {
        let growing = self.jobs.values().filter(|delay| delay.until(now) < most);
        growing.filter_map(|delay| Some(delay.since? + Span(most.0 - delay.sum.0))).min()
    }

    /// Whether no waiting job was ever put off.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The longest that a job has been put off by `now`.
    pub fn longest(&self, now: Time) -> Span {
        self.jobs.values().map(|delay| delay.until(now)).fold(self.longest, Span::max)
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

    /// A look at the queue, in which these of the jobs that wait are put off.
    fn look(
        delays: &mut Delays<&'static str>,
        now: i64,
        waits: &[&'static str],
        put_off: &[&'static str],
    ) -> DelayChange<&'static str> {
        let put_off: BTreeSet<_> = put_off.iter().copied().collect();
        let change = delays.change(|job| waits.contains(job), &put_off);
        delays.apply(Time(now), &change);
        change
    }

    #[test]
    fn what_a_job_is_put_off_is_summed() {
        let mut delays = Delays::default();
        let most = Span(50);
        let reached = |delays: &Delays<&'static str>, now| {
            delays.reached(Time(now), most).copied().collect::<Vec<_>>()
        };
        look(&mut delays, 100, &["a", "b"], &["a", "b"]);
        assert_eq!(
            (reached(&delays, 100), delays.next(Time(100), most)),
            (vec![], Some(Time(150)))
        );
        look(&mut delays, 130, &["a", "b"], &["b"]);
        assert_eq!(
            (delays.longest(Time(130)), delays.next(Time(130), most)),
            (Span(30), Some(Time(150)))
        );
        look(&mut delays, 140, &["a", "b"], &["a"]);
        assert_eq!(delays.next(Time(140), most), Some(Time(160)), "`a` has 30, `b` stays at 40");
        look(&mut delays, 170, &["a", "b"], &[]);
        assert_eq!(reached(&delays, 170), ["a"]);
        look(&mut delays, 180, &["b"], &["b"]);
        assert_eq!((reached(&delays, 180), delays.longest(Time(180))), (vec![], Span(60)));
        // With no time at all, a job is reached as soon as it is put off.
        assert_eq!(delays.reached(Time(180), Span::ZERO).count(), 1);
    }

    #[test]
    fn a_look_that_shows_the_same_changes_nothing() {
        let mut delays = Delays::default();
        assert!(!look(&mut delays, 100, &["a", "b"], &["a"]).is_empty());
        for now in 101..110 {
            assert!(look(&mut delays, now, &["a", "b"], &["a"]).is_empty());
        }
        assert_eq!(delays.longest(Time(110)), Span(10));
        let all = look(&mut delays, 110, &["b"], &["b", "gone"]);
        let of = |job: &'static str| vec![job];
        assert_eq!(all, DelayChange { began: of("b"), paused: vec![], left: of("a") });
    }

    #[test]
    fn jobs_are_bounded() {
        let mut delays = Delays::default();
        let all: BTreeSet<usize> = (0..2 * MAX_ENTRIES).collect();
        delays.apply(Time(0), &delays.change(|_| true, &all));
        assert_eq!(delays.jobs.len(), MAX_ENTRIES);
        // There is room for others once these have left.
        delays.apply(Time(9), &delays.change(|job| *job >= MAX_ENTRIES, &all));
        assert_eq!(
            (delays.jobs.len(), delays.jobs.first_key_value().unwrap().0),
            (MAX_ENTRIES, &MAX_ENTRIES)
        );
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
