//! The shortest subset by substitution.

use super::{Alive, PaperRequest};

/// Algorithm 2 of paper 000: from the m cheapest, replaces the longest by the cheapest of the
/// spare slots, as long as that one is shorter and the window keeps to the budget. Each spare slot
/// is tried once, in order of cost.
///
/// Corrected: the m cheapest must keep to the budget themselves, and the test is "≤" (the printed
/// "<" would refuse a window at exactly the budget). With that the runtime is the minimum for these
/// slots; the cost is not. Among several longest the first by cost is replaced.
pub(super) fn choose(task: &PaperRequest<'_>, alive: &[Alive]) -> Option<Vec<u32>> {
    let mut result = task.by_cost(alive);
    let spare = result.split_off(task.wanted);
    let mut cost = task.cost(&result);
    if cost > task.budget {
        return None;
    }
    for short in spare {
        let (at, &long) =
            result.iter().enumerate().rev().max_by_key(|&(_, &it)| task.length(it))?;
        let changed = cost - task.cost(&[long]) + task.cost(&[short]);
        if task.length(short) < task.length(long) && changed <= task.budget {
            result.remove(at);
            result.push(short);
            cost = changed;
        }
    }
    Some(result)
}
