//! How the market was recently, by the jobs, postings and outages that are kept.

use std::collections::BTreeMap;

use tradewind_daemon::live::money::{Account, Motive};
use tradewind_daemon::live::recent_history::RecentHistory;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{State, Why};
use tradewind_model::{Price, Time};

use super::accounts::owns;
use crate::clock::present;

/// Spans of equal length, the last of which has now in it. Sums are node-seconds by span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trends {
    /// What the spans are.
    pub(crate) bins: Bins,
    /// When they were counted.
    pub(crate) now: i64,
    /// Before this moment nothing is known: the market had not begun, or has forgotten.
    pub(crate) known: i64,
    /// That jobs waited for nodes.
    pub(crate) waited: Vec<i64>,
    /// In the market's order.
    pub(crate) pools: Vec<PoolTrend>,
    /// In the market's order.
    pub(crate) sites: Vec<SiteTrend>,
}

/// Of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PoolTrend {
    pub(crate) name: String,
    pub(crate) site: usize,
    pub(crate) nodes: u32,
    /// That the market's jobs had nodes.
    pub(crate) held: Vec<i64>,
    /// That their work ran on them.
    pub(crate) worked: Vec<i64>,
    /// That owners' own tasks had nodes.
    pub(crate) owners: Vec<i64>,
    /// That nodes were down or not offered.
    pub(crate) missing: Vec<i64>,
    /// What a node cost from when on, the oldest first, beginning before the first span if it is
    /// known that far.
    pub(crate) prices: Vec<(i64, Price)>,
    /// Some prices before this moment are left out: there were too many.
    pub(crate) thinned: Option<i64>,
    /// Micro-credits that came in, by span; `None`: not for the reader. Of jobs that are not kept
    /// any more only the site's is known.
    pub(crate) income: Option<Vec<i128>>,
}

/// Of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SiteTrend {
    pub(crate) name: String,
    /// Micro-credits that came in, by span; `None`: not for the reader.
    pub(crate) income: Option<Vec<i128>>,
}

/// The spans that end with the one of now. Linear in jobs, postings, outages and spans, but for
/// [`State::recent_outages`].
pub(crate) fn trends(state: &State, actor: &Actor, step: i64, spans: usize) -> Trends {
    let now = present(state);
    let bins = Bins::until(now.0, step, spans);
    let pools = state.market.pools();
    let mut counted: Vec<PoolTrend> = pools
        .iter()
        .map(|(id, pool)| PoolTrend {
            name: pool.name.clone(),
            site: pool.site.0 as usize,
            nodes: pool.nodes,
            held: vec![0; spans],
            worked: vec![0; spans],
            owners: vec![0; spans],
            missing: vec![0; spans],
            prices: state.past().prices.get(&id).map(prices).unwrap_or_default(),
            thinned: state.past().prices.get(&id).and_then(|it| it.thinned).map(|at| at.0),
            income: None,
        })
        .collect();
    let mut waited = vec![0; spans];
    jobs(state, now, &bins, &mut waited, &mut counted);
    closures(state, now, &bins, &mut counted);
    let sites = pools.sites().iter().map(|site| {
        let seen = actor.role == Role::Administrator || owns(state, actor, &site.name);
        SiteTrend { name: site.name.clone(), income: seen.then(|| vec![0; spans]) }
    });
    let mut sites: Vec<SiteTrend> = sites.collect();
    for pool in &mut counted {
        pool.income = sites.get(pool.site).and_then(|site| site.income.clone());
    }
    income(state, &bins, &mut sites, &mut counted);
    Trends { bins, now: now.0, known: known(state).0, waited, sites, pools: counted }
}

fn prices(asked: &tradewind_daemon::live::recent_history::PriceSince) -> Vec<(i64, Price)> {
    asked.points.iter().map(|(at, price)| (at.0, *price)).collect()
}

/// When the first price was asked, or as far back as jobs and outages are kept.
pub(crate) fn known(state: &State) -> Time {
    let first = state.past().prices.values().filter_map(|it| it.points.front()).map(|it| it.0);
    let first = first.min().unwrap_or(state.now());
    let kept = state.now() - RecentHistory::SPAN;
    first.max(kept).max(state.past().forgotten.unwrap_or(kept))
}

fn jobs(state: &State, now: Time, bins: &Bins, waited: &mut [i64], pools: &mut [PoolTrend]) {
    for job in state.jobs.values() {
        let until = job.started().or(job.ended()).unwrap_or(now);
        bins.add(waited, job.submitted, until, job.nodes());
        for part in job.parts() {
            let Some(pool) = pools.get_mut(part.pool.index()) else { continue };
            let end = part.exit.as_ref().map(|(at, _)| *at).or(job.ended()).unwrap_or(now);
            if let Some(start) = job.started() {
                bins.add(&mut pool.held, start, end, part.nodes);
            }
            if let Some(since) = job.works_since(part) {
                bins.add(&mut pool.worked, since, end, part.nodes);
            }
        }
    }
}

fn closures(state: &State, now: Time, bins: &Bins, pools: &mut [PoolTrend]) {
    for gone in state.recent_outages(now) {
        let Some(pool) = pools.get_mut(gone.why.pool().index()) else { continue };
        let sum = match gone.why {
            Why::Local(..) | Why::Stray(..) => &mut pool.owners,
            Why::Down(_) | Why::Away(_) | Why::Withheld(..) | Why::Reclaimed(..) => {
                &mut pool.missing
            }
            // Set aside for the market's own jobs, or for jobs that are counted once they start.
            Why::Booked(..) | Why::Queued(..) | Why::AwayLater(_) => continue,
        };
        bins.add(sum, gone.from, gone.until, gone.nodes);
    }
}

/// What was settled, by site and by pool, for those of which the reader may know.
fn income(state: &State, bins: &Bins, sites: &mut [SiteTrend], pools: &mut [PoolTrend]) {
    let names: Vec<String> = sites.iter().map(|site| site.name.clone()).collect();
    let places: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let postings = state.accounts().postings().rev().take_while(|it| it.at.0 >= bins.from);
    // A job settles its parts one after the other: this is the last but so many.
    let mut last = (0, 0);
    for it in postings {
        let Motive::Settle(job) = it.motive else { continue };
        last = (job, if last.0 == job { last.1 + 1 } else { 0 });
        let Account::Owner(name) = &it.to else { continue };
        let (Some(place), Some(bin)) = (places.get(name.as_str()), bins.of(it.at.0)) else {
            continue;
        };
        let part = state.jobs.get(&job).and_then(|job| job.parts().iter().rev().nth(last.1));
        let of_pool = part.and_then(|part| pools.get_mut(part.pool.index()));
        let of_pool = of_pool.filter(|pool| pool.site == *place);
        let of_site = sites.get_mut(*place).and_then(|site| site.income.as_mut());
        for sums in of_site.into_iter().chain(of_pool.and_then(|pool| pool.income.as_mut())) {
            if let Some(sum) = sums.get_mut(bin) {
                *sum += i128::from(it.amount.0);
            }
        }
    }
}

/// Spans of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bins {
    /// When the first begins, seconds since 1970.
    pub(crate) from: i64,
    /// Of each, seconds.
    pub(crate) step: i64,
    /// Number of spans.
    pub(crate) spans: usize,
}

impl Bins {
    /// The last of them has `now` in it; all begin at multiples of their length.
    pub(crate) fn until(now: i64, step: i64, spans: usize) -> Bins {
        Bins { from: (now.div_euclid(step) + 1 - spans as i64) * step, step, spans }
    }

    /// When the last ends.
    pub(crate) fn end(&self) -> i64 {
        self.from + self.step * self.spans as i64
    }

    /// When a span begins.
    pub(crate) fn begin(&self, span: usize) -> i64 {
        self.from + self.step * span as i64
    }

    fn of(&self, at: i64) -> Option<usize> {
        let bin = usize::try_from((at - self.from).div_euclid(self.step)).ok()?;
        (bin < self.spans).then_some(bin)
    }

    /// Adds `nodes` during `[start, end)`.
    fn add(&self, bins: &mut [i64], start: Time, end: Time, nodes: u32) {
        let (start, end) = (start.0.max(self.from), end.0.min(self.end()));
        if start >= end {
            return;
        }
        let (first, until) = ((start - self.from) / self.step, (end - 1 - self.from) / self.step);
        for bin in first..=until {
            let begin = self.from + bin * self.step;
            let held = end.min(begin + self.step) - start.max(begin);
            if let Some(bin) = bins.get_mut(bin as usize) {
                *bin += held * i64::from(nodes);
            }
        }
    }
}

impl Trends {
    /// Seconds of a span of which something is known.
    pub(crate) fn seconds(&self, span: usize) -> i64 {
        let begin = self.bins.begin(span);
        ((begin + self.bins.step).min(self.now) - begin.max(self.known)).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_get_their_part() {
        let bins = Bins { from: 100, step: 10, spans: 3 };
        let mut found = vec![0; 3];
        bins.add(&mut found, Time(95), Time(112), 2);
        bins.add(&mut found, Time(129), Time(400), 1);
        bins.add(&mut found, Time(10), Time(20), 9);
        bins.add(&mut found, Time(105), Time(105), 9);
        assert_eq!(found, [20, 4, 1]);
        assert_eq!([99, 100, 129, 130].map(|at| bins.of(at)), [None, Some(0), Some(2), None]);
    }

    #[test]
    fn the_last_span_has_now_in_it() {
        for now in [0, 1, 599, 600, 601] {
            let bins = Bins::until(now, 600, 4);
            assert_eq!(bins.of(now), Some(3), "{now}");
            assert_eq!(bins.from % 600, 0);
        }
    }
}
