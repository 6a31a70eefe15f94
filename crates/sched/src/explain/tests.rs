use proptest::prelude::*;

use super::*;
use crate::testing::{any_market, any_request, any_request_of_groups, grid, performance, slots};

/// One unit less of the same change; `None` if that is no change at all.
fn one_less(change: &Change) -> Option<Change> {
    let less = match change {
        Change::Budget(by) => Change::Budget(Money(by.0 - 1)),
        Change::MaxPrice(by) => Change::MaxPrice(Price(by.0 - 1)),
        Change::Deadline(by) => Change::Deadline(Span(by.0 - 1)),
        Change::EarliestStart(by) => Change::EarliestStart(Span(by.0 - 1)),
        Change::MinPerformance(by) => Change::MinPerformance(by - 1),
        Change::Tasks(by) => Change::Tasks(by - 1),
        Change::Need(kind, by) => Change::Need(kind.clone(), by - 1),
        Change::Licences { licence, name, fewer } => {
            Change::Licences { licence: *licence, name: name.clone(), fewer: fewer - 1 }
        }
        Change::Attribute(_) | Change::Spread | Change::Data => return None,
        Change::InGroup(group, change) => Change::InGroup(*group, Box::new(one_less(change)?)),
    };
    Some(less)
}

proptest! {
    #[test]
    fn fewer_licences_are_a_change_where_they_help(
        (grid, slots) in any_market(),
        request in any_request_of_groups(),
        drawn in crate::testing::any_licences(1_000_000),
    ) {
        let (grid, slots) = (drawn.grid(grid), drawn.slots(slots));
        let request = Request { licences: drawn.shares.clone(), ..request };
        let search = Search::best(request.criterion.clone());
        let explained = explain(&grid, &slots, &request, &search);
        let placed = |request: &Request| crate::window::find(&grid, &slots, request, &search);
        prop_assert_eq!(explained.answer.is_ok(), placed(&request).is_some());
        if explained.answer.is_ok() {
            return Ok(());
        }
        for relaxation in &explained.relaxations {
            let relaxed = relaxation.change.apply(&request);
            prop_assert_eq!(placed(&relaxed).map(|f| f.window), Some(relaxation.window.clone()));
            if let Some(less) = one_less(&relaxation.change) {
                prop_assert!(placed(&less.apply(&request)).is_none(), "{:?} is not least", less);
            }
        }
        for share in request.licences.iter().flat_map(|it| it.iter()) {
            let name = format!("l{}", share.licence.0);
            let none = Change::Licences { licence: share.licence, name, fewer: share.count };
            let limit = none.limit().into_owned();
            let named = explained.relaxations.iter().any(|r| r.change.limit() == limit);
            prop_assert_eq!(named, placed(&none.apply(&request)).is_some());
        }
    }

    #[test]
    fn each_relaxation_places_the_job_and_one_unit_less_does_not(
        (grid, slots) in any_market(), request in any_request_of_groups()
    ) {
        let search = Search::best(request.criterion.clone());
        let explained = explain(&grid, &slots, &request, &search);
        let placed = |request: &Request| crate::window::find(&grid, &slots, request, &search);
        prop_assert_eq!(explained.answer.is_ok(), placed(&request).is_some());
        for relaxation in &explained.relaxations {
            let relaxed = relaxation.change.apply(&request);
            prop_assert_eq!(&relaxed, &relaxation.request);
            prop_assert_eq!(placed(&relaxed).map(|f| f.window), Some(relaxation.window.clone()));
            if let Some(less) = one_less(&relaxation.change) {
                prop_assert!(placed(&less.apply(&request)).is_none(), "{:?} is not least", less);
            }
        }
        if !explained.relaxations.is_empty() {
            prop_assert!(explained.answer.is_err());
        }
    }

    #[test]
    fn a_limit_whose_absence_would_help_is_among_the_relaxations(
        (grid, slots) in any_market(), request in any_request()
    ) {
        let search = Search::best(Criterion::Start);
        let explained = explain(&grid, &slots, &request, &search);
        prop_assume!(explained.answer.is_err());
        let named = |limit: &str| explained.relaxations.iter().any(|r| r.change.limit() == limit);
        let helps = |request: Request| crate::window::find(&grid, &slots, &request, &search).is_some();
        prop_assert_eq!(named("budget"), helps(Request { budget: None, ..request.clone() }));
        prop_assert_eq!(named("max_price"), helps(Request { max_price: None, ..request.clone() }));
        prop_assert_eq!(named("deadline"), helps(Request { deadline: None, ..request.clone() }));
        prop_assert_eq!(named("nodes"), helps(Request { tasks: 1, ..request.clone() }));
        let any_speed = Request { min_performance: None, ..request.clone() };
        prop_assert_eq!(named("min_performance"), helps(any_speed));
        prop_assert_eq!(named("spread"), helps(Request { spread: Spread::Grid, ..request }));
    }
}

#[test]
fn a_budget_half_a_credit_short_is_half_a_credit_short() {
    let grid = grid(&[(1_000, 2), (1_000, 3)]);
    let slots = slots(&[(0, 0, 100), (1, 0, 100)]);
    let budget = Some(Money(49_500_000));
    let request = Request { budget, ..Request::new(2, Span(10)) };
    let explained = explain(&grid, &slots, &request, &Search::best(Criterion::Start));
    let budget_short =
        Reason::BudgetShort { cheapest: Money::credits(50), budget: Money(49_500_000) };
    assert_eq!(explained.answer, Err(budget_short));
    let changes: Vec<Change> = explained.relaxations.into_iter().map(|r| r.change).collect();
    assert_eq!(changes, [Change::Budget(Money(500_000)), Change::Tasks(1)]);
}

#[test]
fn an_attribute_that_no_free_node_has_is_named() {
    let grid = grid(&[(1_000, 2)]);
    let slots = slots(&[(0, 0, 100)]);
    let mut request = Request::new(1, Span(10));
    request.attributes.insert("gpu".into(), Attribute::Flag(true));
    let explained = explain(&grid, &slots, &request, &Search::best(Criterion::Start));
    assert_eq!(explained.relaxations.len(), 1);
    assert_eq!(explained.relaxations[0].change, Change::Attribute("gpu".into()));
}

#[test]
fn when_only_two_changes_together_help_none_is_claimed() {
    let grid = grid(&[(1_000, 2)]);
    let slots = slots(&[(0, 0, 100)]);
    let request = Request {
        min_performance: Some(performance(2_000)),
        budget: Some(Money::credits(1)),
        ..Request::new(1, Span(10))
    };
    let explained = explain(&grid, &slots, &request, &Search::best(Criterion::Start));
    assert_eq!(explained.relaxations, []);
    assert!(explained.possible_without_limits);
}
