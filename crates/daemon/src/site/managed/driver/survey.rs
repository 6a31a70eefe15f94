//! One look at the cluster.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::Mode;
use tradewind_model::Time;

use super::base::unwritten;
use super::judge::{self, LAST_WORD, Marked, TaskVerdict, all_of, by_mark, find, judge};
use super::manager::{ManagedTask, Manager, ManagerJob, PoolsView, Reservation, ReservationsOf};
use super::rhythm::SurveyPart;
use super::{Driver, doctor};
use crate::site::clock::now;
use crate::site::managed::spool::{Spool, Trace};
use crate::site::managed::tickets::{Ticket, TicketEnd};
use crate::site::queued::{EndedJob, MAX_ENDED, WaitingJobs};
use crate::site::{HeldTask, Seen, SiteError, Survey, Tag};

/// What tasks have written, of those whose folders were looked into; `None`: there is none.
type Traces = BTreeMap<Tag, Option<Trace>>;

/// What was done, if it was; if not, the next survey tries again.
fn or_later<T>(done: Result<T, SiteError>) -> Option<T> {
    done.inspect_err(|wrong| tracing::warn!(%wrong, "to be tried again")).ok()
}

/// When what was asked last that is not asked at every survey.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LastAsked {
    /// When all jobs were listed with all that is known of them, and how long that took.
    listed: Option<(Instant, Duration)>,
    /// When the folders of running tasks were looked into.
    looked: Option<Instant>,
    /// When the cluster's clock was looked at.
    clock: Option<Instant>,
    /// Whether it was wrong.
    is_clock_wrong: bool,
}

/// All of what the manager says of its jobs is asked for so often, at least.
const WHOLE: Duration = Duration::from_secs(15);
/// Such an answer may take this part of the time, at most: one in so many seconds.
const SHARE: u32 = 20;
/// A task that is over, though the manager says that it runs, is found so soon.
const UNHEARD: Duration = Duration::from_secs(10);
/// Clocks are compared so often.
const CLOCK: Duration = Duration::from_secs(600);
/// So long after its start, seconds, a job that we had handed in on hold is released again.
const HELD_AGAIN: i64 = 120;
/// A job that has its nodes so long after its work was over counts as somebody else's.
const STUCK: i64 = 5;

fn is_due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}

/// Beyond its grace, what a task that was told to stop may take before its job is cancelled.
const STOPPING: Duration = Duration::from_secs(10);

impl<M: Manager> Driver<M> {
    /// Asks for some of it; the rest is as it was last listed.
    pub(super) fn look(&mut self, parts: &[SurveyPart]) -> Result<Survey, SiteError> {
        let begin = Instant::now();
        let survey = self.list(parts);
        let answered = survey.as_ref().map(|_| ()).map_err(|_| ());
        self.rhythm.looked(Instant::now(), begin.elapsed(), answered);
        self.known.is_away = survey.is_err();
        survey
    }

    fn list(&mut self, parts: &[SurveyPart]) -> Result<Survey, SiteError> {
        // Nodes first: a job that begins in between then counts, and one that ends counts twice
        // as long as it did not.
        // One that did not answer is asked for everything: half an answer does not make it present.
        let is_first = self.known.survey.is_none() || self.known.is_away;
        let wants = |part| M::PARTS.contains(&part) && (is_first || parts.contains(&part));
        if wants(SurveyPart::Reservations) {
            self.list_reservations(ReservationsOf::Others)?;
        }
        if wants(SurveyPart::Nodes) {
            self.rhythm.asked(SurveyPart::Nodes, Instant::now());
            self.manager.list_nodes(&self.base)?;
        }
        let mut survey = match wants(SurveyPart::Jobs) {
            true => self.list_jobs()?,
            false => self.picture().unwrap_or_default(),
        };
        self.survey_pools(&mut survey)?;
        if wants(SurveyPart::Jobs) {
            self.tell_limits(&mut survey);
            self.tidy();
        }
        self.compare_clocks();
        self.known.survey = Some(survey.clone());
        if wants(SurveyPart::Jobs) {
            self.base.tickets.tell_past(&mut survey);
        }
        Ok(survey)
    }

    pub(super) fn list_reservations(&mut self, whose: ReservationsOf<'_>) -> Result<(), SiteError> {
        self.rhythm.asked(SurveyPart::Reservations, Instant::now());
        self.manager.list_reservations(&self.base, whose)
    }

    /// What all tasks do.
    fn list_jobs(&mut self) -> Result<Survey, SiteError> {
        let at = now();
        self.begin_term();
        let (jobs, traces) = self.jobs_and_traces()?;
        self.settle_terms(&jobs);
        let mut survey = Survey::default();
        let surveyed = self.survey_tasks(&by_mark(&jobs), &traces, &mut survey);
        (self.known.jobs, self.known.listed) = (jobs, at);
        surveyed?;
        let is_open = |tag: &Tag| self.base.tickets.get(tag).is_some_and(|it| it.ended.is_none());
        self.known.awaited.retain(|tag, _| is_open(tag));
        self.known.stopping.retain(|tag, _| is_open(tag));
        Ok(survey)
    }

    /// All jobs, and what tasks have written of whom the manager's word is not enough. It is asked
    /// for all that it knows if a brief list does not say what became of a task, or it is time.
    fn jobs_and_traces(&mut self) -> Result<(Vec<M::Job>, Traces), SiteError> {
        let every = |took: Duration| WHOLE.max(took * SHARE);
        let is_due = self.last.listed.is_none_or(|(at, took)| at.elapsed() >= every(took));
        if self.manager.has_brief_list(&self.base) && !is_due {
            // If it cannot be read, the other says why.
            self.rhythm.asked(SurveyPart::Jobs, Instant::now());
            if let Ok(jobs) = self.manager.jobs_in_brief(&self.base) {
                let traces = self.traces(&by_mark(&jobs));
                if !self.is_unclear(&by_mark(&jobs), &traces) {
                    return Ok((jobs, traces));
                }
            }
        }
        let begin = Instant::now();
        self.rhythm.asked(SurveyPart::Jobs, begin);
        let jobs = self.manager.jobs(&self.base)?;
        self.last.listed = Some((Instant::now(), begin.elapsed()));
        let traces = self.traces(&by_mark(&jobs));
        Ok((jobs, traces))
    }

    fn is_unclear(&self, all: &Marked<'_, M::Job>, traces: &Traces) -> bool {
        self.base.tickets.iter().any(|(tag, ticket)| {
            let trace = traces.get(tag).map(Option::as_ref);
            judge::is_unclear::<M>(ticket, find::<M>(all, ticket), trace)
        })
    }

    fn survey_tasks(
        &mut self,
        all: &Marked<'_, M::Job>,
        traces: &Traces,
        survey: &mut Survey,
    ) -> Result<(), SiteError> {
        self.note_taken(all)?;
        self.cancel_left_over(all);
        self.release(all)?;
        let open = self.base.tickets.iter();
        let open = open.filter(|(_, ticket)| !ticket.is_forgotten && ticket.ended.is_none());
        let open: Vec<(Tag, Ticket)> =
            open.map(|(tag, ticket)| (tag.clone(), ticket.clone())).collect();
        let mut ends = BTreeMap::new();
        for (tag, ticket) in &open {
            let (job, trace) = (find::<M>(all, ticket), traces.get(tag).map(Option::as_ref));
            let verdict = judge::<M>(ticket, job, trace, now());
            let task = ManagedTask { tag, ticket, job, trace: trace.flatten() };
            let began = task.trace.and_then(|trace| trace.began);
            let Some(seen) = self.carry(&task, verdict) else { continue };
            let seen = self.steady(tag, ticket, seen);
            if let (Seen::Waiting, Some(job)) = (&seen, job) {
                survey.held.extend(self.held(ticket, job).map(|held| (tag.clone(), held)));
            }
            if let Some(ended) = end_of(&task, &seen) {
                ends.insert(tag.clone(), ended);
            }
            survey.began.extend(began.map(|began| (tag.clone(), began)));
            survey.tasks.insert(tag.clone(), seen);
        }
        self.write_ends(&ends)?;
        let ran = ends.iter().filter(|(_, end)| end.since.is_some());
        ran.for_each(|(tag, _)| self.take_files_away(tag));
        self.tell_ends(survey);
        Ok(())
    }

    /// Writes down how tasks have ended, before it is told.
    pub(super) fn write_ends(&mut self, ends: &BTreeMap<Tag, TicketEnd>) -> Result<(), SiteError> {
        let tags: Vec<Tag> = ends.keys().cloned().collect();
        let end = |tag: &Tag, ticket: &mut Ticket| ticket.ended = ends.get(tag).cloned();
        self.base.tickets.change_each(&tags, end).map_err(|error| unwritten(&error))
    }

    /// Tells the ends that are written down.
    pub(super) fn tell_ends(&self, survey: &mut Survey) {
        self.base.tickets.tell_asked(survey);
        let told = self.base.tickets.iter().filter(|(_, ticket)| !ticket.is_forgotten);
        for (tag, ticket) in told {
            let Some(ended) = &ticket.ended else { continue };
            survey.tasks.insert(tag.clone(), ended.seen());
            survey.began.extend(ended.began.map(|began| (tag.clone(), began)));
            survey.placed.insert(tag.clone(), ended.nodes.clone());
        }
    }

    /// What is listed was taken, whatever was answered to its submission.
    fn note_taken(&mut self, all: &Marked<'_, M::Job>) -> Result<(), SiteError> {
        let new = self.base.tickets.iter().filter(|(_, ticket)| !ticket.is_taken);
        let new = new.filter(|(_, ticket)| find::<M>(all, ticket).is_some());
        let new: Vec<Tag> = new.map(|(tag, _)| tag.clone()).collect();
        let taken = self.base.tickets.change_each(&new, |_, ticket| ticket.is_taken = true);
        taken.map_err(|error| unwritten(&error))
    }

    /// Does what a verdict asks for; what is to be said of the task then.
    fn carry(&mut self, task: &ManagedTask<'_, M::Job>, verdict: TaskVerdict) -> Option<Seen> {
        let verdict = match verdict {
            TaskVerdict::AskRecords => {
                // One whose records cannot be read is no reason to lose sight of the others.
                match or_later(self.manager.records(&self.base, task)).flatten() {
                    Some(verdict) => verdict,
                    None => return Some(judge::on_its_own(task.ticket, task.trace, now())),
                }
            }
            other => other,
        };
        let seen = match verdict {
            TaskVerdict::Seen(seen) => seen,
            TaskVerdict::Nothing => return None,
            // Its folder could not be looked into, or nothing is known yet: it is as it was.
            TaskVerdict::Look | TaskVerdict::AskRecords => return Some(self.as_before(task)),
            TaskVerdict::Stop(seen) => match self.stop(task) {
                true => seen,
                false => return Some(self.as_before(task)),
            },
            TaskVerdict::Bury(exit) => {
                match or_later(self.base.spool(task.ticket).claim(task.tag)) {
                    Some(None) => Seen::Ended { since: None, at: now(), exit },
                    // It has just begun after all, or that is not known: the next survey looks.
                    Some(Some(_)) | None => return Some(Seen::Waiting),
                }
            }
        };
        Some(seen)
    }

    /// Stops what must not go on; `false`: it has written its end meanwhile, or cannot be reached.
    fn stop(&self, task: &ManagedTask<'_, M::Job>) -> bool {
        if let Some(job) = task.job {
            or_later(self.manager.cancel(&self.base, task.ticket, Some(job)));
            return true;
        }
        let spool = self.base.spool(task.ticket);
        match or_later(spool.claim(task.tag)) {
            Some(Some(trace)) if trace.end.is_some() => false,
            Some(Some(_)) => or_later(spool.stop(task.tag)).is_some(),
            Some(None) => true,
            None => false,
        }
    }

    /// What was last said of a task of which nothing is known now.
    fn as_before(&self, task: &ManagedTask<'_, M::Job>) -> Seen {
        match (self.known.seen(task.tag), M::KEEPS_ENDED) {
            (Some(seen @ Seen::Running { .. }), false) => seen.clone(),
            _ => judge::meanwhile::<M>(task.ticket, task.job, now()),
        }
    }

    /// Cancels what was submitted twice, or came when its task was over: it would find its work
    /// begun, but wait for nodes until then. The same is done with a job that runs long after its
    /// work was over, since the manager has not heard of its end, and with one that was told to stop
    /// and does not.
    fn cancel_left_over(&mut self, all: &Marked<'_, M::Job>) {
        let mut stopping = std::mem::take(&mut self.known.stopping);
        for (tag, ticket) in self.base.tickets.iter() {
            let first = usize::from(ticket.ended.is_none());
            let is_old = ticket.ended.as_ref().is_some_and(|it| now() > Time(it.at) + LAST_WORD);
            let is_left = |job: &M::Job| job.waits() || job.stays() || is_old && job.is_running();
            for job in all_of::<M>(all, ticket).skip(first).filter(|job| is_left(job)) {
                or_later(self.manager.cancel(&self.base, ticket, Some(job)));
            }
            let is_told = M::CANCEL_KILLS && ticket.is_withdrawn && ticket.ended.is_none();
            if let Some(job) = find::<M>(all, ticket).filter(|job| is_told && job.is_running()) {
                let since = *stopping.entry(tag.clone()).or_insert_with(Instant::now);
                if since.elapsed() >= self.base.grace() + STOPPING {
                    or_later(self.manager.cancel(&self.base, ticket, Some(job)));
                }
            }
        }
        self.known.stopping = stopping;
    }

    /// Releases jobs that were submitted on hold and whose time has come; again, if the manager died
    /// before it had written that down.
    pub(super) fn release(&mut self, all: &Marked<'_, M::Job>) -> Result<(), SiteError> {
        let now = now();
        let is_due = |ticket: &Ticket| {
            ticket.start_at(now) <= now.0 && ticket.ended.is_none() && !ticket.is_withdrawn
        };
        let holds = |ticket: &Ticket, job: &M::Job| {
            let was_ours = ticket.is_held && !job.is_held_by_administrator();
            was_ours || job.is_held() && self.is_own_hold(ticket, job, now.0)
        };
        let due = self.base.tickets.iter().filter(|(_, ticket)| is_due(ticket));
        let released: Vec<Tag> = due
            .filter_map(|(tag, ticket)| {
                let job = find::<M>(all, ticket).filter(|job| job.waits() && holds(ticket, job))?;
                or_later(self.manager.release(&self.base, ticket, job)).map(|()| tag.clone())
            })
            .collect();
        let written = self.base.tickets.change_each(&released, |_, it| it.is_held = false);
        written.map_err(|error| unwritten(&error))
    }

    /// Whether the job is on hold because we have submitted it so. After a crash, a manager that
    /// had not written the release down holds it again.
    fn is_own_hold(&self, ticket: &Ticket, job: &M::Job, now: i64) -> bool {
        let is_ours = self.base.cluster.mode == Mode::HoldRelease && ticket.was_held;
        is_ours && job.is_held_by_user() && now <= ticket.start.saturating_add(HELD_AGAIN)
    }

    /// That somebody else holds the job.
    fn held(&self, ticket: &Ticket, job: &M::Job) -> Option<HeldTask> {
        let is_ours = ticket.is_held && job.is_held_by_user();
        let is_foreign = job.waits() && job.is_held() && !is_ours;
        let is_foreign = is_foreign && !self.is_own_hold(ticket, job, now().0);
        let max = self.base.cluster.held_after;
        is_foreign.then(|| HeldTask { why: job.reason().to_owned(), max })
    }

    /// What tasks wrote of whom the manager's word is not enough, and now and then all that run: one
    /// command for each account.
    fn traces(&mut self, all: &Marked<'_, M::Job>) -> Traces {
        let is_time = is_due(self.last.looked, UNHEARD);
        if is_time {
            self.last.looked = Some(Instant::now());
        }
        let mut wanted: BTreeMap<(&str, &str), Vec<Tag>> = BTreeMap::new();
        for (tag, ticket) in self.base.tickets.iter() {
            let is_open = ticket.ended.is_none() && !ticket.is_forgotten;
            let job = find::<M>(all, ticket);
            let runs = is_time && job.is_some_and(ManagerJob::holds_nodes);
            let looks = || runs || judge::<M>(ticket, job, None, now()) == TaskVerdict::Look;
            if is_open && looks() {
                let place = (ticket.account.as_str(), ticket.spool.as_str());
                wanted.entry(place).or_default().push(tag.clone());
            }
        }
        let mut all = Traces::new();
        for ((account, path), tags) in wanted {
            let spool = Spool { tool: &self.base.tool, account, path };
            // One account that cannot be used is no reason to lose sight of the others.
            let Some(mut found) = or_later(spool.look(&tags)) else { continue };
            self.look_back(&spool, &tags, &mut found);
            all.extend(tags.into_iter().map(|tag| {
                let trace = found.remove(&tag).map(|trace| self.with_nodes(&tag, trace));
                (tag, trace)
            }));
        }
        all
    }

    /// At first, tasks are looked for that have written nothing or are gone: of a market that was
    /// restored from a backup, they may have ended and been forgotten since.
    fn look_back(&self, spool: &Spool<'_>, tags: &[Tag], found: &mut BTreeMap<Tag, Trace>) {
        if self.known.survey.is_some() {
            return;
        }
        let is_blank = |tag: &&Tag| found.get(*tag).is_none_or(|it| *it == Trace::default());
        let missing = tags.iter().filter(is_blank);
        let missing = missing.filter_map(|tag| {
            let ticket = self.base.tickets.get(tag)?;
            Some((tag.clone(), ticket.handed_in))
        });
        let missing: Vec<(Tag, i64)> = missing.collect();
        if !missing.is_empty() {
            found.extend(or_later(spool.past(&missing)).unwrap_or_default());
        }
    }

    /// With the names of nodes that the manager makes of what the task has found.
    pub(super) fn with_nodes(&self, tag: &Tag, mut trace: Trace) -> Trace {
        if let (Some(here), Some(ticket)) = (&mut trace.here, self.base.tickets.get(tag)) {
            here.nodes = self.manager.nodes(&self.base, &ticket.pool, here);
        }
        trace
    }

    /// By listed job: whether it is a task of ours that is not stuck.
    fn ours(&self) -> Vec<bool> {
        let at = self.known.listed.0;
        let is_stuck = |ticket: &Ticket| ticket.ended.as_ref().is_some_and(|it| it.at + STUCK < at);
        let own = self.base.tickets.iter().filter(|(_, ticket)| !is_stuck(ticket));
        let own: BTreeMap<String, &str> =
            own.map(|(_, ticket)| (M::mark(ticket), ticket.account.as_str())).collect();
        let is_ours = |job: &M::Job| own.get(job.mark()) == Some(&job.account());
        self.known.jobs.iter().map(is_ours).collect()
    }

    /// Jobs of others that were listed as over, the last ones.
    pub(super) fn ended_jobs(&self) -> Vec<EndedJob> {
        let view = PoolsView { jobs: &self.known.jobs, ours: &self.ours(), now: now() };
        let mut ended = self.manager.ended(&self.base, &view);
        ended.sort_by_key(|it| std::cmp::Reverse(it.end));
        ended.truncate(MAX_ENDED);
        ended
    }

    fn survey_pools(&mut self, survey: &mut Survey) -> Result<(), SiteError> {
        let ours = self.ours();
        let jobs = &self.known.jobs;
        // What another daemon left here with tags of this market must be known to it.
        for (tag, seen) in self.manager.strays(&self.base, jobs) {
            survey.tasks.entry(tag).or_insert(seen);
        }
        let view = PoolsView { jobs, ours: &ours, now: now() };
        survey.pools = self.manager.pools(&self.base, &view)?;
        let WaitingJobs { jobs, beyond, notes, own } = self.manager.queue(&self.base, &view);
        survey.own = own;
        (survey.queue, survey.queue_beyond, survey.queue_notes) = (jobs, beyond, notes);
        Ok(())
    }

    /// Clears away what is needed no more. What fails is tried again after the next survey.
    fn tidy(&mut self) {
        let tickets = &self.base.tickets;
        let is_over = |it: &Reservation| {
            Tag::parse(&it.name).is_some_and(|tag| {
                let ticket = tickets.get(&tag);
                ticket.map_or(tickets.is_gone(&tag), |it| it.ended.is_some())
            })
        };
        for known in self.manager.reservations().iter().filter(|it| is_over(it)) {
            or_later(self.manager.unreserve(&self.base, known));
        }
        let mut old: BTreeMap<(String, String), Vec<Tag>> = BTreeMap::new();
        let marked = by_mark(&self.known.jobs);
        let is_off =
            |ticket: &Ticket| find::<M>(&marked, ticket).is_none_or(|job| !job.holds_nodes());
        let is_done = |ticket: &Ticket| ticket.is_forgotten && is_off(ticket);
        for (tag, ticket) in tickets.iter().filter(|(_, ticket)| is_done(ticket)) {
            let place = (ticket.account.clone(), ticket.spool.clone());
            old.entry(place).or_default().push(tag.clone());
        }
        old.retain(|place, _| self.is_settled(place));
        for ((account, path), tags) in old {
            let spool = Spool { tool: &self.base.tool, account: &account, path: &path };
            if let Err(wrong) = spool.clear(&tags) {
                tracing::warn!(%wrong, "what is left of old tasks stays");
                continue;
            }
            if let Err(error) = self.base.tickets.remove(&tags) {
                tracing::warn!(%error, "old tickets stay");
            }
        }
    }

    /// Says in the log if the cluster's clock and ours differ, once.
    fn compare_clocks(&mut self) {
        if !is_due(self.last.clock, CLOCK) {
            return;
        }
        self.last.clock = Some(Instant::now());
        let Some(apart) = or_later(self.base.clock_apart()) else { return };
        let is_wrong = apart.abs() > doctor::SKEW;
        if is_wrong && !self.last.is_clock_wrong {
            let (site, remedy) = (&self.base.name, doctor::SET_CLOCKS);
            tracing::warn!(site, "`date +%s`: the site's clock is {apart} s from ours; {remedy}");
        }
        self.last.is_clock_wrong = is_wrong;
    }
}

/// The end to be written down, if the task has ended.
fn end_of<J: ManagerJob>(task: &ManagedTask<'_, J>, seen: &Seen) -> Option<TicketEnd> {
    let Seen::Ended { since, at, exit } = seen else { return None };
    let here = task.trace.and_then(|trace| trace.here.as_ref());
    let listed = task.job.map(|job| job.nodes().to_vec());
    let nodes = here.map(|here| here.nodes.clone()).or(listed).unwrap_or_default();
    Some(TicketEnd {
        since: since.map(|since| since.0),
        at: at.0,
        began: task.trace.and_then(|trace| trace.began),
        exit: exit.clone(),
        nodes,
    })
}
