//! Which jobs of the market give way to owners' jobs that wait for their nodes.

use std::collections::BTreeSet;

use super::SiteRule;
use super::survey::{Survey, put_off};

/// So many jobs are considered, those that started last.
pub const MAX_CANDIDATES: usize = 64;

/// Which of `candidates`, jobs of the market by index of what is taken, those that started last first,
/// have to go so that the site's scheduler starts the owners' jobs now that it would start if all of
/// them went. None if that starts no job which does not start beside them.
///
/// Those that started last go first: of the shortest sequence of last starts that is enough, the job
/// that has run longest is spared first if the others are enough. Exact for the scheduler's next
/// pass, which it asks for at most 72 times. Where a scheduler starts less on more free nodes, more
/// than are needed may be chosen, and always enough.
pub fn giving_way(survey: &Survey, rule: SiteRule, candidates: &[usize]) -> Vec<usize> {
    let candidates = &candidates[..candidates.len().min(MAX_CANDIDATES)];
    let started = |gone: &[usize]| -> BTreeSet<usize> {
        put_off(survey, rule, |taken| gone.contains(&taken)).into_iter().collect()
    };
    let wanted = started(candidates);
    if wanted.is_empty() {
        return Vec::new();
    }
    let is_enough = |gone: &[usize]| started(gone).is_superset(&wanted);
    let (mut few, mut enough) = (1, candidates.len());
    while few < enough {
        let middle = few.midpoint(enough);
        match is_enough(&candidates[..middle]) {
            true => enough = middle,
            false => few = middle + 1,
        }
    }
    let mut gone = candidates[..enough].to_vec();
    for at in (0..gone.len()).rev() {
        let spared = gone.remove(at);
        if !is_enough(&gone) {
            gone.insert(at, spared);
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_model::{PoolId, Share, Span, Time};

    use super::super::{Eligible, OwnersJob};
    use super::*;
    use crate::free::Taken;
    use crate::policy::backfill::Depth;

    const NODES: u32 = 12;

    fn taken(nodes: u32) -> Taken {
        let share = Share { pool: PoolId(0), nodes };
        Taken { share, from: Time(0), until: Time(1_000), memory: 0 }
    }

    fn waiting(nodes: u32) -> OwnersJob {
        OwnersJob {
            pools: vec![PoolId(0)].into(),
            nodes,
            limit: Span(100),
            eligible: Eligible::From(Time(0)),
            after: Vec::new(),
            count: 1,
            reserves: true,
        }
    }

    /// The first `jobs` of a queue in order of arrival that start on so many free nodes.
    fn first_come(jobs: &[u32], mut free: u32) -> usize {
        let starts = |nodes: &&u32| {
            let left = free.checked_sub(**nodes);
            free = left.unwrap_or(free);
            left.is_some()
        };
        jobs.iter().take_while(starts).count()
    }

    fn queue(runs: &[u32], jobs: &[u32]) -> Survey {
        Survey {
            now: Time(10),
            pools: vec![(PoolId(0), NODES)],
            taken: runs.iter().map(|nodes| taken(*nodes)).collect(),
            waiting: jobs.iter().map(|nodes| waiting(*nodes)).collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        /// Against all subsets: of those that are enough, the one whose members started last.
        #[test]
        fn those_that_started_last_go_and_no_more_than_needed(
            widths in prop::collection::vec(1..5_u32, 0..7),
            jobs in prop::collection::vec(1..8_u32, 0..4),
        ) {
            let mut used = 0;
            let fits = |nodes: &u32| {
                used += nodes;
                used <= NODES
            };
            let runs: Vec<u32> = widths.into_iter().take_while(fits).collect();
            let free = |gone: u32| {
                let stays = |(at, nodes): (usize, &u32)| if gone & (1 << at) == 0 { *nodes } else { 0 };
                NODES - runs.iter().enumerate().map(stays).sum::<u32>()
            };
            let all = (1_u32 << runs.len()) - 1;
            let (now, most) = (first_come(&jobs, free(0)), first_come(&jobs, free(all)));
            let enough = (0..=all).filter(|gone| first_come(&jobs, free(*gone)) >= most).min();
            let expected = if most > now { enough.unwrap_or(0) } else { 0 };

            let rule = SiteRule::new(Depth::First(0));
            let candidates: Vec<usize> = (0..runs.len()).collect();
            let gone = giving_way(&queue(&runs, &jobs), rule, &candidates);
            prop_assert_eq!(gone.iter().fold(0_u32, |sum, at| sum | (1 << at)), expected);
        }
    }

    #[test]
    fn none_goes_for_a_job_that_would_not_start() {
        let rule = SiteRule::new(Depth::First(1));
        let survey = queue(&[4, 4, 4], &[6, 2]);
        assert_eq!(giving_way(&survey, rule, &[2, 1]), [2, 1], "6 and 2 need 8");
        assert_eq!(giving_way(&survey, rule, &[2]), [2], "behind a wide job one fits");
        let wide = queue(&[4, 4, 4], &[13]);
        assert!(giving_way(&wide, rule, &[2, 1, 0]).is_empty(), "wider than the pool");
        assert!(giving_way(&survey, rule, &[]).is_empty());
    }
}
