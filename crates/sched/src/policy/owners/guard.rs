//! How many nodes are left to the owners' waiting jobs: the load to come, as other jobs have to
//! respect it.
//!
//! The look-ahead by limits is exact where jobs run to their limits. They seldom do: when a job ends
//! early, the site's scheduler would give its nodes, and free ones beside them, to the next waiting
//! job; if jobs of the market have got the free ones, that job waits longer. [`Guard::Early`] looks
//! ahead some more times, each time with ends as jobs usually have them ([`Usual`](super::Usual); where
//! little is known, [at any time](super::Usual::cautious)), and leaves what a waiting job has in any of
//! these. [`Guard::Spare`] leaves some nodes more, for a job that may be submitted: no job of the
//! market has them that is not over within some minutes.
//! Heuristic; what is left is never less than by limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use tradewind_model::{Guard, JobId, PoolId, Span, Time};

use super::ahead::{self, Ends, EqualJobs};
use super::usual::{Usual, draw, early_end};
use super::{ExpectedStart, MAX_ENTRIES, SiteQueue, load};
use crate::policy::availability::Taken;

/// Look-aheads with usual ends, at most.
const WORLDS: u32 = 9;
/// These look-aheads look at so many entries of the queue together, if there is more than one of them.
const ENTRIES: usize = MAX_ENTRIES;

/// How many look-aheads there are with so many entries.
fn worlds(entries: usize) -> u32 {
    u32::try_from(ENTRIES / entries.max(1)).unwrap_or(WORLDS).clamp(1, WORLDS)
}

/// Jobs of the market that are over so soon may use spare nodes, and at most twice as late, seconds:
/// a job that is submitted meanwhile waits no longer for them. It is the 24th part of the usual time
/// limit of the owners' jobs, within these bounds: what is soon where jobs take hours is long where
/// they take minutes. On a site of few nodes all may be spare, and short jobs would never run.
const SOON: RangeInclusive<i64> = 120..=300;
const PART: i64 = 24;
/// Spare nodes are left for so many times as long at least: an hour, where limits are two hours or
/// more; and at most twice as long.
const LASTS: i64 = 12;

/// What is spared in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spare {
    nodes: u32,
    soon: i64,
    /// When the last of the owners' jobs is expected to end.
    last: Time,
}

impl Spare {
    /// For one more of these jobs, by nodes, time limit and expected end ([`Time::MAX`] if it is not
    /// known): the middle one of the widths, and of the limits.
    pub(super) fn of(jobs: impl Iterator<Item = (u32, Span, Time)>) -> Spare {
        let mut last = Time(0);
        let (mut widths, mut limits): (Vec<u32>, Vec<i64>) = jobs
            .map(|(nodes, limit, end)| {
                last = last.max(end);
                (nodes, limit.0)
            })
            .unzip();
        widths.sort_unstable();
        limits.sort_unstable();
        let limit = limits.get(limits.len() / 2).copied().unwrap_or(0);
        let soon = (limit / PART).clamp(*SOON.start(), *SOON.end());
        Spare { nodes: widths.get(widths.len() / 2).copied().unwrap_or(0), soon, last }
    }

    /// From when until when nodes are spared. Both are on a grid, so that what is announced does not
    /// change all the time. As soon as no job of the owners runs or waits, nothing is spared any more: a
    /// job of the market that is to start then need not wait longer.
    fn spared(self, now: Time) -> (Time, Time) {
        let next = |every: i64| Time((now.0.div_euclid(every) + 2) * every);
        let from = next(self.soon);
        (from, next(LASTS * self.soon).min(self.last).max(from + Span(1)))
    }

    /// When the spared nodes are others, though nothing happens. `None` if nothing is spared.
    pub(super) fn renewal(self, now: Time) -> Option<Time> {
        (self.nodes > 0).then(|| Time((now.0.div_euclid(self.soon) + 1) * self.soon))
    }
}

/// A site before a look-ahead, and what is known of its jobs.
pub(super) struct Guarded<'a> {
    pub(super) guard: Guard,
    pub(super) now: Time,
    pub(super) site: &'a SiteQueue,
    pub(super) groups: &'a [EqualJobs],
    /// How long a job usually runs, if that is known.
    pub(super) usual: &'a dyn Fn(JobId) -> Option<&'a Usual>,
    /// Whether the load of a waiting job counts.
    pub(super) counts: &'a dyn Fn(JobId) -> bool,
    /// By pool: what is to be spared.
    pub(super) spare: &'a BTreeMap<PoolId, Spare>,
}

/// Changes of a number of nodes by time.
type Changes = BTreeMap<Time, i64>;

fn add(all: &mut BTreeMap<PoolId, Changes>, pool: PoolId, nodes: i64, from: Time, until: Time) {
    if from < until {
        let changes = all.entry(pool).or_default();
        *changes.entry(from).or_default() += nodes;
        *changes.entry(until).or_default() -= nodes;
    }
}

/// Nodes at a moment.
fn level(changes: Option<&Changes>, at: Time) -> i64 {
    changes.map_or(0, |changes| changes.range(..=at).map(|(_, by)| by).sum())
}

impl Guarded<'_> {
    /// The load to come: `by_limits`, and what the guard adds, in as few steps as
    /// [`future_load`](super::future_load) gives.
    pub(super) fn load(&self, by_limits: Vec<Taken>) -> Vec<Taken> {
        if self.guard == Guard::Limits {
            return by_limits;
        }
        let mut first = BTreeMap::new();
        for it in &by_limits {
            add(&mut first, it.share.pool, it.share.nodes.into(), it.from, it.until);
        }
        let mut worlds = vec![first];
        let joining = self.groups.last().map_or(0, |group| group.numbers.end as usize);
        let count = self::worlds(self.site.waiting() + joining);
        worlds.extend((0..count).map(|world| self.world(world)));
        let mut busy = BTreeMap::new();
        for (_, pool, nodes, _, until) in self.site.runs(self.now) {
            add(&mut busy, pool, nodes.into(), self.now, until);
        }
        let pools = self.site.widths();
        let steps = pools.iter().map(|(pool, nodes)| {
            let worlds: Vec<&Changes> = worlds.iter().filter_map(|it| it.get(pool)).collect();
            load::bounded(self.steps(*pool, *nodes, &worlds, busy.get(pool)))
        });
        steps.flatten().collect()
    }

    /// What waiting jobs have beyond what is taken by limits, if jobs end as drawn for this world.
    fn world(&self, world: u32) -> BTreeMap<PoolId, Changes> {
        let mut all = BTreeMap::new();
        let mut running = BTreeMap::new();
        for (job, pool, nodes, start, until) in self.site.runs(self.now) {
            let Some(usual) = (self.usual)(job) else { continue };
            let end = early_end(start, until, self.now, usual, draw(job, world));
            add(&mut all, pool, -i64::from(nodes), end, until);
            running.insert(job, end);
        }
        let end = |it: &ExpectedStart| match (self.usual)(it.job) {
            Some(usual) => early_end(it.start, it.end, it.start, usual, draw(it.job, world)),
            None => it.end,
        };
        let ends = Ends { running, of: Some(&end) };
        let ahead = ahead::run(self.site.clone(), self.groups.to_vec(), self.now, &ends);
        for it in ahead.starts.iter().filter(|it| (self.counts)(it.job)) {
            add(&mut all, it.pool, it.nodes.into(), it.start, end(it));
        }
        all
    }

    /// The highest load of all worlds in one pool, and the spare nodes.
    fn steps(
        &self,
        pool: PoolId,
        nodes: u32,
        worlds: &[&Changes],
        busy: Option<&Changes>,
    ) -> Vec<Taken> {
        let spare = self.spare.get(&pool).filter(|_| self.guard == Guard::Spare);
        let (from, until) = spare.map_or((self.now, self.now), |spare| spare.spared(self.now));
        let spare = spare.map_or(0, |spare| spare.nodes);
        let mut moments: BTreeSet<Time> = worlds.iter().flat_map(|it| it.keys().copied()).collect();
        moments.insert(self.now);
        if spare > 0 {
            moments.extend([from, until]);
            moments.extend(busy.iter().flat_map(|it| it.keys().copied()));
        }
        let mut sums = vec![0; worlds.len()];
        let mut steps: Vec<Taken> = Vec::new();
        let mut before = 0;
        for at in moments {
            for (sum, world) in sums.iter_mut().zip(worlds) {
                *sum += world.get(&at).copied().unwrap_or(0);
            }
            if at < self.now {
                continue;
            }
            let highest = sums.iter().copied().max().unwrap_or(0).max(0);
            let room = (i64::from(nodes) - level(busy, at)).max(highest);
            let more = if from <= at && at < until { i64::from(spare) } else { 0 };
            let wanted = (highest + more).min(room);
            if wanted == before {
                continue;
            }
            if let Some(last) = steps.last_mut().filter(|_| before > 0) {
                last.until = at;
            }
            if wanted > 0 {
                steps.push(Taken::new(pool, u32::try_from(wanted).unwrap_or(u32::MAX), at, at));
            }
            before = wanted;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_queues_have_fewer_look_aheads() {
        assert_eq!([0, 1, 1_111, 1_112, 9_000, MAX_ENTRIES].map(worlds), [9, 9, 9, 8, 1, 1]);
    }

    #[test]
    fn nodes_are_spared_from_some_minutes_on_for_an_hour_or_two() {
        let day = Spare::of([(3, Span(86_400), Time::MAX)].into_iter());
        assert_eq!(day, Spare { nodes: 3, soon: 300, last: Time::MAX });
        let (soon, whole) = (300, 3_600);
        for now in [0, 1, 299, 300, 3_599, 3_600, 86_400 * 365, -1, -7_201] {
            let now = Time(now);
            let (from, until) = day.spared(now);
            assert!((soon + 1..=2 * soon).contains(&(from - now).0), "{now}: {from}");
            assert!((whole + 1..=2 * whole).contains(&(until - now).0), "{now}: {until}");
            let next = day.renewal(now).unwrap();
            let later = |at| day.spared(at);
            assert!(later(next) != (from, until) && later(Time(next.0 - 1)) == (from, until));
        }
    }

    #[test]
    fn nodes_are_spared_no_longer_than_the_owners_jobs_are_there() {
        let spared = |ends: &[i64]| {
            let jobs = ends.iter().map(|end| (3, Span(86_400), Time(*end)));
            Spare::of(jobs).spared(Time(0))
        };
        assert_eq!(spared(&[700, 1_000]), (Time(600), Time(1_000)));
        assert_eq!(spared(&[50_000, 10]), (Time(600), Time(7_200)));
        // A job of the market that starts now and is not over soon gets none of them all the same.
        assert_eq!(spared(&[500]), (Time(600), Time(601)));
    }

    #[test]
    fn what_is_soon_depends_on_how_long_jobs_are() {
        let soon =
            |limits: &[i64]| Spare::of(limits.iter().map(|limit| (1, Span(*limit), Time(0)))).soon;
        assert_eq!([soon(&[]), soon(&[60]), soon(&[60, 3_600, 9_000])], [120, 120, 150]);
        assert_eq!([soon(&[7_200]), soon(&[i64::MAX])], [300, 300]);
    }
}
