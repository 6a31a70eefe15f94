//! Cyclic schemes in a market.

use proptest::prelude::*;
use tradewind_model::{Demand, Limit, Money, Objective, Span, VoPolicy};
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles, Replan, Stretch};
use tradewind_sched::policy::cyclic::{Cyclic, Offers, SearchBy, SliceBy, SubBatches};
use tradewind_sched::window::{Algorithm, Variant};
use tradewind_sim::workload::Overrun;
use tradewind_sim::{Estimate, ReplaySettings};

use crate::worlds::*;

fn any_search() -> impl Strategy<Value = SearchBy> {
    let all = |algorithm| Just(SearchBy::All(algorithm));
    prop_oneof![
        4 => Just(SearchBy::Job),
        1 => all(Algorithm::Alp),
        1 => all(Algorithm::Amp),
        1 => Just(SearchBy::Csa),
    ]
}

fn any_vo() -> impl Strategy<Value = VoPolicy> {
    use Objective::{MaxIncome, MinCost, MinIdle, MinTime};
    let objective = prop::sample::select(vec![MaxIncome, MinCost, MinIdle, MinTime]);
    let time =
        prop_oneof![5 => Just(Limit::Auto), 1 => (5i64..80).prop_map(|it| Limit::At(Span(it)))];
    let budget = prop_oneof![5 => Just(Limit::Auto), 1 => (5i64..80).prop_map(|it| Limit::At(Money::credits(it)))];
    (objective, time, budget).prop_map(|(objective, time_limit, budget_limit)| VoPolicy {
        objective,
        time_limit,
        budget_limit,
        ..VoPolicy::default()
    })
}

fn any_cyclic() -> impl Strategy<Value = Cyclic> {
    let sub_batches = prop_oneof![(1u32..4).prop_map(SubBatches::Count), Just(SubBatches::Auto)];
    let slice_by = prop::sample::select(vec![
        SliceBy::Priority,
        SliceBy::Cost,
        SliceBy::Performance,
        SliceBy::Criterion,
    ]);
    let variant = prop_oneof![3 => Just(Variant::Exact), 1 => Just(Variant::Paper)];
    let offers = prop_oneof![3 => Just(Offers::Disjoint), 1 => Just(Offers::Overlapping)];
    (offers, sub_batches, slice_by, any_search(), variant, 1u32..5).prop_map(
        |(offers, sub_batches, slice_by, search, variant, max)| Cyclic {
            offers,
            choice_limit: 2_000,
            sub_batches,
            slice_by,
            search,
            variant,
            max_alternatives: Some(max),
            ..Cyclic::default()
        },
    )
}

pub(crate) fn any_knobs() -> impl Strategy<Value = CycleSettings> {
    let stretch = prop::sample::select(Stretch::ALL.map(|it| it.0).to_vec());
    let replan = prop::sample::select(Replan::ALL.map(|it| it.0).to_vec());
    let horizon = prop::option::of((1i64..60).prop_map(Span));
    (any_cyclic(), any_vo(), 1i64..30, horizon, stretch, replan, 1u32..8).prop_map(
        |(cyclic, vo, period, horizon, stretch, replan, batch)| {
            let period = Span(period);
            CycleSettings {
                cyclic,
                vo,
                period,
                horizon,
                stretch,
                replan,
                batch,
                ..CycleSettings::css()
            }
        },
    )
}

/// Whether every budget and deadline that a job states is kept in any case.
fn keeps_limits(search: &SearchBy) -> bool {
    matches!(search, SearchBy::Job)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn checkers_agree_whatever_happens(
        pools in any_grid(), log in prop_oneof![any_log(), licensed_log()],
        outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        replay(&workload, settings, &mut Cycles::new(knobs));
    }

    #[test]
    fn with_exact_estimates_no_job_is_over_budget_or_late(
        pools in any_grid(), log in prop_oneof![any_log(), licensed_log()], knobs in any_knobs(),
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        let settings = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
        let within = keeps_limits(&knobs.cyclic.search);
        let run = replay(&workload, settings, &mut Cycles::new(knobs));
        for (job, ran) in workload.jobs.iter().zip(&run.jobs) {
            let Some(terms) = job.terms.as_ref().filter(|_| ran.refused.is_none()) else { continue };
            let demand = Demand { terms: job.terms.clone(), ..Demand::new(job.processors, job.run.max(Span(1))) };
            prop_assert!(terms.deadline.is_none_or(|deadline| ran.end <= deadline));
            prop_assert!(terms.earliest_start.is_none_or(|earliest| ran.start >= earliest));
            prop_assert!(!within || terms.budget.is_none_or(|budget| ran.cost <= budget));
            for share in ran.place.shares(job.processors) {
                let pool = workload.pools.pool(share.pool);
                prop_assert!(!within || pool.suits(&demand));
            }
        }
    }
}
