//! Nodes that sites are to keep free: those of booked windows.

use std::collections::BTreeMap;

use tradewind_model::{Share, SiteId, Time};

use crate::live::record::JobRecord;
use crate::live::state::{Happening, Job, JobHold, Phase, State};
use crate::live::{ApplyError, Live};
use crate::site::Aside;

impl Live {
    /// By site, what it is to keep free now: windows that are booked and have not come, and those
    /// in which their jobs run, as long as these have nodes there. Sites that are to keep nothing
    /// are left out. Linear in the jobs that run or are booked.
    pub fn asides(&self) -> BTreeMap<SiteId, Vec<Aside>> {
        let state = &self.state;
        let booked = self.index.booked.iter().map(|(_, number)| number);
        let running = state.market.running().filter_map(|job| state.jobs.numbers.get(&job.job));
        let jobs = booked.chain(running).filter_map(|number| state.jobs.get(number));
        let mut all: BTreeMap<SiteId, Vec<Aside>> = BTreeMap::new();
        for (share, aside) in jobs.flat_map(|job| state.asides_of(job)) {
            all.entry(state.site_of(share.pool)).or_default().push(aside);
        }
        all
    }

    /// A site was told what to keep free, and will not for these jobs.
    pub(in crate::live) fn set_aside(
        &mut self,
        at: Time,
        site: SiteId,
        denied: Vec<(u64, String)>,
    ) -> Result<(), ApplyError> {
        for (number, why) in denied {
            let job = self.state.jobs.get(&number).filter(|job| job.has_window());
            let said = Happening::Unkept(site, why.clone());
            if job.is_some_and(|job| job.history.iter().all(|(_, it)| *it != said)) {
                self.put(at, JobRecord::Unkept { job: number, site: site.0, why })?;
            }
        }
        Ok(())
    }
}

impl Job {
    /// Whether its window is booked, or it runs in it.
    fn has_window(&self) -> bool {
        match self.phase() {
            Phase::Held(JobHold::Booked) => self.booking.is_some(),
            Phase::Running => self.in_window(),
            _ => false,
        }
    }
}

impl State {
    pub(in crate::live) fn asides_of(&self, job: &Job) -> Vec<(Share, Aside)> {
        let Some(booking) = job.booking.as_ref().filter(|_| job.has_window()) else {
            return Vec::new();
        };
        let shares = booking.place.shares(job.nodes()).zip(&booking.ends);
        let over = |share: Share| {
            let mut here = job.parts().iter().filter(|part| part.pool == share.pool).peekable();
            here.peek().is_some() && here.all(|part| part.exit.is_some())
        };
        let runs = job.phase() == Phase::Running;
        let kept = shares.filter(|(share, _)| !(runs && over(*share)));
        let aside = |(share, until): (Share, &Time)| {
            let aside = Aside {
                market: self.name.clone(),
                job: job.number,
                user: job.user.clone(),
                pool: self.own_name(share.pool).to_owned(),
                nodes: share.nodes,
                from: booking.start,
                until: *until,
            };
            (share, aside)
        };
        kept.map(aside).collect()
    }
}
