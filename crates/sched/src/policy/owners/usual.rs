//! How much of their time limits jobs usually use, and when one more job would start if jobs ended
//! as they usually do.
//!
//! A site's scheduler plans by limits, so a look-ahead by limits is later than what comes: most jobs
//! end early. [`Usual`] estimates from ended and running jobs which part of their limits jobs run
//! (the product-limit estimator: E. L. Kaplan and P. Meier, "Nonparametric estimation from
//! incomplete observations", 1958). It counts running jobs as what they are: longer than so far, so
//! that a market that has seen short jobs end first does not take all jobs for short ones.
//!
//! [`Survey::usual_start_of`] lets the site's scheduler run in virtual time, with reservations by
//! limits as before, while jobs end as drawn from the estimate. It is the median of [`WORLDS`] such
//! runs: an expectation, no bound. Heuristic: jobs of a user count as independent.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Span, Time};

use super::ahead::{self, Ends};
use super::survey::{self, Expected, OwnersJob, Survey};
use super::{ExpectedStart, SiteRule};

/// A whole limit, in thousandths.
pub const WHOLE: u32 = 1_000;

/// Look-aheads of which the median is taken.
pub const WORLDS: u32 = 9;

/// If so many jobs have ended, they alone say what is usual, also for [`Usual::cautious`].
const ENOUGH: usize = 20;

/// All jobs, in the unit in which shares of them are counted.
const ALL: u64 = 1_000_000_000;

/// Which part of their limits jobs run, in thousandths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usual {
    /// By part in ascending order: the share of jobs that run longer.
    longer: Vec<(u32, u64)>,
}

impl Usual {
    /// From the parts after which jobs ended, and those that jobs have run that run still. Without
    /// jobs that ended, all run to their limits. O(n log n).
    pub fn of(ended: &[u32], running: &[u32]) -> Usual {
        // Every job runs for some time: a part of nothing would be over before it begins.
        let ended = ended.iter().map(|part| ((*part).clamp(1, WHOLE), false));
        let mut jobs: Vec<(u32, bool)> =
            ended.chain(running.iter().map(|part| (*part, true))).collect();
        jobs.sort_unstable();
        let (mut left, mut longer) = (ALL, Vec::new());
        for (place, (part, still_runs)) in jobs.iter().enumerate() {
            let count = (jobs.len() - place) as u64;
            if !still_runs {
                left = left * (count - 1) / count;
                longer.push((*part, left));
            }
        }
        Usual { longer }
    }

    /// The same for what is left to others, where little is known: instead of jobs that are missing to
    /// `ENOUGH` which ended, as many are supposed that end at any time. So a queue of which nothing
    /// is known yet counts as one whose jobs end early.
    pub fn cautious(ended: &[u32], running: &[u32]) -> Usual {
        let missing = u32::try_from(ENOUGH.saturating_sub(ended.len())).unwrap_or(0);
        let supposed = (1..=missing).map(|it| it * WHOLE / (missing + 1));
        let all: Vec<u32> = ended.iter().copied().chain(supposed).collect();
        Usual::of(&all, running)
    }

    /// Of jobs that have run for the part `so_far`, the part after which `rank` thousandths of them
    /// have ended; above `so_far`, at most the [whole](WHOLE) limit.
    pub fn part(&self, so_far: u32, rank: u32) -> u32 {
        let known = self.longer.iter().rev().find(|(part, _)| *part <= so_far);
        let now = known.map_or(ALL, |(_, left)| *left);
        let then = now * u64::from(WHOLE - rank.min(WHOLE)) / u64::from(WHOLE);
        let reached = |(part, left): &&(u32, u64)| *part > so_far && *left <= then;
        self.longer.iter().find(reached).map_or(WHOLE, |(part, _)| *part)
    }
}

/// Which estimates hold for the jobs of a [`Survey`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Habits {
    /// The estimates.
    pub usual: Vec<Usual>,
    /// By index of what is taken: which estimate, if it is a job; others end as given.
    pub taken: Vec<Option<usize>>,
    /// By index of the waiting jobs: which estimate; others run to their limits.
    pub waiting: Vec<Option<usize>>,
}

impl Habits {
    /// A job has come to the place `rank` of the queue, of which nothing is known.
    pub fn inserted(&mut self, rank: usize) {
        if rank < self.waiting.len() {
            self.waiting.insert(rank, None);
        }
    }

    pub(super) fn of(&self, index: Option<Option<usize>>) -> Option<&Usual> {
        self.usual.get(index??)
    }
}

impl Survey {
    /// When one more job at the place `rank` of the queue, or at its end, is expected to start if
    /// jobs end as they usually do. `None`: no start is foreseen, or `goes_on` said no. Costs
    /// [`WORLDS`] look-aheads.
    pub fn usual_start_of(
        &self,
        job: OwnersJob,
        rank: usize,
        (rule, habits): (SiteRule, &Habits),
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Option<Time> {
        let (with, rank) = self.with(job, rank);
        let mut habits = habits.clone();
        habits.inserted(rank);
        let mut starts = Vec::new();
        for world in 0..WORLDS {
            if !goes_on() {
                return None;
            }
            // A start that is not foreseen is later than all others.
            starts.push(usual_start(&with, rank, rule, &habits, world).unwrap_or(Time::MAX));
        }
        starts.sort_unstable();
        starts.get(starts.len() / 2).copied().filter(|start| *start < Time::MAX)
    }
}

/// The start of the waiting job `rank`, if jobs end as drawn for this world.
fn usual_start(
    survey: &Survey,
    rank: usize,
    rule: SiteRule,
    habits: &Habits,
    world: u32,
) -> Option<Time> {
    let prepared = survey::prepare(survey, rule);
    let running = prepared.taken.iter().filter_map(|(job, index)| {
        let (taken, usual) =
            (survey.taken.get(*index)?, habits.of(habits.taken.get(*index).copied()));
        Some((*job, early_end(taken.from, taken.until, survey.now, usual?, draw(*job, world))))
    });
    let running: BTreeMap<JobId, Time> = running.collect();
    let groups = prepared.groups.clone();
    let index = |job: JobId| groups.partition_point(|group| group.numbers.end <= job.0);
    let end = |it: &ExpectedStart| match habits.of(habits.waiting.get(index(it.job)).copied()) {
        Some(usual) => early_end(it.start, it.end, it.start, usual, draw(it.job, world)),
        None => it.end,
    };
    let ends = Ends { running, of: Some(&end) };
    let ahead = ahead::run(prepared.site, prepared.groups, survey.now, &ends);
    match survey::expected(&prepared.reasons, &groups, &ahead).get(rank)? {
        Expected::Starts { start, .. } => Some(*start),
        Expected::No(_) => None,
    }
}

/// When a job ends that runs since `start` with the limit `until`. After `now`, and not after
/// `until`.
pub(super) fn early_end(start: Time, until: Time, now: Time, usual: &Usual, rank: u32) -> Time {
    let limit = (until - start).0.max(1);
    let so_far = i128::from((now - start).0.clamp(0, limit)) * i128::from(WHOLE);
    let so_far = u32::try_from(so_far / i128::from(limit)).unwrap_or(WHOLE);
    let part = usual.part(so_far, rank);
    let run = i128::from(limit) * i128::from(part) / i128::from(WHOLE);
    let end = start + Span(i64::try_from(run).unwrap_or(limit));
    end.max(now + Span(1)).min(until.max(now + Span(1)))
}

/// A rank in thousandths, evenly spread over the jobs of a world, and over the worlds of a job: by
/// steps of the golden ratio.
pub(super) fn draw(job: JobId, world: u32) -> u32 {
    let place = u64::from(job.0) * 618_034 + u64::from(world) * 1_000_000 / u64::from(WORLDS);
    u32::try_from(place % 1_000_000 / 1_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use tradewind_model::{PoolId, Share};

    use super::super::Eligible;
    use super::*;
    use crate::policy::availability::Taken;
    use crate::policy::backfill::Depth;

    #[test]
    fn a_queue_of_which_little_is_known_counts_as_one_whose_jobs_end_early() {
        let at = |usual: &Usual| [100, 500, 900].map(|rank| usual.part(0, rank));
        assert_eq!(at(&Usual::cautious(&[], &[])), [95, 476, 857], "at any time");
        let some = Usual::cautious(&[WHOLE; 10], &[]);
        assert_eq!(at(&some), [181, 909, WHOLE], "half of them end early");
        for ended in [vec![WHOLE; 20], (1..90).collect()] {
            assert_eq!(Usual::cautious(&ended, &[7]), Usual::of(&ended, &[7]));
        }
    }

    #[test]
    fn running_jobs_count_as_longer_than_so_far() {
        let at = |usual: &Usual, so_far| [1, 500, 999].map(|rank| usual.part(so_far, rank));
        assert_eq!(at(&Usual::default(), 300), [WHOLE; 3], "nothing ended: to the limit");
        let all = Usual::of(&[100, 200, 300, 400], &[]);
        assert_eq!(at(&all, 0), [100, 200, 400]);
        assert_eq!(at(&all, 200), [300, 300, 400], "it has run longer than two of them");
        assert_eq!(at(&all, 400), [WHOLE; 3]);
        // Two ended early, six run: most of all jobs run longer than these two.
        let first = Usual::of(&[50, 60], &[55, 70, 80, 90, 95, 99]);
        assert_eq!(at(&first, 0), [50, WHOLE, WHOLE]);
        assert_eq!(at(&Usual::of(&[0; 9], &[]), 0), [1; 3], "they ended at once");
    }

    fn job(nodes: u32, limit: i64) -> OwnersJob {
        OwnersJob {
            pools: [PoolId(0)].into(),
            nodes,
            limit: Span(limit),
            eligible: Eligible::From(Time(1_000)),
            after: Vec::new(),
            count: 1,
            reserves: true,
        }
    }

    /// Four nodes, in use by a job for another 900 s at most; two jobs of 1,000 s wait.
    fn busy() -> Survey {
        let share = Share { pool: PoolId(0), nodes: 4 };
        Survey {
            now: Time(1_000),
            pools: vec![(PoolId(0), 4)],
            taken: vec![Taken { share, from: Time(900), until: Time(1_900), memory: 0 }],
            waiting: vec![job(4, 1_000), job(4, 1_000)],
        }
    }

    #[test]
    fn a_start_is_expected_when_jobs_usually_end() {
        let rule = SiteRule::new(Depth::All);
        let start = |habits: &Habits| {
            busy().usual_start_of(job(4, 60), usize::MAX, (rule, habits), &mut || true)
        };
        let by_limits = Habits::default();
        assert_eq!(start(&by_limits), Some(Time(1_900 + 2_000)));
        let quarter = Habits {
            usual: vec![Usual::of(&[250; 20], &[])],
            taken: vec![Some(0)],
            waiting: vec![Some(0); 2],
        };
        assert_eq!(start(&quarter), Some(Time(900 + 3 * 250)));
        let one = Habits { waiting: vec![None, Some(0)], ..quarter.clone() };
        assert_eq!(start(&one), Some(Time(900 + 250 + 1_000 + 250)));
        let stopped = busy().usual_start_of(job(4, 60), 0, (rule, &quarter), &mut || false);
        assert_eq!(stopped, None);
    }

    #[test]
    fn reservations_stay_those_of_the_limits() {
        // Three of four nodes are free, but a job of 50 s is only to start where it cannot delay
        // the wide one by its limit; the wide job's turn comes early.
        let rule = SiteRule::new(Depth::All);
        let share = Share { pool: PoolId(0), nodes: 1 };
        let taken = vec![Taken { share, from: Time(900), until: Time(1_040), memory: 0 }];
        let survey = Survey { taken, waiting: vec![job(4, 100)], ..busy() };
        let habits = Habits {
            usual: vec![Usual::of(&[900; 9], &[]), Usual::of(&[100; 9], &[])],
            taken: vec![Some(0)],
            waiting: vec![Some(1)],
        };
        let start = |limit| survey.usual_start_of(job(1, limit), 1, (rule, &habits), &mut || true);
        assert_eq!(start(40), Some(Time(1_000)), "it ends before the wide one's reservation");
        assert_eq!(start(50), Some(Time(1_026 + 10)), "behind the wide one, which ends early");
    }

    #[test]
    fn ends_are_within_limits() {
        let usual = Usual::of(&[0, 500, 1_000], &[]);
        for rank in [0, 400, 800, 999] {
            let end = early_end(Time(0), Time(100), Time(60), &usual, rank);
            assert_eq!(end, Time(100));
            let late = early_end(Time(0), Time(100), Time(100), &usual, rank);
            assert_eq!(late, Time(101), "after now");
        }
        let huge = early_end(Time(0), Time(i64::MAX / 4), Time(0), &usual, 400);
        assert!(huge < Time(i64::MAX / 7));
    }

    /// Numbers from 0 to 999, the same for a seed.
    fn lots(seed: u64) -> impl FnMut() -> u32 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from((state >> 33) % 1_000).unwrap()
        }
    }

    /// When a job behind all others starts if they end at these parts of their limits.
    fn truth(survey: &Survey, last: &OwnersJob, parts: &[u32]) -> Time {
        let (with, rank) = survey.with(last.clone(), usize::MAX);
        let prepared = survey::prepare(&with, SiteRule::new(Depth::All));
        let run = |limit: Span, job: JobId| {
            let part = i64::from(parts[job.0 as usize % parts.len()]);
            Span((limit.0 * part / i64::from(WHOLE)).max(1))
        };
        let of = |it: &ExpectedStart| it.start + run(it.end - it.start, it.job);
        let ends = Ends { running: BTreeMap::new(), of: Some(&of) };
        let (reasons, groups) = (prepared.reasons, prepared.groups.clone());
        let ahead = ahead::run(prepared.site, prepared.groups, with.now, &ends);
        match survey::expected(&reasons, &groups, &ahead)[rank] {
            Expected::Starts { start, .. } => start,
            Expected::No(why) => panic!("{why:?}"),
        }
    }

    /// In queues of drawn jobs most of which end early, like those of real clusters.
    #[test]
    fn what_is_usual_is_nearer_than_what_is_possible() {
        let (mut by_limits, mut by_habit) = (Vec::new(), Vec::new());
        for seed in 0..40 {
            let mut lot = lots(seed);
            // A part is the square of an even number: a third of the limit on average.
            let mut part = || lot().pow(2) / 1_000;
            let learned: Vec<u32> = (0..60).map(|_| part()).collect();
            let parts: Vec<u32> = (0..41).map(|_| part()).collect();
            let mut lot = lots(seed + 1_000);
            let jobs = (0..40).map(|_| job(1 + lot() % 4, 60 + i64::from(lot() % 3) * 60));
            let survey = Survey {
                pools: vec![(PoolId(0), 8)],
                taken: vec![],
                waiting: jobs.collect(),
                ..busy()
            };
            let last = job(2, 60);
            let came = truth(&survey, &last, &parts);
            let habits = Habits {
                usual: vec![Usual::of(&learned, &[])],
                taken: vec![],
                waiting: vec![Some(0); 40],
            };
            let error = |habits: &Habits| {
                let asked = (SiteRule::new(Depth::All), habits);
                let start = survey.usual_start_of(last.clone(), usize::MAX, asked, &mut || true);
                (start.unwrap() - came).0.abs()
            };
            by_limits.push(error(&Habits::default()));
            by_habit.push(error(&habits));
        }
        by_limits.sort_unstable();
        by_habit.sort_unstable();
        let (limits, habit) = (by_limits[20], by_habit[20]);
        assert!(habit * 3 < limits, "median errors: {habit} s, by limits {limits} s");
    }
}
