//! Why an accepted offer was not kept, as far as the state tells.

use tradewind_model::{Share, Time};

use crate::live::state::jobs::BreachReason;
use crate::live::state::{Happening, Job, Part, Phase, Setback, State, Why};
use crate::site::Exit;

impl Job {
    /// The part that failed first, in the order of parts.
    pub(super) fn failed_part(&self) -> Option<&Part> {
        let failed = |part: &&Part| {
            let exit = part.exit.as_ref().map(|(_, exit)| exit);
            matches!(exit, Some(Exit::NodeFailed | Exit::Lost | Exit::Preempted | Exit::Refused(_)))
        };
        self.parts().iter().find(failed)
    }
}

impl State {
    /// The first share of the job's window whose nodes are not free now.
    pub(super) fn taken_share(&self, job: &Job) -> Option<Share> {
        let window = job.booking.as_ref()?;
        let mut shares = window.place.shares(job.nodes());
        shares.find(|share| self.market.free_in(share.pool) < share.nodes)
    }

    /// Who or what has the nodes of the share, which an offer that was accepted then counted on.
    pub(super) fn why_taken(&self, accepted: Time, share: Share) -> BreachReason {
        let (pool, site) = (share.pool, self.site_of(share.pool));
        if let Some(since) = self.away_since(site) {
            return BreachReason::Away(site, since);
        }
        let gone = self.outages.open.iter().filter(|(why, _)| why.pool() == pool);
        let gone = gone.filter_map(|(why, id)| {
            let (what, has_begun) = self.market.closure_state(*id)?;
            has_begun.then_some((what, why))
        });
        let most = gone.max_by_key(|(what, _)| what.nodes);
        match most {
            Some((what, Why::Down(_))) => BreachReason::Down(pool, what.nodes),
            // It ran already, and was to end before the window.
            Some((what, Why::Local(_, name))) if what.from < accepted => {
                BreachReason::Overdue(pool, name.clone())
            }
            Some((_, Why::Local(_, name))) => BreachReason::OwnersJob(pool, name.clone()),
            Some((_, Why::Withheld(..))) => BreachReason::Withheld(pool),
            Some(_) => BreachReason::NotFree(pool),
            None => self.occupant(share).unwrap_or(BreachReason::NotFree(pool)),
        }
    }

    /// The job of the market that has had nodes of the share for the longest time.
    fn occupant(&self, share: Share) -> Option<BreachReason> {
        let here = self.market.running().filter(|it| it.nodes_in(share.pool) > 0);
        let jobs = here.filter_map(|it| self.jobs.get(self.jobs.numbers.get(&it.job)?));
        let first = jobs.min_by_key(|job| (job.started(), job.number))?;
        Some(BreachReason::Occupied(share.pool, first.number))
    }

    /// Why the job's work has not begun in its window, or began too late; `obstacle` is what was in
    /// its way when it was to start.
    pub(super) fn why_late(&self, job: &Job, obstacle: Option<&BreachReason>) -> BreachReason {
        let Some(promise) = job.promise() else {
            return BreachReason::Refused(String::new());
        };
        let shares: Vec<Share> = promise.window.place.shares(promise.nodes).collect();
        let away = shares.iter().find_map(|share| {
            let site = self.site_of(share.pool);
            self.away_since(site).map(|since| BreachReason::Away(site, since))
        });
        if let Some(away) = away {
            return away;
        }
        if job.phase() == Phase::Running {
            if let Some((site, _, why)) = self.held_there(job) {
                return BreachReason::Refused(format!("it is held at {site}: {why}"));
            }
            let waits = job.parts().iter().find(|part| part.since.is_none());
            if let Some(part) = waits.or(job.parts().first()) {
                return BreachReason::NotStarted(part.pool);
            }
        }
        let from = promise.window.start;
        let since = job.history.iter().rev().take_while(|(when, _)| *when >= from);
        let said = since.filter_map(|(_, what)| match what {
            Happening::Setback(
                Setback::Refused(why) | Setback::BarrierTimedOut(_, why) | Setback::Capped(_, why),
            ) => Some(BreachReason::Refused(why.clone())),
            _ => None,
        });
        let taken = self.taken_share(job).map(|share| self.why_taken(promise.accepted, share));
        let pool = shares.first().map(|share| share.pool);
        let unknown = pool.map(BreachReason::NotFree);
        let refused = said.into_iter().next();
        taken
            .or(refused)
            .or(obstacle.cloned())
            .or(unknown)
            .unwrap_or_else(|| BreachReason::Refused(String::new()))
    }
}
