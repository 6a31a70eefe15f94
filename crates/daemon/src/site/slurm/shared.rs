//! Nodes that are sold in units of so many processors and so much memory each: what jobs of others
//! leave of them.
//!
//! A node with free processors c and free memory m has min(⌊c / N⌋, ⌊m / M⌋) units of N processors and
//! M megabytes. Jobs of others need no multiples, so what one of them keeps from the market depends on
//! the others: two jobs of half a unit each may be in one unit. In order of their ends, the last
//! first, each job counts with the units that are free without it and not with it; so at each of their
//! ends the sum over those that still run is exactly what the node has less. The market's own
//! jobs have whole units: they change nothing of this.

use std::cmp::Reverse;

use super::held::HeldPart;
use super::listing::SlurmJob;
use super::nodes::Node;
use crate::site::size::UnitSize;

/// What a job has of a node. Where Slurm does not list it, an even share of all, rounded up.
fn held(job: &SlurmJob, node: &str) -> (u32, u64) {
    if let Some(HeldPart { cpus, memory, .. }) = job.parts.iter().find(|part| part.node == node) {
        return (*cpus, *memory);
    }
    let nodes = job.nodes.len().max(1);
    let each = job.cpus.div_ceil(u32::try_from(nodes).unwrap_or(u32::MAX));
    (each, job.memory.div_ceil(nodes as u64))
}

/// Of `jobs` of others on the node, each with its end, the units that each keeps from the market until
/// it ends; by place in `jobs`. O(n log n).
pub(super) fn kept(node: &Node, unit: UnitSize, jobs: &[(&SlurmJob, i64)]) -> Vec<u32> {
    let mut last_first: Vec<usize> = (0..jobs.len()).collect();
    last_first.sort_by_key(|&at| (Reverse(jobs[at].1), jobs[at].0.id));
    let all = unit.within(node.cpus, node.has.memory);
    let (mut cpus, mut memory, mut taken) = (0_u32, 0_u64, 0);
    let mut kept = vec![0; jobs.len()];
    for at in last_first {
        let (more_cpus, more_memory) = held(jobs[at].0, &node.name);
        (cpus, memory) = (cpus.saturating_add(more_cpus), memory.saturating_add(more_memory));
        let left =
            unit.within(node.cpus.saturating_sub(cpus), node.has.memory.saturating_sub(memory));
        kept[at] = all - left - taken;
        taken = all - left;
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::site::resources::Resources;

    fn job(id: u64, cpus: u32, memory: u64) -> SlurmJob {
        SlurmJob { id, cpus, memory, nodes: vec!["a".to_owned()], ..SlurmJob::default() }
    }

    fn node(cpus: u32, memory: u64) -> Node {
        let has = Resources { memory, ..Resources::default() };
        Node { name: "a".to_owned(), cpus, has, ..Node::default() }
    }

    #[test]
    fn two_halves_of_a_unit_are_one() {
        let unit = UnitSize { cores: 4, memory: 1_000 };
        let (one, two) = (job(1, 2, 300), job(2, 2, 700));
        assert_eq!(kept(&node(16, 4_000), unit, &[(&one, 10), (&two, 20)]), [0, 1]);
        let large = job(3, 1, 1_001);
        assert_eq!(kept(&node(16, 4_000), unit, &[(&one, 10), (&large, 20)]), [0, 2]);
        assert_eq!(unit.covering(1, 1_001), 2);
    }

    #[test]
    fn what_slurm_lists_of_each_node_counts() {
        let parts = vec![
            HeldPart { node: "b".to_owned(), cpus: 1, memory: 10 },
            HeldPart { node: "a".to_owned(), cpus: 7, memory: 90 },
        ];
        let uneven = SlurmJob { parts, cpus: 8, memory: 100, ..job(1, 8, 100) };
        assert_eq!((held(&uneven, "a"), held(&uneven, "b")), ((7, 90), (1, 10)));
        let nodes = vec!["a".to_owned(), "b".to_owned()];
        let unlisted = SlurmJob { nodes, ..job(1, 7, 101) };
        assert_eq!(held(&unlisted, "a"), (4, 51));
    }

    proptest! {
        /// At any moment, what the remaining jobs keep is what the node has less.
        #[test]
        fn the_sum_is_what_the_node_lacks_at_every_moment(
            (cpus, memory) in (1u32..40, 0u64..400),
            (cores, each) in (1u32..6, 1u64..60),
            jobs in prop::collection::vec((1u32..9, 0u64..90, 0i64..6), 0..7),
        ) {
            let (node, unit) = (node(cpus, memory), UnitSize { cores, memory: each });
            let listed: Vec<(SlurmJob, i64)> =
                (0..).zip(jobs).map(|(id, (cpus, mb, end))| (job(id, cpus, mb), end)).collect();
            let all: Vec<(&SlurmJob, i64)> = listed.iter().map(|(job, end)| (job, *end)).collect();
            let kept = kept(&node, unit, &all);
            for now in 0..7 {
                let runs = || all.iter().zip(&kept).filter(|((_, end), _)| *end > now);
                let sum: u32 = runs().map(|(_, count)| count).sum();
                let used: u32 = runs().map(|((job, _), _)| job.cpus).sum();
                let memory_used: u64 = runs().map(|((job, _), _)| job.memory).sum();
                let free = unit.within(
                    cpus.saturating_sub(used),
                    memory.saturating_sub(memory_used),
                );
                prop_assert_eq!(unit.within(cpus, memory) - sum, free);
            }
        }
    }
}
