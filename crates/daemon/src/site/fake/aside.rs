//! Nodes that are kept free for jobs.

use tradewind_model::Time;

use super::cluster::FakeCluster;
use crate::site::{Aside, Tag};

impl FakeCluster {
    /// Nodes of the pool that are kept for others than `own` (market and job) at some moment from
    /// now until `until`, and that these do not use yet.
    pub(super) fn kept(&self, pool: usize, until: Time, own: Option<&Tag>) -> u32 {
        let name = self.pools.get(pool).map_or("", |pool| pool.name.as_str());
        let now = self.now;
        let ahead = |it: &&Aside| it.pool == name && it.from < until.max(now) && it.until > now;
        let others =
            |it: &&Aside| own.is_none_or(|tag| (&tag.market, tag.job) != (&it.market, it.job));
        let kept = self.asides.iter().filter(ahead).filter(others);
        kept.map(|aside| aside.nodes.saturating_sub(self.used(pool, aside))).sum()
    }

    /// The same for a task of ours that waits.
    pub(super) fn kept_from(&self, tag: &Tag) -> u32 {
        let Some(task) = self.live.get(tag) else { return 0 };
        let max = task.gather.map_or(task.limit, |gather| task.limit + gather);
        self.kept(task.pool, self.now + max, task.aside.then_some(tag))
    }

    /// Nodes of it that its job's tasks have.
    fn used(&self, pool: usize, aside: &Aside) -> u32 {
        let own = self.live.iter().filter(|(tag, task)| {
            task.aside && task.pool == pool && (&tag.market, tag.job) == (&aside.market, aside.job)
        });
        own.filter(|(_, task)| task.running.is_some()).map(|(_, task)| task.nodes).sum()
    }

    /// Puts `wanted` in the place of what was set aside for the market; returns for which jobs it
    /// is not possible.
    pub(super) fn set_aside(&mut self, market: &str, wanted: &[Aside]) -> Vec<(u64, String)> {
        self.asides.retain(|aside| aside.market != market || wanted.contains(aside));
        let mut denied = Vec::new();
        for aside in wanted {
            if self.asides.contains(aside) {
                continue;
            }
            match self.lacks(aside) {
                None => self.asides.push(aside.clone()),
                Some(why) => denied.push((aside.job, why)),
            }
        }
        self.happen();
        denied
    }

    /// Why so many nodes cannot be set aside at that time, if so.
    fn lacks(&self, aside: &Aside) -> Option<String> {
        let Some(pool) = self.pools.iter().position(|pool| pool.name == aside.pool) else {
            return Some(format!("there is no pool {:?}", aside.pool));
        };
        let up = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        let runs_into = |since: Option<Time>, job: &super::LocalJob| {
            since.is_some_and(|since| since + job.length > aside.from)
        };
        let own = self.own.values().filter(|own| own.job.pool == pool);
        let own = own.filter(|own| runs_into(own.since, &own.job)).map(|own| own.job.nodes);
        let others = self.asides.iter().filter(|it| it.pool == aside.pool);
        let others = others.filter(|it| it.from < aside.until && aside.from < it.until);
        let taken = own.chain(others.map(|it| it.nodes)).fold(0, u32::saturating_add);
        let free = up.saturating_sub(taken);
        (aside.nodes > free).then(|| format!("{free} nodes are free at that time"))
    }
}
