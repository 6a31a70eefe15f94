//! Which limits apply where, and the borders that scenarios are written on.

use tradewind_model::{Reason, Rho};

use super::*;

#[test]
fn a_derived_budget_is_rho_c_t_over_p_n_rounded_down() {
    let mut request = Request::new(3, Span(100));
    assert_eq!(derived_budget(&request, Rho::ONE), None);
    request.max_price = Some(Price::credits(2));
    assert_eq!(derived_budget(&request, Rho::ONE), Some(Money::credits(600)));
    request.min_performance = Some(speed(1_500));
    assert_eq!(derived_budget(&request, Rho::ONE), Some(Money::credits(400)));
    request.max_price = Some(Price(1));
    request.work = Span(10);
    // 0.8 · 1 · 10 / 1.5 · 3 = 16; 0.333 of 20 = 6.66.
    assert_eq!(derived_budget(&request, Rho::from_thousandths(800).unwrap()), Some(Money(16)));
    assert_eq!(derived_budget(&request, Rho::from_thousandths(333).unwrap()), Some(Money(6)));
    request.max_price = Some(Price(i64::MAX));
    request.tasks = Request::MAX_TASKS;
    request.work = Span::MAX;
    assert_eq!(derived_budget(&request, Rho::ONE), Some(Money(i64::MAX)));
}

#[test]
fn deadline_and_budget_are_inclusive() {
    let (grid, slots) = (grid(&[(1_000, 2)]), slots(&[(0, 0, 20)]));
    let mut request = Request::new(1, Span(10));
    request.budget = Some(Money(20));
    request.deadline = Some(Time(10));
    let search = Search::best(Criterion::Start);
    assert!(find(&grid, &slots, &request, &search).is_some());
    let late = Request { deadline: Some(Time(9)), ..request.clone() };
    assert_eq!(find(&grid, &slots, &late, &search), None);
    let poor = Request { budget: Some(Money(19)), ..request };
    assert_eq!(find(&grid, &slots, &poor, &search), None);
}

#[test]
fn each_algorithm_minds_its_own_limit() {
    // A dear node from 0, a cheap one from 5.
    let (grid, slots) = (grid(&[(1_000, 9), (1_000, 1)]), slots(&[(0, 0, 20), (1, 5, 20)]));
    let mut request = Request::new(1, Span(10));
    request.max_price = Some(Price(3));
    request.budget = Some(Money(90));
    let start = |algorithm, request: &Request| {
        find(&grid, &slots, request, &Search::new(algorithm)).map(|found| found.window.start().0)
    };
    assert_eq!(start(Algorithm::Alp, &request), Some(5));
    assert_eq!(start(Algorithm::Amp, &request), Some(0));
    assert_eq!(start(Algorithm::Best(Criterion::Start), &request), Some(5));
    let derived = Request { budget: None, ..request };
    assert_eq!(start(Algorithm::Amp, &derived), Some(5));
}

#[test]
fn reasons_are_in_order() {
    let (grid, slots) =
        (grid(&[(1_000, 2), (1_000, 3), (500, 0)]), slots(&[(0, 0, 10), (1, 5, 20)]));
    let reason = |request: &Request| {
        let searcher = Searcher::new(&grid, request, &Search::best(Criterion::Cost));
        let mut scratch = Scratch::default();
        assert_eq!(searcher.find(&slots, Time(0), &mut scratch), None);
        searcher.reason(&slots, &mut scratch)
    };
    let mut request = Request::new(4, Span(10));
    assert_eq!(reason(&request), Reason::WiderThanGrid { needed: 4, nodes: 3 });
    request.tasks = 3;
    request.min_performance = Some(speed(1_000));
    let min_performance = request.min_performance;
    let few = Reason::TooFewNodes { needed: 3, suitable: 2, min_performance };
    assert_eq!(reason(&request), few);
    request.tasks = 2;
    assert_eq!(reason(&request), Reason::NoCommonTime { needed: 2, max: 1, deadline: None });
    request.work = Span(4);
    request.budget = Some(Money(19));
    assert_eq!(reason(&request), Reason::BudgetShort { cheapest: Money(20), budget: Money(19) });
}

#[test]
fn nothing_is_found_on_an_empty_grid_or_list() {
    let request = Request::new(1, Span(1));
    let search = Search::best(Criterion::Finish);
    assert_eq!(find(&grid(&[]), &SlotList::default(), &request, &search), None);
    assert_eq!(find(&grid(&[(1_000, 1)]), &SlotList::default(), &request, &search), None);
}
