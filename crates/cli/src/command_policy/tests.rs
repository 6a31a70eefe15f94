//! Every line of the protocol, as the page has it.

use std::sync::Arc;

use tradewind_model::{
    Attribute, Cause, Command, Criterion, Demand, Event, JobId, Market, Money, Outage, OutageId,
    Performance, Place, Pool, PoolId, Pools, Price, Rates, Series, Share, Site, SiteId, Span,
    Terms, Time, Times,
};

use super::read;
use super::wire::{Greeting, Hello, Pass, PassAnswer, Told, prices_now};

fn json(line: &impl serde::Serialize) -> String {
    serde_json::to_string(line).unwrap()
}

fn two_pools() -> Pools {
    let pool = |name: &str, site, performance, price| Pool {
        name: name.to_owned(),
        site: SiteId(site),
        nodes: 4,
        performance: Performance::from_thousandths(performance).unwrap(),
        price: Price(price),
        attributes: [("gpu".to_owned(), Attribute::Flag(true))].into(),
        admission: tradewind_model::Admission::NONE,
        times: Times::Work,
    };
    let sites = ["north", "south"].map(|name| Site { name: name.to_owned() }).into();
    Pools::new(sites, vec![pool("a", 0, 1_000, 0), pool("b", 1, 2_500, 1_250_000)]).unwrap()
}

#[test]
fn the_grid_comes_first() {
    assert_eq!(
        json(&Hello::new(&two_pools())),
        concat!(
            r#"{"protocol":1,"sites":["north","south"],"pools":["#,
            r#"{"pool":0,"name":"a","site":0,"nodes":4,"performance":1,"price":0,"attributes":{"gpu":true}},"#,
            r#"{"pool":1,"name":"b","site":1,"nodes":4,"performance":2.5,"price":1.25,"attributes":{"gpu":true}}]}"#
        )
    );
}

/// The price at a moment, from nothing but what a command was told of its pool.
fn told_price(pool: &serde_json::Value, at: i64) -> f64 {
    let told = &pool["prices"];
    let pairs = told["values"].as_array().unwrap().iter();
    let mut steps: Vec<(i64, f64)> =
        pairs.map(|pair| (pair[0].as_i64().unwrap(), pair[1].as_f64().unwrap())).collect();
    if let Some(every) = told["every"].as_i64() {
        let again = |k: i64| steps.iter().map(move |&(from, price)| (from + k * every, price));
        steps = (-9..9).flat_map(again).collect();
    }
    steps.iter().rev().find(|(from, _)| *from <= at).unwrap_or(&steps[0]).1
}

#[test]
fn prices_that_change_come_with_all_that_is_to_come() {
    let rate = Series::new(&[(Time(10), 1_500_000), (Time(25), 0), (Time(40), 2_000_001)]).unwrap();
    for rate in [rate.clone(), rate.repeated(Span(60)).unwrap()] {
        let rates = Rates::new(vec![None, Some(Arc::new(rate))]);
        let pools = two_pools().with_rates(rates);
        let hello: serde_json::Value = serde_json::from_str(&json(&Hello::new(&pools))).unwrap();
        let [still, changing] = [0, 1].map(|pool: usize| &hello["pools"][pool]);
        assert!(still.get("prices").is_none());
        assert_eq!(changing["price"], 0, "the lowest");
        let pools = Arc::new(pools);
        for at in 0..200 {
            let market = Market::new(Arc::clone(&pools), Time(at));
            let price = pools.price_at(PoolId(1), Time(at));
            let now = json(&prices_now(&market).unwrap());
            assert_eq!(now, format!("[0,{price}]"));
            assert_eq!(told_price(changing, at), price.0 as f64 / 1e6, "{at}");
        }
    }
    let constant = Market::new(Arc::new(two_pools()), Time(0));
    assert!(prices_now(&constant).is_none());
}

#[test]
fn every_event_has_its_line() {
    let (job, closure, pool) = (JobId(3), OutageId(2), PoolId(1));
    let shares = [Share { pool: PoolId(0), nodes: 1 }, Share { pool, nodes: 2 }];
    let what = |cause| Outage { pool, nodes: 2, from: Time(10), until: Time(20), cause };
    let said = [
        (
            Event::Submitted { job, demand: Demand::new(8, Span(600)) },
            r#"{"event":"submitted","job":3,"processors":8,"estimate":600}"#,
        ),
        (
            Event::Started { job, place: Place::Pool(pool) },
            r#"{"event":"started","job":3,"pool":1}"#,
        ),
        (
            Event::Started { job, place: Place::of(shares.into()) },
            r#"{"event":"started","job":3,"shares":[{"pool":0,"nodes":1},{"pool":1,"nodes":2}]}"#,
        ),
        (Event::Released { job, pool }, r#"{"event":"released","job":3,"pool":1}"#),
        (Event::Ended { job }, r#"{"event":"ended","job":3}"#),
        (Event::Interrupted { job }, r#"{"event":"interrupted","job":3}"#),
        (Event::Refused { job }, r#"{"event":"refused","job":3}"#),
        (
            Event::Announced { closure, what: what(Cause::Maintenance) },
            r#"{"event":"announced","closure":2,"pool":1,"nodes":2,"from":10,"until":20,"cause":"maintenance"}"#,
        ),
        (Event::Closed { closure }, r#"{"event":"closed","closure":2}"#),
        (Event::Reopened { closure }, r#"{"event":"reopened","closure":2}"#),
    ];
    for (event, line) in said {
        assert_eq!(json(&Told::from(&event)), line);
    }
}

#[test]
fn terms_are_sent_where_a_job_has_them() {
    let terms = Terms {
        user: 7,
        budget: Some(Money(12_500_000)),
        deadline: Some(Time(900)),
        criterion: Criterion::Sum("watts".to_owned()),
        ..Terms::default()
    };
    let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(1, Span(60)) };
    let event = Event::Submitted { job: JobId(0), demand };
    let pass = Pass { now: 5, free: &[64], prices: None, events: vec![Told::from(&event)] };
    assert_eq!(
        json(&pass),
        concat!(
            r#"{"now":5,"free":[64],"events":[{"event":"submitted","job":0,"processors":1,"#,
            r#""estimate":60,"user":7,"priority":0,"budget":12.5,"deadline":900,"#,
            r#""minimize":"sum:watts"}]}"#
        )
    );
}

/// A market in which job 0 wants two nodes.
fn waiting(pools: Pools) -> Market {
    let mut market = Market::new(Arc::new(pools), Time(0));
    let demand = Demand::new(2, Span(60));
    market.apply(&Event::Submitted { job: JobId(0), demand }).unwrap();
    market
}

#[test]
fn answers_say_where_or_leave_it_to_the_only_pool() {
    let (one, two) = (waiting(Pools::cluster(8)), waiting(two_pools()));
    let place = |start: &str, market: &Market| {
        let answer: PassAnswer = read(&format!(r#"{{"start":[{start}]}}"#)).unwrap();
        match answer.start.into_iter().next().unwrap().command(market) {
            Ok(Command::Start { place, .. }) => Some(place),
            _ => None,
        }
    };
    assert_eq!(place(r#"{"job":0}"#, &one), Some(Place::Pool(PoolId(0))));
    assert_eq!(place(r#"{"job":0}"#, &two), None);
    assert_eq!(place(r#"{"job":0,"pool":1}"#, &two), Some(Place::Pool(PoolId(1))));
    let shares = |a: u32, b: u32| {
        let part = |pool, nodes| format!(r#"{{"pool":{pool},"nodes":{nodes}}}"#);
        format!(r#"{{"job":0,"shares":[{},{}]}}"#, part(0, a), part(1, b))
    };
    assert!(matches!(place(&shares(1, 1), &two), Some(Place::Shares(_))));
    assert_eq!(place(&shares(1, 2), &two), None);
    let lone = |nodes| format!(r#"{{"job":0,"shares":[{{"pool":1,"nodes":{nodes}}}]}}"#);
    assert_eq!(place(&lone(2), &two), Some(Place::Pool(PoolId(1))));
    assert_eq!(place(&lone(1), &two), None);
    let both = r#"{"job":0,"pool":1,"shares":[{"pool":0,"nodes":2}]}"#;
    assert_eq!(place(both, &two), None);
}

#[test]
fn no_policy_is_woken_after_the_end_of_time() {
    let wake = |at: i64| read::<PassAnswer>(&format!(r#"{{"wake":{at}}}"#)).unwrap().wake();
    assert_eq!(wake(-5), Ok(Some(Time(-5))));
    assert_eq!(wake(Time::MAX.0), Ok(Some(Time::MAX)));
    assert!(wake(Time::MAX.0 + 1).is_err());
    assert!(wake(i64::MAX).is_err());
}

#[test]
fn what_is_no_answer_is_refused() {
    for text in [r#"{"strat":[]}"#, "[]", "", r#"{"wake":1.5}"#, r#"{"start":[{"job":-1}]}"#] {
        assert!(read::<PassAnswer>(text).is_err(), "{text}");
    }
    for text in ["{}", r#"{"protocol":1,"promise":"all"}"#] {
        assert!(read::<Greeting>(text).is_err(), "{text}");
    }
    assert!(read::<PassAnswer>("{}").is_ok());
}
