//! On which of equal nodes tasks are put.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tradewind_model::{NodeId, Packing};

/// How many of `wanted` tasks each node has, of nodes in order with their free places, of which
/// there are enough. O(n² + t log n) at most for n nodes and t tasks.
pub(super) fn share_out(
    packing: Packing,
    wanted: u32,
    free: &[(NodeId, u32)],
) -> Vec<(NodeId, u32)> {
    match packing {
        Packing::FirstFit => in_order(wanted, free),
        Packing::BestFit => on_fewest(wanted, free),
        Packing::Spread => one_by_one(wanted, free),
    }
}

fn in_order(mut left: u32, free: &[(NodeId, u32)]) -> Vec<(NodeId, u32)> {
    let mut all = Vec::new();
    for &(node, places) in free {
        let count = places.min(left);
        if count > 0 {
            all.push((node, count));
        }
        left -= count;
    }
    all
}

/// The nodes with the most places, until one holds the rest: then the one with the fewest of
/// those that do. First nodes among equals.
fn on_fewest(mut left: u32, free: &[(NodeId, u32)]) -> Vec<(NodeId, u32)> {
    let mut most_first: Vec<(NodeId, u32)> = free.to_vec();
    most_first.sort_by_key(|(_, places)| Reverse(*places));
    let mut all = Vec::new();
    for (at, &(node, places)) in most_first.iter().enumerate() {
        if left == 0 {
            break;
        }
        if places < left {
            all.push((node, places));
            left -= places;
            continue;
        }
        let holding = most_first[at..].iter().take_while(|(_, places)| *places >= left);
        let tightest = holding.min_by_key(|(_, places)| *places);
        all.extend(tightest.map(|(node, _)| (*node, left)));
        break;
    }
    all
}

fn one_by_one(wanted: u32, free: &[(NodeId, u32)]) -> Vec<(NodeId, u32)> {
    let mut counts = vec![0; free.len()];
    let entry = |(at, (_, places)): (usize, &(NodeId, u32))| (*places, Reverse(at));
    let mut left: BinaryHeap<(u32, Reverse<usize>)> = free.iter().enumerate().map(entry).collect();
    for _ in 0..wanted {
        let Some((places, Reverse(at))) = left.pop().filter(|(places, _)| *places > 0) else {
            break;
        };
        counts[at] += 1;
        left.push((places - 1, Reverse(at)));
    }
    let of = |((node, _), count): (&(NodeId, u32), u32)| (*node, count);
    free.iter().zip(counts).map(of).filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_puts_tasks_where_it_says() {
        let free: Vec<(NodeId, u32)> = (0..).map(NodeId).zip([5, 2, 4, 5]).collect();
        let at = |packing, wanted| -> Vec<(u32, u32)> {
            let all = share_out(packing, wanted, &free);
            all.into_iter().map(|(node, count)| (node.0, count)).collect()
        };
        assert_eq!(at(Packing::FirstFit, 6), [(0, 5), (1, 1)]);
        // Two nodes at least: one that is filled, and the tightest for the last task.
        assert_eq!(at(Packing::BestFit, 6), [(0, 5), (1, 1)]);
        assert_eq!(at(Packing::BestFit, 3), [(2, 3)]);
        assert_eq!(at(Packing::BestFit, 16), [(0, 5), (3, 5), (2, 4), (1, 2)]);
        assert_eq!(at(Packing::Spread, 6), [(0, 3), (2, 1), (3, 2)]);
        assert_eq!(at(Packing::Spread, 16), [(0, 5), (1, 2), (2, 4), (3, 5)]);
    }
}
