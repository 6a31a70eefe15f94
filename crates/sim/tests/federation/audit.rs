//! A federation with somebody looking over its shoulder.

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, PoolId, Time};
use tradewind_sched::policy::{Policy, Promise};
use tradewind_sim::federation::Federation;

/// After every pass: the books agree, and no reservation of a local job went further away. That
/// holds as long as estimates do, so worlds for it have no job that outlives its own.
#[derive(Debug)]
pub(crate) struct Audited {
    pub(crate) federation: Federation,
    /// Where local jobs wait, and until when.
    reserved: BTreeMap<JobId, (PoolId, Time)>,
    homes: BTreeMap<JobId, PoolId>,
    /// The first complaint.
    pub(crate) complaint: Option<String>,
}

impl Audited {
    pub(crate) fn new(federation: Federation) -> Audited {
        let (reserved, homes) = (BTreeMap::new(), BTreeMap::new());
        Audited { federation, reserved, homes, complaint: None }
    }

    fn complain(&mut self, now: Time, what: &str) {
        self.complaint.get_or_insert_with(|| format!("at {now}: {what}"));
    }

    fn watch_reservations(&mut self, market: &Market) {
        let mut after = BTreeMap::new();
        for job in market.queue() {
            let Some((site, local)) = self.federation.site_of(job) else { continue };
            // A job is first seen where it was submitted.
            let home = *self.homes.entry(job).or_insert(site);
            if let Some(at) = local.reservation(job).filter(|_| home == site) {
                after.insert(job, (site, at));
            }
        }
        let before = std::mem::take(&mut self.reserved);
        let now = market.now();
        for (job, (site, at)) in &after {
            let later = before.get(job).filter(|(there, before)| there == site && before < at);
            if let Some((_, before)) = later {
                self.complain(now, &format!("job {} was reserved for {before}, now {at}", job.0));
            }
            if *at < now {
                self.complain(now, &format!("job {} waits since {at} in spite of that", job.0));
            }
        }
        self.reserved = after;
    }
}

impl Policy for Audited {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let upset =
            |event: &Event| matches!(event, Event::Announced { .. } | Event::Interrupted { .. });
        if events.iter().any(upset) {
            self.reserved.clear();
        }
        let from = commands.len();
        self.federation.decide(market, events, commands);
        if let Err(what) = self.federation.check() {
            self.complain(market.now(), &what);
        }
        for command in &commands[from..] {
            if let Command::Start { job, .. } | Command::Refuse { job, .. } = command {
                self.reserved.remove(job);
            }
        }
        // Jobs that start now are in the market's queue still, and wait nowhere.
        self.watch_reservations(market);
    }

    fn promise(&self) -> Promise {
        self.federation.promise()
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.federation.reservation(job)
    }
}
