//! Jobs that wait in the queue of a site, beside the jobs of the site's owners (`in-line`).
//!
//! A job whose earliest place, by the outlook of the market's queue, is in one pool of such a site and
//! later than now is sent there ahead ([`JobRecord::Lined`]): it leaves the market's queue, its task is
//! submitted, and the site's own scheduler starts it in its turn ([`JobRecord::TurnCame`]). What it
//! may cost is held meanwhile. Its expected turn is part of the announced load
//! ([`Why::Queued`]), so that nothing else is planned there.
//!
//! A job that could start at once elsewhere is taken back: the site is asked to recall its task, and
//! only when that has succeeded (the work never begins there) it waits in the market's queue again.
//! Jobs with parts in several pools are never sent ahead: the site of one part would start it long
//! before the others, and its nodes would wait for them.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Cause, JobId, Outage, PoolId, SiteId, Span, Time};
use tradewind_sched::policy::outlook::Outlook;

use crate::live::near::is_near;
use crate::live::record::{JobRecord, OutageRecord, TaskRecord};
use crate::live::state::{Happening, Job, Phase, Setback, State, TaskGoal, Why};
use crate::live::{ApplyError, LineSettings, Live};
use crate::site::{Seen, Survey, Tag};

/// Of the market's queue so many jobs are looked at, and so many are sent ahead in one turn.
const LOOK: usize = 200;

/// A job whose turn comes so soon is not taken back.
const SOON: Span = Span(60);

/// What was noticed of jobs in the queues of sites since the start.
#[derive(Debug, Default)]
pub(in crate::live) struct Lines {
    /// By site with an answer: what its owners' jobs say.
    pub(in crate::live) sites: BTreeMap<SiteId, SiteLine>,
    /// Jobs that were taken back: they are not taken back again.
    pub(in crate::live) left: BTreeSet<u64>,
    /// How the market was when this was last looked at.
    seen: Option<u64>,
}

/// The queue of a site as a new job of the market sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::live) struct SiteLine {
    /// Whether any job of others waits or runs there.
    pub(in crate::live) is_busy: bool,
    /// The lowest priority that the site's manager gave to a task of the market when tasks were last
    /// seen waiting.
    pub(in crate::live) priority: Option<u64>,
}

/// Whether the job was taken back from the queue of a site, as its history says: what was noticed since
/// the start is not enough after a restart.
fn has_left_line(job: &Job) -> bool {
    let mut is_lined = false;
    job.history.iter().any(|(_, what)| match what {
        Happening::Lined(_) => {
            is_lined = true;
            false
        }
        Happening::Setback(Setback::Displaced) => std::mem::take(&mut is_lined),
        Happening::Began | Happening::Setback(_) | Happening::Planned(_) => {
            is_lined = false;
            false
        }
        _ => false,
    })
}

impl Live {
    /// How jobs of the market wait in the site's own queue, if they do.
    pub fn in_line(&self, site: SiteId) -> Option<LineSettings> {
        let site = self.state.market.pools().sites().get(site.0 as usize)?;
        self.settings.in_line.get(&site.name).copied()
    }

    /// Pools in which a start is only expected, since jobs wait there in the queue of the site beside
    /// jobs of others: windows in them cannot be booked.
    pub fn unbookable(&self) -> BTreeSet<PoolId> {
        let in_line = |site: SiteId| {
            let is_busy = self.lines.sites.get(&site).is_none_or(|line| line.is_busy);
            is_busy && self.in_line(site).is_some_and(|line| !line.reserves)
        };
        let pools = self.state.market.pools().iter();
        pools.filter(|(_, pool)| in_line(pool.site)).map(|(id, _)| id).collect()
    }

    /// Writes down when jobs are expected to start that wait in the queue of the site, by a new
    /// look-ahead of that queue, if it differs from what is known.
    pub(in crate::live) fn expect_turns(
        &mut self,
        at: Time,
        turns: Vec<(u64, Time)>,
    ) -> Result<(), ApplyError> {
        for (number, turn) in turns {
            let job = self.state.jobs.get(&number).filter(|job| self.state.is_lined(job));
            let Some(job) = job else { continue };
            let is_known = self.state.turn_of(job).is_some_and(|known| is_near(at, known, turn));
            if !is_known {
                self.put(at, JobRecord::TurnExpected { job: number, at: turn })?;
            }
        }
        Ok(())
    }

    /// Sends jobs ahead, and takes back those that could start elsewhere.
    pub(in crate::live) fn mind_lines(&mut self, at: Time) -> Result<(), ApplyError> {
        let version = self.state.market.version();
        let is_empty = self.settings.in_line.is_empty() && self.state.market.lined().len() == 0;
        if is_empty || self.lines.seen == Some(version) {
            return Ok(());
        }
        let outlook = Outlook::new(&self.state.market, at, LOOK);
        self.leave_lines(at, &outlook)?;
        let open = |pool: PoolId| self.is_open_line(self.state.site_of(pool));
        let may = |job: &JobId| {
            let terms = self.state.market.demand(*job)?.terms();
            // The site's scheduler knows nothing of the market's licences, nor of data.
            let is_plain = terms.licences.is_none() && terms.data.is_none();
            let earliest = is_plain.then_some(terms.earliest_start)?;
            let number = *self.state.jobs.numbers.get(job)?;
            earliest.is_none_or(|from| from <= at).then_some(number)
        };
        let ahead = outlook.later_in(open);
        let ahead = ahead.filter_map(|(job, pool, start)| Some((may(&job)?, pool, start)));
        for (job, pool, start) in ahead.collect::<Vec<_>>() {
            // Prices that change are agreed for the time for which it can afford them.
            let start = self.state.market.pools().rate(pool).map(|_| start);
            self.put(at, JobRecord::Lined { job, pool, start })?;
            self.after_decision(at, job)?;
        }
        self.lines.seen = Some(self.state.market.version());
        Ok(())
    }

    /// Whether new jobs may be sent to the site's queue: without jobs of others there is none.
    fn is_open_line(&self, site: SiteId) -> bool {
        let is_busy = self.lines.sites.get(&site).is_some_and(|line| line.is_busy);
        is_busy && self.in_line(site).is_some() && self.state.away_since(site).is_none()
    }

    /// Jobs that could start elsewhere at once, and whose turn does not come soon, are taken back.
    fn leave_lines(&mut self, at: Time, outlook: &Outlook) -> Result<(), ApplyError> {
        let market = &self.state.market;
        // One at a time: the next might want the same nodes.
        let better = market.lined().find_map(|(id, _)| {
            let job = self.state.jobs.get(self.state.jobs.numbers.get(&id)?)?;
            let pool = job.parts().first()?.pool;
            let demand = market.demand(id).filter(|_| self.may_leave_line(at, job, pool))?;
            outlook.starts_elsewhere(market, demand, pool).then_some(job.number)
        });
        let Some(job) = better else { return Ok(()) };
        self.lines.left.insert(job);
        self.put(at, JobRecord::Recalling { job })
    }

    /// Whether the job may be taken back from the queue of its site, which has to answer.
    fn may_leave_line(&self, at: Time, job: &Job, pool: PoolId) -> bool {
        let is_near = self.state.turn_of(job).is_some_and(|turn| turn <= at + SOON);
        let is_there = self.state.away_since(self.state.site_of(pool)).is_none();
        let is_first = !self.lines.left.contains(&job.number) && !has_left_line(job);
        is_there && !is_near && is_first && !self.is_stopping(job.number)
    }

    /// A site says that jobs which waited in its queue have their nodes: the market's books follow,
    /// and what was to come there has come.
    pub(in crate::live) fn take_turns(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
        turns: Vec<(Tag, Seen)>,
    ) -> Result<(), ApplyError> {
        if turns.is_empty() {
            return Ok(());
        }
        for why in self.state.left_behind(at, site, survey) {
            self.put(at, OutageRecord::Reopened { why })?;
        }
        for (tag, seen) in turns {
            // One that is over needs no nodes any more: others may get them again and again.
            let is_over = matches!(seen, Seen::Ended { .. });
            if self.take_turn(at, &tag)? || is_over {
                self.saw(at, &tag, seen, survey)?;
                self.judge(at, tag.job)?;
            }
        }
        Ok(())
    }

    /// The job takes its nodes, if the market's books have them: whether it does. If not, the next
    /// survey says it again.
    fn take_turn(&mut self, at: Time, tag: &Tag) -> Result<bool, ApplyError> {
        let Some(job) = self.state.jobs.get(&tag.job) else { return Ok(false) };
        let Some(part) = job.parts().first() else { return Ok(false) };
        let (pool, nodes, until) = (part.pool, part.nodes, at + part.limit);
        let what = Outage { pool, nodes, from: at, until, cause: Cause::Local };
        self.make_room(at, &what)?;
        let fits = self.state.market.free_in(pool) >= nodes;
        if fits {
            self.put(at, JobRecord::TurnCame { job: tag.job })?;
        }
        Ok(fits)
    }

    /// Whether a job that has not begun stays in the queue of its site if others get its nodes.
    pub(in crate::live) fn keeps_its_place(&self, job: u64, pool: PoolId) -> bool {
        let is_one = self.state.jobs.get(&job).is_some_and(|job| job.parts().len() == 1);
        is_one && self.in_line(self.state.site_of(pool)).is_some()
    }

    /// The job has no nodes any more, and waits for its turn in the queue of its site.
    pub(in crate::live) fn back_in_line(
        &mut self,
        at: Time,
        job: u64,
        pool: PoolId,
    ) -> Result<(), ApplyError> {
        self.put(at, JobRecord::TurnLost { job })?;
        self.put(at, JobRecord::Lined { job, pool, start: None })
    }

    /// Writes down what a site says of a task.
    pub(in crate::live) fn saw(
        &mut self,
        at: Time,
        tag: &Tag,
        seen: Seen,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        if let Some(before) = self.missed(tag, &seen, survey) {
            self.put(at, TaskRecord::Saw { tag: tag.clone(), seen: before })?;
        }
        let never = matches!(seen, Seen::Ended { since: None, .. });
        self.put(at, TaskRecord::Saw { tag: tag.clone(), seen })?;
        if never { self.count_as_never_run(at, tag) } else { Ok(()) }
    }
}

impl State {
    /// When the site in whose queue the job waits is expected to start it, by the look-ahead of that
    /// queue at the site's last survey.
    pub fn turn_of(&self, job: &Job) -> Option<Time> {
        job.run().filter(|_| self.is_lined(job))?.turn
    }

    /// Whether the job waits in the queue of a site.
    pub fn is_lined(&self, job: &Job) -> bool {
        let id = job.id().filter(|_| job.phase() == Phase::Running);
        id.is_some_and(|id| self.market.is_lined(id))
    }

    /// Whether the task is of a job that waits in the queue of its site, and has its nodes by now.
    pub(in crate::live) fn is_turn(&self, tag: &Tag, seen: &Seen) -> bool {
        let begun = matches!(seen, Seen::Running { .. } | Seen::Ended { since: Some(_), .. });
        let job = self.jobs.get(&tag.job).filter(|job| job.attempt == tag.attempt);
        begun && job.is_some_and(|job| self.is_lined(job))
    }

    /// Tasks of the market that wait in the site's queue, of jobs with one part, in the order of
    /// their submission.
    pub(in crate::live) fn waiting_at(
        &self,
        site: SiteId,
        survey: &Survey,
    ) -> impl Iterator<Item = (Tag, &Job)> {
        let here = self.tasks.iter().filter(move |(_, it)| self.site_of(it.pool) == site);
        let wanted = here.filter(|(_, it)| it.wanted == TaskGoal::Run && !it.is_over());
        wanted.filter_map(move |(tag, _)| {
            let job = self.jobs.get(&tag.job).filter(|job| job.attempt == tag.attempt)?;
            let is_one = job.phase() == Phase::Running && job.parts().len() == 1;
            let has_begun = !matches!(survey.tasks.get(tag), None | Some(Seen::Waiting));
            let is_idle = job.began().is_none() && !has_begun;
            (is_one && is_idle).then(|| (tag.clone(), job))
        })
    }

    /// Announced load of the site that is over by this survey, or was only expected: what has come
    /// instead takes its nodes.
    fn left_behind(&self, at: Time, site: SiteId, survey: &Survey) -> Vec<Why> {
        let there = self.missing(at, site, survey);
        let is_over = |why: &Why| match why {
            Why::Local(..) => !there.contains_key(why),
            Why::Queued(..) | Why::Away(_) => true,
            _ => false,
        };
        let here = self.outages.open.keys().filter(|why| self.site_of(why.pool()) == site);
        here.filter(|why| is_over(why)).cloned().collect()
    }
}
