//! What jobs would have waited and cost at other times.
//!
//! Other times of a job are the 24 clock hours (UTC) after that in which it was submitted, or, for
//! its cost, started. What it would have waited is taken from jobs of about its width that were
//! submitted to the same cluster in such an hour: their median wait. What it would have cost is
//! taken from the mean price of the cluster's nodes in such an hour, if it ran until its time limit.
//! The best hour counts. Each job is examined alone: if all of them moved, less would be saved.

use std::collections::BTreeMap;

use super::record::{Scored, Shadow};

const HOUR: i64 = 3_600;
/// Hours after its own in which a job might have been submitted instead.
const LATER: i64 = 24;
/// An hour says what jobs wait if so many of them were submitted in it, at least.
const ENOUGH: usize = 3;

/// What one job would have saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Saving {
    /// Seconds of waiting; `None`: no other hour says what it would have waited.
    pub(super) wait: Option<i64>,
    /// Micro-credits; `None`: the prices of its start or of later hours are not known.
    pub(super) cost: Option<i64>,
}

/// Waits and prices of all hours.
pub(super) struct Times<'a> {
    /// By cluster, width class and hour: the median wait, seconds.
    waits: BTreeMap<(&'a str, u32, i64), i64>,
    /// By cluster and hour: the mean price, micro-credits per node and second.
    prices: BTreeMap<(&'a str, i64), i64>,
}

/// The number of a clock hour.
fn hour(at: i64) -> i64 {
    at.div_euclid(HOUR)
}

/// Jobs of 1, 2–3, 4–7, 8–15, … nodes are alike.
fn class(nodes: u32) -> u32 {
    nodes.max(1).ilog2()
}

impl<'a> Times<'a> {
    /// O(n log n) for n jobs.
    pub(super) fn of(shadow: &'a Shadow) -> Times<'a> {
        let mut all: BTreeMap<(&str, u32, i64), Vec<i64>> = BTreeMap::new();
        for job in shadow.scored.iter().filter(|job| job.submitted > 0) {
            let key = (job.site.as_str(), class(job.size.nodes), hour(job.submitted));
            all.entry(key).or_default().push(job.wait);
        }
        let waits = all.into_iter().filter_map(|(key, mut waits)| {
            waits.sort_unstable();
            let median = waits.get(waits.len().checked_sub(1)? / 2).copied()?;
            (waits.len() >= ENOUGH).then_some((key, median))
        });
        let hours = shadow.sites.iter().flat_map(|(name, site)| {
            site.hours.iter().map(move |(from, it)| ((name.as_str(), hour(*from)), it))
        });
        let prices = hours.filter_map(|(key, it)| {
            let value = it.value.saturating_add(it.idle_value);
            (it.up > 0).then(|| (key, value / it.up))
        });
        Times { waits: waits.collect(), prices: prices.collect() }
    }

    /// What the job would have saved at the best of other hours.
    pub(super) fn saving(&self, job: &Scored) -> Saving {
        if job.submitted <= 0 {
            return Saving { wait: None, cost: None };
        }
        Saving { wait: self.wait(job), cost: self.cost(job) }
    }

    fn wait(&self, job: &Scored) -> Option<i64> {
        let (site, class, own) = (job.site.as_str(), class(job.size.nodes), hour(job.submitted));
        let others = self.waits.range((site, class, own + 1)..=(site, class, own + LATER));
        let shortest = others.map(|(_, wait)| *wait).min()?;
        Some((job.wait - shortest).max(0))
    }

    fn cost(&self, job: &Scored) -> Option<i64> {
        let (site, start) = (job.site.as_str(), hour(job.submitted.saturating_add(job.wait)));
        let own = *self.prices.get(&(site, start))?;
        let others = self.prices.range((site, start + 1)..=(site, start + LATER));
        let lowest = others.map(|(_, price)| *price).min()?;
        let node_seconds = i64::from(job.size.nodes).saturating_mul(job.size.limit);
        Some((own - lowest).max(0).saturating_mul(node_seconds))
    }
}
