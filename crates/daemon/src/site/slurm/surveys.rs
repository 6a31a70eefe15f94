//! One look at the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::{Mode, Unit};
use tradewind_model::Time;

use super::listing::{self, Job, Reservation};
use super::pools::{self, Listed};
use super::rhythm::Part;
use super::tasks::{self, Verdict};
use super::{Slurm, aside, doctor, unwritten};
use crate::site::local::records::now;
use crate::site::managed::spool::{Spool, Trace};
use crate::site::managed::tickets::{Ended, Ending, Ticket, tag_in};
use crate::site::managed::tool::{Call, Who};
use crate::site::{Held, Seen, SiteError, Survey, Tag};

/// What tasks have written, of those whose folders were looked into; `None`: there is none.
type Traces = BTreeMap<Tag, Option<Trace>>;

/// What was done, if it was; if not, the next survey tries again.
fn or_later<T>(done: Result<T, SiteError>) -> Option<T> {
    done.inspect_err(|wrong| tracing::warn!(%wrong, "to be tried again")).ok()
}

/// When what was asked last that is not asked at every survey.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Last {
    /// When all of Slurm's jobs were listed as JSON, and how long that took.
    listed: Option<(Instant, Duration)>,
    /// When the folders of running tasks were looked into.
    looked: Option<Instant>,
    /// When the cluster's clock was looked at.
    clock: Option<Instant>,
    /// Whether it was wrong.
    is_clock_wrong: bool,
}

/// All of what Slurm says of its jobs is asked for so often, at least.
const WHOLE: Duration = Duration::from_secs(15);
/// Such an answer may take this part of the time, at most: one in so many seconds.
const SHARE: u32 = 20;
/// A task that is over, though Slurm says that it runs, is found so soon.
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

/// Jobs that are ours by their marks.
type Marked<'j> = BTreeMap<&'j str, Vec<&'j Job>>;

/// The ticket's job.
fn its<'j>(all: &Marked<'j>, ticket: &Ticket) -> Option<&'j Job> {
    let own = all.get(ticket.mark().as_str())?;
    own.iter().copied().find(|job| tasks::is_its(job, ticket))
}

impl Slurm {
    /// Asks for everything.
    pub(super) fn survey_now(&mut self) -> Result<Survey, SiteError> {
        self.look(&Part::ALL)
    }

    /// Asks for some of it; the rest is as it was last listed.
    pub(super) fn look(&mut self, parts: &[Part]) -> Result<Survey, SiteError> {
        let begin = Instant::now();
        let survey = self.list(parts);
        let answered = survey.as_ref().map(|_| ()).map_err(|_| ());
        self.rhythm.looked(Instant::now(), begin.elapsed(), answered);
        self.known.is_away = survey.is_err();
        survey
    }

    fn list(&mut self, parts: &[Part]) -> Result<Survey, SiteError> {
        // Nodes first: a job that begins in between then counts, and one that ends counts twice
        // as long as it did not.
        // One that did not answer is asked for everything: half an answer does not make it present.
        let is_first = self.known.survey.is_none() || self.known.is_away;
        if is_first || parts.contains(&Part::Reservations) {
            self.list_reservations()?;
        }
        if is_first || parts.contains(&Part::Nodes) {
            self.list_nodes()?;
        }
        let is_listed = is_first || parts.contains(&Part::Jobs);
        let mut survey = match is_listed {
            true => self.list_jobs()?,
            false => self.picture().unwrap_or_default(),
        };
        self.survey_pools(&mut survey);
        if is_listed {
            let jobs = std::mem::take(&mut self.known.jobs);
            self.tell_limits(&jobs, &mut survey);
            self.known.jobs = jobs;
            self.tidy();
        }
        self.compare_clocks();
        self.known.survey = Some(survey.clone());
        Ok(survey)
    }

    pub(super) fn list_reservations(&mut self) -> Result<(), SiteError> {
        self.rhythm.asked(Part::Reservations, Instant::now());
        let answer = self.ours(&["scontrol", "-o", "show", "reservation"])?;
        self.known.reservations = listing::reservations(&answer.text())
            .map_err(|wrong| self.misread("scontrol show reservation", &wrong))?;
        Ok(())
    }

    fn list_nodes(&mut self) -> Result<(), SiteError> {
        self.rhythm.asked(Part::Nodes, Instant::now());
        self.nodes = self.nodes_listed()?;
        Ok(())
    }

    /// What all tasks do.
    fn list_jobs(&mut self) -> Result<Survey, SiteError> {
        let at = now();
        let (jobs, traces) = self.jobs_and_traces()?;
        self.tell_unknown(&jobs);
        let mut survey = Survey::default();
        let surveyed = self.survey_tasks(&tasks::by_comment(&jobs), &traces, &mut survey);
        (self.known.jobs, self.known.listed) = (jobs, at);
        surveyed?;
        let is_open = |tag: &Tag| self.tickets.get(tag).is_some_and(|it| it.ended.is_none());
        self.known.awaited.retain(|tag, _| is_open(tag));
        Ok(survey)
    }

    /// All jobs, and what tasks have written of whom Slurm's word is not enough. Slurm is asked
    /// for all that it knows if a brief list does not say what became of a task, or it is time.
    fn jobs_and_traces(&mut self) -> Result<(Vec<Job>, Traces), SiteError> {
        let every = |took: Duration| WHOLE.max(took * SHARE);
        let is_due = self.last.listed.is_none_or(|(at, took)| at.elapsed() >= every(took));
        // Of memory and accelerators a brief list says nothing.
        if self.cluster.unit == Unit::Node && !is_due {
            // If it cannot be read, the other says why.
            self.rhythm.asked(Part::Jobs, Instant::now());
            if let Ok(jobs) = self.jobs_in_brief() {
                let traces = self.traces(&tasks::by_comment(&jobs));
                if !self.is_unclear(&tasks::by_comment(&jobs), &traces) {
                    return Ok((jobs, traces));
                }
            }
        }
        let begin = Instant::now();
        self.rhythm.asked(Part::Jobs, begin);
        let jobs = self.jobs()?;
        self.last.listed = Some((Instant::now(), begin.elapsed()));
        let traces = self.traces(&tasks::by_comment(&jobs));
        Ok((jobs, traces))
    }

    fn is_unclear(&self, all: &Marked<'_>, traces: &Traces) -> bool {
        self.tickets.iter().any(|(tag, ticket)| {
            tasks::is_unclear(ticket, its(all, ticket), traces.get(tag).map(Option::as_ref))
        })
    }

    fn survey_tasks(
        &mut self,
        all: &Marked<'_>,
        traces: &Traces,
        survey: &mut Survey,
    ) -> Result<(), SiteError> {
        self.cancel_doubles(all);
        self.release(all)?;
        let mut ends = BTreeMap::new();
        let open: Vec<(Tag, Ticket)> = self
            .tickets
            .iter()
            .filter(|(_, ticket)| !ticket.is_forgotten && ticket.ended.is_none())
            .map(|(tag, ticket)| (tag.clone(), ticket.clone()))
            .collect();
        for (tag, ticket) in open {
            let job = its(all, &ticket);
            let trace = traces.get(&tag);
            let verdict = tasks::judge(&ticket, job, trace.map(Option::as_ref), now());
            let trace = trace.and_then(Option::as_ref);
            let began = trace.and_then(|trace| trace.began);
            let Some(seen) = self.carry(&tag, verdict, job) else { continue };
            let seen = self.steady(&tag, &ticket, seen);
            if let (Seen::Waiting, Some(job)) = (&seen, job) {
                survey.held.extend(self.held(&ticket, job).map(|held| (tag.clone(), held)));
            }
            if let Seen::Ended { since, at, exit } = &seen {
                let (since, exit) = (since.map(|since| since.0), Ending::from(exit));
                let here = trace.and_then(|trace| trace.here.as_ref());
                let nodes = here.map(|here| here.nodes.clone());
                let nodes = nodes.or_else(|| Some(job?.nodes.clone())).unwrap_or_default();
                ends.insert(tag.clone(), Ended { since, at: at.0, began, exit, nodes });
            }
            survey.began.extend(began.map(|began| (tag.clone(), began)));
            survey.tasks.insert(tag, seen);
        }
        let tags: Vec<Tag> = ends.keys().cloned().collect();
        let written =
            self.tickets.change_each(&tags, |tag, ticket| ticket.ended = ends.get(tag).cloned());
        written.map_err(|error| unwritten(&error))?;
        for (tag, ticket) in self.tickets.iter().filter(|(_, ticket)| !ticket.is_forgotten) {
            let Some(ended) = &ticket.ended else { continue };
            survey.tasks.insert(tag.clone(), ended.seen());
            survey.began.extend(ended.began.map(|began| (tag.clone(), began)));
            survey.placed.insert(tag.clone(), ended.nodes.clone());
        }
        Ok(())
    }

    /// Does what a verdict asks for.
    fn carry(&self, tag: &Tag, verdict: Verdict, job: Option<&Job>) -> Option<Seen> {
        let seen = match verdict {
            Verdict::Seen(seen) => seen,
            Verdict::Nothing => return None,
            // Its folder could not be looked into: it is as it was.
            Verdict::Look => {
                return Some(tasks::meanwhile(self.tickets.get(tag)?, job, now()));
            }
            Verdict::Stop(seen) => {
                if let Some((job, ticket)) = job.zip(self.tickets.get(tag)) {
                    or_later(self.cancel(job, ticket));
                }
                seen
            }
            Verdict::Bury(exit) => {
                let ticket = self.tickets.get(tag)?;
                match or_later(self.spool(ticket).claim(tag)) {
                    Some(None) => Seen::Ended { since: None, at: now(), exit },
                    // It has just begun after all, or nobody knows: the next survey looks again.
                    Some(Some(_)) | None => return Some(Seen::Waiting),
                }
            }
        };
        if let Seen::Ended { since: Some(_), .. } = &seen
            && let Err(wrong) = self.stage(tag, &self.cluster.stage_out)
        {
            tracing::warn!(%tag, %wrong, "its files were not taken away");
        }
        Some(seen)
    }

    /// Cancels what was handed in twice, or came when its task was over: it would find its work
    /// begun, but wait for nodes until then. So it is done with a job that runs long after its
    /// work was over: Slurm has not heard of its end.
    fn cancel_doubles(&self, all: &Marked<'_>) {
        for (_, ticket) in self.tickets.iter() {
            let own = all.get(ticket.mark().as_str()).into_iter().flatten();
            let own = own.filter(|job| tasks::is_its(job, ticket));
            let first = usize::from(ticket.ended.is_none());
            let is_old =
                ticket.ended.as_ref().is_some_and(|it| now() > Time(it.at) + tasks::LAST_WORD);
            let is_left = |job: &Job| job.waits() || is_old && job.state == "RUNNING";
            for job in own.skip(first).filter(|job| is_left(job)) {
                or_later(self.cancel(job, ticket));
            }
        }
    }

    /// Lets jobs go that were handed in on hold and whose time has come; again, if the controller
    /// died before it had written down that they were let go.
    pub(super) fn release(&mut self, all: &Marked<'_>) -> Result<(), SiteError> {
        let now = now().0;
        let is_due = |ticket: &Ticket| {
            ticket.start_at(Time(now)) <= now && ticket.ended.is_none() && !ticket.is_withdrawn
        };
        let holds = |ticket: &Ticket, job: &Job| {
            let was_ours = ticket.is_held && job.reason != "JobHeldAdmin";
            was_ours || job.is_held && self.is_own_hold(ticket, job, now)
        };
        let due = self.tickets.iter().filter(|(_, ticket)| is_due(ticket));
        let due: Vec<(Tag, String, u64)> = due
            .filter_map(|(tag, ticket)| {
                let job = its(all, ticket).filter(|job| job.waits() && holds(ticket, job))?;
                Some((tag.clone(), ticket.account.clone(), job.id))
            })
            .collect();
        for (tag, account, id) in due {
            let id = id.to_string();
            let call = Call::by(Who::User(&account), &["scontrol", "release", &id]);
            if or_later(self.tool.must(&call)).is_some() {
                self.change(&tag, |ticket| ticket.is_held = false)?;
            }
        }
        Ok(())
    }

    /// Whether the job is on hold because we have handed it in so. After a crash, a controller that
    /// had not written the release down holds it again.
    fn is_own_hold(&self, ticket: &Ticket, job: &Job, now: i64) -> bool {
        let is_ours = self.cluster.mode == Mode::HoldRelease && ticket.was_held;
        is_ours && job.reason == "JobHeldUser" && now <= ticket.start.saturating_add(HELD_AGAIN)
    }

    /// That somebody else holds the job.
    fn held(&self, ticket: &Ticket, job: &Job) -> Option<Held> {
        let is_ours = ticket.is_held && job.reason == "JobHeldUser";
        let is_foreign = job.waits() && job.is_held && !is_ours;
        let is_foreign = is_foreign && !self.is_own_hold(ticket, job, now().0);
        let max = self.cluster.held_after;
        is_foreign.then(|| Held { why: job.reason.clone(), max })
    }

    /// What tasks wrote for whom Slurm's word is not enough, and now and then all that run: one
    /// command for each account.
    fn traces(&mut self, all: &Marked<'_>) -> Traces {
        let is_time = is_due(self.last.looked, UNHEARD);
        if is_time {
            self.last.looked = Some(Instant::now());
        }
        let mut wanted: BTreeMap<(&str, &str), Vec<Tag>> = BTreeMap::new();
        for (tag, ticket) in self.tickets.iter() {
            let is_open = ticket.ended.is_none() && !ticket.is_forgotten;
            let job = its(all, ticket);
            let runs = is_time && job.is_some_and(Job::holds_nodes);
            let looks = || runs || tasks::judge(ticket, job, None, now()) == Verdict::Look;
            if is_open && looks() {
                let place = (ticket.account.as_str(), ticket.spool.as_str());
                wanted.entry(place).or_default().push(tag.clone());
            }
        }
        let mut all = Traces::new();
        for ((account, path), tags) in wanted {
            let spool = Spool { tool: &self.tool, account, path };
            // One account that cannot be used is no reason to lose sight of the others.
            let Some(mut found) = or_later(spool.look(&tags)) else { continue };
            all.extend(tags.into_iter().map(|tag| {
                let trace = found.remove(&tag);
                (tag, trace)
            }));
        }
        all
    }

    fn survey_pools(&self, survey: &mut Survey) {
        let (jobs, reservations) = (&self.known.jobs, &self.known.reservations);
        let by_comment = tasks::by_comment(jobs);
        let mut ours = BTreeSet::new();
        let at = self.known.listed.0;
        let is_stuck = |ticket: &Ticket| ticket.ended.as_ref().is_some_and(|it| it.at + STUCK < at);
        for (_, ticket) in self.tickets.iter().filter(|(_, ticket)| !is_stuck(ticket)) {
            let own = by_comment.get(ticket.mark().as_str()).into_iter().flatten();
            ours.extend(own.filter(|job| tasks::is_its(job, ticket)).map(|job| job.id));
        }
        let is_known = |tag: &Tag| self.tickets.get(tag).is_some() || self.tickets.is_gone(tag);
        // What another daemon left here with tags of this market must be known to it.
        let here = |job: &&Job| {
            let is_ours = |name| self.members.iter().any(|it| it.partition.as_ref() == Some(name));
            job.partitions.iter().any(is_ours)
        };
        for job in jobs.iter().filter(|job| job.holds_nodes()).filter(here) {
            let Some(tag) = tag_in(&job.comment).filter(|tag| !is_known(tag)) else { continue };
            let seen = Seen::Running { since: Time(job.start), nodes: job.nodes.clone() };
            survey.tasks.entry(tag).or_insert(seen);
        }
        let options = &self.cluster.options;
        let standing = options.iter().find(|(name, _)| name == "reservation");
        let is_foreign = |it: &&Reservation| {
            standing.is_none_or(|(_, name)| *name != it.name) && !self.is_own_reservation(&it.name)
        };
        let foreign: Vec<Reservation> = reservations.iter().filter(is_foreign).cloned().collect();
        let listed =
            Listed { jobs, nodes: &self.nodes, reservations: &foreign, ours: &ours, now: now() };
        survey.pools.clear();
        for (pool, members) in self.pools.iter().zip(&self.members) {
            survey.pools.push(pools::survey(&listed, members, self.cluster.unit, pool.nodes));
        }
    }

    /// Whether a reservation was made for a task or a promise of ours.
    fn is_own_reservation(&self, name: &str) -> bool {
        let of_a_task = self.tickets.iter().any(|(_, ticket)| ticket.tag == name);
        of_a_task || aside::is_name(name, None, &self.pools)
    }

    /// Clears away what nobody needs any more. What fails is tried again after the next survey.
    fn tidy(&mut self) {
        let is_over = |it: &Reservation| {
            Tag::parse(&it.name).is_some_and(|tag| {
                let ticket = self.tickets.get(&tag);
                ticket.map_or(self.tickets.is_gone(&tag), |it| it.ended.is_some())
            })
        };
        self.known
            .reservations
            .iter()
            .filter(|it| is_over(it))
            .for_each(|it| self.give_back(&it.name));
        let mut kept = std::mem::take(&mut self.known.reservations);
        kept.retain(|it| !is_over(it));
        self.known.reservations = kept;
        let mut old: BTreeMap<(String, String), Vec<Tag>> = BTreeMap::new();
        let marked = tasks::by_comment(&self.known.jobs);
        let is_off = |ticket: &Ticket| its(&marked, ticket).is_none_or(|job| !job.holds_nodes());
        let is_done = |ticket: &Ticket| ticket.is_forgotten && is_off(ticket);
        for (tag, ticket) in self.tickets.iter().filter(|(_, ticket)| is_done(ticket)) {
            let place = (ticket.account.clone(), ticket.spool.clone());
            old.entry(place).or_default().push(tag.clone());
        }
        for ((account, path), tags) in old {
            let spool = Spool { tool: &self.tool, account: &account, path: &path };
            if let Err(wrong) = spool.clear(&tags) {
                tracing::warn!(%wrong, "what is left of old tasks stays");
                continue;
            }
            if let Err(error) = self.tickets.remove(&tags) {
                tracing::warn!(%error, "old tickets stay");
            }
        }
    }

    /// Says in the log, once for each, which states in Slurm's answers are not known.
    fn tell_unknown(&mut self, jobs: &[Job]) {
        const MAX: usize = 100;
        let of_jobs = jobs.iter().filter(|job| job.is_unknown());
        let of_jobs = of_jobs.map(|job| format!("state {} of job {}", job.state, job.id));
        let of_nodes = self.nodes.iter().flat_map(|node| {
            node.unknown.iter().map(|word| format!("state {word} of node {}", node.name))
        });
        let all: BTreeMap<String, String> = of_jobs
            .chain(of_nodes)
            .map(|text| (text.split(" of ").next().unwrap_or_default().to_owned(), text))
            .collect();
        for (word, text) in all {
            if self.unknown.len() < MAX && self.unknown.insert(word) {
                let site = &self.name;
                tracing::warn!(
                    site,
                    "Slurm says {text}, which this version of Tradewind does not know"
                );
            }
        }
    }

    /// Says in the log if the cluster's clock and ours differ, once.
    fn compare_clocks(&mut self) {
        if !is_due(self.last.clock, CLOCK) {
            return;
        }
        self.last.clock = Some(Instant::now());
        let Some(apart) = or_later(self.clock_apart()) else { return };
        let is_wrong = apart.abs() > doctor::SKEW;
        if is_wrong && !self.last.is_clock_wrong {
            let (site, remedy) = (&self.name, doctor::SET_CLOCKS);
            tracing::warn!(site, "`date +%s`: the site's clock is {apart} s from ours; {remedy}");
        }
        self.last.is_clock_wrong = is_wrong;
    }

    /// How far the cluster's clock is ahead of ours, seconds.
    pub(super) fn clock_apart(&self) -> Result<i64, SiteError> {
        let began = now().0;
        let answer = self.ours(&["date", "+%s"])?;
        let theirs = answer.text().trim().parse::<i64>();
        let theirs = theirs.map_err(|wrong| self.misread("date +%s", &wrong.to_string()))?;
        Ok(if theirs < began { theirs - began } else { (theirs - now().0).max(0) })
    }
}
