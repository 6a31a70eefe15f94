//! A plan that is kept and added to is what would be made from nothing.

use std::sync::Arc;

use tradewind_model::{OutageId, Performance, Place, Pool, Pools, Price, Site, SiteId, Terms};
use tradewind_sched::free::FreeTime;

use super::*;

/// Numbers without a pattern, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end) as i64
    }

    fn pools(&mut self) -> Pools {
        let plain = Pools::cluster(1).as_slice()[0].clone();
        let count = 1 + self.below(3) as u32;
        let pool = |at: u32| Pool {
            name: format!("p{at}"),
            site: SiteId(at),
            nodes: 1 + self.below(5) as u32,
            price: Price(self.below(4)),
            performance: Performance::from_thousandths(1_000 + 500 * self.below(3) as u32).unwrap(),
            ..plain.clone()
        };
        let pools = (0..count).map(pool).collect();
        let sites = (0..count).map(|at| Site { name: format!("s{at}") }).collect();
        Pools::new(sites, pools).unwrap()
    }

    fn demand(&mut self, market: &Market) -> Demand {
        let processors = 1 + self.below(u64::from(market.processors().min(6))) as u32;
        let estimate = Span(10 + 10 * self.below(12));
        let user = self.below(3);
        let terms = Some(Arc::new(Terms { user, ..Terms::default() }));
        Demand { terms, ..Demand::new(processors, estimate) }
    }

    /// Some jobs run, some wait, and an owner wants some nodes later.
    fn market(&mut self, waiting: u64) -> Market {
        let mut market = Market::new(Arc::new(self.pools()), Time(1_000));
        for _ in 0..self.below(4) {
            let job = JobId(market.submitted());
            let pool = PoolId(0);
            if market.free_in(pool) > 0 {
                let demand = Demand { processors: 1, ..self.demand(&market) };
                market.apply(&Event::Submitted { job, demand }).unwrap();
                market.apply(&Event::Started { job, place: Place::Pool(pool) }).unwrap();
            }
        }
        if self.below(2) == 0 {
            let from = Time(1_000 + 100 * self.below(5));
            let until = from + Span(100);
            let what = Outage { pool: PoolId(0), nodes: 1, from, until, cause: Cause::Local };
            let closure = OutageId(0);
            market.apply(&Event::Announced { closure, what }).unwrap();
            if from == market.now() && market.free_in(PoolId(0)) > 0 {
                market.apply(&Event::Closed { closure }).unwrap();
            }
        }
        for _ in 0..waiting {
            let (job, demand) = (JobId(market.submitted()), self.demand(&market));
            market.apply(&Event::Submitted { job, demand }).unwrap();
        }
        market
    }
}

fn view(market: &Market, policy: &str) -> MarketView {
    MarketView {
        market: market.clone(),
        policy: policy.to_owned(),
        numbers: Default::default(),
        users: Vec::new(),
        used: Default::default(),
        lead: Span::ZERO,
    }
}

fn spec(policy: &str) -> PolicySpec {
    PolicySpec::parse(policy).unwrap()
}

fn make(market: &Market, policy: &str) -> Draft {
    let going = &mut || ControlFlow::Continue(());
    Draft::make(&view(market, policy), going).unwrap().unwrap()
}

fn places(kept: &Kept) -> Vec<(JobId, Time, Time, Place)> {
    let all = kept.placed.iter();
    all.map(|it| (it.job, it.start, it.end(), it.place.clone())).collect()
}

/// What is free beside a plan, for a job.
fn free(market: &Market, kept: &Kept, demand: &Demand) -> tradewind_model::SlotList {
    let taken: Vec<Taken> = kept.taken(market).collect();
    let horizon = tradewind_model::Horizon { start: market.now(), end: Time(1_000_000) };
    FreeTime::new(market, demand, &taken, horizon).unwrap().snapshot.slots
}

#[test]
fn what_was_added_is_where_a_new_plan_has_it() {
    let mut worlds = 0;
    for world in 0..250 {
        let mut draw = Draw(world);
        let mut market = draw.market(1 + world % 12);
        if !is_exact(&spec("conservative"), &market) {
            continue;
        }
        worlds += 1;
        let mut draft = make(&market, "conservative");
        for _ in 0..1 + draw.below(4) {
            let mut new = Vec::new();
            for _ in 0..1 + draw.below(4) {
                let (job, demand) = (JobId(market.submitted()), draw.demand(&market));
                market.apply(&Event::Submitted { job, demand: demand.clone() }).unwrap();
                new.push(New { job, demand, waits: true });
            }
            draft.append(new, market.now(), Some(market.version()));
            let fresh = make(&market, "conservative");
            assert_eq!(places(&draft.kept), places(&fresh.kept), "world {world}");
            assert_eq!(draft.kept.version, fresh.kept.version);
            // So quotes are the same: they see nothing else of the queue.
            let demand = draw.demand(&market);
            let (one, other) =
                (free(&market, &draft.kept, &demand), free(&market, &fresh.kept, &demand));
            assert_eq!(one, other, "world {world}");
        }
    }
    assert!(worlds > 100, "{worlds}");
}

#[test]
fn a_plan_without_a_rest_is_what_the_policy_does() {
    for (world, policy) in (0..60).zip(["easy", "conservative", "fcfs", "css"].iter().cycle()) {
        let market = Draw(world).market(world % 20);
        let kept = make(&market, policy).kept;
        let mut made = spec(policy).for_market(market.pools()).unwrap();
        let beliefs = Beliefs { clash: Clash::Waits, ..Beliefs::default() };
        let mut watch = |_| ControlFlow::Continue(());
        let forecast =
            fork::fork(&market, &mut *made, &beliefs, fork::Limits::default(), &mut watch).unwrap();
        let simulated = market.queue().filter_map(|job| {
            let runs = forecast.jobs.get(&job)?.runs()?;
            Some((job, runs.start, runs.end, runs.place.clone()))
        });
        let simulated: Vec<_> = simulated.collect();
        assert_eq!(places(&kept)[..], simulated[..], "world {world}, {policy}");
        let mut one: Vec<Taken> = kept.taken(&market).collect();
        let mut other: Vec<Taken> = forecast.taken().collect();
        let key = |it: &Taken| (it.share.pool, it.from, it.until, it.share.nodes);
        one.sort_by_key(key);
        other.sort_by_key(key);
        assert_eq!(one, other, "world {world}, {policy}");
    }
}

#[test]
fn a_long_queue_is_cut_and_all_of_it_is_placed() {
    let mut market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
    for job in 0..HEAD as u32 + 50 {
        let demand = Demand::new(1 + job % 4, Span(60 + i64::from(job % 7)));
        market.apply(&Event::Submitted { job: JobId(job), demand }).unwrap();
    }
    let kept = make(&market, "conservative").kept;
    let all = HEAD as u64 + 50;
    let expected = QueuePlan { queue_as_of: 0, waiting: all, looked_at: HEAD as u64, placed: 50 };
    assert_eq!(kept.queue, expected);
    // The rule of the rest is this policy's own.
    let mut tail = Tail::new(&market, []);
    let whole: Vec<_> = market.queue().filter_map(|job| tail.place(&market, job)).collect();
    let whole: Vec<_> =
        whole.iter().map(|it| (it.job, it.start, it.end(), it.place.clone())).collect();
    assert_eq!(places(&kept), whole);
    // In the policy's order, and not in that of submission.
    let shortest = head(&view(&market, "easy[order=shortest]"), &spec("easy[order=shortest]"));
    let longest =
        |jobs: &[JobId]| jobs.iter().map(|job| market.demand(*job).unwrap().estimate).max();
    assert!(longest(&shortest.first) <= longest(&shortest.rest));
    assert_eq!(shortest.first.len() + shortest.rest.len(), all as usize);
}

#[test]
fn what_has_begun_does_not_count_twice_and_what_is_late_is_pushed_on() {
    let mut market = Market::new(Arc::new(Pools::cluster(2)), Time(0));
    for job in 0..3 {
        let demand = Demand::new(1, Span(100));
        market.apply(&Event::Submitted { job: JobId(job), demand }).unwrap();
    }
    let kept = make(&market, "easy").kept;
    let place = Place::Pool(PoolId(0));
    market.apply(&Event::Started { job: JobId(0), place }).unwrap();
    market.pass_to(Time(30)).unwrap();
    let spans = |own| {
        let taken = kept.taken_by_others(&market, JobId(own));
        taken.map(|it| (it.from.0, it.until.0)).collect::<Vec<_>>()
    };
    assert_eq!(spans(9), [(30, 130), (100, 200)], "the second should have begun");
    assert_eq!(spans(2), [(30, 130)]);
    assert_eq!(kept.expected(JobId(2)).map(|it| it.start), Some(Time(100)));
}

#[test]
fn it_stops_on_request() {
    let market = Draw(3).market(20);
    let mut asked = 0;
    let mut going = || {
        asked += 1;
        match asked < 3 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    assert!(Draft::make(&view(&market, "easy"), &mut going).unwrap().is_none());
    assert!(asked < 10, "{asked}");
}
