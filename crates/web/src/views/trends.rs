//! How the market was lately, by the jobs and postings that are kept.

use tradewind_daemon::live::money::{Account, Motive};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Phase, State};

use super::accounts::owns;

/// Spans of equal length, the last of which ends now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trends {
    /// When the first begins, seconds since 1970.
    pub(crate) from: i64,
    /// Of each, seconds.
    pub(crate) step: i64,
    /// Node-seconds that jobs waited for, by span.
    pub(crate) demand: Vec<i64>,
    /// In the market's order.
    pub(crate) sites: Vec<SiteTrend>,
}

/// Of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SiteTrend {
    pub(crate) name: String,
    pub(crate) nodes: u32,
    /// Node-seconds that the market's jobs used, by span.
    pub(crate) used: Vec<i64>,
    /// Micro-credits that came in, by span; `None`: not for the reader.
    pub(crate) income: Option<Vec<i128>>,
}

/// The last `spans` spans of `step` seconds. Linear in jobs, postings and spans.
pub(crate) fn trends(state: &State, actor: &Actor, step: i64, spans: usize) -> Trends {
    let now = state.now().0;
    let from = now - step * spans as i64;
    let bins = Bins { from, step, spans };
    let pools = state.market.pools();
    let mut demand = vec![0; spans];
    let mut used = vec![vec![0; spans]; pools.sites().len()];
    for job in state.jobs.values() {
        let waits = matches!(job.phase, Phase::Waiting | Phase::Held(_));
        let began = job.parts.iter().filter_map(|part| part.since).min().map(|at| at.0);
        let until = began.or(job.ended.map(|at| at.0)).unwrap_or(now);
        if waits || began.is_some() {
            bins.add(&mut demand, job.submitted.0, until, i64::from(job.submission.tasks));
        }
        for part in &job.parts {
            let Some(since) = part.since else { continue };
            let end = part.exit.as_ref().map_or(now, |(at, _)| at.0);
            let site = state.site_of(part.pool).0 as usize;
            bins.add(&mut used[site], since.0, end, i64::from(part.nodes));
        }
    }
    let sites = pools.sites().iter().zip(used).enumerate().map(|(place, (site, used))| {
        let nodes = pools.as_slice().iter().filter(|it| it.site.0 as usize == place);
        let seen = actor.role == Role::Administrator || owns(state, actor, &site.name);
        let income = seen.then(|| income(state, &bins, &site.name));
        SiteTrend { name: site.name.clone(), nodes: nodes.map(|it| it.nodes).sum(), used, income }
    });
    Trends { from, step, demand, sites: sites.collect() }
}

fn income(state: &State, bins: &Bins, site: &str) -> Vec<i128> {
    let mut income = vec![0; bins.spans];
    let own = Account::Owner(site.to_owned());
    let postings = state.accounts.postings().rev().take_while(|it| it.at.0 >= bins.from);
    for it in postings.filter(|it| it.to == own && matches!(it.motive, Motive::Settle(_))) {
        if let Some(bin) = bins.of(it.at.0) {
            income[bin] += i128::from(it.amount.0);
        }
    }
    income
}

struct Bins {
    from: i64,
    step: i64,
    spans: usize,
}

impl Bins {
    fn of(&self, at: i64) -> Option<usize> {
        let bin = usize::try_from((at - self.from).div_euclid(self.step)).ok()?;
        // What happens at this moment is of the last span.
        (bin <= self.spans).then(|| bin.min(self.spans.saturating_sub(1)))
    }

    /// Adds `nodes` during `[start, end)`.
    fn add(&self, bins: &mut [i64], start: i64, end: i64, nodes: i64) {
        let last = self.from + self.step * self.spans as i64;
        let (start, end) = (start.max(self.from), end.min(last));
        if start >= end {
            return;
        }
        let (first, until) = ((start - self.from) / self.step, (end - 1 - self.from) / self.step);
        for bin in first..=until {
            let begin = self.from + bin * self.step;
            let held = end.min(begin + self.step) - start.max(begin);
            if let Some(bin) = bins.get_mut(bin as usize) {
                *bin += held * nodes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_get_their_part() {
        let bins = Bins { from: 100, step: 10, spans: 3 };
        let mut found = vec![0; 3];
        bins.add(&mut found, 95, 112, 2);
        bins.add(&mut found, 129, 400, 1);
        bins.add(&mut found, 10, 20, 9);
        bins.add(&mut found, 105, 105, 9);
        assert_eq!(found, [20, 4, 1]);
        assert_eq!(
            [bins.of(99), bins.of(100), bins.of(130), bins.of(141)],
            [None, Some(0), Some(2), None]
        );
    }
}
