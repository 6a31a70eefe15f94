//! A market in virtual time whose past is known, and its past once more.

use std::collections::BTreeMap;

use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Input, Live, Record, Settings, State};
use tradewind_daemon::site::fake::{FakeSite, LocalJob, work};
use tradewind_daemon::site::{PoolSetup, Site};
use tradewind_io::submission::{Conditions, Submission, TimeLimit};
use tradewind_model::{Admission, Attributes, Performance, Pool, Pools, SiteId, Span, Times};
use tradewind_web::Other;

use super::super::policies::Policies;
use super::*;

const DAWN: Time = Time(1_800_000_000);
const NODES: u32 = 8;

/// The pool whose owner needs half of it.
const OWN: PoolId = PoolId(0);

/// Numbers without a pattern, the same in every run.
struct Draw(u64);

impl Draw {
    fn between(&mut self, min: i64, max: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        min + ((self.0 >> 33) % (max - min + 1) as u64) as i64
    }
}

/// `a/x` costs 1 credit per node and second, `b/x` 2.
fn pools() -> Pools {
    let pool = |(site, name, price): (u32, &str, i64)| Pool {
        name: name.to_owned(),
        site: SiteId(site),
        nodes: NODES,
        performance: Performance::from_thousandths(1_000).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = ["a", "b"].map(|name| tradewind_model::Site { name: name.to_owned() });
    let both = [(0, "a/x", 1), (1, "b/x", 2)].map(pool);
    Pools::new(sites.into(), both.into()).unwrap()
}

fn submission(tasks: u32, (run, limit): (i64, i64), dearest: i64) -> Submission {
    Submission {
        terms: Conditions { max_price: Some(Price::credits(dearest)), ..Conditions::default() },
        ..Submission::new("t", work(Span(run), 0), tasks, TimeLimit::Reference(Span(limit)))
    }
}

struct World {
    live: Live,
    sites: [FakeSite; 2],
    now: Time,
    draw: Draw,
    /// Nodes of a job, at most.
    widest: i64,
    /// Seconds between two jobs, on average.
    every: i64,
}

impl World {
    fn new(policy: &str, (widest, every): (i64, i64)) -> World {
        let mut state = State::empty(DAWN);
        let owners = vec!["olga".to_owned(), "otto".to_owned()];
        let grid = Record::Market(MarketRecord::Gridded { pools: Arc::new(pools()), owners });
        for record in [Record::Market(MarketRecord::Created { market: "m".to_owned() }), grid] {
            state.apply(DAWN, &record).unwrap();
        }
        let settings = Settings::default();
        let begun = Live::begin(state, settings, Arc::new(Policies), policy, DAWN);
        let site = |pool: &Pool| {
            let (performance, attributes) = (pool.performance, Attributes::new());
            let pool = PoolSetup { name: "x".to_owned(), nodes: NODES, performance, attributes };
            FakeSite::new(vec![pool], DAWN)
        };
        let sites = [0, 1].map(|at| site(&pools().as_slice()[at]));
        World { live: begun.unwrap().0, sites, now: DAWN, draw: Draw(7), widest, every }
    }

    fn tell(&mut self, input: Input) {
        self.live.step(self.now, input).unwrap();
    }

    /// A second passes, and `inputs` arrive.
    fn second(&mut self, inputs: Vec<Input>) {
        self.now = self.now + Span(1);
        for at in 0..self.sites.len() {
            self.sites[at].advance(self.now);
            let survey = self.sites[at].survey();
            self.tell(Input::Surveyed { site: SiteId(at as u32), survey });
        }
        inputs.into_iter().for_each(|input| self.tell(input));
        self.live.plan(self.now).unwrap();
        for order in self.live.orders(|_, _| false) {
            let answer = order.carry_out(&mut self.sites[order.site.0 as usize]);
            self.tell(Input::Answered { tag: order.tag, act: order.act, answer });
        }
    }

    /// A job for some minutes, which may say that it needs more, for any pool that is cheap enough.
    fn any_job(&mut self) -> Input {
        let draw = &mut self.draw;
        let run = draw.between(60, 600);
        let limit = run + draw.between(0, 300);
        let (tasks, dearest) = (draw.between(1, self.widest) as u32, draw.between(1, 3));
        let submission = Arc::new(submission(tasks, (run, limit), dearest));
        let user = ["ana", "ben"][draw.between(0, 1) as usize].to_owned();
        let ask = Ask::Submit { submission, key: None, quote: None };
        Input::Asked { actor: Actor { user, role: Role::User }, ask }
    }

    /// The owner of the first site submits a task of two nodes; when it should be over.
    fn owners_task(&mut self) -> Time {
        let length = Span(self.draw.between(300, 900));
        let from = self.now + Span(self.draw.between(1, 60));
        let job = LocalJob { pool: 0, nodes: 2, shown: from, from, length };
        self.sites[0].set_local(&format!("own{}", self.draw.0), job);
        from + length
    }

    /// So many seconds, with jobs now and then, and nearly always two tasks of the owner's.
    fn live_on(&mut self, seconds: i64) {
        let mut over = [self.now; 2];
        for _ in 0..seconds {
            for next in &mut over {
                if *next <= self.now {
                    *next = self.owners_task();
                }
            }
            let comes = self.draw.between(1, self.every) == 1;
            let inputs = if comes { vec![self.any_job()] } else { Vec::new() };
            self.second(inputs);
        }
        self.second(Vec::new());
    }

    fn view(&self) -> MarketView {
        let state = self.live.state();
        MarketView {
            market: state.market.clone(),
            policy: state.policy.clone(),
            numbers: state.jobs.numbers.clone(),
            users: state.users().to_vec(),
            used: Default::default(),
            lead: state.lead(),
        }
    }
}

/// Income and use of the pool, as they really were and for parts of its prices, in hundredths.
fn tried(world: &World, week: &Week, parts: &[i64]) -> Vec<(i128, i64)> {
    let lived = |part: &i64| {
        replay_with_prices(
            &world.view(),
            week,
            &week.with(OWN, Other::Part(*part)),
            &Watch::new(std::time::Duration::MAX),
        )
    };
    let all = parts.iter().map(|part| lived(part).unwrap());
    [week.real.clone()].into_iter().chain(all).map(|it| sums(week, &it)).collect()
}

fn sums(week: &Week, lived: &ReplayResult) -> (i128, i64) {
    let earned = week.earned(lived, OWN);
    (earned.income, earned.used)
}

/// Two hours, in the second of which the owner asks twice as much.
fn two_hours(policy: &str, load: (i64, i64)) -> (World, Week) {
    let mut world = World::new(policy, load);
    world.live_on(3_600);
    let prices = vec![(OWN, Price::credits(2))];
    world.tell(Input::Terms { prices, rates: BTreeMap::new(), withheld: Vec::new() });
    world.live_on(3_600);
    let week = Week::of(&world.live);
    let owners = week.missing.iter().map(|it| it.what);
    let owners: i64 =
        owners.map(|it| (it.until.min(week.until) - it.from).0 * i64::from(it.nodes)).sum();
    let share = owners * 100 / ((week.until - week.from).0 * i64::from(NODES));
    assert!((40..=60).contains(&share), "{policy}: owners had {share} %");
    (world, week)
}

#[test]
fn at_the_true_prices_it_is_what_really_was() {
    for policy in ["easy", "css"] {
        let (world, week) = two_hours(policy, (1, 120));
        assert!(week.jobs.len() > 30 && week.real.ran > 30, "{policy}: {}", week.jobs.len());
        let found = tried(&world, &week, &[100, 25, 175, 400]);
        let [real, same, cheap, dear, none] = found[..] else { panic!("{found:?}") };
        assert_eq!(real, same, "{policy}: {found:?}");
        assert!(cheap.0 < real.0, "{policy}: a quarter of the price for as many: {found:?}");
        assert!(cheap.1 >= real.1, "{policy}: who pays 1 at most is there all the time: {found:?}");
        assert!(dear.1 < real.1, "{policy}: who paid 1 at most goes away: {found:?}");
        assert_eq!(none, (0, 0), "{policy}: no job pays 4");
    }
}

/// With more jobs than nodes, parts in two pools that wait for each other, and owners' tasks that
/// wait for nodes, a delay of a second changes what comes after it.
#[test]
fn a_market_that_is_sold_out_is_nearly_what_it_was() {
    for policy in ["easy", "css"] {
        let (world, week) = two_hours(policy, (4, 40));
        assert!(week.real.ran > 50 && week.jobs.len() > 120, "{policy}: {}", week.jobs.len());
        let [real, same] = tried(&world, &week, &[100])[..] else { panic!() };
        let off = (same.0 - real.0).abs() * 100 / real.0;
        assert!(off <= 10, "{policy}: {off} % off: {same:?} for {real:?}");
        // Without the owner's load it would be far off.
        let without = Week { missing: Vec::new(), ..week };
        let empty = tried(&world, &without, &[100])[1];
        assert!(empty.1 * 2 > real.1 * 3, "{policy}: {empty:?} of empty nodes for {real:?}");
    }
}
