//! A job, as the commands show it.

use serde_json::Value;
use tradewind_web::documents::Job;

use super::hostlist;

/// A job, and what was submitted.
#[derive(Debug, Clone)]
pub(super) struct SelectedJob {
    pub(super) job: Job,
    pub(super) asked: Value,
    /// Indices of the jobs of its array that wait and that it stands for in a list.
    pub(super) folded: Vec<u32>,
    /// The step of the job that is shown; `None`: the job.
    pub(super) step: Option<&'static str>,
}

impl SelectedJob {
    pub(super) fn new(mut job: Job) -> SelectedJob {
        let asked = job.submission.take().unwrap_or_default();
        SelectedJob { job, asked, folded: Vec::new(), step: None }
    }

    /// The project that pays; empty: the user pays.
    pub(super) fn account(&self) -> &str {
        self.job.project.as_deref().unwrap_or_default()
    }

    /// `12`, or of an array `12_3`, or of several of it `12_[3-5]`.
    pub(super) fn id(&self) -> String {
        match self.job.array {
            Some(it) if !self.folded.is_empty() => {
                format!("{}_[{}]", it.first, hostlist::ranges(&self.folded))
            }
            Some(it) => format!("{}_{}", it.first, it.index),
            None => self.job.id.to_string(),
        }
    }

    /// Where it runs or ran, as pools; before, where it may run, if that was asked for.
    pub(super) fn partition(&self) -> String {
        let mut pools: Vec<&str> = self.job.parts.iter().map(|it| own_name(&it.pool)).collect();
        if pools.is_empty() {
            pools = self.asked["partitions"]
                .as_array()
                .map(|all| all.iter().filter_map(Value::as_str).map(own_name).collect())
                .unwrap_or_default();
        }
        pools.dedup();
        match pools.is_empty() {
            true => "(any)".to_owned(),
            false => pools.join(","),
        }
    }

    /// Whether `partition` is one of its pools, by its own name or with its site.
    pub(super) fn is_in(&self, partition: &str) -> bool {
        let of_parts = self.job.parts.iter().map(|it| it.pool.as_str());
        let asked = self.asked["partitions"].as_array();
        let asked = asked.into_iter().flatten().filter_map(Value::as_str);
        of_parts.chain(asked).any(|pool| pool == partition || own_name(pool) == partition)
    }

    /// Its nodes by the sites' names.
    pub(super) fn nodes(&self) -> Vec<String> {
        self.job.parts.iter().flat_map(|it| it.node_names.iter().cloned()).collect()
    }
}

/// The pool without its site.
pub(super) fn own_name(pool: &str) -> &str {
    pool.split_once('/').map_or(pool, |(_, name)| name)
}
