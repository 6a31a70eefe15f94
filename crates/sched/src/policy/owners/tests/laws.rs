//! Properties that drawn queues have.

use super::*;

/// Nodes, limit, eligible from, a job that has to end first, pools, whether it reserves.
type Drawn = (u32, i64, Option<i64>, Option<usize>, u8, bool);

fn drawn(pools: u8) -> impl Strategy<Value = Vec<Drawn>> {
    let eligible = prop_oneof![4 => Just(Some(0)), 2 => (0i64..30).prop_map(Some), 1 => Just(None)];
    let after = prop_oneof![5 => Just(None), 1 => (0usize..8).prop_map(Some)];
    prop::collection::vec(
        (1u32..6, 1i64..12, eligible, after, 1u8..(1 << pools), any::<bool>()),
        0..9,
    )
}

fn surveyed(pools: &[u32], drawn: Vec<Drawn>, held: &[(u32, u32, i64, i64)]) -> Survey {
    let pools: Vec<(PoolId, u32)> = (0u32..).map(PoolId).zip(pools.iter().copied()).collect();
    let one = |(nodes, limit, from, after, of, reserves): Drawn| OwnersJob {
        pools: pools.iter().map(|it| it.0).filter(|pool| of >> pool.0 & 1 == 1).collect(),
        nodes,
        limit: Span(limit),
        eligible: from.map_or(Eligible::Held, |from| Eligible::From(Time(from))),
        after: after.into_iter().collect(),
        count: 1,
        reserves,
    };
    let held = held.iter().filter(|it| (it.0 as usize) < pools.len());
    let mut free: Vec<Profile> =
        pools.iter().map(|(_, nodes)| Profile::new(*nodes, Time(-99))).collect();
    let mut all = Vec::new();
    for &(pool, nodes, from, span) in held {
        let there = &mut free[pool as usize];
        let from = if from <= 3 { from - 5 } else { from };
        let nodes = nodes.min(u32::try_from(there.min(Time(from), Span(span))).unwrap_or(0));
        if nodes > 0 {
            there.take(nodes, Time(from), Time(from + span));
            all.push(taken(pool, nodes, from, from + span));
        }
    }
    let waiting = drawn.into_iter().map(one).collect();
    Survey { now: Time(0), pools, taken: all, waiting }
}

fn holds() -> impl Strategy<Value = Vec<(u32, u32, i64, i64)>> {
    prop::collection::vec((0u32..3, 1u32..4, 0i64..25, 1i64..25), 0..5)
}

fn starts(forecast: &QueueForecast) -> Vec<Option<(i64, PoolId)>> {
    let start = |expected: &Expected| match expected {
        Expected::Starts { start, pool, entries, last } => {
            assert_eq!((1, start), (*entries, last));
            Some((start.0, *pool))
        }
        Expected::No(_) => None,
    };
    forecast.jobs.iter().map(start).collect()
}

fn depth() -> impl Strategy<Value = Depth> {
    prop_oneof![(0u32..4).prop_map(Depth::First), Just(Depth::All)]
}

fn turn() -> impl Strategy<Value = QueueOrder> {
    prop_oneof![Just(QueueOrder::Arrival), Just(QueueOrder::Shortest)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn one_pool_starts_what_a_walk_through_the_seconds_starts(
        drawn in drawn(1), holds in holds(), depth in depth(), turn in turn(), nodes in 2u32..7,
        horizon in prop_oneof![Just(200i64), 0i64..60],
    ) {
        let survey = surveyed(&[nodes], drawn, &holds);
        let rule = SiteRule { turn, horizon: Span(horizon), ..SiteRule::new(depth) };
        prop_assert_eq!(starts(&forecast(&survey, rule)), naive::starts(&survey, rule));
    }

    #[test]
    fn several_pools_start_what_a_walk_through_the_seconds_starts(
        drawn in drawn(3), holds in holds(), depth in 0u32..4, turn in turn(), tested in 1u32..9,
    ) {
        let survey = surveyed(&[4, 3, 5], drawn, &holds);
        let horizon = Span(200);
        let rule = SiteRule { turn, tested, horizon, ..SiteRule::new(Depth::First(depth)) };
        prop_assert_eq!(starts(&forecast(&survey, rule)), naive::starts(&survey, rule));
    }

    #[test]
    fn the_load_is_that_of_the_starts(
        drawn in drawn(3), holds in holds(), depth in depth(),
    ) {
        let survey = surveyed(&[4, 3, 5], drawn, &holds);
        let forecast = forecast(&survey, SiteRule::new(depth));
        let starts = starts(&forecast);
        for time in 0..200i64 {
            for &(pool, nodes) in &survey.pools {
                let of = |all: &[Taken]| -> u32 {
                    let there = all.iter().filter(|it| it.share.pool == pool);
                    let now = there.filter(|it| it.from.0 <= time && time < it.until.0);
                    now.map(|it| it.share.nodes).sum()
                };
                let runs = survey.waiting.iter().zip(&starts).filter(|(job, start)| {
                    start.is_some_and(|(start, at)| {
                        at == pool && start <= time && time < start + job.limit.0
                    })
                });
                let load: u32 = runs.map(|(job, _)| job.nodes).sum();
                prop_assert_eq!(of(&forecast.load), load);
                prop_assert!(load + of(&survey.taken) <= nodes);
            }
        }
    }

    #[test]
    fn jobs_that_take_what_is_left_over_delay_no_owner(
        mut drawn in drawn(3), holds in holds(), depth in depth(), turn in turn(),
        tested in 1u32..9,
        market in prop::collection::vec((0u32..3, 1u32..5, 1i64..30, 0i64..40), 1..8),
    ) {
        // One pool for each job: see the text of the module.
        drawn.iter_mut().for_each(|job| job.4 &= job.4.wrapping_neg());
        let mut survey = surveyed(&[4, 3, 5], drawn, &holds);
        let rule = SiteRule { turn, tested, ..SiteRule::new(depth) };
        let before = forecast(&survey, rule);
        let mut free: Vec<Profile> =
            survey.pools.iter().map(|(_, nodes)| Profile::new(*nodes, Time(0))).collect();
        for it in survey.taken.iter().chain(&before.load) {
            free[it.share.pool.index()].take(it.share.nodes, it.from, it.until);
        }
        for (pool, nodes, span, from) in market {
            let there = &mut free[pool as usize];
            if let Some(start) = there.earliest(nodes, Span(span), Time(from)) {
                there.take(nodes, start, start + Span(span));
                survey.taken.push(taken(pool, nodes, start.0, start.0 + span));
            }
        }
        prop_assert_eq!(forecast(&survey, rule).jobs, before.jobs);
    }
}
