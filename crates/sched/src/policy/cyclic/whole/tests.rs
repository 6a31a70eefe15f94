use proptest::prelude::*;
use tradewind_model::{
    JobPlan, Limit, Objective, Outcome, Plan, Reason, Request, Snapshot, Span, Sum, Time, VoPolicy,
};

use super::super::tests::{any_batch, disjoint, is_free};
use super::super::*;
use crate::testing::{grid, job, slots, snapshot};

fn whole() -> Cyclic {
    Cyclic { offers: Offers::Overlapping, max_alternatives: Some(6), ..Cyclic::default() }
}

fn plan_of(snapshot: &Snapshot, cyclic: &Cyclic) -> Plan {
    plan(snapshot, cyclic, &mut |_| {})
}

/// Greater is better.
fn merit(snapshot: &Snapshot, plan: &Plan) -> (u32, i64) {
    let totals = plan.totals(snapshot.policy.measure);
    let sum = match snapshot.policy.objective {
        Objective::MaxIncome => totals.cost.0,
        Objective::MinTime => -totals.time.0,
        Objective::MinCost => -totals.cost.0,
        Objective::MinIdle => totals.time.0,
    };
    (totals.placed, sum)
}

proptest! {
    #[test]
    fn plans_keep_every_promise(snapshot in any_batch(5), choice_limit in prop::sample::select(vec![0u64, 60, 100_000])) {
        let cyclic = Cyclic { choice_limit, ..whole() };
        let planned = plan_of(&snapshot, &cyclic);
        prop_assert_eq!(&planned, &plan_of(&snapshot, &cyclic));
        prop_assert!(disjoint(planned.jobs.iter().filter_map(JobPlan::window)));
        for (job, planned) in snapshot.jobs.iter().zip(&planned.jobs) {
            for (at, window) in planned.alternatives.iter().enumerate() {
                prop_assert!(is_free(&snapshot.slots, window));
                prop_assert_eq!(window.check(&job.request, &snapshot.grid), Ok(()));
                prop_assert!(job.request.budget.is_none_or(|budget| window.cost() <= budget));
                prop_assert!(!planned.alternatives[..at].contains(window));
            }
            match &planned.outcome {
                Outcome::Placed(index) => prop_assert!(*index < planned.alternatives.len()),
                Outcome::Postponed(reason) => {
                    let of_choice = reason.code().starts_with("vo-") || *reason == Reason::Outbid;
                    prop_assert_eq!(planned.alternatives.is_empty(), !of_choice);
                }
            }
        }
        let totals = planned.totals(snapshot.policy.measure);
        prop_assert!(planned.limits.time.is_none_or(|limit| totals.time <= limit));
        prop_assert!(planned.limits.budget.is_none_or(|limit| totals.cost <= limit));
        if let Limit::At(limit) = snapshot.policy.time_limit {
            prop_assert!(totals.time <= limit);
        }
        if let Limit::At(limit) = snapshot.policy.budget_limit {
            prop_assert!(totals.cost <= limit);
        }
    }

    #[test]
    fn css_is_never_better(snapshot in any_batch(6), choice_limit in prop::sample::select(vec![0u64, 100_000])) {
        let css = plan_of(&snapshot, &Cyclic { offers: Offers::Disjoint, choice_limit, ..whole() });
        let whole = plan_of(&snapshot, &Cyclic { choice_limit, ..whole() });
        prop_assert!(merit(&snapshot, &whole) >= merit(&snapshot, &css));
        for (ours, theirs) in [
            (whole.limits.time.map(|it| it.0), css.limits.time.map(|it| it.0)),
            (whole.limits.budget.map(|it| it.0), css.limits.budget.map(|it| it.0)),
        ] {
            prop_assert!(ours >= theirs);
        }
        for (ours, theirs) in whole.jobs.iter().zip(&css.jobs) {
            prop_assert!(ours.alternatives.starts_with(&theirs.alternatives));
        }
    }

    /// Every window found, and every choice among them.
    #[test]
    fn no_other_choice_is_better(snapshot in any_batch(3)) {
        let cyclic = Cyclic { max_alternatives: Some(3), ..whole() };
        let planned = plan_of(&snapshot, &cyclic);
        prop_assert_eq!(&planned.gap, &None);
        let count: usize = planned.jobs.iter().map(|job| job.alternatives.len() + 1).product();
        for number in 0..count {
            let mut rest = number;
            let mut other = planned.clone();
            for job in &mut other.jobs {
                let digit = rest % (job.alternatives.len() + 1);
                rest /= job.alternatives.len() + 1;
                job.outcome = digit
                    .checked_sub(1)
                    .map_or(Outcome::Postponed(Reason::Outbid), Outcome::Placed);
            }
            let totals = other.totals(snapshot.policy.measure);
            let sound = disjoint(other.jobs.iter().filter_map(JobPlan::window))
                && planned.limits.time.is_none_or(|limit| totals.time <= limit)
                && planned.limits.budget.is_none_or(|limit| totals.cost <= limit);
            prop_assert!(!sound || merit(&snapshot, &other) <= merit(&snapshot, &planned));
        }
    }
}

fn span(tasks: u32, work: i64) -> Request {
    Request::new(tasks, Span(work))
}

/// Under CSS the first job takes its earliest window, and with it the second's only one.
#[test]
fn a_job_that_css_leaves_without_windows_is_placed() {
    let free = slots(&[(0, 0, 30), (1, 0, 30)]);
    let urgent = Request { deadline: Some(Time(15)), ..span(2, 15) };
    let jobs = vec![job("narrow", span(1, 10)), job("wide", urgent)];
    let snapshot = snapshot(grid(&[(1_000, 1), (1_000, 1)]), 30, free, jobs);
    let css = plan_of(&snapshot, &Cyclic { offers: Offers::Disjoint, ..whole() });
    let planned = plan_of(&snapshot, &whole());
    assert_eq!(css.totals(snapshot.policy.measure).placed, 1);
    assert_eq!(planned.totals(snapshot.policy.measure).placed, 2);
    assert_eq!(planned.gap, None);
}

/// More jobs go before more important ones.
#[test]
fn two_jobs_are_better_than_one_of_higher_priority() {
    let free = slots(&[(0, 0, 20), (1, 0, 20)]);
    let mut jobs = vec![job("wide", span(2, 20)), job("one", span(1, 20)), job("two", span(1, 20))];
    jobs[0].priority = 9;
    let snapshot = snapshot(grid(&[(1_000, 1), (1_000, 1)]), 20, free, jobs);
    let planned = plan_of(&snapshot, &whole());
    assert_eq!(planned.jobs[0].outcome, Outcome::Postponed(Reason::Outbid));
    assert_eq!(planned.totals(snapshot.policy.measure).placed, 2);
}

#[test]
fn a_limit_is_the_reason_where_windows_are_free() {
    let free = slots(&[(0, 0, 20), (1, 0, 20)]);
    let jobs = vec![job("one", span(1, 20)), job("two", span(1, 20))];
    let mut snapshot = snapshot(grid(&[(1_000, 1), (1_000, 1)]), 20, free, jobs);
    snapshot.policy = VoPolicy { time_limit: Limit::At(Span(30)), ..VoPolicy::default() };
    let planned = plan_of(&snapshot, &whole());
    let reason = Reason::TimeLimit { limit: Span(30), min: Span(40) };
    assert_eq!(planned.jobs.iter().filter(|job| job.window().is_some()).count(), 1);
    assert!(planned.jobs.iter().any(|job| job.outcome == Outcome::Postponed(reason.clone())));
}

#[test]
fn a_choice_without_work_states_its_gap() {
    let free = slots(&[(0, 0, 60), (1, 0, 60), (2, 0, 60)]);
    let speeds = [(1_000, 1), (2_000, 3), (1_500, 2)];
    let jobs = (0..5).map(|_| job("job", span(1, 30))).collect();
    let mut snapshot = snapshot(grid(&speeds), 60, free, jobs);
    snapshot.policy = VoPolicy { objective: Objective::MinCost, ..VoPolicy::default() };
    let planned = plan_of(&snapshot, &Cyclic { choice_limit: 0, ..whole() });
    let gap = planned.gap.unwrap();
    let proven = plan_of(&snapshot, &whole());
    assert_eq!(proven.gap, None);
    let totals = proven.totals(snapshot.policy.measure);
    assert!(gap.placed >= totals.placed);
    let Sum::Cost(min) = gap.sum else { panic!("{gap:?}") };
    assert!(min <= totals.cost);
}
