//! Fall-back windows beside a search that tries every second, with flat arrays.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attributes, Demand, Money, Pool, Pools, Price, Site, Span, Terms, Times,
};

use super::*;
use crate::policy::grid::Part;
use crate::testing::{any_mode, performance};

const SECONDS: usize = 120;
const NOW: Time = Time(10);

/// By pool and second: free nodes.
type Free = Vec<Vec<i64>>;

fn any_pools() -> impl Strategy<Value = Arc<Pools>> {
    let speed = prop::sample::select(vec![500u32, 1_000, 1_000, 2_000]);
    let pools = prop::collection::vec((0u32..4, 1u32..5, speed, 0i64..4), 1..7);
    pools.prop_map(|pools| {
        let pool = |(at, (site, nodes, speed, price)): (usize, (u32, u32, u32, i64))| Pool {
            name: format!("pool{at}"),
            site: SiteId(site),
            nodes,
            performance: performance(speed),
            price: Price::credits(price),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: if at % 2 == 0 { Times::Work } else { Times::Wall },
        };
        let sites = (0..4).map(|site| Site { name: format!("site{site}") }).collect();
        Arc::new(Pools::new(sites, pools.into_iter().enumerate().map(pool).collect()).unwrap())
    })
}

fn any_demand() -> impl Strategy<Value = Demand> {
    let limits = (
        prop::option::weighted(0.4, 0i64..150),
        prop::option::weighted(0.3, 0i64..60),
        prop::option::weighted(0.4, 20i64..120),
        prop::option::weighted(0.2, prop::sample::select(vec![1_000u32, 1_500])),
        any_mode(),
        prop::sample::select(vec![Spread::Grid, Spread::Grid, Spread::Site]),
    );
    (1u32..6, 1i64..20, limits).prop_map(|(tasks, length, limits)| {
        let (budget, earliest, deadline, speed, times, spread) = limits;
        let terms = Terms {
            budget: budget.map(Money::credits),
            earliest_start: earliest.map(Time),
            deadline: deadline.map(Time),
            min_performance: speed.map(performance),
            times,
            spread,
            ..Terms::NONE
        };
        Demand { terms: Some(Arc::new(terms)), ..Demand::new(tasks, Span(length)) }
    })
}

/// Something that holds nodes: pool, nodes, start, length.
type Hold = (u32, u32, i64, i64);

fn any_holds(most: usize) -> impl Strategy<Value = Vec<Hold>> {
    prop::collection::vec((0u32..6, 1u32..4, 10i64..90, 1i64..40), 0..most)
}

fn part(pool: u32, nodes: u32, length: i64) -> Part {
    Part { pool: PoolId(pool), nodes, length: Span(length), memory: 0 }
}

/// Takes what fits.
fn take(books: &mut GridAvailability, pools: &Pools, holds: &[Hold]) {
    for &(pool, nodes, start, length) in holds {
        let booking = Booking::new(Time(start), vec![part(pool, nodes, length)]);
        if (pool as usize) < pools.as_slice().len() && books.fits(&booking) {
            books.book(&booking);
        }
    }
}

fn free(books: &GridAvailability) -> Free {
    let at = |profile: &tradewind_model::Profile, at: i64| profile.min(Time(at), Span(1));
    let of = |profile| (0..SECONDS as i64).map(|second| at(profile, second.max(NOW.0))).collect();
    books.profiles().iter().map(of).collect()
}

fn subtract(free: &mut Free, window: &Booking) {
    for part in &window.parts {
        let (from, until) = (window.start.0, (window.start + part.length).0);
        for second in from..until {
            free[part.pool.index()][second as usize] -= i64::from(part.nodes);
        }
    }
}

/// A job that looks for windows.
struct Case<'a> {
    pools: &'a Pools,
    demand: &'a Demand,
    home: &'a BTreeSet<SiteId>,
    end: Time,
}

impl Case<'_> {
    fn latest(&self) -> Time {
        self.demand.terms().deadline.map_or(self.end, |deadline| deadline.min(self.end))
    }

    /// The earliest start on sites that are not left out, by trying every second.
    fn earliest(&self, free: &Free, left_out: &BTreeSet<SiteId>) -> Option<Time> {
        let earliest = self.demand.terms().earliest_start.unwrap_or(NOW).max(NOW);
        let starts = earliest.0..self.latest().0;
        starts.map(Time).find(|start| self.fits(free, left_out, *start))
    }

    fn fits(&self, free: &Free, left_out: &BTreeSet<SiteId>, start: Time) -> bool {
        let sites = self.pools.as_slice().iter().map(|pool| pool.site);
        match self.demand.terms().spread {
            Spread::Grid => self.fits_in(free, |site| !left_out.contains(&site), start),
            Spread::Site => {
                let mut sites = sites.filter(|site| !left_out.contains(site));
                sites.any(|only| self.fits_in(free, |site| site == only, start))
            }
        }
    }

    fn fits_in(&self, free: &Free, may: impl Fn(SiteId) -> bool, start: Time) -> bool {
        let mut costs = Vec::new();
        for (id, pool) in self.pools.iter() {
            let length = pool.length_of(self.demand);
            let out = self.home.contains(&pool.site) || !may(pool.site);
            if out || !pool.suits(self.demand) || start + length > self.latest() {
                continue;
            }
            let seconds = start.0 as usize..(start + length).0 as usize;
            let usable = free[id.index()][seconds].iter().min().copied().unwrap_or(0);
            costs.extend((0..usable).map(|_| (pool.price * length).0));
        }
        costs.sort_unstable();
        let chosen = costs.get(..self.demand.processors as usize);
        let budget = self.demand.terms().budget.map_or(i64::MAX, |budget| budget.0);
        chosen.is_some_and(|chosen| chosen.iter().sum::<i64>() <= budget)
    }

    fn sites(&self, window: &Booking) -> BTreeSet<SiteId> {
        window.parts.iter().map(|part| self.pools.pool(part.pool).site).collect()
    }

    /// What every window has to keep, whenever it was found.
    fn check(&self, window: &Booking) -> Result<(), TestCaseError> {
        let terms = self.demand.terms();
        prop_assert!(self.sites(window).is_disjoint(self.home));
        prop_assert!(terms.spread == Spread::Grid || self.sites(window).len() == 1);
        prop_assert!(window.start >= NOW);
        prop_assert!(terms.earliest_start.is_none_or(|earliest| window.start >= earliest));
        prop_assert!(terms.deadline.is_none_or(|deadline| window.end() <= deadline));
        let nodes: u32 = window.parts.iter().map(|part| part.nodes).sum();
        prop_assert_eq!(nodes, self.demand.processors);
        let mut cost = 0;
        for part in &window.parts {
            let pool = self.pools.pool(part.pool);
            prop_assert!(pool.suits(self.demand));
            prop_assert_eq!(part.length, pool.length_of(self.demand));
            cost += (pool.price * part.length).0 * i64::from(part.nodes);
        }
        prop_assert!(terms.budget.is_none_or(|budget| cost <= budget.0));
        Ok(())
    }
}

/// Checks `found` one by one: the first `kept` were there before, each other one is the earliest on
/// sites that none has, or the earliest at all where there is none. Returns what is free beside them.
fn check_all(
    case: &Case<'_>,
    mut left: Free,
    (found, kept): (&[Booking], usize),
) -> Result<(Free, BTreeSet<SiteId>), TestCaseError> {
    let mut used = BTreeSet::new();
    for (at, window) in found.iter().enumerate() {
        case.check(window)?;
        if at >= kept {
            prop_assert!(window.end() <= case.end);
            let apart = case.earliest(&left, &used);
            let expected = apart.or_else(|| case.earliest(&left, &BTreeSet::new()));
            prop_assert_eq!(Some(window.start), expected);
            prop_assert!(apart.is_none() || case.sites(window).is_disjoint(&used));
        }
        subtract(&mut left, window);
        used.extend(case.sites(window));
        prop_assert!(left.iter().flatten().all(|free| *free >= 0), "no two windows overlap");
    }
    Ok((left, used))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn windows_are_those_of_a_search_of_every_second(
        pools in any_pools(), demand in any_demand(), holds in any_holds(12), more in any_holds(4),
        home in prop::collection::btree_set((0u32..4).prop_map(SiteId), 0..3),
        end in 20i64..100, count in 0usize..5,
    ) {
        let market = Market::new(Arc::clone(&pools), NOW);
        let mut books = GridAvailability::of_pools(&market);
        take(&mut books, &pools, &holds);
        let sites: Vec<SiteId> = pools.as_slice().iter().map(|pool| pool.site).collect();
        let request = PlacementRequest::of_waiting(&market, JobId(0), &demand, Spread::Grid);
        let (end, none) = (Time(end), BTreeSet::new());
        let wanted = FallbackRequest { request, sites: &sites, home: home.clone(), end, count };
        let case = Case { pools: &pools, demand: &demand, home: &home, end };

        let before = free(&books);
        let found = find(&wanted, &mut books, Vec::new());
        prop_assert_eq!(&free(&books), &before, "nothing is reserved");
        let (left, _) = check_all(&case, before, (&found, 0))?;
        prop_assert!(found.len() == count || case.earliest(&left, &none).is_none());

        // Others book: what is still free stays, the rest is replaced.
        take(&mut books, &pools, &more);
        let now_free = free(&books);
        let mut beside = now_free.clone();
        let stay: Vec<Booking> = found.iter().filter(|window| {
            let mut without = beside.clone();
            subtract(&mut without, window);
            let fits = without.iter().flatten().all(|free| *free >= 0);
            if fits {
                beside = without;
            }
            fits
        }).cloned().collect();
        let renewed = find(&wanted, &mut books, found);
        prop_assert_eq!(&free(&books), &now_free);
        prop_assert_eq!(&renewed[..stay.len()], &stay[..]);
        let (left, _) = check_all(&case, now_free, (&renewed, stay.len()))?;
        prop_assert!(renewed.len() == count || case.earliest(&left, &none).is_none());
    }
}

#[test]
fn a_window_whose_start_has_passed_is_meant_from_now_on() {
    let market = Market::new(Arc::new(Pools::cluster(3)), Time(50));
    let mut books = GridAvailability::of_pools(&market);
    let demand = Demand::new(2, Span(10));
    let request = PlacementRequest::of_waiting(&market, JobId(0), &demand, Spread::Grid);
    let passed = Booking::new(Time(20), vec![part(0, 2, 10)]);
    let moved = Booking { start: Time(50), ..passed.clone() };
    assert_eq!(still_free(&request, &books, passed.clone()), Some(moved.clone()));
    books.book(&moved);
    assert_eq!(still_free(&request, &books, passed), None);
}
