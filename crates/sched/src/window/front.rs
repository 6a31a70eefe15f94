//! The earliest windows at the first moment of a list, without a pass over the list.
//!
//! While enough nodes are free at the first moment, every search for the earliest window ends
//! there: with the cheapest nodes whose first slot holds a task. [`FreeAtOnce`] keeps the end of each
//! node's first slot, and runs of like nodes as one entry, so that such a search looks at the
//! cheapest runs alone. [`Searcher::find`](super::Searcher::find) gives the same window at the
//! cost of all slots that begin by then; it answers once a front has no window any more.

use tradewind_model::{Grid, Node, NodeId, Request, Slot, Span, Spread, Task, Time, Window};

use super::limits::MoneyLimits;
use super::{Algorithm, Found, Proof, Search, Variant};

/// Which nodes are free from the first moment on, and until when.
#[derive(Debug, Clone)]
pub struct FreeAtOnce {
    at: Time,
    /// By node: when its slot ends that holds the first moment; the first moment itself if none.
    ends: Vec<Time>,
    runs: Vec<AlikeNodes>,
}

/// Neighbours that are alike: any task takes as long and costs as much on each.
#[derive(Debug, Clone, Copy)]
struct AlikeNodes {
    first: u32,
    count: u32,
    /// How many of them are free at the first moment.
    free: u32,
}

/// A request prepared for a front: the runs that suit it, those that cost least first.
#[derive(Debug, Clone)]
pub struct FrontRequest {
    wanted: usize,
    budget: i128,
    deadline: Time,
    ranked: Vec<RankedRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedRun {
    cost: i64,
    length: Span,
    run: u32,
}

impl FreeAtOnce {
    /// Of `slots` at the moment `at`, before which no search looks. O(slots + nodes).
    pub fn new(grid: &Grid, slots: &[Slot], at: Time) -> FreeAtOnce {
        let mut ends = vec![at; grid.len()];
        for slot in slots.iter().take_while(|slot| slot.start <= at) {
            let end = &mut ends[slot.node.0 as usize];
            *end = slot.end.max(*end);
        }
        let mut runs: Vec<AlikeNodes> = Vec::new();
        let mut last: Option<&Node> = None;
        for (id, node) in grid.iter() {
            let free = u32::from(ends[id.0 as usize] > at);
            match runs.last_mut().filter(|_| last.is_some_and(|last| alike(last, node))) {
                Some(run) => (run.count, run.free) = (run.count + 1, run.free + free),
                None => runs.push(AlikeNodes { first: id.0, count: 1, free }),
            }
            last = Some(node);
        }
        FreeAtOnce { at, ends, runs }
    }

    /// Prepares a search for the earliest window. `None` if this search is not for it, or if it
    /// begins later. O(r log r) for r runs.
    pub fn request(&self, grid: &Grid, request: &Request, search: &Search) -> Option<FrontRequest> {
        let later = request.earliest_start.is_some_and(|start| start > self.at);
        let at_one_site = request.spread != Spread::Grid;
        let unlike =
            !request.others.is_empty() || request.needs.is_some() || request.shapes.is_some();
        let unlike = unlike || request.licences.is_some() || request.data.is_some();
        let changing = grid.rates().is_some() || unlike;
        if later || at_one_site || changing || request.tasks == 0 || !is_earliest(search) {
            return None;
        }
        let limits = MoneyLimits::of(request, search);
        let mut ranked = Vec::with_capacity(self.runs.len());
        for (run, index) in self.runs.iter().zip(0..) {
            let node = grid.node(NodeId(run.first));
            let affordable = limits.max_price.is_none_or(|max| node.price <= max);
            if affordable && request.suits(node) {
                let length = request.length_on(node).max(Span(1));
                ranked.push(RankedRun { cost: (node.price * length).0, length, run: index });
            }
        }
        ranked.sort_unstable();
        Some(FrontRequest {
            wanted: request.tasks as usize,
            budget: limits.budget.map_or(i128::MAX, |budget| i128::from(budget.0)),
            deadline: request.deadline.unwrap_or(Time::INFINITY),
            ranked,
        })
    }

    /// The earliest window, if it begins at the first moment: the same as by
    /// [`Searcher::find`](super::Searcher::find). Linear in the runs and nodes that it looks at.
    pub fn find(&self, request: &FrontRequest) -> Option<Found> {
        let mut tasks: Vec<Task> = Vec::with_capacity(request.wanted);
        let mut left = request.budget;
        for RankedRun { cost, length, run } in &request.ranked {
            let AlikeNodes { first, count, free } = self.runs[*run as usize];
            let end = self.at + *length;
            if free == 0 || end > request.deadline {
                continue;
            }
            for node in first..first + count {
                if self.ends[node as usize] < end {
                    continue;
                }
                left -= i128::from(*cost);
                if left < 0 {
                    return None;
                }
                let cost = tradewind_model::Money(*cost);
                tasks.push(Task { node: NodeId(node), length: *length, cost, group: 0 });
                if tasks.len() == request.wanted {
                    let window = Window::new(self.at, tasks).ok()?;
                    return Some(Found { window, proof: Proof::Exact });
                }
            }
        }
        None
    }

    /// The window is taken out of the list.
    pub fn take(&mut self, window: &Window) {
        for task in window.tasks() {
            let end = &mut self.ends[task.node.0 as usize];
            if *end > window.start() {
                *end = window.start();
                if *end <= self.at {
                    let after = self.runs.partition_point(|run| run.first <= task.node.0);
                    self.runs[after - 1].free -= 1;
                }
            }
        }
    }
}

fn is_earliest(search: &Search) -> bool {
    let earliest = match &search.algorithm {
        Algorithm::Alp | Algorithm::Amp => true,
        Algorithm::Best(criterion) => *criterion == tradewind_model::Criterion::Start,
        Algorithm::Csa(_) => false,
    };
    earliest && search.variant == Variant::Exact
}

fn alike(one: &Node, other: &Node) -> bool {
    one.performance == other.performance
        && one.price == other.price
        && one.times == other.times
        && one.attributes == other.attributes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_model::{Money, Price, SlotList};

    use super::*;
    use crate::testing::{grid, slots};
    use crate::window::{Scratch, Searcher};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Windows at the first moment and elsewhere are taken in turns, until nothing is left.
        #[test]
        fn windows_are_those_of_a_search(
            kinds in prop::collection::vec((prop::sample::select(vec![500u32, 1_000, 2_000]), 0i64..4, 1usize..4), 1..5),
            drawn in prop::collection::vec((-5i64..8, 1i64..30), 15),
            asked in prop::collection::vec((1u32..4, 1i64..20, prop::option::of(0i64..60), prop::option::of(0i64..4), 5i64..40), 1..4),
        ) {
            let nodes: Vec<(u32, i64)> =
                kinds.iter().flat_map(|&(speed, price, count)| vec![(speed, price); count]).collect();
            let grid = grid(&nodes);
            let free: Vec<(u32, i64, i64)> = (0..nodes.len() as u32)
                .zip(&drawn)
                .map(|(node, &(start, length))| (node, start, start + length))
                .collect();
            let mut list: SlotList = slots(&free);
            let mut pending = Vec::new();
            let mut front = FreeAtOnce::new(&grid, list.as_slice(), Time(0));
            let request = |&(tasks, work, budget, price, deadline): &(u32, i64, Option<i64>, Option<i64>, i64)| Request {
                budget: budget.map(Money::credits),
                max_price: price.map(Price::credits),
                deadline: Some(Time(deadline)),
                ..Request::new(tasks, Span(work))
            };
            for asked in asked.iter().cycle().take(12) {
                let request = request(asked);
                for algorithm in [Algorithm::Best(tradewind_model::Criterion::Start), Algorithm::Amp, Algorithm::Alp] {
                    let search = Search::new(algorithm);
                    let plain = Searcher::new(&grid, &request, &search);
                    let mut now = list.clone();
                    now.subtract_together(&pending).unwrap();
                    let plain = plain.find(&now, Time(0), &mut Scratch::default());
                    let ours = front.request(&grid, &request, &search).and_then(|it| front.find(&it));
                    let first = plain.clone().filter(|found| found.window.start() == Time(0));
                    prop_assert_eq!(&ours, &first);
                    if let Some(Found { window, .. }) = plain {
                        front.take(&window);
                        match window.start() == Time(0) {
                            true => pending.push(window),
                            false => {
                                // Together is as one by one.
                                let mut one_by_one = list.clone();
                                for window in &pending {
                                    one_by_one.subtract_window(window).unwrap();
                                }
                                prop_assert_eq!(&now, &one_by_one);
                                list = now;
                                list.subtract_window(&window).unwrap();
                                pending.clear();
                            }
                        }
                    }
                }
            }
        }
    }
}
