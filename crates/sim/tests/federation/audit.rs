//! A federation whose messages and entries are checked.

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, Place, PoolId, Time};
use tradewind_sched::policy::{Policy, Promise};

use super::grid::Grid;

/// After every pass: the books agree, and no reservation of a local job went further away.
///
/// That holds as long as estimates do, so worlds for it have no job that exceeds its own. And
/// where a job comes home unwanted, it takes its old place among local jobs again: there the
/// reservations of younger ones may move, at EASY sites.
#[derive(Debug)]
pub(crate) struct Audited {
    pub(crate) federation: Grid,
    /// Local jobs that wait at home, and until when if that is known.
    local: BTreeMap<JobId, (PoolId, Option<Time>)>,
    homes: BTreeMap<JobId, PoolId>,
    /// The first complaint.
    pub(crate) complaint: Option<String>,
}

impl Audited {
    pub(crate) fn new(federation: Grid) -> Audited {
        let (local, homes) = (BTreeMap::new(), BTreeMap::new());
        Audited { federation, local, homes, complaint: None }
    }

    fn complain(&mut self, now: Time, what: &str) {
        self.complaint.get_or_insert_with(|| format!("at {now}: {what}"));
    }

    /// Local jobs that wait at home now.
    fn look(&self, market: &Market) -> BTreeMap<JobId, (PoolId, Option<Time>)> {
        let all = market.queue().filter_map(|job| {
            let (site, local) = self.federation.waits_at(job)?;
            Some((job, (site, local.reservation(job))))
        });
        all.filter(|(job, (site, _))| self.homes.get(job) == Some(site)).collect()
    }

    /// Complains about reservations that moved away though no older local job came in between.
    fn watch_reservations(&mut self, market: &Market, started: &[(JobId, PoolId)]) {
        let (now, after) = (market.now(), self.look(market));
        let before = std::mem::replace(&mut self.local, after.clone());
        let there = after.iter().map(|(job, (site, _))| (*job, *site));
        let came = there
            .chain(started.iter().copied())
            .filter(|(job, site)| self.homes.get(job) == Some(site) && !before.contains_key(job));
        let came: Vec<(JobId, PoolId)> = came.collect();
        for (job, (site, at)) in after {
            let Some(at) = at else { continue };
            let excused = came.iter().any(|(other, there)| *there == site && *other < job);
            let earlier = before.get(&job).and_then(|(_, at)| *at);
            if earlier.is_some_and(|earlier| earlier < at) && !excused {
                self.complain(
                    now,
                    &format!("job {} was reserved for {earlier:?}, now {at}", job.0),
                );
            }
            if at < now {
                self.complain(now, &format!("job {} was reserved for {at} and waits", job.0));
            }
        }
    }
}

impl Policy for Audited {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let upset =
            |event: &Event| matches!(event, Event::Announced { .. } | Event::Interrupted { .. });
        if events.iter().any(upset) {
            self.local.clear();
        }
        let from = commands.len();
        self.federation.decide(market, events, commands);
        if let Err(what) = self.federation.check() {
            self.complain(market.now(), &what);
        }
        for event in events {
            if let Event::Submitted { job, demand } = event {
                let home = demand.terms().home.unwrap();
                self.homes.insert(*job, PoolId(home.0)); // a pool per site
            }
        }
        let started: Vec<(JobId, PoolId)> = commands[from..]
            .iter()
            .filter_map(|command| match command {
                Command::Start { job, place: Place::Pool(pool) } => Some((*job, *pool)),
                _ => None,
            })
            .collect();
        self.watch_reservations(market, &started);
    }

    fn promise(&self) -> Promise {
        self.federation.promise()
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.federation.reservation(job)
    }
}
