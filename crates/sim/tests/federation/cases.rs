//! Cases made by hand.

use std::sync::Arc;

use tradewind_model::{
    Attribute, LoadPrice, Money, Place, Pool, PoolId, Pools, Price, Rates, Reason, Series, SiteId,
    Span, Terms, Time,
};
use tradewind_sched::negotiation::{self, Choose, Kind};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::multiqueue::{self, Overflow};
use tradewind_sim::network::{Faults, Links, NetworkPartition, NetworkSettings, Stop};

use super::grid::{Job, Mechanism, live, pools, traffic, workload};

const EASY: Mechanism = Mechanism::Plain(Depth::First(1));

/// Start and place of each job.
fn runs(sites: &[(u32, u32, i64)], jobs: &[Job], settings: NetworkSettings) -> Vec<(i64, u32)> {
    let workload = workload(&pools(sites), jobs);
    let (ran, _) = live(&workload, settings, EASY).unwrap();
    let place = |place: &Place| match place {
        Place::Pool(pool) => pool.0,
        Place::Shares(_) => unreachable!("a job of a federation lies in one pool"),
    };
    ran.jobs.iter().map(|ran| (ran.start.0, place(&ran.place))).collect()
}

/// Two sites of four processors, a busy first one, and a job of two processors.
const JOBS: [Job; 2] = [(0, 0, 100, 4, 100), (0, 10, 50, 2, 50)];

#[test]
fn a_job_goes_where_it_can_start_and_the_way_takes_time() {
    let two = [(4, 1_000, 0), (4, 1_000, 0)];
    // Discover, volunteer, commit, accepted: a second each; then a second and two for the data.
    assert_eq!(runs(&two, &JOBS, NetworkSettings::default()), [(0, 0), (17, 1)]);
    let alone = NetworkSettings { negotiation: None, ..NetworkSettings::default() };
    assert_eq!(runs(&two, &JOBS, alone), [(0, 0), (100, 0)]);
    assert_eq!(runs(&two[..1], &JOBS, NetworkSettings::default()), [(0, 0), (100, 0)]);
}

#[test]
fn one_hand_over_is_six_messages() {
    let workload = workload(&pools(&[(4, 1_000, 0), (4, 1_000, 0)]), &JOBS);
    let (_, federation) = live(&workload, NetworkSettings::default(), EASY).unwrap();
    let traffic = traffic(&federation);
    assert_eq!((federation.passed_on(), traffic.sent(), traffic.lost), (1, 6, 0));
    assert!([Kind::Discover, Kind::Migrate, Kind::Done].iter().all(|kind| traffic.of(*kind) == 1));
}

#[test]
fn the_cheaper_volunteer_gets_the_job_and_is_paid_what_it_asked() {
    let three = [(4, 1_000, 1), (4, 1_000, 7), (4, 1_000, 3)];
    let knobs = negotiation::NegotiationSettings { choose: Choose::Cost, ..Default::default() };
    let settings = NetworkSettings { negotiation: Some(knobs), ..NetworkSettings::default() };
    // Home is the cheapest, though late: by cost alone the job stays.
    assert_eq!(runs(&three, &JOBS, settings.clone())[1], (100, 0));
    let dear_home = [(4, 1_000, 9), (4, 1_000, 7), (4, 1_000, 3)];
    let workload = workload(&pools(&dear_home), &JOBS);
    let (ran, _) = live(&workload, settings, EASY).unwrap();
    assert_eq!(ran.jobs[1].place, Place::Pool(PoolId(2)));
    assert_eq!(ran.jobs[1].cost, Money(3 * 2 * 50));
    let trade = &ran.trades[0].trade;
    assert_eq!((trade.pool, trade.price, trade.ask), (PoolId(2), Price(3), Some(Money(300))));
}

/// Where the job `at` runs, by what the volunteer is chosen.
fn goes_to(sites: &[(u32, u32, i64)], jobs: &[Job], at: usize, choose: Choose) -> u32 {
    let knobs = negotiation::NegotiationSettings { choose, ..Default::default() };
    let links = Links { per_processor_mb: 1_000, ..Links::default() };
    let settings =
        NetworkSettings { negotiation: Some(knobs), links, ..NetworkSettings::default() };
    runs(sites, jobs, settings)[at].1
}

#[test]
fn volunteers_are_chosen_by_slowdown_network_use_and_free_processors() {
    let alike = [(4, 1_000, 0); 3];
    // A job waited for 99 s at site 1, and another needs a site when all is idle again.
    let full = |home| (home, 0, 100, 4, 100);
    let waited =
        [full(0), full(1), full(2), (1, 1, 10, 4, 10), (0, 950, 500, 4, 500), (0, 960, 10, 4, 10)];
    assert_eq!(goes_to(&alike, &waited, 5, Choose::Load), 1);
    assert_eq!(goes_to(&alike, &waited, 5, Choose::Slowdown), 2);
    // The second leaves while the data of the first are on their way to site 1.
    let roomy = [(4, 1_000, 0), (8, 1_000, 0), (8, 1_000, 0)];
    let two = [(0, 0, 900, 4, 900), (0, 10, 90, 4, 90), (0, 20, 90, 4, 90)];
    assert_eq!([1, 2].map(|at| goes_to(&roomy, &two, at, Choose::Load)), [1, 1]);
    assert_eq!([1, 2].map(|at| goes_to(&roomy, &two, at, Choose::Network)), [1, 2]);
    let wider = [(4, 1_000, 0), (8, 1_000, 0), (9, 1_000, 0)];
    assert_eq!(goes_to(&wider, &two, 1, Choose::Load), 1);
    assert_eq!(goes_to(&wider, &two, 1, Choose::Free), 2);
}

/// Memory of each node of the sites, in KiB.
fn with_memory(sites: &[(u32, u32, i64)], memory: &[i64]) -> Arc<Pools> {
    let plain = pools(sites);
    let of = |(pool, kib): (&Pool, &i64)| {
        let memory = (Pool::MEMORY.to_owned(), Attribute::Number(kib * 1_000));
        Pool { attributes: [memory].into_iter().collect(), ..pool.clone() }
    };
    let all = plain.as_slice().iter().zip(memory).map(of).collect();
    Arc::new(Pools::new(plain.sites().to_vec(), all).unwrap())
}

#[test]
fn volunteers_are_chosen_by_the_memory_of_their_free_nodes() {
    // Site 1 has eight nodes free, and site 2 three of nine.
    let sites = [(4, 1_000, 0), (8, 1_000, 0), (9, 1_000, 0)];
    let jobs = [(0, 0, 900, 4, 900), (2, 0, 900, 6, 900), (0, 10, 90, 2, 90)];
    let place = |memory: [i64; 3], needs: Option<i64>, choose| {
        let mut workload = workload(&with_memory(&sites, &memory), &jobs);
        let wanted = needs.map(|kib| (Pool::MEMORY.to_owned(), Attribute::Number(kib * 1_000)));
        let terms = Terms {
            home: Some(SiteId(0)),
            attributes: wanted.into_iter().collect(),
            ..Terms::NONE
        };
        workload.jobs[2].terms = Some(Arc::new(terms));
        let knobs = negotiation::NegotiationSettings { choose, ..Default::default() };
        let settings = NetworkSettings { negotiation: Some(knobs), ..NetworkSettings::default() };
        let (ran, _) = live(&workload, settings, EASY).unwrap();
        match ran.jobs[2].place {
            Place::Pool(PoolId(pool)) if ran.jobs[2].refused.is_none() => Some(pool),
            _ => None,
        }
    };
    // Free: 8 · 100 KiB and 3 · 266 or 267 KiB. In all there is more at site 2 each time.
    assert_eq!(place([9, 100, 266], None, Choose::Memory), Some(1));
    assert_eq!(place([9, 100, 267], None, Choose::Memory), Some(2));
    assert_eq!(place([9, 100, 267], None, Choose::Free), Some(1));
    // A task needs a node that has its memory, wherever it would rather go.
    assert_eq!(place([9, 100, 266], Some(100), Choose::Memory), Some(1));
    assert_eq!(place([9, 100, 266], Some(101), Choose::Memory), Some(2));
    assert_eq!(place([9, 100, 266], Some(266), Choose::Load), Some(2));
    assert_eq!(place([9, 100, 266], Some(267), Choose::Memory), None);
    // Home has it, and is full.
    assert_eq!(place([300, 100, 266], Some(267), Choose::Memory), Some(0));
}

/// Home costs 3 until 40 s, then 9; the other site 4 until 60 s, then 5.
#[test]
fn where_prices_change_a_cap_holds_for_the_highest_and_a_volunteer_asks_the_mean() {
    let series = |steps: &[(i64, i64)]| {
        let steps: Vec<_> = steps.iter().map(|&(at, price)| (Time(at), price)).collect();
        Some(Arc::new(Series::new(&steps).unwrap()))
    };
    let rates = Rates::new(vec![series(&[(0, 3), (40, 9)]), series(&[(0, 4), (60, 5)])]);
    let two = pools(&[(4, 1_000, 0), (4, 1_000, 0)]);
    let two = Arc::new(Pools::clone(&two).with_rates(rates));
    let run = |max_price: Option<i64>, length| {
        let mut workload = workload(&two, &[(0, 0, length, 2, length)]);
        let terms = Terms { max_price: max_price.map(Price), home: Some(SiteId(0)), ..Terms::NONE };
        workload.jobs[0].terms = Some(Arc::new(terms));
        live(&workload, NetworkSettings::default(), EASY).unwrap().0
    };
    let at_home = run(None, 50);
    assert_eq!(at_home.jobs[0].cost, Money(2 * (40 * 3 + 10 * 9)));
    let away = run(Some(8), 40);
    // It starts at 7 s: discover, volunteer, commit, accepted, migrate; then two for the data.
    assert_eq!((away.jobs[0].start, &away.jobs[0].place), (Time(7), &Place::Pool(PoolId(1))));
    assert_eq!(away.trades[0].trade.price, Price(4), "no second of it costs more");
    let mut late = workload(&two, &[(0, 25, 50, 2, 50)]);
    let terms = Terms { max_price: Some(Price(8)), home: Some(SiteId(0)), ..Terms::NONE };
    late.jobs[0].terms = Some(Arc::new(terms));
    let (late, _) = live(&late, NetworkSettings::default(), EASY).unwrap();
    assert_eq!(late.jobs[0].start, Time(32));
    assert_eq!(late.trades[0].trade.price, Price(5), "between 4 and 5, rounded up");
    assert_eq!(late.jobs[0].cost, Money(5 * 2 * 50), "as agreed");
}

/// Home costs 3 while it is idle and 9 from half of its nodes on, the other site 4 and 5.
#[test]
fn where_prices_follow_load_a_cap_holds_for_a_full_site() {
    let steps = |idle, full| LoadPrice::new(vec![(0, Price(idle)), (500, Price(full))]).ok();
    let two = pools(&[(4, 1_000, 0), (4, 1_000, 0)]);
    let two = Arc::new(Pools::clone(&two).with_load_prices(vec![steps(3, 9), steps(4, 5)]));
    let run = |max_price: i64| {
        let mut workload = workload(&two, &[(0, 0, 50, 2, 50), (0, 10, 50, 1, 50)]);
        for (job, max_price) in workload.jobs.iter_mut().zip([None, Some(Price(max_price))]) {
            let terms = Terms { max_price, home: Some(SiteId(0)), ..Terms::NONE };
            job.terms = Some(Arc::new(terms));
        }
        live(&workload, NetworkSettings::default(), EASY).unwrap().0
    };
    let at_home = run(9);
    assert_eq!([at_home.jobs[0].cost, at_home.jobs[1].cost], [Money(2 * 50 * 3), Money(50 * 9)]);
    let away = run(8);
    assert_eq!(away.jobs[1].place, Place::Pool(PoolId(1)), "home may cost 9");
    assert_eq!((away.jobs[1].cost, away.trades[0].by_load), (Money(50 * 4), Some(Price(4))));
    assert!(run(4).jobs[1].refused.is_some(), "either may cost more");
}

#[test]
fn what_home_cannot_run_goes_elsewhere_or_is_refused_if_no_site_can() {
    let sites = [(2, 1_000, 0), (8, 1_000, 0)];
    let wide = [(1, 0, 100, 8, 100), (0, 5, 10, 6, 10)];
    let starts = runs(&sites, &wide, NetworkSettings::default());
    assert_eq!(starts[1].1, 1);
    assert!(starts[1].0 >= 100);
    let workload = workload(&pools(&sites), &[(0, 0, 10, 9, 10)]);
    let (ran, _) = live(&workload, NetworkSettings::default(), EASY).unwrap();
    let reason = Reason::WiderThanQueues { needed: 9, widest: 8 };
    assert_eq!(ran.jobs[0].refused.as_deref(), Some(&reason));
}

#[test]
fn behind_a_partition_that_never_heals_home_goes_on_and_what_must_go_waits_for_ever() {
    let sites = [(4, 1_000, 0), (8, 1_000, 0)];
    let inside = [negotiation::Peer(0)].into();
    let partition = NetworkPartition { from: Time(0), until: Time(i64::MAX), inside };
    let faults = Faults { partitions: vec![partition], ..Faults::none() };
    let settings = NetworkSettings { faults, ..NetworkSettings::default() };
    assert_eq!(runs(&sites, &JOBS, settings.clone()), [(0, 0), (100, 0)]);
    let jobs = [JOBS[0], JOBS[1], (0, 20, 10, 6, 10)];
    let stuck = live(&workload(&pools(&sites), &jobs), settings, EASY).unwrap_err();
    assert!(stuck.contains("leaves 1 jobs waiting for ever"), "{stuck}");
}

#[test]
fn local_jobs_come_before_those_from_elsewhere() {
    let sites = [(4, 1_000, 0), (4, 1_000, 0)];
    // The second job is on its way to site 1 when that site's own job comes: it runs first, and
    // the guest starts beside it or after it.
    let jobs = [JOBS[0], JOBS[1], (1, 15, 30, 4, 30)];
    assert_eq!(runs(&sites, &jobs, NetworkSettings::default()), [(0, 0), (45, 1), (15, 1)]);
}

#[test]
fn faster_nodes_run_a_job_that_was_passed_on_faster() {
    let workload = workload(&pools(&[(4, 1_000, 0), (4, 2_000, 0)]), &JOBS);
    let (ran, _) = live(&workload, NetworkSettings::default(), EASY).unwrap();
    assert_eq!(ran.jobs[1].end - ran.jobs[1].start, Span(25));
}

#[test]
fn a_full_backfill_queue_passes_its_oldest_job_on() {
    let passed = |overflow| {
        let settings = multiqueue::MultiQueueSettings::new(300, 2).unwrap();
        let hybrid = Mechanism::Hybrid(multiqueue::MultiQueueSettings { overflow, ..settings });
        // Both sites are full when the small job comes. Site 1 is free from 100 on, but no site
        // asks again, until a second small job fills the queue.
        let busy = [(0, 0, 900, 12, 900), (1, 0, 100, 12, 100)];
        let small = [(0, 10, 50, 2, 50), (0, 150, 50, 2, 50)];
        let workload = workload(&pools(&[(12, 1_000, 0), (12, 1_000, 0)]), &[busy, small].concat());
        let (ran, _) = live(&workload, NetworkSettings::default(), hybrid).unwrap();
        [2, 3].map(|job: usize| ran.jobs[job].place == Place::Pool(PoolId(1)))
    };
    assert_eq!(passed(Overflow::Migrate), [true, true]);
    assert_eq!(passed(Overflow::Queue), [false, true]);
}

#[test]
fn a_site_that_comes_back_remembers_what_must_go() {
    let sites = [(2, 1_000, 0), (8, 1_000, 0)];
    let jobs = [(1, 0, 100, 8, 100), (0, 5, 10, 6, 10)];
    let stops = vec![Stop { peer: negotiation::Peer(0), from: Time(40), until: Time(80) }];
    let settings = NetworkSettings {
        faults: Faults { stops, ..Faults::none() },
        ..NetworkSettings::default()
    };
    assert_eq!(runs(&sites, &jobs, settings)[1].1, 1);
}

#[test]
fn without_migration_what_home_cannot_run_is_refused() {
    let alone = NetworkSettings { negotiation: None, ..NetworkSettings::default() };
    let workload = workload(&pools(&[(2, 1_000, 0), (8, 1_000, 0)]), &[(0, 5, 10, 6, 10)]);
    let (ran, _) = live(&workload, alone, EASY).unwrap();
    let reason = Reason::WiderThanQueues { needed: 6, widest: 2 };
    assert_eq!(ran.jobs[0].refused.as_deref(), Some(&reason));
}

#[test]
fn a_site_that_is_down_hears_nothing_and_runs_its_own_jobs() {
    let stops = vec![Stop { peer: negotiation::Peer(1), from: Time(11), until: Time(60) }];
    let settings = NetworkSettings {
        faults: Faults { stops, ..Faults::none() },
        ..NetworkSettings::default()
    };
    let jobs = [JOBS[0], JOBS[1], (1, 20, 10, 4, 10)];
    let workload = workload(&pools(&[(4, 1_000, 0), (4, 1_000, 0)]), &jobs);
    let (ran, federation) = live(&workload, settings, EASY).unwrap();
    assert_eq!(ran.jobs.iter().map(|ran| ran.start.0).collect::<Vec<_>>(), [0, 100, 20]);
    assert_eq!((traffic(&federation).sent(), traffic(&federation).lost), (1, 1));
}
