//! Nodes that are in use by jobs that the cluster does not show to our account (`PrivateData`).

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::Time;

use super::listing::SlurmJob;
use super::nodes::Node;

/// Since when each node was seen in use. Nothing is known of the end.
#[derive(Debug, Default)]
pub(super) struct HiddenUse(BTreeMap<String, Time>);

impl HiddenUse {
    /// After the lists: which nodes are in use, and have none of the jobs that are listed.
    pub(super) fn note(&mut self, nodes: &[Node], jobs: &[SlurmJob], now: Time) {
        let shown = jobs.iter().filter(|job| job.has_nodes()).flat_map(|job| &job.nodes);
        let shown: BTreeSet<&str> = shown.map(String::as_str).collect();
        let in_use = nodes.iter().filter(|node| node.cpus_used > 0).map(|node| node.name.as_str());
        let hidden = in_use.filter(|name| !shown.contains(name));
        let since = |name: &str| self.0.get(name).copied().unwrap_or(now);
        self.0 = hidden.map(|name| (name.to_owned(), since(name))).collect();
    }

    /// The cluster shows all jobs.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn nodes(&self) -> &BTreeMap<String, Time> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_in_use_without_a_job_that_is_shown_are_known_since_they_were_seen_first() {
        let node =
            |name: &str, cpus_used| Node { name: name.to_owned(), cpus_used, ..Node::default() };
        let nodes = |used: [u32; 3]| {
            let named = ["a", "b", "c"].into_iter().zip(used);
            named.map(|(name, used)| node(name, used)).collect::<Vec<_>>()
        };
        let own = SlurmJob {
            state: "RUNNING".to_owned(),
            nodes: vec!["b".to_owned()],
            ..SlurmJob::default()
        };
        let mut hidden = HiddenUse::default();
        let mut seen = |used, jobs: &[SlurmJob], at| {
            hidden.note(&nodes(used), jobs, Time(at));
            hidden.nodes().iter().map(|(name, at)| (name.clone(), at.0)).collect::<Vec<_>>()
        };
        let of = |all: &[(&str, i64)]| {
            all.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>()
        };
        assert_eq!(seen([4, 4, 0], std::slice::from_ref(&own), 10), of(&[("a", 10)]));
        assert_eq!(seen([4, 4, 1], &[own], 20), of(&[("a", 10), ("c", 20)]));
        assert_eq!(seen([0, 4, 1], &[], 30), of(&[("b", 30), ("c", 20)]));
    }
}
