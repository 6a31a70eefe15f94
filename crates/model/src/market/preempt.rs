//! Jobs that lose their nodes: notices, what is kept, and what is paid for it.

use super::{JobId, Market, MarketError, Phase, Running};
use crate::{Demand, Notice, PoolId, Preemption, RunCut, Time};

impl Running<'_> {
    /// That its nodes will be taken, if it was told so.
    pub fn notice(&self) -> Option<Notice> {
        self.held.notice
    }
}

impl Market {
    /// What would count of the job's run if it lost its nodes now. Nothing of a job that does not run.
    pub fn cut_now(&self, job: JobId) -> RunCut {
        self.run_of(job).map_or(RunCut::default(), |run| {
            run.demand.cut(self.pools(), run.place, (run.start, self.now()), run.notice())
        })
    }

    /// By how much a job pays less than the list price in a pool, if it is preemptible.
    pub(super) fn preemption(&self, job: JobId, pool: PoolId) -> Option<Preemption> {
        let demand = self.demand(job).filter(|demand| demand.is_preemptible());
        demand.map(|_| self.pools.preemption(self.pools.pool(pool).site))
    }

    pub(super) fn give_notice(&mut self, job: JobId, leaves: Time) -> Result<(), MarketError> {
        let wrong = MarketError::State { job };
        let may = self.demand(job).is_some_and(Demand::is_preemptible) && leaves >= self.now;
        let held = self.running.get_mut(&job).filter(|_| may).ok_or(wrong)?;
        let given = match held.notice {
            Some(before) if before.leaves <= leaves => return Err(wrong),
            Some(before) => before.given,
            None => self.now,
        };
        held.notice = Some(Notice { given, leaves });
        Ok(())
    }

    /// A job loses its nodes, or leaves the queue of a site; it waits again.
    pub(super) fn interrupt(&mut self, job: JobId) -> Result<(), MarketError> {
        match self.lined.remove(&job) {
            Some(_) => self.entry(job, Phase::Lined)?.phase = Phase::Queued,
            None => {
                let cut = self.cut_now(job);
                let (processors, held) = self.leave(job, Phase::Queued)?;
                self.settle_all(job, processors, &held, cut.paid());
                let rest = self.jobs[job.index()].demand.after(cut.progress);
                rest.into_iter().for_each(|demand| self.jobs[job.index()].demand = demand);
            }
        }
        self.queue.insert(job);
        Ok(())
    }
}
