//! The windows with the lowest energy and the lowest emissions.
//!
//! A node's emissions per second are its watts times the carbon intensity of its site, which changes
//! by the hour: to the search they are a price that changes. So the search for the cheapest window at
//! prices that change finds it, on a grid whose prices are emissions.

use std::sync::Arc;

use tradewind_model::{
    Criterion, Energy, Grid, Money, Node, Price, Rates, Reason, Request, Series, SlotList, Span,
    Task, Time, Window, licences_cost, thousandths,
};

use crate::window::{Found, Proof, Scratch, Search, Searcher};

/// Milliwatts times milligrams per kWh are millionths of a milligram in an hour, of so many seconds.
const HOUR_S: i128 = 3_600;

/// The window for `request` with the lowest energy: watts × length, over nodes that say what they
/// consume. Exact without a budget; under one within the work limit.
///
/// # Errors
/// Why there is no window.
pub fn least_energy(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    work_limit: u64,
) -> Result<Found, Reason> {
    let criterion = Criterion::Sum(Energy::BUSY.to_owned());
    let search = Search { work_limit, ..Search::best(criterion) };
    let (searcher, mut scratch) = (Searcher::new(grid, request, &search), Scratch::default());
    let found = searcher.find(slots, Time::MIN, &mut scratch);
    found.ok_or_else(|| searcher.reason(slots, &mut scratch))
}

/// The window for `request` with the lowest emissions: the integral of watts × carbon intensity over
/// its tasks, counted in millionths of a milligram per second of each node, rounded down. Nodes that
/// do not say what they consume emit nothing.
///
/// Exact where the window that is best without a budget keeps to the budget, and where no price of
/// the grid changes with time under a price cap; otherwise the best of the windows that other
/// criteria find, which is a heuristic. As fast as the search for the cheapest window at prices that
/// change: O(q · a log a) for q pieces and a free nodes.
///
/// # Errors
/// Why there is no window at all.
pub fn least_carbon(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    work_limit: u64,
) -> Result<Found, Reason> {
    let search = Search { work_limit, ..Search::best(Criterion::Cost) };
    let mut scratch = Scratch::default();
    // Prices that change may be above the cap in a part of a task only.
    let is_plain = request.max_price.is_none() || grid.rates().is_none();
    if is_plain && let Some(window) = best(grid, slots, request, &search, &mut scratch) {
        let within = |budget: Money| window.cost() <= budget;
        if request.budget.is_none_or(within) {
            return Ok(Found { window, proof: Proof::Exact });
        }
    }
    let found = super::all(grid, slots, request, work_limit).filter_map(|quote| quote.answer.ok());
    let windows = found.map(|found| found.window);
    let least = windows.min_by_key(|it| (grid.consumption(it).carbon, it.start(), it.cost()));
    match least {
        Some(window) => Ok(Found { window, proof: Proof::Heuristic }),
        None => Err(Searcher::new(grid, request, &search).reason(slots, &mut scratch)),
    }
}

/// The best window at any cost, within the price cap.
fn best(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    search: &Search,
    scratch: &mut Scratch,
) -> Option<Window> {
    let emissions = emissions(grid)?;
    let mut slots = slots.clone();
    if let Some(cap) = request.max_price {
        slots.retain(|slot| grid.node(slot.node).price <= cap);
    }
    let free = Request { budget: None, max_price: None, ..request.clone() };
    // The licences are free on this grid: they emit nothing.
    let found = Searcher::new(&emissions, &free, search).find(&slots, Time::MIN, scratch)?;
    let start = found.window.start();
    let task = |it: &Task| Task { cost: grid.cost(it.node, start, it.length), ..*it };
    let window = Window::new(start, found.window.tasks().iter().map(task).collect()).ok()?;
    let Some(licences) = &request.licences else { return Some(window) };
    let cost = licences_cost(grid.licences(), licences, window.runtime());
    Some(window.taking(Arc::clone(licences), cost))
}

/// The grid with emissions instead of prices.
fn emissions(grid: &Grid) -> Option<Grid> {
    let rates: Vec<Option<Arc<Series>>> =
        grid.nodes().iter().map(|node| rate(grid, node).map(Arc::new)).collect();
    let node = |(node, rate): (&Node, &Option<Arc<Series>>)| {
        let price = Price(rate.as_ref().map_or(0, |rate| rate.least()));
        Node { price, ..node.clone() }
    };
    let nodes = grid.nodes().iter().zip(&rates).map(node).collect();
    let changes = |rate: Option<Arc<Series>>| rate.filter(|it| it.least() != it.most());
    let rates = Rates::new(rates.into_iter().map(changes).collect());
    Some(Grid::new(grid.sites().to_vec(), nodes).ok()?.with_rates(rates))
}

/// What the node emits per second, over time.
fn rate(grid: &Grid, node: &Node) -> Option<Series> {
    let carbon = grid.power()?.sites.get(node.site.0 as usize)?.carbon.as_ref()?;
    let watts = i128::from(thousandths(&node.attributes, Energy::BUSY).max(0));
    let scaled = |(at, value): (Time, i64)| {
        let each = i128::from(value).saturating_mul(watts) / HOUR_S;
        (at, each.min(i128::from(Series::MAX)) as i64)
    };
    let series = Series::new(&carbon.values().map(scaled).collect::<Vec<_>>()).ok()?;
    match carbon.period() {
        Some(every) if every > Span::ZERO => series.repeated(every).ok(),
        _ => Some(series),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_model::{Attribute, NodeId, Power, Site, SiteId, SitePower};

    use super::super::tests::all_windows;
    use super::*;
    use crate::testing::{any_market, any_request};

    /// Two sites, each with an intensity that changes, and nodes of other watts.
    fn electric(grid: &Grid, watts: &[i64], steps: &[(i64, i64); 4]) -> Grid {
        let node = |(at, node): (usize, &Node)| {
            let mut node = Node { site: SiteId(at as u32 % 2), ..node.clone() };
            let watts = Attribute::Number(watts[at % watts.len()]);
            node.attributes.insert(Energy::BUSY.to_owned(), watts);
            node
        };
        let sites = ["a", "b"].map(|name| Site { name: name.to_owned() }).to_vec();
        let nodes = grid.nodes().iter().enumerate().map(node).collect();
        let series = |(first, second): (i64, i64), at: i64| {
            Series::new(&[(Time(0), first * 36_000), (Time(at), second * 36_000)]).ok()
        };
        let of = |carbon| SitePower { carbon, price: None };
        let [a, b, c, _] = *steps;
        let sites_power = vec![of(series(a, 1 + c.0)), of(series(b, 1 + c.1))];
        Grid::new(sites, nodes).unwrap().with_power(Power { sites: sites_power })
    }

    /// Emissions of a window, second by second.
    fn naive(grid: &Grid, window: &Window) -> i128 {
        let of_task = |task: &Task| {
            let node = grid.node(task.node);
            let carbon = grid.power().unwrap().sites[node.site.0 as usize].carbon.clone().unwrap();
            let watts = i128::from(thousandths(&node.attributes, Energy::BUSY));
            let seconds = window.start().0..(window.start() + task.length).0;
            seconds.map(|at| i128::from(carbon.at(Time(at))) * watts / 3_600).sum::<i128>()
        };
        window.tasks().iter().map(of_task).sum()
    }

    proptest! {
        #[test]
        fn no_window_emits_less(
            (grid, slots) in any_market(),
            request in any_request(),
            watts in prop::collection::vec(0i64..400, 3),
            steps in prop::array::uniform4((0i64..50, 0i64..50)),
        ) {
            let grid = electric(&grid, &watts, &steps);
            let all = all_windows(&grid, &slots, &request);
            match least_carbon(&grid, &slots, &request, Search::DEFAULT_WORK_LIMIT) {
                Err(_) => prop_assert!(all.is_empty()),
                Ok(Found { window, proof }) => {
                    prop_assert!(all.contains(&window), "{window:?}");
                    let least = all.iter().map(|it| naive(&grid, it)).min();
                    let (own, least) = (naive(&grid, &window), least.unwrap());
                    prop_assert!(own == least || proof == Proof::Heuristic && own >= least);
                    let keeps = request.budget.is_none();
                    prop_assert!(!keeps || proof == Proof::Exact);
                }
            }
        }
    }

    #[test]
    fn a_clean_hour_is_waited_for() {
        let grid = electric(
            &crate::testing::grid(&[(1_000, 1)]),
            &[100],
            &[(9, 1), (0, 0), (19, 0), (0, 0)],
        );
        let slots = crate::testing::slots(&[(0, 0, 60)]);
        let request = Request { work: Span(10), ..Request::new(1, Span(10)) };
        let found = least_carbon(&grid, &slots, &request, 1_000).unwrap();
        assert_eq!((found.window.start(), found.window.tasks()[0].node), (Time(20), NodeId(0)));
        assert_eq!(found.window.cost(), Money(10_000_000));
        // With a licence, which others have until 30, it is too late for that.
        let licence = tradewind_model::Licence { name: "l".into(), count: 1, price: Price(7) };
        let grid = grid.with_licences(vec![licence]);
        let mut free = tradewind_model::FreeLicences::new(grid.licences(), Time(0));
        let share = crate::testing::share(0, 1);
        free.take(share, Time(0), Time(30));
        let slots = slots.with_licences(free);
        let request = Request { licences: Some(Arc::from([share])), ..request };
        let found = least_carbon(&grid, &slots, &request, 1_000).unwrap();
        assert_eq!((found.window.start(), found.proof), (Time(30), Proof::Exact));
        assert_eq!(found.window.cost(), Money(10_000_070));
        assert_eq!(found.window.check(&request, &grid), Ok(()));
    }
}
