//! Jobs whose parts begin together: each waits on its nodes until the last is there.

use tradewind_io::submission::Gather;
use tradewind_model::{Span, Time};

use crate::live::record::JobRecord;
use crate::live::state::jobs::gone;
use crate::live::state::{Job, Part, Phase, State, TaskGoal};
use crate::live::{ApplyError, Live};
use crate::site::{Survey, Tag};

/// From the moment at which all parts are there until their work begins: sites must have learned of
/// it by then.
const LEAD: Span = Span(2);

/// From when a job got its nodes until parts that do not wait for each other are to begin: all sites
/// must have taken theirs in by then, so that none begins if one is refused, and should have given
/// them their nodes: Slurm puts off looking at new jobs for three seconds, unless it is configured otherwise.
const AHEAD: Span = Span(4);

/// A part waits for so much longer than the market does for the last one: if all came in time it
/// must still learn of it.
const GRACE: Span = Span(60);

impl Job {
    /// When its tasks are to start at their sites. Those that wait there for each other come as
    /// soon as they can; others start at one moment, which lies a little ahead.
    pub(in crate::live) fn starts(&self) -> Option<Time> {
        let ahead = if self.begins_apart() { AHEAD } else { Span(0) };
        Some(self.started()? + ahead)
    }
}

impl Live {
    /// How long the job's first parts wait for its last.
    fn tolerance(&self, job: &Job) -> Span {
        match job.submission.gather {
            Some(Gather::Within(within)) => within,
            Some(Gather::Apart) | None => self.settings.gather,
        }
    }

    /// How long a part of the job waits at its site, if it does.
    pub(in crate::live) fn patience(&self, job: &Job) -> Option<Span> {
        job.barrier().map(|_| self.tolerance(job) + GRACE)
    }

    /// Until when the job's parts must have come together.
    fn deadline(&self, number: u64) -> Option<Time> {
        let job = self.state.jobs.get(&number)?;
        Some(job.started()? + self.tolerance(job))
    }

    /// When the parts of the next job must have come together.
    pub(in crate::live) fn next_deadline(&self) -> Option<Time> {
        let waits = |number: &&u64| {
            let job = self.state.jobs.get(number);
            job.is_some_and(Job::is_gathering) && self.may_go_on(**number)
        };
        self.index.gathering.iter().filter(waits).filter_map(|number| self.deadline(*number)).min()
    }

    /// Jobs whose parts wait for each other: whether they have come together, or will not.
    pub(in crate::live) fn gather_all(&mut self, at: Time) -> Result<(), ApplyError> {
        for number in self.index.gathering.clone() {
            self.gather(at, number)?;
        }
        Ok(())
    }

    /// Whether the parts of a running job that wait for each other are all there, or one of them
    /// will not come, or not in time.
    pub(in crate::live) fn gather(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let job = self.state.jobs.get(&number);
        let Some(job) = job.filter(|job| job.phase() == Phase::Running && job.is_gathering())
        else {
            self.index.gathering.remove(&number);
            return Ok(());
        };
        // A site that is away now would not hear when its part begins.
        let away = |part: &Part| self.state.sites.away.contains_key(&self.state.site_of(part.pool));
        let missing = |part: &&Part| part.since.is_none() || away(part);
        let late = self.deadline(number).is_some_and(|deadline| deadline < at);
        if !self.may_go_on(number) {
            return Ok(());
        }
        let timed_out = match job.parts().iter().find(|part| part.exit.is_some()) {
            Some(part) => Some((part.pool, gone(part))),
            None => match job.parts().iter().find(missing) {
                Some(part) if late => {
                    let within = self.tolerance(job).0;
                    Some((part.pool, format!("it was not there within {within} s")))
                }
                Some(_) => return Ok(()),
                None => None,
            },
        };
        match timed_out {
            Some((pool, why)) => {
                self.put(at, JobRecord::BarrierTimedOut { job: number, pool, why })
            }
            None => self.put(at, JobRecord::BarrierReached { job: number, at: at + LEAD }),
        }
    }

    /// Whether none of the job's parts was told to stop.
    pub(in crate::live) fn may_go_on(&self, number: u64) -> bool {
        self.state.tasks_of(number).all(|(_, wanted)| wanted == TaskGoal::Run)
    }

    /// Whether a part of the job that is not over was not told to stop.
    pub(in crate::live) fn runs_on(&self, number: u64) -> bool {
        let mut parts = self.state.tasks_of(number);
        parts.any(|(part, wanted)| part.exit.is_none() && wanted == TaskGoal::Run)
    }

    /// When the work of parts really began, as the site says: written down once all are known. Before
    /// jobs are judged by the same survey: what is not known by a job's end is not asked for any more.
    pub(in crate::live) fn learn_beginnings(
        &mut self,
        at: Time,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        let news: Vec<(Tag, i64)> =
            survey.began.iter().map(|(tag, at)| (tag.clone(), *at)).collect();
        for (tag, began) in news {
            if self.awaits_beginning(&tag) {
                self.index.began.insert(tag.clone(), began);
                self.launched(at, tag.job)?;
            }
        }
        Ok(())
    }

    fn awaits_beginning(&self, tag: &Tag) -> bool {
        let job = self.state.jobs.get(&tag.job).filter(|_| self.is_current(tag));
        job.is_some_and(|job| {
            let runs = job.phase() == Phase::Running && !job.is_gathering();
            runs && job.parts().len() > 1 && job.beginnings().is_empty()
        })
    }

    fn launched(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let tags = (0..job.parts().len()).map(|part| job.tag(&self.state.name, part));
        let began: Option<Vec<i64>> = tags.map(|tag| self.index.began.get(&tag).copied()).collect();
        let Some(began) = began else { return Ok(()) };
        self.forget_beginnings(number);
        self.put(at, JobRecord::Launched { job: number, began })
    }

    /// It is not asked any more when the job's parts began.
    pub(in crate::live) fn forget_beginnings(&mut self, number: u64) {
        self.index.began.retain(|tag, _| tag.job != number);
    }
}

impl State {
    /// Seconds that the part would pay for if it ended at `now`, or pays for if it has ended.
    pub fn charged(&self, job: &Job, part: &Part, now: Time) -> Span {
        job.charged(part, now, self.ledger.rules)
    }

    /// The parts of the job's present attempt whose tasks are not forgotten.
    fn tasks_of(&self, number: u64) -> impl Iterator<Item = (&Part, TaskGoal)> {
        let job = self.jobs.get(&number);
        let parts = job.into_iter().flat_map(|job| job.parts().iter().enumerate());
        parts.filter_map(move |(place, part)| {
            let tag = job?.tag(&self.name, place);
            Some((part, self.tasks.get(&tag)?.wanted))
        })
    }
}
