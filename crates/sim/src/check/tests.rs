//! Every checker against faults planted on purpose: one that finds nothing is worth nothing.

use std::sync::Arc;

use tradewind_model::{
    Admission, Attributes, Cause, Command, Demand, JobId, Money, Outage, OutageId, Performance,
    Place, Pool, PoolId, Pools, Price, Rates, Series, Site, SiteId, Span, Terms, Time, Times,
    Trade,
};

use super::*;
use crate::workload::{LogJob, Overrun, prepare};
use crate::{ReplaySettings, SimError, run};

/// A market, and a checker that gets all events, also of what the market refuses.
struct Stage {
    market: Market,
    checker: Box<dyn Checker>,
}

impl Stage {
    fn new(checker: impl Checker + 'static) -> Stage {
        Stage::on(two_pools(), checker)
    }

    fn on(pools: Pools, checker: impl Checker + 'static) -> Stage {
        Stage { market: Market::new(Arc::new(pools), Time(0)), checker: Box::new(checker) }
    }

    /// One pool of four nodes.
    fn cluster(checker: impl Checker + 'static) -> Stage {
        let market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
        Stage { market, checker: Box::new(checker) }
    }

    fn at(&mut self, now: i64) -> &mut Stage {
        self.market.pass_to(Time(now)).unwrap();
        self
    }

    /// What the market and the checker both accept.
    fn fine(&mut self, event: &Event) -> &mut Stage {
        self.market.apply(event).unwrap();
        assert_eq!(self.checker.event(&self.market, event), Ok(()), "{event:?}");
        self
    }

    /// What the market would have refused.
    fn fed(&mut self, event: &Event) -> Result<(), &'static str> {
        self.checker.event(&self.market, event).map_err(|violation| violation.checker)
    }

    fn pass(&mut self, policy: &dyn Policy) -> Result<(), &'static str> {
        self.checker.pass(&self.market, policy).map_err(|violation| violation.checker)
    }

    /// Submits jobs of (nodes, estimate).
    fn jobs(&mut self, jobs: &[(u32, i64)]) -> &mut Stage {
        for (id, &(nodes, estimate)) in (0..).zip(jobs) {
            let demand = Demand::new(nodes, Span(estimate));
            self.fine(&Event::Submitted { job: JobId(id), demand });
        }
        self
    }
}

/// Two sites: four nodes at one credit, four of double speed at three.
fn two_pools() -> Pools {
    let sites = ["a", "b"].map(|name| Site { name: name.to_owned() });
    let pool = |site: u32, thousandths, price| Pool {
        name: format!("pool{site}"),
        site: SiteId(site),
        nodes: 4,
        performance: Performance::from_thousandths(thousandths).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    Pools::new(sites.to_vec(), vec![pool(0, 1_000, 1), pool(1, 2_000, 3)]).unwrap()
}

fn started(job: u32) -> Event {
    Event::Started { job: JobId(job), place: Place::Pool(PoolId(0)) }
}

fn ended(job: u32) -> Event {
    Event::Ended { job: JobId(job) }
}

fn announced(nodes: u32, from: i64, until: i64) -> Event {
    let (pool, from, until, cause) = (PoolId(0), Time(from), Time(until), Cause::Maintenance);
    let what = Outage { pool, nodes, from, until, cause };
    Event::Announced { closure: OutageId(0), what }
}

/// Returns what the test sets.
#[derive(Default)]
struct Says(Vec<Option<i64>>);

impl Policy for Says {
    fn decide(&mut self, _: &Market, _: &[Event], _: &mut Vec<Command>) {}

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.0.get(job.index()).copied().flatten().map(Time)
    }
}

#[test]
fn overbooking_is_seen() {
    let stage = &mut Stage::new(capacity::Capacity::default());
    stage.jobs(&[(3, 10), (3, 10)]).fine(&started(0));
    assert_eq!(stage.fed(&started(1)), Err("capacity"));
    let stage = &mut Stage::new(capacity::Capacity::default());
    stage.jobs(&[(3, 10)]).fine(&announced(2, 5, 9)).fine(&started(0)).at(5);
    assert_eq!(stage.fed(&Event::Closed { closure: OutageId(0) }), Err("capacity"));
}

#[test]
fn a_job_in_a_queue_that_does_not_admit_it_is_seen() {
    let two = two_pools();
    let narrow = Admission { max_processors: Some(2), ..Admission::NONE };
    let pools = two.as_slice().iter().map(|pool| Pool { admission: narrow, ..pool.clone() });
    let pools = Pools::new(two.sites().to_vec(), pools.collect()).unwrap();
    let stage = &mut Stage::on(pools, admission::Doors);
    stage.jobs(&[(2, 10), (3, 10)]).fine(&started(0));
    assert_eq!(stage.fed(&started(1)), Err("doors"));
}

#[test]
fn nodes_that_are_not_given_back_are_seen() {
    let stage = &mut Stage::new(capacity::Capacity::default());
    stage.jobs(&[(3, 10), (1, 10)]).fine(&started(0));
    stage.market.apply(&ended(0)).unwrap();
    stage.market.apply(&started(1)).unwrap();
    assert_eq!(stage.fed(&started(1)), Err("capacity"));
}

#[test]
fn a_job_that_runs_twice_or_never_is_seen() {
    let stage = || {
        let mut stage = Stage::new(lifecycle::Lives::default());
        stage.jobs(&[(1, 10), (1, 10)]).fine(&started(0)).fine(&ended(0));
        stage
    };
    for again in [started(0), ended(0), ended(1), Event::Refused { job: JobId(0) }] {
        assert_eq!(stage().fed(&again), Err("lives"), "{again:?}");
    }
    let mut forgotten = stage();
    assert!(forgotten.checker.finish(&forgotten.market).is_err());
    forgotten.fine(&Event::Refused { job: JobId(1) });
    assert_eq!(forgotten.checker.finish(&forgotten.market), Ok(()));
}

#[test]
fn lost_money_is_seen() {
    let stage = || {
        let mut stage = Stage::new(money::Conserved::default());
        stage.jobs(&[(2, 10)]).fine(&started(0)).at(8);
        stage
    };
    stage().fine(&ended(0));
    stage().fine(&Event::Interrupted { job: JobId(0) });
    // The job was never charged, or charged twice, or what was held for it was not returned.
    assert_eq!(stage().fed(&ended(0)), Err("money"));
    let mut twice = stage();
    twice.fine(&ended(0));
    twice.checker.event(&twice.market, &ended(0)).unwrap();
    assert_eq!(twice.fed(&started(0)), Err("money"));
    assert_eq!(stage().fed(&Event::Interrupted { job: JobId(0) }), Err("money"));
    // The wrong owner got it.
    let mut wrong = Stage::new(money::Conserved::default());
    wrong.jobs(&[(2, 10)]);
    wrong.market.apply(&started(0)).unwrap();
    let elsewhere = Event::Started { job: JobId(0), place: Place::Pool(PoolId(1)) };
    assert_eq!(wrong.fed(&elsewhere), Err("money"));
}

/// A policy that says that its trades are at list prices.
#[derive(Debug)]
struct AtList;

impl Policy for AtList {
    fn decide(&mut self, _: &Market, _: &[Event], _: &mut Vec<Command>) {}

    fn trades_at_list(&self) -> bool {
        true
    }
}

#[test]
fn a_trade_that_is_not_at_the_owners_price_is_seen() {
    // Ten seconds from 5 on, at 2 until 12 and at 9 after it: 41 in all.
    let series = Series::new(&[(Time(0), 2), (Time(12), 9)]).unwrap();
    let rates = Rates::new(vec![None, Some(Arc::new(series))]);
    let traded = |pool, wanted, price| {
        let mut stage = Stage::on(two_pools().with_rates(rates.clone()), trades::AtList::default());
        stage.jobs(&[(1, 20)]);
        let trade = Trade::at(PoolId(pool), Price(wanted), Time(5));
        let trade = Arc::new(Trade { price: Price(price), ..trade });
        stage.fine(&Event::Traded { job: JobId(0), trade });
        (stage.pass(&AtList), stage.pass(&AtList))
    };
    assert_eq!(traded(1, 5, 5), (Ok(()), Ok(())), "41 / 10, rounded up");
    assert_eq!(traded(1, 5, 7), (Ok(()), Ok(())));
    assert_eq!(traded(1, 4, 5), (Err("trades"), Ok(())));
    assert_eq!(traded(1, 5, 4), (Err("trades"), Ok(())));
    let list = Price::credits(1).0;
    assert_eq!(traded(0, list, list).0, Ok(()));
    assert_eq!(traded(0, list + 1, list + 1).0, Err("trades"));
}

#[test]
fn a_start_above_a_budget_or_a_cap_is_seen_where_prices_change() {
    // In the second pool a task takes ten seconds, at 2 until 12 and at 9 after it: 41 from 5 on. In
    // the first it takes 20 seconds at a million.
    let series = Series::new(&[(Time(0), 2), (Time(12), 9)]).unwrap();
    let changing = two_pools().with_rates(Rates::new(vec![None, Some(Arc::new(series))]));
    let begins = |pools: &Pools, pool, at, terms: Terms, lined: bool| {
        let mut stage = Stage::on(pools.clone(), limits::WithinLimits::default());
        let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(3, Span(20)) };
        stage.fine(&Event::Submitted { job: JobId(0), demand }).at(at);
        if lined {
            stage.fine(&Event::Lined { job: JobId(0) });
        }
        stage.fed(&Event::Started { job: JobId(0), place: Place::Pool(PoolId(pool)) })
    };
    let budget = |budget| Terms { budget: Some(Money(budget)), ..Terms::NONE };
    let cap = |cap| Terms { max_price: Some(Price(cap)), ..Terms::NONE };
    let refused = Err("limits");
    assert_eq!(begins(&changing, 1, 5, budget(3 * 41), false), Ok(()));
    assert_eq!(begins(&changing, 1, 5, budget(3 * 41 - 1), false), refused);
    assert_eq!(begins(&changing, 1, 5, budget(3 * 41 - 1), true), Ok(()), "its site's own start");
    assert_eq!(begins(&changing, 1, 2, cap(2), false), Ok(()), "the step is at its end");
    assert_eq!(begins(&changing, 1, 3, cap(8), false), refused);
    assert_eq!(begins(&changing, 1, 3, cap(9), false), Ok(()));
    assert_eq!(begins(&changing, 0, 3, budget(60_000_000), false), Ok(()));
    assert_eq!(begins(&changing, 0, 3, budget(59_999_999), false), refused);
    assert_eq!(begins(&two_pools(), 0, 3, budget(1), false), Ok(()), "prices that stay");
}

#[test]
fn overtaking_is_seen() {
    let stage = &mut Stage::new(head::InOrder::default());
    stage.jobs(&[(1, 10), (1, 10)]);
    stage.market.apply(&started(1)).unwrap();
    assert_eq!(stage.fed(&started(1)), Err("order"));
}

#[test]
fn delaying_the_head_is_seen() {
    let quiet = Says::default();
    let stage = |estimate| {
        let mut stage = Stage::cluster(head::NotDelayed::default());
        stage.jobs(&[(3, 10), (4, 5), (1, estimate)]).fine(&started(0));
        assert_eq!(stage.pass(&quiet), Ok(()));
        stage.fine(&started(2));
        stage
    };
    assert_eq!(stage(10).pass(&quiet), Ok(()));
    assert_eq!(stage(11).pass(&quiet), Err("head"));
    // A head that could start and is left waiting.
    let mut idle = Stage::cluster(head::NotDelayed::default());
    idle.jobs(&[(4, 5)]);
    assert_eq!(idle.pass(&quiet), Ok(()));
    assert_eq!(idle.at(1).pass(&quiet), Err("head"));
    // Known outages are no excuse, news of one is.
    let mut known = Stage::cluster(head::NotDelayed::default());
    known.jobs(&[(3, 10), (4, 5), (1, 20)]).fine(&announced(1, 12, 14)).fine(&started(0));
    assert_eq!(known.pass(&quiet), Ok(()));
    assert_eq!(known.fine(&started(2)).pass(&quiet), Err("head"));
    let mut news = Stage::cluster(head::NotDelayed::default());
    news.jobs(&[(3, 10), (4, 5)]).fine(&started(0));
    assert_eq!(news.pass(&quiet), Ok(()));
    assert_eq!(news.fine(&announced(1, 12, 14)).pass(&quiet), Ok(()));
}

#[test]
fn broken_reservations_are_seen() {
    let stage = || {
        let mut stage = Stage::cluster(reservations::Kept::default());
        stage.jobs(&[(4, 10), (2, 10)]).fine(&started(0));
        assert_eq!(stage.pass(&Says(vec![None, Some(10)])), Ok(()));
        stage
    };
    assert_eq!(stage().pass(&Says(vec![None, Some(11)])), Err("reservations"));
    assert_eq!(stage().pass(&Says(vec![None, Some(9)])), Ok(()));
    let mut late = stage();
    late.at(8).fine(&ended(0)).at(11);
    late.market.apply(&started(1)).unwrap();
    assert_eq!(late.fed(&started(1)), Err("reservations"));
    // A policy that no longer speaks of a promise has still made it.
    let mut silent = stage();
    silent.at(8).fine(&ended(0)).at(11);
    assert_eq!(silent.pass(&Says::default()), Ok(()));
    silent.market.apply(&started(1)).unwrap();
    assert_eq!(silent.fed(&started(1)), Err("reservations"));
}

#[test]
fn promises_lapse_when_they_must_and_only_then() {
    let says = |at| Says(vec![None, Some(at)]);
    let mut stage = Stage::cluster(reservations::Kept::default());
    stage.jobs(&[(4, 10), (2, 10)]).fine(&started(0));
    assert_eq!(stage.pass(&says(10)), Ok(()));
    assert_eq!(stage.fine(&announced(1, 12, 14)).pass(&says(14)), Ok(()));
    // The job exceeds its 10 s, and is expected to run for 20 s: a new promise, to be kept.
    assert_eq!(stage.at(10).pass(&says(20)), Ok(()));
    assert_eq!(stage.at(15).pass(&says(21)), Err("reservations"));
    assert_eq!(stage.at(20).pass(&says(40)), Ok(()));
}

/// Starts whatever fits, in the order of submission, and claims to be better than that.
struct Greedy(Promise);

impl Policy for Greedy {
    fn decide(&mut self, market: &Market, _: &[Event], commands: &mut Vec<Command>) {
        let mut free = market.free();
        for job in market.queue() {
            let wanted = market.demand(job).map_or(0, |demand| demand.processors);
            if wanted <= free {
                free -= wanted;
                commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
            }
        }
    }

    fn promise(&self) -> Promise {
        self.0
    }
}

#[test]
fn a_policy_that_breaks_its_word_is_stopped() {
    let jobs = [(0, 10, 3), (1, 5, 4), (2, 90, 1)];
    let job = |(number, &(submit, run, processors)): (i64, &(i64, i64, u32))| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        ..LogJob::default()
    };
    let log: Vec<LogJob> = (0..).zip(&jobs).map(job).collect();
    let cluster = Arc::new(Pools::cluster(4));
    let workload = prepare(&log, cluster, Default::default(), Overrun::Kill);
    let replay = |promise| {
        let mut checkers = all(promise);
        let result = run(&workload, ReplaySettings::default(), &mut Greedy(promise), &mut checkers);
        result.map(|_| ()).map_err(|error| match error {
            SimError::Check { violation, .. } => violation.checker,
            _ => "another error",
        })
    };
    assert_eq!(replay(Promise::Nothing), Ok(()));
    assert_eq!(replay(Promise::Order), Err("order"));
    assert_eq!(replay(Promise::Head), Err("head"));
}
