use super::*;
use crate::{Attributes, LicenceId, Performance, Pool, Price, Site, SiteId, TimeMode, Times};

fn submitted(job: u32, processors: u32) -> Event {
    Event::Submitted { job: JobId(job), demand: Demand::new(processors, Span(10)) }
}

fn cluster(processors: u32) -> Market {
    Market::new(Arc::new(Pools::cluster(processors)), Time(0))
}

fn here(job: JobId) -> Event {
    Event::Started { job, place: Place::Pool(PoolId(0)) }
}

#[test]
fn refuses_what_cannot_have_happened_and_stays_as_it_was() {
    let mut market = cluster(4);
    let [a, b] = [JobId(0), JobId(1)];
    assert_eq!(market.apply(&submitted(1, 1)), Err(MarketError::State { job: b }));
    market.apply(&submitted(0, 3)).unwrap();
    market.apply(&submitted(1, 2)).unwrap();
    assert_eq!(market.apply(&Event::Ended { job: a }), Err(MarketError::State { job: a }));
    market.apply(&here(a)).unwrap();
    assert_eq!(market.apply(&here(a)), Err(MarketError::State { job: a }));
    let full = MarketError::Full { job: b, wanted: 2, free: 1 };
    assert_eq!(market.apply(&here(b)), Err(full));
    market.check().unwrap();
    assert_eq!((market.free(), market.head()), (1, Some(b)));
    market.pass_to(Time(7)).unwrap();
    assert!(market.pass_to(Time(6)).is_err());
    market.apply(&Event::Ended { job: a }).unwrap();
    market.check().unwrap();
    assert_eq!(market.free(), 4);
    market.apply(&Event::Refused { job: b }).unwrap();
    assert!(market.apply(&here(b)).is_err());
    market.check().unwrap();
}

/// Two pools: slow nodes at 1 credit, nodes twice as fast at 3.
fn two_pools() -> Market {
    let sites = vec![Site { name: "a".to_owned() }, Site { name: "b".to_owned() }];
    let pool = |site, thousandths, price| Pool {
        name: format!("pool{site}"),
        site: SiteId(site),
        nodes: 4,
        performance: Performance::from_thousandths(thousandths).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: crate::Admission::NONE,
        times: Times::Work,
    };
    let pools = Pools::new(sites, vec![pool(0, 1_000, 1), pool(1, 2_000, 3)]).unwrap();
    Market::new(Arc::new(pools), Time(0))
}

#[test]
fn a_job_on_two_sites_gives_the_fast_nodes_back_first_and_pays_each_owner() {
    let mut market = two_pools();
    let job = JobId(0);
    market.apply(&submitted(0, 3)).unwrap();
    let share = |pool, nodes| Share { pool: PoolId(pool), nodes };
    let short = Place::of(vec![share(0, 1), share(1, 1)]);
    let wrong = Event::Started { job, place: short };
    assert_eq!(market.apply(&wrong), Err(MarketError::Place { job }));
    let place = Place::of(vec![share(1, 2), share(0, 1)]);
    market.apply(&Event::Started { job, place }).unwrap();
    // 10 s on one slow node, 5 s on two fast ones.
    assert_eq!(market.ledger().held(), i128::from(Money::credits(10 + 30).0));
    market.pass_to(Time(5)).unwrap();
    market.apply(&Event::Released { job, pool: PoolId(1) }).unwrap();
    assert!(market.apply(&Event::Released { job, pool: PoolId(1) }).is_err());
    assert!(market.apply(&Event::Released { job, pool: PoolId(0) }).is_err(), "the last one ends");
    assert_eq!((market.free_in(PoolId(1)), market.free()), (4, 7));
    market.check().unwrap();
    market.pass_to(Time(8)).unwrap();
    market.apply(&Event::Ended { job }).unwrap();
    market.check().unwrap();
    let credits = |n: i64| i128::from(Money::credits(n).0);
    assert_eq!(market.ledger().income(), [credits(8), credits(30)]);
    assert_eq!((market.paid(job), market.ledger().held()), (Money::credits(38), 0));
}

/// Two costs beyond all amounts have no sum, and a job of both pools is held and pays at most the
/// largest amount.
#[test]
fn costs_beyond_all_amounts_saturate_in_their_sum_too() {
    let mut market = two_pools();
    for pool in [PoolId(0), PoolId(1)] {
        market.apply(&Event::Priced { pool, price: Price(i64::MAX) }).unwrap();
    }
    for job in [JobId(0), JobId(1)] {
        market.apply(&submitted(job.0, 2)).unwrap();
        let place = Place::of([0, 1].map(|pool| Share { pool: PoolId(pool), nodes: 1 }).to_vec());
        market.apply(&Event::Started { job, place }).unwrap();
    }
    let most = i128::from(Money::MAX.0);
    assert_eq!(market.ledger().held(), 2 * most);
    market.pass_to(Time(9)).unwrap();
    for job in [JobId(0), JobId(1)] {
        market.apply(&Event::Ended { job }).unwrap();
        assert_eq!(market.paid(job), Money::MAX);
    }
    assert_eq!((market.ledger().paid(), market.ledger().held()), (4 * most, 0));
    market.check().unwrap();
}

#[test]
fn closed_nodes_are_gone_until_they_reopen_and_an_interrupted_job_waits_again() {
    let mut market = cluster(4);
    let [a, b] = [JobId(0), JobId(1)];
    market.apply(&submitted(0, 3)).unwrap();
    market.apply(&submitted(1, 1)).unwrap();
    market.apply(&here(a)).unwrap();
    let closure = OutageId(0);
    let (pool, from, until) = (PoolId(0), Time(5), Time(9));
    let what = Outage { pool, nodes: 2, from, until, cause: Cause::Maintenance };
    market.apply(&Event::Announced { closure, what }).unwrap();
    assert_eq!(market.apply(&Event::Closed { closure }), Err(MarketError::Outage { closure }));
    market.pass_to(Time(5)).unwrap();
    market.apply(&Event::Interrupted { job: a }).unwrap();
    market.apply(&Event::Closed { closure }).unwrap();
    market.check().unwrap();
    assert_eq!((market.free(), market.head()), (2, Some(a)));
    market.apply(&here(b)).unwrap();
    market.apply(&Event::Reopened { closure }).unwrap();
    market.check().unwrap();
    assert_eq!((market.free(), market.outages().count()), (3, 0));
}

#[test]
fn a_trade_settles_at_its_price_and_holds_the_job_to_its_pool() {
    let mut market = two_pools();
    let apply = |market: &mut Market, event| market.apply(&event);
    let (job, estimate) = (JobId(0), Span(10));
    let traded = |pool, price| {
        let trade = Arc::new(Trade::at(PoolId(pool), Price(price), Time(0)));
        Event::Traded { job, trade }
    };
    let started = |pool| Event::Started { job, place: Place::Pool(PoolId(pool)) };
    assert!(market.apply(&traded(0, 5)).is_err(), "not submitted yet");
    apply(&mut market, Event::Submitted { job, demand: Demand::new(2, estimate) }).unwrap();
    assert_eq!(market.apply(&traded(2, 5)), Err(MarketError::Place { job }));
    assert_eq!(market.apply(&traded(0, -1)), Err(MarketError::Place { job }));
    apply(&mut market, traded(0, 5)).unwrap();
    apply(&mut market, traded(1, 7)).unwrap();
    assert_eq!(market.apply(&started(0)), Err(MarketError::Place { job }));
    apply(&mut market, started(1)).unwrap();
    let length = market.pools().pool(PoolId(1)).length_in(TimeMode::WORK, estimate);
    assert_eq!(market.ledger().held(), i128::from(7 * 2 * length.0));
    assert!(market.apply(&traded(0, 5)).is_err(), "it runs");
    market.pass_to(Time(3)).unwrap();
    apply(&mut market, Event::Ended { job }).unwrap();
    assert_eq!(market.paid(job), Money(7 * 2 * 3));
    market.check().unwrap();
}

#[test]
fn a_price_change_is_for_jobs_that_start_later() {
    let mut market = Market::new(Arc::new(Pools::cluster(2)), Time(0));
    let demand = Demand::new(1, Span(10));
    let place = Place::Pool(PoolId(0));
    let priced = |price| Event::Priced { pool: PoolId(0), price: Price(price) };
    for event in [
        priced(3),
        Event::Submitted { job: JobId(0), demand: demand.clone() },
        Event::Submitted { job: JobId(1), demand },
        Event::Started { job: JobId(0), place: place.clone() },
        priced(5),
        Event::Started { job: JobId(1), place },
    ] {
        market.apply(&event).unwrap();
    }
    market.pass_to(Time(4)).unwrap();
    let restored = Market::restore(market.state()).unwrap();
    assert_eq!(restored.state(), market.state());
    for mut market in [market, restored] {
        for job in [JobId(0), JobId(1)] {
            market.apply(&Event::Ended { job }).unwrap();
        }
        market.check().unwrap();
        assert_eq!([market.paid(JobId(0)), market.paid(JobId(1))], [Money(12), Money(20)]);
        assert_eq!(market.history(), []);
    }
    let mut market = Market::new(Arc::new(Pools::cluster(2)), Time(0));
    assert!(market.apply(&priced(-1)).is_err());
}

#[test]
fn pools_may_grow_and_never_shrink() {
    let mut market = Market::new(Arc::new(Pools::cluster(2)), Time(0));
    market.regrid(Arc::new(Pools::cluster(5))).unwrap();
    assert_eq!((market.free(), market.processors()), (5, 5));
    market.check().unwrap();
    assert!(market.regrid(Arc::new(Pools::cluster(4))).is_err());
}

#[test]
fn a_state_that_does_not_add_up_is_refused() {
    let mut market = Market::new(Arc::new(Pools::cluster(2)), Time(0));
    let demand = Demand::new(2, Span(10));
    market.apply(&Event::Submitted { job: JobId(0), demand }).unwrap();
    market.apply(&Event::Started { job: JobId(0), place: Place::Pool(PoolId(0)) }).unwrap();
    let good = market.state();
    let history = market.history();
    assert!(matches!(history[..], [Event::Submitted { .. }, Event::Started { .. }]));
    let paid = MarketState { paid: 7, ..good.clone() };
    assert!(Market::restore(paid).is_err());
    let fewer = MarketState { pools: Arc::new(Pools::cluster(1)), ..good.clone() };
    assert!(Market::restore(fewer).is_err());
    let unknown = MarketState { submitted: 0, ..good };
    assert!(Market::restore(unknown).is_err());
}

/// A job agrees at its start on the mean over its time; what the owner asks later changes nothing.
#[test]
fn hourly_prices_of_owners_are_agreed_at_the_start() {
    let mut market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
    let pool = PoolId(0);
    let steps = |first, second| {
        let rate = crate::Series::new(&[(Time(0), first), (Time(60), second)]).unwrap();
        Some(Arc::new(rate))
    };
    market.apply(&Event::Rated { pool, rate: steps(1, 4) }).unwrap();
    assert_eq!((market.price_now(pool), market.pools().pool(pool).price), (Price(1), Price(1)));
    let demand = Demand::new(2, Span(100));
    market.apply(&Event::Submitted { job: JobId(0), demand }).unwrap();
    market.apply(&Event::Started { job: JobId(0), place: Place::Pool(pool) }).unwrap();
    // 60 s at 1 and 40 s at 4 are 220 for a node, and 2 for each second, rounded down.
    assert_eq!(market.ledger().held(), 2 * 200);
    market.apply(&Event::Rated { pool, rate: steps(9, 9) }).unwrap();
    market.pass_to(Time(50)).unwrap();
    market.apply(&Event::Ended { job: JobId(0) }).unwrap();
    assert_eq!(market.paid(JobId(0)), Money(2 * 50 * 2));
    // The price of now may be told again, another may not.
    market.apply(&Event::Rated { pool, rate: steps(1, 4) }).unwrap();
    market.apply(&Event::Priced { pool, price: Price(1) }).unwrap();
    assert!(market.apply(&Event::Priced { pool, price: Price(2) }).is_err());
    market.apply(&Event::Rated { pool, rate: None }).unwrap();
    market.apply(&Event::Priced { pool, price: Price(2) }).unwrap();
    assert_eq!(market.price_now(pool), Price(2));
}

/// Five licences of site b, for 3 a second each.
fn licensed() -> Market {
    let licence = crate::Licence { name: "l".to_owned(), count: 5, price: Price(3) };
    let pools = two_pools().pools().clone().with_licences(vec![(licence, SiteId(1))]).unwrap();
    Market::new(Arc::new(pools), Time(0))
}

fn takes(job: u32, licence: u32, count: u32) -> Event {
    let share = crate::LicenceShare { licence: LicenceId(licence), count };
    let terms = crate::Terms { licences: Some(Arc::from([share])), ..crate::Terms::NONE };
    let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(1, Span(10)) };
    Event::Submitted { job: JobId(job), demand }
}

#[test]
fn licences_are_held_until_the_job_ends_and_paid_to_their_owner() {
    let mut market = licensed();
    let unknown = market.apply(&takes(0, 1, 1));
    let wrong = MarketError::Licence { job: JobId(0), licence: LicenceId(1), wanted: 1, free: 0 };
    assert_eq!(unknown, Err(wrong));
    market.apply(&takes(0, 0, 3)).unwrap();
    market.apply(&takes(1, 0, 3)).unwrap();
    market.apply(&here(JobId(0))).unwrap();
    // Ten seconds of a node for 1 credit, and of three licences.
    assert_eq!(market.ledger().held(), i128::from(Money::credits(10).0) + 3 * 3 * 10);
    let short = MarketError::Licence { job: JobId(1), licence: LicenceId(0), wanted: 3, free: 2 };
    assert_eq!(market.apply(&here(JobId(1))), Err(short));
    market.check().unwrap();
    let again = Market::restore(market.state()).unwrap();
    assert_eq!(again.state(), market.state());
    assert_eq!(again.free_licences(LicenceId(0)), 2);
    market.pass_to(Time(4)).unwrap();
    let before = market.ledger().income()[1];
    market.apply(&Event::Ended { job: JobId(0) }).unwrap();
    market.check().unwrap();
    assert_eq!(market.ledger().income()[1] - before, 3 * 3 * 4);
    market.apply(&here(JobId(1))).unwrap();
    // Its licences stay, and so does their number while it has them.
    let fewer = crate::Licence { name: "l".to_owned(), count: 2, price: Price(3) };
    let pools = two_pools().pools().clone();
    let pools = pools.with_licences(vec![(fewer, SiteId(1))]).unwrap();
    assert!(market.clone().regrid(Arc::new(pools)).is_err());
    assert!(market.regrid(Arc::new(two_pools().pools().clone())).is_err());
}
