//! Prices that change with time, against all subsets of all nodes at all times.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Rates, Reason, Series, Window};

use super::brute::{Key, all_limits, all_windows, best_key, found_key, key, same_best};
use super::*;

/// A price from 0 on, at a few further moments, and perhaps every so often.
fn any_rate() -> impl Strategy<Value = Series> {
    let steps = prop::collection::btree_map(1_i64..45, 0_i64..6, 0..5);
    (steps, 0_i64..6, prop::option::weighted(0.4, 1_i64..12)).prop_map(|(steps, first, period)| {
        let before = |at: &i64| period.is_none_or(|period| *at < period);
        let later = steps.into_iter().filter(|(at, _)| before(at));
        let values: Vec<(Time, i64)> =
            std::iter::once((0, first)).chain(later).map(|(at, it)| (Time(at), it)).collect();
        let series = Series::new(&values).unwrap();
        period.map_or(series.clone(), |period| series.repeated(Span(period)).unwrap())
    })
}

/// Worlds in which most nodes have prices that change.
pub(super) fn priced_world() -> impl Strategy<Value = World> {
    let rates = prop::collection::vec(prop::option::weighted(0.7, any_rate()), 6);
    (any_world(), rates).prop_map(|(world, rates)| {
        let rates = rates.into_iter().map(|it| it.map(Arc::new)).collect();
        World { grid: world.grid.with_rates(Rates::new(rates)), ..world }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_criterion_finds_the_best_of_all_windows(
        world in priced_world(),
        criterion in any_criterion(),
    ) {
        let wanted = best_key(&world, &criterion, all_limits(&world.request));
        let got = found_key(&world, &best(&criterion), &criterion);
        same_best(&world.request, &criterion, got, wanted)?;
    }

    #[test]
    fn alp_and_amp_find_the_earliest_under_their_own_limit(world in priced_world()) {
        let request = &world.request;
        let budget = request.budget.or_else(|| derived_budget(request, tradewind_model::Rho::ONE));
        for (algorithm, limits) in [
            (Algorithm::Alp, (None, request.max_price)),
            (Algorithm::Amp, (budget, None)),
        ] {
            let wanted = best_key(&world, &Criterion::Start, limits);
            prop_assert_eq!(found_key(&world, &Search::new(algorithm), &Criterion::Start), wanted);
        }
    }

    #[test]
    fn csa_is_the_best_of_repeated_amp(world in priced_world(), criterion in any_criterion()) {
        let mut left = world.clone();
        left.request.max_price = None;
        left.request.budget = world.request.budget
            .or_else(|| derived_budget(&world.request, tradewind_model::Rho::ONE));
        let mut wanted: Option<Key> = None;
        loop {
            let all = all_windows(&left, &criterion, all_limits(&left.request));
            let amp = |it: &Window| key(&Criterion::Start, it, &left.grid);
            let Some(first) = all.into_iter().min_by_key(amp) else { break };
            left.slots.subtract_window(&first).unwrap();
            let this = key(&criterion, &first, &left.grid);
            let stage = |it: &Key| (it.0, it.1, it.2, it.3);
            if wanted.as_ref().is_none_or(|best| stage(&this) < stage(best)) {
                wanted = Some(this);
            }
        }
        let search = Search::new(Algorithm::Csa(criterion.clone()));
        prop_assert_eq!(found_key(&world, &search, &criterion), wanted);
    }

    #[test]
    fn the_reason_counts_prices_at_all_times(world in priced_world()) {
        let World { grid, slots, request } = &world;
        let searcher = Searcher::new(grid, request, &best(&Criterion::Cost));
        let mut scratch = Scratch::default();
        if searcher.find(slots, Time(0), &mut scratch).is_none() {
            let width = |tasks: u32| {
                let mut world = world.clone();
                world.request.tasks = tasks;
                all_windows(&world, &Criterion::Cost, (None, request.max_price))
            };
            match searcher.reason(slots, &mut scratch) {
                Reason::WiderThanGrid { .. } | Reason::TooFewNodes { .. } => {}
                Reason::NoCommonTime { needed, max, .. } => {
                    prop_assert!(max < needed);
                    prop_assert!(max == 0 || !width(max).is_empty());
                    prop_assert!(width(max + 1).is_empty());
                }
                Reason::BudgetShort { cheapest, .. } => {
                    let least = width(request.tasks).iter().map(Window::cost).min();
                    prop_assert_eq!(Some(cheapest), least);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    /// Series that never change are the same as one price.
    #[test]
    fn constant_series_change_nothing(world in any_world(), criterion in any_criterion()) {
        let one = |node: &Node| Some(Arc::new(Series::new(&[(Time(0), node.price.0)]).unwrap()));
        let rates = Rates::new(world.grid.nodes().iter().map(one).collect());
        let priced = World { grid: world.grid.clone().with_rates(rates), ..world.clone() };
        let plain = found_key(&world, &best(&criterion), &criterion);
        let got = found_key(&priced, &best(&criterion), &criterion);
        same_best(&world.request, &criterion, got, plain)?;
    }
}

#[test]
fn a_job_waits_until_what_it_can_afford_is_cheap_enough() {
    // 5 a second until 100, then 1: ten seconds cost 50 at 90 and earlier, 10 from 100 on, and
    // 30 from 95 on, which is no start of a slot and no step of the price.
    let rate = Series::new(&[(Time(0), 5), (Time(100), 1)]).unwrap();
    let grid = grid(&[(1_000, 5)]).with_rates(Rates::new(vec![Some(Arc::new(rate))]));
    let mut request = Request::new(1, Span(10));
    request.budget = Some(Money(30));
    let found = find(&grid, &slots(&[(0, 0, 200)]), &request, &best(&Criterion::Start)).unwrap();
    assert_eq!((found.window.start(), found.window.cost()), (Time(95), Money(30)));
    let cheap = find(&grid, &slots(&[(0, 0, 200)]), &request, &best(&Criterion::Cost)).unwrap();
    assert_eq!((cheap.window.start(), cheap.window.cost()), (Time(100), Money(10)));
}
