use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Attributes, Criterion, Demand, Horizon, Job, JobData, Link, Links, Money, NodeId, Pool, PoolId,
    Pools, Price, Profile, Request, Site, SiteId, Snapshot, Span, Staging, Terms, Time, Times,
};

use super::*;
use crate::policy::cyclic::plan;
use crate::policy::grid::{Booking, Names, Tariff};
use crate::testing::{any_mode, performance};

#[test]
fn the_first_nodes_have_the_longest_slots() {
    let pools = Pools::cluster(3);
    let (names, grid) = Names::new(&pools, 9).unwrap();
    let mut profile = Profile::new(3, Time(0));
    profile.take(2, Time(0), Time(10));
    profile.take(1, Time(5), Time(20));
    let horizon = Horizon { start: Time(0), end: Time(40) };
    let slots = names.slots(&[profile], horizon);
    let found: Vec<_> =
        slots.as_slice().iter().map(|it| (it.node.0, it.start.0, it.end.0)).collect();
    assert_eq!(found, [(0, 0, 5), (0, 10, 40), (1, 10, 40), (2, 20, 40)]);
    assert_eq!(grid.node(NodeId(2)).name, "cluster/2");
    assert_eq!(names.pool_of(NodeId(2)), PoolId(0));
}

fn pools(drawn: &[(u32, u32, i64)]) -> Pools {
    let pool = |(at, &(nodes, speed, price)): (usize, &(u32, u32, i64))| Pool {
        name: format!("pool{at}"),
        site: SiteId(at as u32 % 3),
        nodes,
        performance: performance(speed),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: tradewind_model::Admission::NONE,
        times: if at % 2 == 0 { Times::Work } else { Times::Wall },
    };
    let all = drawn.iter().enumerate().map(pool).collect();
    let sites = ["site", "near", "far"].map(|name| Site { name: name.to_owned() });
    Pools::new(sites.to_vec(), all).unwrap()
}

/// So many bytes that are at the first site, a second for each to one of the others and two to the third.
fn from_the_first_site(pools: &Pools, bytes: u64) -> Arc<Staging> {
    let link = |(to, bandwidth): (&str, u64)| Link {
        between: ["site".to_owned(), to.to_owned()],
        bandwidth,
    };
    let links = Links::new([("near", 8), ("far", 4)].map(link).to_vec()).unwrap();
    let from = "site".to_owned();
    let data = JobData { input: bytes, from, output: 0, to: String::new() };
    links.stage(pools.sites(), data).unwrap()
}

/// Something that holds nodes of a pool: which, how many, from, for.
type Hold = (usize, u32, i64, i64);

fn profiles(pools: &Pools, holds: &[Hold]) -> Vec<Profile> {
    let fresh = |pool: &Pool| Profile::new(pool.nodes, Time(0));
    let mut profiles: Vec<Profile> = pools.as_slice().iter().map(fresh).collect();
    for &(pool, nodes, start, length) in holds {
        if let Some(profile) = profiles.get_mut(pool)
            && profile.fits(nodes, Time(start), Span(length))
        {
            profile.take(nodes, Time(start), Time(start + length));
        }
    }
    profiles
}

fn job() -> impl Strategy<Value = Job> {
    let criteria = vec![Criterion::Start, Criterion::Finish, Criterion::Runtime, Criterion::Cost];
    let budget = prop::option::of(0i64..200);
    (1u32..5, 1i64..20, budget, prop::sample::select(criteria), any_mode()).prop_map(
        |(tasks, work, budget, criterion, times)| {
            let budget = budget.map(Money::credits);
            let request = Request { budget, criterion, times, ..Request::new(tasks, Span(work)) };
            Job { name: String::new(), priority: 0, request }
        },
    )
}

fn demand(request: &Request) -> Demand {
    let terms = Terms {
        budget: request.budget,
        criterion: request.criterion.clone(),
        earliest_start: request.earliest_start,
        times: request.times,
        data: request.data.clone(),
        ..Terms::NONE
    };
    Demand { terms: Some(terms.into()), ..Demand::new(request.tasks, request.work) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nodes_that_no_job_could_need_change_nothing(
        drawn in prop::collection::vec((1u32..40, prop::sample::select(vec![500u32, 1_000, 2_000]), 0i64..3), 1..4),
        holds in prop::collection::vec((0usize..3, 1u32..20, 0i64..50, 1i64..30), 0..8),
        jobs in prop::collection::vec(job(), 1..4), alternatives in 1u32..4,
    ) {
        let pools = pools(&drawn);
        let profiles = profiles(&pools, &holds);
        let horizon = Horizon { start: Time(0), end: Time(80) };
        let tasks: u32 = jobs.iter().map(|job| job.request.tasks).sum();
        let cyclic = Cyclic { max_alternatives: Some(alternatives), ..Cyclic::default() };
        let bookings = |max: u32| -> Vec<Option<Booking>> {
            let (names, grid) = Names::new(&pools, max).unwrap();
            let slots = names.slots(&profiles, horizon);
            let snapshot = Snapshot { horizon, grid, slots, jobs: jobs.clone(), policy: VoPolicy::default() };
            let plan = plan(&snapshot, &cyclic, &mut |_| {});
            plan.jobs.iter().map(|job| job.window().map(|it| names.booking(it))).collect()
        };
        prop_assert_eq!(bookings(tasks * alternatives), bookings(u32::MAX));
    }

    #[test]
    fn pools_that_no_job_can_reach_change_nothing(
        drawn in prop::collection::vec((1u32..12, prop::sample::select(vec![500u32, 990, 1_000, 2_000]), 0i64..4), 1..14),
        holds in prop::collection::vec((0usize..14, 1u32..8, 0i64..50, 1i64..30), 0..16),
        jobs in prop::collection::vec(job(), 1..4), alternatives in 1u32..4,
        (overlapping, starts, data) in (
            any::<bool>(),
            prop::collection::vec(prop::option::of(0i64..20), 4),
            prop::option::weighted(0.3, 1u64..30),
        ),
    ) {
        let pools = pools(&drawn);
        let profiles = profiles(&pools, &holds);
        let horizon = Horizon { start: Time(0), end: Time(80) };
        let mut jobs = jobs;
        for (job, start) in jobs.iter_mut().zip(starts) {
            job.request.earliest_start = start.map(Time);
            job.request.data = data.map(|bytes| from_the_first_site(&pools, bytes));
        }
        let tasks: u32 = jobs.iter().map(|job| job.request.tasks).sum();
        let mut settings = CycleSettings::css();
        settings.cyclic.max_alternatives = Some(alternatives);
        settings.cyclic.offers = if overlapping { Offers::Overlapping } else { Offers::Disjoint };
        let demands: Vec<Demand> = jobs.iter().map(|job| demand(&job.request)).collect();
        let tariff = Tariff::new(&Arc::new(pools.clone()));
        let taken = u64::from(tasks * alternatives);
        let sight = reach::Sight { pools: &pools, tariff: &tariff, profiles: &profiles, horizon, taken };
        let batch = demands.iter().map(|demand| (demand, horizon.end));
        let reached = reach::reached(sight, &settings, batch);
        let bookings = |reached: &[bool]| -> Vec<Option<Booking>> {
            let mut each = reached.iter();
            let wanted = |_: &Pool| *each.next().unwrap();
            let (names, grid) = Names::of(&pools, u32::MAX, wanted).unwrap();
            let slots = names.slots(&profiles, horizon);
            let snapshot = Snapshot { horizon, grid, slots, jobs: jobs.clone(), policy: VoPolicy::default() };
            let plan = plan(&snapshot, &settings.cyclic, &mut |_| {});
            plan.jobs.iter().map(|job| job.window().map(|it| names.booking(it))).collect()
        };
        let all = vec![true; drawn.len()];
        prop_assert_eq!(bookings(&reached.unwrap_or_else(|| all.clone())), bookings(&all));
    }

    #[test]
    fn as_many_slots_hold_a_span_as_nodes_are_free_for_it(
        holds in prop::collection::vec((0usize..1, 1u32..8, 0i64..50, 1i64..30), 0..12),
        start in 0i64..60, length in 1i64..20,
    ) {
        let pools = Pools::cluster(9);
        let profiles = profiles(&pools, &holds);
        let (names, _) = Names::new(&pools, u32::MAX).unwrap();
        let slots = names.slots(&profiles, Horizon { start: Time(0), end: Time(80) });
        prop_assert!(slots.check().is_ok());
        let hold = |it: &&tradewind_model::Slot| it.start.0 <= start && start + length <= it.end.0;
        let count = slots.as_slice().iter().filter(hold).count() as u32;
        prop_assert!(profiles[0].fits(count, Time(start), Span(length)));
        prop_assert!(!profiles[0].fits(count + 1, Time(start), Span(length)));
    }
}
