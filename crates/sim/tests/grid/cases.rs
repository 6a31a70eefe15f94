//! Cases made by hand, and what must not depend on how a grid is written down.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Criterion, Limit, Money, Objective, Place, Pool, PoolId, Pools, Price, Reason, Site, Span,
    Terms, Time, VoPolicy,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::bsf::{Bsf, BsfSettings, By, First};
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles, Replan, Stretch};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings, Spread};
use tradewind_sim::workload::{LogJob, Overrun};
use tradewind_sim::{ReplaySettings, Run};

use crate::worlds::*;
use crate::{bsf, cycles, fill};

/// Submission, run, processors, request, terms.
type Job = (i64, i64, u32, i64, Terms);

fn log(jobs: &[Job]) -> Vec<LogJob> {
    let of = |(number, (submit, run, processors, requested, terms)): (i64, &Job)| LogJob {
        number,
        submit: Some(Time(*submit)),
        run: Some(Span(*run)),
        processors: Some(*processors),
        requested: Some(Span(*requested)),
        user: 0,
        terms: Some(Arc::new(terms.clone())),
    };
    (0..).zip(jobs).map(of).collect()
}

fn play(pools: &Arc<Pools>, jobs: &[Job], policy: &mut dyn Policy) -> Run {
    replay(&workload(pools, &log(jobs), Overrun::Extend), ReplaySettings::default(), policy)
}

const PLAIN: Terms = Terms::NONE;

fn css() -> CycleSettings {
    CycleSettings { period: Span(10), horizon: Some(Span(40)), ..CycleSettings::css() }
}

#[test]
fn jobs_wait_for_the_next_boundary() {
    let pools = Arc::new(Pools::cluster(4));
    let jobs = [(3, 5, 2, 5, PLAIN), (4, 5, 1, 5, PLAIN), (60, 5, 1, 5, PLAIN)];
    assert_eq!(
        starts(&play(&pools, &jobs, &mut Cycles::new(css()))),
        [Some(3), Some(13), Some(63)]
    );
}

#[test]
fn an_early_end_is_for_the_next_cycle_or_moves_what_is_booked() {
    let pools = Arc::new(Pools::cluster(4));
    let jobs = [(0, 4, 4, 25, PLAIN), (0, 5, 4, 5, PLAIN), (6, 5, 4, 5, PLAIN)];
    let next = play(&pools, &jobs, &mut Cycles::new(css()));
    assert_eq!(starts(&next), [Some(0), Some(25), Some(10)]);
    let knobs = CycleSettings { replan: Replan::OnRelease, ..css() };
    let at_once = play(&pools, &jobs, &mut Cycles::new(knobs));
    assert_eq!(starts(&at_once), [Some(0), Some(4), Some(10)]);
}

#[test]
fn what_a_longer_run_stands_in_the_way_of_is_planned_again() {
    let pools = Arc::new(Pools::cluster(4));
    let jobs = [(0, 15, 4, 10, PLAIN), (0, 5, 4, 5, PLAIN)];
    assert_eq!(starts(&play(&pools, &jobs, &mut Cycles::new(css()))), [Some(0), Some(20)]);
}

#[test]
fn a_horizon_that_does_not_stretch_refuses_what_is_longer() {
    let pools = grid(vec![pool(0, 1, 1_000, 0), pool(0, 2, 2_000, 0)]);
    let jobs = [(0, 60, 2, 60, PLAIN), (0, 60, 3, 60, PLAIN), (0, 90, 1, 90, PLAIN)];
    let knobs = CycleSettings { stretch: Stretch::Fixed, ..css() };
    let run = play(&pools, &jobs, &mut Cycles::new(knobs));
    assert_eq!(starts(&run), [Some(0), None, None]);
    let reason = run.jobs[1].refused.as_deref();
    assert_eq!(reason, Some(&Reason::NoCommonTime { needed: 3, max: 2, deadline: None }));
    let own = play(&pools, &jobs, &mut Cycles::new(css()));
    assert!(own.jobs.iter().all(|ran| ran.refused.is_none()));
}

#[test]
fn a_job_that_can_never_run_is_refused_with_a_reason() {
    let pools = grid(vec![pool(0, 2, 1_000, 1), pool(1, 2, 2_000, 3)]);
    let jobs = [
        (0, 10, 3, 10, PLAIN),
        (0, 10, 2, 10, Terms { budget: Some(Money::credits(19)), ..PLAIN }),
        (0, 10, 2, 10, Terms { deadline: Some(Time(4)), ..PLAIN }),
        (0, 10, 2, 10, Terms { max_price: Some(Price::credits(0)), ..PLAIN }),
        // On the fast nodes until 10.
        (0, 20, 2, 20, Terms { budget: Some(Money::credits(60)), ..PLAIN }),
        (1, 10, 4, 10, Terms { deadline: Some(Time(15)), ..PLAIN }),
    ];
    let knobs = GridFillSettings { spread: Spread::Site, ..GridFillSettings::default() };
    let run = play(&pools, &jobs, &mut GridFill::new(knobs));
    let why = |job: usize| run.jobs[job].refused.as_deref().map(Reason::code);
    assert_eq!(
        [why(0), why(1), why(2), why(3)].map(Option::unwrap),
        ["too-few-nodes", "budget-short", "too-late", "too-few-nodes",]
    );
    assert_eq!((why(4), why(5)), (None, Some("too-few-nodes")));
    let run = play(&pools, &jobs[4..], &mut GridFill::new(GridFillSettings::default()));
    let reason = run.jobs[1].refused.as_deref();
    assert!(matches!(reason, Some(Reason::TooLate { deadline: Time(15), .. })), "{reason:?}");
}

#[test]
fn cheap_nodes_first_and_both_sites_if_they_must() {
    let pools = grid(vec![pool(0, 2, 1_000, 3), pool(1, 2, 2_000, 4)]);
    let jobs = [(0, 10, 1, 10, PLAIN), (0, 10, 3, 10, PLAIN)];
    let run = play(&pools, &jobs, &mut GridFill::new(GridFillSettings::default()));
    assert_eq!(run.jobs[0].place, Place::Pool(PoolId(1)));
    assert_eq!(run.jobs[1].place.shares(3).count(), 2);
    assert_eq!((run.jobs[0].cost, run.jobs[1].cost), (Money::credits(20), Money::credits(80)));
}

#[test]
fn the_most_expensive_are_planned_and_the_rest_fills_what_they_leave() {
    let pools = Arc::new(Pools::cluster(4));
    let rich = Terms { budget: Some(Money::credits(9)), ..PLAIN };
    let poor = Terms { budget: Some(Money::credits(1)), ..PLAIN };
    let jobs = [(0, 20, 3, 20, poor.clone()), (0, 10, 3, 10, rich), (0, 10, 1, 10, poor)];
    let knobs = BsfSettings {
        cycles: css(),
        first: First::Count(1),
        by: By::Cost,
        ..BsfSettings::default()
    };
    let run = play(&pools, &jobs, &mut Bsf::new(knobs.clone()));
    assert_eq!(starts(&run), [Some(10), Some(0), Some(0)]);
    let run = play(&pools, &jobs, &mut Bsf::new(BsfSettings { by: By::Priority, ..knobs }));
    assert_eq!(starts(&run), [Some(0), Some(20), Some(0)]);
}

fn renamed(pools: &Pools) -> Arc<Pools> {
    let sites = pools.sites().iter().map(|site| Site { name: format!("z{}", site.name) }).collect();
    let last = pools.as_slice().len();
    let rename =
        |(at, pool): (usize, &Pool)| Pool { name: format!("p{}", last - at), ..pool.clone() };
    Arc::new(Pools::new(sites, pools.as_slice().iter().enumerate().map(rename).collect()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn names_change_nothing(
        pools in any_grid(), log in any_log(), fill in fill::any_knobs(),
        cycles in cycles::any_knobs(), bsf in bsf::any_knobs(),
    ) {
        let of = |pools: &Arc<Pools>| {
            let workload = workload(pools, &log, Overrun::Extend);
            let mut policies: [Box<dyn Policy>; 3] = [
                Box::new(GridFill::new(fill)),
                Box::new(Cycles::new(cycles.clone())),
                Box::new(Bsf::new(bsf.clone())),
            ];
            policies.each_mut().map(|policy| replay(&workload, ReplaySettings::default(), &mut **policy).jobs)
        };
        prop_assert_eq!(of(&pools), of(&renamed(&pools)));
    }

    #[test]
    fn an_expensive_idle_pool_raises_no_cost_for_one_job(
        pools in any_grid(), terms in any_terms(), run in 1i64..30, processors in 1u32..6, speed in 500u32..3_000,
    ) {
        // An earliest start at the horizon's edge may come within reach of the dear pool alone.
        let terms = terms.as_deref().cloned().unwrap_or(PLAIN);
        let terms = Terms { criterion: Criterion::Cost, earliest_start: None, ..terms };
        let jobs = [(0, run, processors, run, terms)];
        let more = pools.as_slice().iter().cloned().chain([pool(0, 3, speed, 50)]).collect();
        let time_limit = Limit::At(Span(1_000_000));
        let vo = VoPolicy { objective: Objective::MinCost, time_limit, ..VoPolicy::default() };
        let cost = |pools: &Arc<Pools>| {
            let run = play(pools, &jobs, &mut Cycles::new(CycleSettings { vo: vo.clone(), ..css() }));
            run.jobs.first().filter(|ran| ran.refused.is_none()).map(|ran| ran.cost)
        };
        if let Some(before) = cost(&pools) {
            prop_assert!(cost(&grid(more)).is_some_and(|after| after <= before));
        }
    }
}
