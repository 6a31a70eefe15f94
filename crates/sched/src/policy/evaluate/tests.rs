use proptest::prelude::*;
use tradewind_model::{Event, Licence, LicenceId, SiteId, Terms};

use super::*;
use crate::policy::outlook::tests::{Grid, demand, market, wanted};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pools_are_as_a_look_at_every_second_finds_them(
        pools in prop::collection::vec((1..4u32, 500..2_500u32, 1..5i64), 1..3),
        running in prop::option::of((1..4u32, 1..30i64)),
        taken in prop::option::of((1..3u32, 1..20i64)),
        asked in wanted(),
        deadline in prop::option::of(1..60i64),
    ) {
        let taken: Vec<_> = taken.into_iter().map(|(tasks, time)| (tasks, time, None)).collect();
        let mut market = market(&pools, &taken, running);
        let mut scales = PoolReport::of(&market);
        let first = market.queue().next();
        if let Some(job) = first {
            let place = Place::Pool(PoolId(0));
            let demand = market.demand(job).unwrap().clone();
            if market.free_in(PoolId(0)) >= demand.processors {
                scales.take(&market, &demand, &place);
                market.apply(&Event::Started { job, place }).unwrap();
            }
        }
        let mut asked = demand(asked);
        let terms = Terms { deadline: deadline.map(Time), ..asked.terms().clone() };
        asked.terms = Some(std::sync::Arc::new(terms));
        let grid = Grid::new(&market);
        for (weighed, pool) in scales.weigh(&market, &asked).into_iter().zip(market.pools().as_slice()) {
            let free = &grid.free[weighed.pool.index()];
            prop_assert_eq!(weighed.verdict, looked_at(pool, free, &asked, weighed.length));
        }
    }
}

fn looked_at(pool: &Pool, free: &[i64], asked: &Demand, length: Span) -> Verdict {
    let (nodes, terms) = (asked.processors, asked.terms());
    if pool.nodes < nodes {
        return Verdict::Against(Against::Narrow(pool.nodes));
    }
    if let Some(budget) = terms.budget.filter(|it| pool.price.of(nodes, length) > *it) {
        return Verdict::Against(Against::Budget(budget));
    }
    let is_free =
        |at: &usize| free[*at..*at + length.0 as usize].iter().all(|it| *it >= i64::from(nodes));
    let start = Time((0..300).find(is_free).unwrap() as i64);
    match terms.deadline.is_some_and(|deadline| start + length > deadline) {
        true => Verdict::Against(Against::Late(start + length)),
        false => Verdict::From(start),
    }
}

#[test]
fn what_speaks_against_a_pool_is_said() {
    let market = market(&[(2, 1_000, 3)], &[], None);
    let verdict = |change: &dyn Fn(&mut Terms), tasks: u32| {
        let mut terms = Terms::default();
        change(&mut terms);
        let terms = Some(std::sync::Arc::new(terms));
        let asked = Demand { terms, ..Demand::new(tasks, Span(10)) };
        PoolReport::of(&market).weigh(&market, &asked).remove(0).verdict
    };
    let against = |change: &dyn Fn(&mut Terms)| verdict(change, 1);
    assert_eq!(against(&|_| ()), Verdict::From(Time(0)));
    let later = Time(5);
    assert_eq!(against(&|it| it.earliest_start = Some(later)), Verdict::From(later));
    let said = |change: &dyn Fn(&mut Terms)| match against(change) {
        Verdict::Against(it) => it,
        from => panic!("{from:?}"),
    };
    assert_eq!(said(&|it| it.max_price = Some(Price(2))), Against::Dear(Price(2)));
    assert_eq!(said(&|it| it.budget = Some(Money(29))), Against::Budget(Money(29)));
    assert_eq!(said(&|it| it.deadline = Some(Time(9))), Against::Late(Time(10)));
    let fast = Performance::from_thousandths(1_500).unwrap();
    let slow = Performance::from_thousandths(1_000).unwrap();
    assert_eq!(said(&|it| it.min_performance = Some(fast)), Against::Slow(slow));
    let gpu = || ("gpu".to_owned(), Attribute::Text("yes".to_owned()));
    assert_eq!(said(&|it| it.attributes.extend([gpu()])), Against::Attribute("gpu".to_owned()));
    assert_eq!(verdict(&|_| (), 3), Verdict::Against(Against::Narrow(2)));
}

#[test]
fn licences_count_in_the_budget() {
    let licence = Licence { name: "abaqus".to_owned(), count: 4, price: Price(5) };
    let pools = market(&[(2, 1_000, 3)], &[], None).pools().clone();
    let pools = pools.with_licences(vec![(licence, SiteId(0))]).unwrap();
    let market = Market::new(std::sync::Arc::new(pools), Time(0));
    let verdict = |budget| {
        let licences = vec![LicenceShare { licence: LicenceId(0), count: 2 }].into();
        let terms =
            Terms { budget: Some(Money(budget)), licences: Some(licences), ..Terms::default() };
        let asked = Demand { terms: Some(std::sync::Arc::new(terms)), ..Demand::new(1, Span(10)) };
        PoolReport::of(&market).weigh(&market, &asked).remove(0).verdict
    };
    // 10 s of a node for 3, and of two licences for 5.
    assert_eq!(verdict(130), Verdict::From(Time(0)));
    assert_eq!(verdict(129), Verdict::Against(Against::Budget(Money(129))));
}
