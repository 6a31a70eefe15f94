//! Jobs whose parts begin together: each waits on its nodes until the last is there.

use tradewind_io::submission::Gather;
use tradewind_model::{PoolId, Span, Time};

use crate::live::jobs::Beginning;
use crate::live::record::JobRecord;
use crate::live::state::{Job, Part, Phase, Setback, State, TaskGoal};
use crate::live::{ApplyError, Live};
use crate::site::{Exit, Survey, Tag};

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

/// How a running job's parts come together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartBarrier {
    /// When their work begins; `None`: they are not all there.
    pub at: Option<Time>,
    /// They did not come together: the pool of the one that was missing, and why.
    pub timed_out: Option<(PoolId, String)>,
    /// When their work really began: milliseconds since 1970 by part, once all are known.
    pub began: Vec<i64>,
}

impl Job {
    /// Whether it has parts in several pools that do not wait for each other.
    pub fn begins_apart(&self) -> bool {
        self.parts().len() > 1 && self.barrier().is_none()
    }

    /// When the work of its parts really began: milliseconds since 1970 by part, once all are known.
    fn beginnings(&self) -> &[i64] {
        match self.run().map(|run| &run.beginning) {
            Some(Beginning::Together(StartBarrier { began, .. }) | Beginning::Apart(began)) => {
                began
            }
            None => &[],
        }
    }

    /// The start skew: from the first part's real beginning to the last one's, milliseconds.
    pub fn skew(&self) -> Option<i64> {
        let began = self.beginnings();
        Some(began.iter().max()? - began.iter().min()?)
    }

    /// When its tasks are to start at their sites. Those that wait there for each other come as
    /// soon as they can; others start at one moment, which lies a little ahead.
    pub(in crate::live) fn starts(&self) -> Option<Time> {
        let ahead = if self.begins_apart() { AHEAD } else { Span(0) };
        Some(self.started()? + ahead)
    }

    /// Since when its work runs, perhaps in a moment: if its parts begin together, since they do.
    pub fn began(&self) -> Option<Time> {
        match self.barrier() {
            Some(it) => it.at,
            None => self.parts().iter().filter_map(|part| part.since).min(),
        }
    }

    /// Since when the part's work runs: what it waited for others does not count.
    pub fn works_since(&self, part: &Part) -> Option<Time> {
        match self.barrier() {
            Some(it) => Some(part.since?.max(it.at?)),
            None => part.since,
        }
    }

    /// Seconds that the part's work ran until `now` or its end, at most its limit.
    pub fn worked(&self, part: &Part, now: Time) -> Span {
        let end = part.exit.as_ref().map_or(now, |(end, _)| *end);
        let end = self.kept_until().map_or(end, |kept| kept.min(end));
        let used = self.works_since(part).map_or(0, |since| (end - since).0);
        Span(used.clamp(0, part.limit.0))
    }

    /// Seconds that the part pays for: those that its work ran, and at least one once it has begun,
    /// so that many short tasks are not free. At most its limit, which is what was held for it.
    pub(in crate::live) fn charged(&self, part: &Part, now: Time, rules: Option<u32>) -> Span {
        let worked = self.worked(part, now);
        if self.lost_all() {
            return Span(0);
        }
        match rules.is_some() && self.works_since(part).is_some() {
            true => Span(worked.0.max(1).min(part.limit.0)),
            false => worked,
        }
    }

    /// Whether it was given its nodes and its parts still wait for each other: no work has run,
    /// whatever sites say.
    pub(in crate::live) fn is_gathering(&self) -> bool {
        self.barrier().is_some_and(|it| it.at.is_none())
    }

    /// Whether the work of some of its parts never began.
    pub(in crate::live) fn is_incomplete(&self) -> bool {
        self.parts().iter().any(|part| part.since.is_none())
    }

    /// That its parts did not come together, if so.
    pub(in crate::live) fn barrier_timeout(&self) -> Option<Setback> {
        let (pool, why) = self.barrier()?.timed_out.clone()?;
        Some(Setback::BarrierTimedOut(pool, why))
    }

    /// The same, when all of them ended without an order to.
    pub(in crate::live) fn vanished(&self) -> Option<Setback> {
        let first = self.parts().first().filter(|_| self.barrier().is_some())?;
        Some(Setback::BarrierTimedOut(first.pool, gone(first)))
    }

    /// How its work begins if it is started in so many parts.
    pub(in crate::live) fn beginning_of(&self, parts: usize) -> Beginning {
        match parts > 1 && self.submission.gather != Some(Gather::Apart) {
            true => Beginning::Together(StartBarrier::default()),
            false => Beginning::Apart(Vec::new()),
        }
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

/// How a part ended that was over before it began.
fn gone(part: &Part) -> String {
    match part.exit.as_ref().map(|(_, exit)| exit) {
        Some(Exit::NotStarted(why) | Exit::Refused(why)) => why.clone(),
        Some(Exit::NodeFailed) => "its nodes died".to_owned(),
        Some(Exit::Preempted) => {
            "its nodes were taken away for a job of higher priority".to_owned()
        }
        Some(Exit::Lost) => "its site has lost it".to_owned(),
        Some(Exit::Withdrawn) => "it was taken away at its site".to_owned(),
        _ => "it ended before the others were there".to_owned(),
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

    pub(in crate::live) fn barrier(
        &mut self,
        number: u64,
    ) -> Result<&mut StartBarrier, ApplyError> {
        match &mut self.jobs.run(number)?.beginning {
            Beginning::Together(barrier) => Ok(barrier),
            Beginning::Apart(_) => Err(ApplyError::Job(number)),
        }
    }

    pub(in crate::live) fn gathered(&mut self, number: u64, at: Time) -> Result<(), ApplyError> {
        self.barrier(number)?.at = Some(at);
        self.tasks.go(&self.name, self.jobs.job(number)?, at)?;
        self.mind_wait(number);
        self.note(number, crate::live::state::Happening::Began)
    }

    /// The job's parts did not come together: by so much its start was late, at least.
    pub(in crate::live) fn learn_timeout(
        &mut self,
        number: u64,
        pool: PoolId,
    ) -> Result<(), ApplyError> {
        let now = self.now();
        let started = self.jobs.run(number)?.started;
        let site = self.site_of(pool);
        self.sites.delayed(site, (now - started).0);
        Ok(())
    }
}
