//! The scan of the papers' kind: what the window search is measured against.

use tradewind_model::{Criterion, Grid, Money, Request, SlotList, Time};

/// A slot in the expanded window.
#[derive(Debug, Clone, Copy)]
struct Alive {
    cost: i64,
    length: i64,
    /// The last start at which the task still fits.
    last_start: i64,
}

/// A task on one node; `None` where the node does not suit.
type Tasks = Vec<Option<(i64, i64)>>;

/// The best value of `request`'s criterion and the first start that has it, under every limit
/// given; `None` without a window. Only start, finish, runtime and cost.
///
/// Paper 000, Algorithm 1, written plainly: slots in order of start, the expanded window kept in
/// order of task cost by insertion, a sweep for expired slots at every new start, and at each slot
/// the m cheapest (Algorithm 2 for runtime and finish). O(p · alive). Lengths and costs are
/// computed once per node.
pub fn find(grid: &Grid, slots: &SlotList, request: &Request) -> Option<(i64, Time)> {
    let tasks = tasks(grid, request);
    let wanted = request.tasks as usize;
    let budget = request.budget.unwrap_or(Money(i64::MAX)).0;
    let from = request.earliest_start.unwrap_or(Time::MIN).0;
    let until = request.deadline.unwrap_or(Time::MAX).0;
    let mut alive: Vec<Alive> = Vec::new();
    let mut chosen = Vec::new();
    let mut last_now = i64::MIN;
    let mut best: Option<(i64, Time)> = None;
    for slot in slots.as_slice() {
        let Some((length, cost)) = tasks[slot.node.0 as usize] else {
            continue;
        };
        let now = slot.start.0.max(from);
        let last_start = slot.end.0.min(until) - length;
        if last_start < now {
            continue;
        }
        if now != last_now {
            alive.retain(|it| it.last_start >= now);
            last_now = now;
        }
        let place = alive.partition_point(|it| it.cost <= cost);
        alive.insert(place, Alive { cost, length, last_start });
        if alive.len() < wanted {
            continue;
        }
        let cheapest: i64 = alive[..wanted].iter().map(|it| it.cost).sum();
        if cheapest > budget {
            continue;
        }
        let value = match request.criterion {
            Criterion::Start => return Some((now, Time(now))),
            Criterion::Finish => now + shortest(&alive, wanted, cheapest, budget, &mut chosen),
            Criterion::Runtime => shortest(&alive, wanted, cheapest, budget, &mut chosen),
            _ => cheapest,
        };
        if best.is_none_or(|(min, _)| value < min) {
            best = Some((value, Time(now)));
        }
    }
    best
}

fn tasks(grid: &Grid, request: &Request) -> Tasks {
    let task = |node: &tradewind_model::Node| {
        let cheap = request.max_price.is_none_or(|cap| node.price <= cap);
        let length = request.length_on(node);
        (cheap && request.suits(node)).then(|| (length.0, (node.price * length).0))
    };
    grid.nodes().iter().map(task).collect()
}

/// Algorithm 2 of paper 000: the m cheapest, then the longest replaced by the next cheapest that
/// is shorter, while the budget allows. `alive` is in order of cost.
fn shortest(
    alive: &[Alive],
    wanted: usize,
    mut cost: i64,
    budget: i64,
    chosen: &mut Vec<Alive>,
) -> i64 {
    chosen.clear();
    chosen.extend_from_slice(&alive[..wanted]);
    let mut longest = position_of_longest(chosen);
    for spare in &alive[wanted..] {
        let worst = chosen[longest];
        let changed = cost - worst.cost + spare.cost;
        if spare.length < worst.length && changed <= budget {
            chosen[longest] = *spare;
            cost = changed;
            longest = position_of_longest(chosen);
        }
    }
    chosen[longest].length
}

/// The most expensive of the longest, so that replacing it gains the most.
fn position_of_longest(chosen: &[Alive]) -> usize {
    let mut longest = 0;
    for (i, it) in chosen.iter().enumerate().skip(1) {
        let worst = chosen[longest];
        if (it.length, it.cost) > (worst.length, worst.cost) {
            longest = i;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use tradewind_sched::window::{Search, find as exact};

    use super::*;
    use crate::worlds::Market;

    #[test]
    fn the_plain_scan_agrees_with_the_exact_search() {
        for (seed, slots, nodes, tasks) in [(1, 300, 30, 5), (2, 2_000, 100, 3), (3, 900, 300, 40)]
        {
            let market = Market::random(seed, slots, nodes);
            for factor in [99, 100, 105, 150, 400] {
                let cheapest = market.cheapest(tasks).unwrap();
                for criterion in
                    [Criterion::Start, Criterion::Finish, Criterion::Runtime, Criterion::Cost]
                {
                    let mut request = market.request(tasks, criterion.clone());
                    request.budget = Some(Money(cheapest.0 * factor / 100));
                    let found = exact(
                        &market.grid,
                        &market.slots,
                        &request,
                        &Search::best(criterion.clone()),
                    );
                    let value = found.map(|it| {
                        let window = it.window;
                        let value = match criterion {
                            Criterion::Start => window.start().0,
                            Criterion::Finish => window.finish().0,
                            Criterion::Runtime => window.runtime().0,
                            _ => window.cost().0,
                        };
                        (value, window.start())
                    });
                    assert_eq!(find(&market.grid, &market.slots, &request), value, "{criterion:?}");
                }
            }
        }
    }
}
