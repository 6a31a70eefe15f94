//! All sites with jobs of their owners, on their way through a replay.

use std::collections::VecDeque;

use tradewind_model::{Event, JobId, Market, Outage, OutageId, Place, Pools, Time};

use super::OwnersRun;
use super::lines::Withdrawn;
use super::site::{OwnersChange, OwnersSite, Started};
use crate::workload::OwnersLoad;

/// The owners' jobs of a replay, and what the market knows of them.
#[derive(Debug)]
pub(crate) struct Owners<'a> {
    pub(super) sites: Vec<OwnersSite<'a>>,
    /// What the market has to be told, with the site's index.
    changes: VecDeque<(usize, OwnersChange)>,
    /// Whether the next event is one that was told here.
    told: bool,
    pub(super) withdrawn: Withdrawn,
}

impl<'a> Owners<'a> {
    pub(crate) fn new(loads: &'a [OwnersLoad], pools: &Pools) -> Owners<'a> {
        let sites = loads.iter().map(|load| OwnersSite::new(load, pools)).collect();
        let (changes, withdrawn) = (VecDeque::new(), Withdrawn::default());
        Owners { sites, changes, told: false, withdrawn }
    }

    /// When anything happens next.
    pub(crate) fn next(&self) -> Option<Time> {
        self.sites.iter().filter_map(OwnersSite::next).min()
    }

    /// Whether all jobs have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.sites.iter().all(OwnersSite::is_over)
    }

    /// A job that ends by `now` gives its nodes back. It has to be applied before the next call.
    pub(crate) fn end(&mut self, now: Time) -> Option<Event> {
        let closure = self.sites.iter_mut().find_map(|site| site.end(now))?;
        self.told = true;
        Some(Event::Reopened { closure })
    }

    /// The next event of this moment, which has to be applied before the next call.
    pub(crate) fn event(&mut self, market: &Market) -> Option<Event> {
        if self.sites.is_empty() {
            return None;
        }
        let event = loop {
            match self.changes.pop_front() {
                Some((_, OwnersChange::Notice { job, leaves })) => {
                    if self.has_to_tell(market, job, leaves) {
                        break Event::Noticed { job, leaves };
                    }
                }
                Some((site, change)) => break self.tell(site, change, market),
                None if self.step(market) => {}
                None => return None,
            }
        };
        self.told = true;
        Some(event)
    }

    /// A job has to leave a site: all its sites know, but for one that has told it before. Whether it
    /// is still to be told.
    fn has_to_tell(&mut self, market: &Market, job: JobId, leaves: Time) -> bool {
        self.sites.iter_mut().for_each(|site| site.tenants.told(job, leaves));
        let known = market.run_of(job).and_then(|run| run.notice());
        market.run_of(job).is_some() && known.is_none_or(|it| leaves < it.leaves)
    }

    /// Lets the schedulers decide; whether any did.
    fn step(&mut self, market: &Market) -> bool {
        let (now, mut any) = (market.now(), false);
        for (index, site) in self.sites.iter_mut().enumerate().filter(|(_, site)| site.is_due(now))
        {
            self.changes.extend(site.step(market).into_iter().map(|change| (index, change)));
            any = true;
        }
        any
    }

    fn tell(&mut self, site: usize, change: OwnersChange, market: &Market) -> Event {
        let closure = OutageId(market.announced());
        match change {
            OwnersChange::Reopen(closure) => Event::Reopened { closure },
            OwnersChange::Close(closure) => Event::Closed { closure },
            OwnersChange::Notice { job, leaves } => Event::Noticed { job, leaves },
            OwnersChange::Turn { job, pool } => Event::Started { job, place: Place::Pool(pool) },
            OwnersChange::Announce(what) => {
                self.sites[site].announced(closure, what);
                Event::Announced { closure, what }
            }
            OwnersChange::Start(Started { job, what }) => {
                self.sites[site].started(job, closure);
                self.changes.push_front((site, OwnersChange::Close(closure)));
                Event::Announced { closure, what }
            }
        }
    }

    /// Something happened in the market.
    pub(crate) fn happened(&mut self, market: &Market, event: &Event) {
        if self.sites.is_empty() || std::mem::take(&mut self.told) {
            return;
        }
        let now = market.now();
        for site in &mut self.sites {
            match event {
                Event::Started { job, place } => {
                    let Some(demand) = market.demand(*job) else { continue };
                    for share in place.shares(demand.processors) {
                        if demand.is_preemptible() && site.preempts() {
                            site.come(*job, share, now);
                            continue;
                        }
                        let limit = market.pools().pool(share.pool).length_of(demand);
                        site.adopt(*job, share, limit, now);
                    }
                }
                Event::Noticed { job, leaves } => site.tenants.told(*job, *leaves),
                Event::Released { job, pool } => site.gone(*job, Some(*pool), now),
                Event::Ended { job } | Event::Interrupted { job } => site.gone(*job, None, now),
                Event::Announced { closure, what } => site.outage(*closure, *what, now),
                Event::Closed { closure } => site.outage_began(*closure, now),
                Event::Reopened { closure } => site.outage_over(*closure, now),
                _ => {}
            }
        }
    }

    /// What happened to the jobs of each load.
    pub(crate) fn finish(self) -> Vec<OwnersRun> {
        self.sites.into_iter().map(OwnersSite::finish).collect()
    }
}

/// An outage of the owners' own.
pub(super) fn local(taken: &tradewind_sched::policy::availability::Taken) -> Outage {
    let (pool, nodes) = (taken.share.pool, taken.share.nodes);
    let cause = tradewind_model::Cause::Local;
    Outage { pool, nodes, from: taken.from, until: taken.until, cause }
}
