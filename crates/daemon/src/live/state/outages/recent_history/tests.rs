use proptest::prelude::*;
use tradewind_model::Cause;

use super::*;

/// All changes: the last word of each moment counts, and only if it is another price.
fn whole(said: &[(Time, Price)]) -> Vec<(Time, Price)> {
    let mut last = BTreeMap::new();
    last.extend(said.iter().copied());
    let mut all: Vec<(Time, Price)> = last.into_iter().collect();
    all.dedup_by_key(|(_, price)| *price);
    all
}

fn at(all: &[(Time, Price)], moment: Time) -> Option<Price> {
    all.iter().rev().find(|(from, _)| *from <= moment).map(|(_, price)| *price)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is kept is the tail of all there was, but where it is said to be thinned.
    #[test]
    fn bounded_prices_are_the_tail_of_all(
        steps in prop::collection::vec((0..4_000_i64, 1..4_i64), 1..3_000),
        slow: bool,
    ) {
        let (mut past, mut said, mut now) = (RecentHistory::default(), Vec::new(), Time(1_000_000));
        for (gap, price) in steps {
            now = now + Span(if slow { gap } else { gap % 3 });
            said.push((now, Price(price)));
            past.priced(now, PoolId(3), Price(price));
        }
        let (all, kept) = (whole(&said), &past.prices[&PoolId(3)]);
        prop_assert!(kept.points.len() <= PriceSince::POINTS);
        let exact = kept.thinned.unwrap_or(Time(0)).max(kept.points[0].0);
        let tail = |points: &mut dyn Iterator<Item = (Time, Price)>| {
            points.filter(|(at, _)| *at > exact).collect::<Vec<_>>()
        };
        prop_assert_eq!(tail(&mut kept.points.iter().copied()), tail(&mut all.iter().copied()));
        prop_assert!(kept.points.iter().all(|point| said.contains(point)));
        let prices: Vec<Price> = kept.points.iter().map(|it| it.1).collect();
        prop_assert!(prices.windows(2).all(|pair| pair[0] != pair[1]), "a step that is none");
        // A week is covered, and wherever nothing was thinned it is as it was.
        let begin = all[0].0.max(now - RecentHistory::SPAN);
        prop_assert!(kept.points[0].0 <= begin);
        for moment in [begin, begin.max(exact), now, now - Span((now - begin).0 / 3)] {
            if moment >= exact {
                prop_assert_eq!(past.price(PoolId(3), moment), at(&all, moment));
            }
        }
        prop_assert_eq!(past.price(PoolId(2), now), None);
        prop_assert_eq!(past.price(PoolId(3), Time(0)), None);
    }

    /// At every moment as many nodes were missing as one counts without forgetting.
    #[test]
    fn missing_nodes_are_counted_once(
        steps in prop::collection::vec((0..3_usize, 1..100_i64, 1..3_u32, any::<bool>()), 1..60),
    ) {
        let whys = ["a", "b", "c"].map(|name| Why::Local(PoolId(0), name.to_owned()));
        // By name: since when it runs, and how many nodes it has now.
        let mut running: BTreeMap<usize, (Time, u32)> = BTreeMap::new();
        let (mut past, mut now) = (RecentHistory::default(), Time(1_000));
        let (mut counted, mut levels) = (Vec::new(), BTreeMap::<usize, u32>::new());
        for (who, gap, nodes, ends) in steps {
            for moment in now.0..(now + Span(gap)).0 {
                counted.push((Time(moment), levels.values().sum::<u32>()));
            }
            now = now + Span(gap);
            if let Some((from, had)) = running.remove(&who) {
                let cause = Cause::Local;
                let what =
                    Outage { pool: PoolId(0), nodes: had, from, until: now + Span(9), cause };
                past.reopened(now, &whys[who], &what);
                levels.remove(&who);
                // The same task, with another end or other nodes: it began when it began.
                if !ends {
                    running.insert(who, (from, nodes));
                    levels.insert(who, nodes);
                }
            } else {
                running.insert(who, (now, nodes));
                levels.insert(who, nodes);
            }
        }
        // What still runs is not over: it counts from where its last piece ended.
        for (who, (from, had)) in running {
            let what = Outage {
                pool: PoolId(0), nodes: had, from, until: now, cause: Cause::Local,
            };
            past.reopened(now, &whys[who], &what);
        }
        for (moment, nodes) in counted {
            let seen = past.outages.iter().filter(|it| it.from <= moment && moment < it.until);
            prop_assert_eq!(seen.map(|it| it.nodes).sum::<u32>(), nodes, "at {}", moment.0);
        }
        let ends: Vec<Time> = past.outages.iter().map(|it| it.until).collect();
        prop_assert!(ends.is_sorted());
    }
}

#[test]
fn old_and_too_many_outages_are_forgotten() {
    let mut past = RecentHistory::default();
    let closure = |from: i64| Outage {
        pool: PoolId(0),
        nodes: 1,
        from: Time(from),
        until: Time(from + 1),
        cause: Cause::Local,
    };
    let max = RecentHistory::OUTAGES as i64;
    for moment in 0..max + 3 {
        let why = Why::Local(PoolId(0), moment.to_string());
        past.reopened(Time(moment + 1), &why, &closure(moment));
    }
    assert_eq!((past.outages.len(), past.forgotten), (RecentHistory::OUTAGES, Some(Time(3))));
    let late = RecentHistory::SPAN.0 + max;
    past.reopened(Time(late + 1), &Why::Down(PoolId(0)), &closure(late));
    assert_eq!(past.outages.len(), 3, "what ended more than a week ago is gone");
}
