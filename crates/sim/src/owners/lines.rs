//! Jobs of the market in the queues of sites.

use std::collections::BTreeSet;

use tradewind_model::{Event, JobId, Market, PoolId, Standing};
use tradewind_sched::policy::outlook::Outlook;

use super::replayed::Owners;

/// Of the market's queue so many jobs are looked at.
const MAX_WAITING: usize = 200;

/// What is known of jobs that have left the queue of a site for the market's again.
#[derive(Debug, Default)]
pub(super) struct Withdrawn {
    /// They do not leave one again.
    ever: BTreeSet<JobId>,
    /// Those that the market has not been told of.
    now: BTreeSet<JobId>,
}

impl Owners<'_> {
    /// Jobs that join the queue of a site now, and those that leave it. See the text of the module
    /// above.
    pub(crate) fn lines(&mut self, market: &Market) -> Vec<Event> {
        let open = |site: &super::site::OwnersSite<'_>| site.is_in_line() && !site.is_idle();
        let any = self.sites.iter().any(|site| open(site) || site.has_lined());
        if !any || market.queue().len() == 0 && market.lined().len() == 0 {
            return Vec::new();
        }
        let outlook = Outlook::new(market, market.now(), MAX_WAITING);
        let mut events = self.withdraw(market, &outlook);
        let sites = &self.sites;
        let suits = |pool: PoolId| sites.iter().any(|site| open(site) && site.has(pool));
        let joins: Vec<(JobId, PoolId)> =
            outlook.later_in(suits).map(|(job, pool, _)| (job, pool)).collect();
        for (job, pool) in joins {
            let Some(demand) = market.demand(job) else { continue };
            let limit = market.pools().pool(pool).length_of(demand);
            let site = self.sites.iter_mut().find(|site| site.has(pool));
            if site.is_some_and(|site| site.line_up(job, pool, demand.processors, limit)) {
                events.push(Event::Lined { job });
            }
        }
        events
    }

    /// Jobs that could start elsewhere leave the queues of sites.
    fn withdraw(&mut self, market: &Market, outlook: &Outlook) -> Vec<Event> {
        let (now, mut events) = (market.now(), Vec::new());
        for site in &mut self.sites {
            for (job, pool) in site.lined() {
                let demand = market.demand(job).filter(|_| !self.withdrawn.ever.contains(&job));
                if demand.is_some_and(|it| outlook.starts_elsewhere(market, it, pool)) {
                    site.leave_line(job, now);
                    self.withdrawn.ever.insert(job);
                    self.withdrawn.now.insert(job);
                    events.push(Event::Interrupted { job });
                }
            }
        }
        events
    }

    /// Whether the job has just left the queue of a site; told once.
    pub(crate) fn has_withdrawn(&mut self, job: JobId) -> bool {
        self.withdrawn.now.remove(&job)
    }
}

impl super::site::OwnersSite<'_> {
    /// Whether jobs of the market may wait here.
    fn is_in_line(&self) -> bool {
        self.load.market == Standing::InLine
    }
}
