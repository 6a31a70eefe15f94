//! How a task of ours is: what the manager says of its job, what the task wrote itself, and our
//! ticket. Pure: what a verdict asks for is done elsewhere.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::manager::{Manager, ManagerJob};
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::Ticket;
use crate::site::{Exit, Seen};

/// A task that the manager has lost may run on by itself until its own limit; then so much longer
/// until its last word is not waited for any more.
pub(in crate::site) const LAST_WORD: Span = Span(30);

/// What is to be said of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::site) enum TaskVerdict {
    /// This.
    Seen(Seen),
    /// It depends on what the task has written: look there.
    Look,
    /// It must not go on, since it counts as over: stop it, then say this.
    Stop(Seen),
    /// It has never begun, and will not be started: make sure that it never begins, then say how it
    /// ended.
    Bury(Exit),
    /// Only the manager's records tell how it ended: see [`Manager::records`].
    AskRecords,
    /// Nothing: whether it was submitted, the next submission of it will find out.
    Nothing,
}

/// Jobs with marks of ours, by mark.
pub(super) type Marked<'j, J> = BTreeMap<&'j str, Vec<&'j J>>;

/// Jobs that carry marks, by mark; of those with one mark, first the one that has nodes, then the
/// one that was submitted first.
pub(super) fn by_mark<J: ManagerJob>(jobs: &[J]) -> Marked<'_, J> {
    let mut all: Marked<'_, J> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.mark().starts_with("tw-")) {
        all.entry(job.mark()).or_default().push(job);
    }
    for jobs in all.values_mut() {
        jobs.sort_by_cached_key(|job| {
            let number = job.id().parse::<u64>().unwrap_or(u64::MAX);
            (!job.holds_nodes(), job.submitted(), number)
        });
    }
    all
}

/// All jobs of the ticket. Marks can be forged: those of other accounts are not.
pub(super) fn all_of<'m, 'j, M: Manager>(
    all: &'m Marked<'j, M::Job>,
    ticket: &'m Ticket,
) -> impl Iterator<Item = &'j M::Job> + use<'m, 'j, M> {
    let own = all.get(M::mark(ticket).as_str()).into_iter().flatten().copied();
    own.filter(move |job| job.account() == ticket.account)
}

/// The ticket's job.
pub(super) fn find<'j, M: Manager>(
    all: &Marked<'j, M::Job>,
    ticket: &Ticket,
) -> Option<&'j M::Job> {
    all_of::<M>(all, ticket).next()
}

/// What to say of a task: `job` is the manager's, `trace` what the task wrote, if that was looked at
/// (`Some(None)`: it has not begun).
pub(in crate::site) fn judge<M: Manager>(
    ticket: &Ticket,
    job: Option<&M::Job>,
    trace: Option<Option<&Trace>>,
    now: Time,
) -> TaskVerdict {
    let Some(job) = job else { return M::absent(ticket, trace, now) };
    if job.waits() {
        return waiting::<M>(ticket, job, trace);
    }
    if !job.holds_nodes() {
        return M::over(ticket, job, trace, now);
    }
    let needs_word = ticket.gather.is_some() || !M::KEEPS_ENDED;
    let Some(trace) = trace else {
        // Its work may be over.
        return match needs_word || job.is_leaving() {
            true => TaskVerdict::Look,
            false => TaskVerdict::Seen(running::<M>(ticket, job, None, now)),
        };
    };
    let is_here = trace.is_some_and(|trace| trace.here.is_some());
    let over = trace.and_then(|trace| unheard::<M>(ticket, job, trace, now));
    TaskVerdict::Seen(match over {
        Some(seen) => seen,
        None if needs_word && !is_here => Seen::Waiting,
        None => running::<M>(ticket, job, trace, now),
    })
}

/// The end that the task has written, if it counts though the manager has not heard of it: at once
/// if it ended by itself, later if somebody may have stopped it and the manager will say so.
fn unheard<M: Manager>(ticket: &Ticket, job: &M::Job, trace: &Trace, now: Time) -> Option<Seen> {
    let end = trace.end.as_ref().filter(|_| !is_other(job, trace))?;
    let by_itself = match end.exit {
        // It may have been told that its nodes are taken away.
        Exit::Code(code) => code == 0 || !ticket.is_preemptible,
        Exit::TimeLimit | Exit::NotStarted(_) => true,
        _ => false,
    };
    let is_old = now > seconds(end.at) + LAST_WORD;
    let counts = !M::KEEPS_ENDED || is_old || by_itself && !ticket.is_withdrawn;
    counts.then(|| told_end::<M>(ticket, trace, Some(Time(job.start())))).flatten()
}

/// The end that the task has written. `start`: when it got its nodes.
pub(super) fn told_end<M: Manager>(
    ticket: &Ticket,
    trace: &Trace,
    start: Option<Time>,
) -> Option<Seen> {
    let end = trace.end.as_ref()?;
    let exit = if ticket.is_withdrawn { Exit::Withdrawn } else { end.exit.clone() };
    if !M::KEEPS_ENDED {
        return Some(Seen::Ended { since: end.since.map(seconds), at: end.until(), exit });
    }
    let since = match ticket.waits_there() {
        true => trace.began.map(seconds),
        false => start,
    };
    let since = end.since.and(since);
    Some(Seen::Ended { since, at: seconds(end.at).max(since.unwrap_or(Time(0))), exit })
}

/// Whether a brief list does not say enough of a task: its job is over, and it has not written how
/// it ended (`trace` as for [`judge`]).
pub(in crate::site) fn is_unclear<M: Manager>(
    ticket: &Ticket,
    job: Option<&M::Job>,
    trace: Option<Option<&Trace>>,
) -> bool {
    let is_open = ticket.ended.is_none() && !ticket.is_forgotten;
    let is_over = job.is_some_and(|job| !job.waits() && !job.holds_nodes());
    let is_unsaid = |trace: Option<&Trace>| match trace.and_then(|trace| trace.end.as_ref()) {
        None => true,
        // It may have been preempted: brief lists do not say so.
        Some(end) => match end.exit {
            Exit::Signal(_) => true,
            Exit::Code(code) => code != 0 && ticket.is_preemptible,
            _ => false,
        },
    };
    is_open && is_over && trace.is_some_and(is_unsaid)
}

/// Another job of the same tag was there first; this one found its work begun, and did nothing.
pub(in crate::site) fn is_other(job: &impl ManagerJob, trace: &Trace) -> bool {
    trace.here.as_ref().is_some_and(|here| here.id != job.id())
}

/// How a task ends that the manager has lost or given up before it began, once its folder is ours:
/// it never begins, so it may be planned again.
pub(in crate::site) fn dropped<M: Manager>() -> Exit {
    Exit::Refused(format!("{} has lost the job before it began", M::NAME))
}

/// How a task ends whose folder we have made.
pub(in crate::site) fn never<M: Manager>(ticket: &Ticket) -> Exit {
    match ticket.is_withdrawn || ticket.is_recalled {
        true => Exit::Withdrawn,
        false => dropped::<M>(),
    }
}

/// What is said of a task whose folder cannot be looked into: nothing that would be its end.
pub(in crate::site) fn meanwhile<M: Manager>(
    ticket: &Ticket,
    job: Option<&M::Job>,
    now: Time,
) -> Seen {
    match job.filter(|job| job.start() > 0 && !job.nodes().is_empty()) {
        Some(job) => running::<M>(ticket, job, None, now),
        None => Seen::Waiting,
    }
}

/// What is said of a task that has not written its end, and of which the manager says nothing.
pub(super) fn on_its_own(ticket: &Ticket, trace: Option<&Trace>, now: Time) -> Seen {
    match trace.and_then(|trace| trace.here.as_ref()) {
        Some(here) => {
            let since = Time(seconds(here.at).0.max(ticket.start_at(now)));
            Seen::Running { since, nodes: here.nodes.clone() }
        }
        None => Seen::Waiting,
    }
}

/// It has its nodes; it may wait there for its start.
fn running<M: Manager>(ticket: &Ticket, job: &M::Job, trace: Option<&Trace>, now: Time) -> Seen {
    let start = ticket.start_at(now);
    if start > now.0 {
        return Seen::Waiting;
    }
    match M::KEEPS_ENDED {
        true => {
            let since = Time(job.start().max(start));
            Seen::Running { since, nodes: job.nodes().to_vec() }
        }
        // What the manager says while the task is on its way is too early.
        false => on_its_own(ticket, trace, now),
    }
}

fn waiting<M: Manager>(
    ticket: &Ticket,
    job: &M::Job,
    trace: Option<Option<&Trace>>,
) -> TaskVerdict {
    // Where the task's own word counts, its end may be written before the list has heard.
    let says_more = job.restarts() > 0 || !M::KEEPS_ENDED;
    let Some(trace) = trace else {
        return if says_more { TaskVerdict::Look } else { TaskVerdict::Seen(Seen::Waiting) };
    };
    let Some(trace) = trace.filter(|_| says_more) else { return TaskVerdict::Seen(Seen::Waiting) };
    if !M::KEEPS_ENDED {
        let end = told_end::<M>(ticket, trace, None);
        return TaskVerdict::Seen(end.unwrap_or(Seen::Waiting));
    }
    // Its node died, or an administrator has requeued it: it would find its work begun.
    let since = trace.here.as_ref().map(|here| seconds(here.at));
    let at = trace.end.as_ref().map_or(Time(job.submitted()), |end| seconds(end.at));
    let at = at.max(since.unwrap_or(at));
    let exit = trace.end.as_ref().map_or(Exit::NodeFailed, |end| end.exit.clone());
    TaskVerdict::Stop(Seen::Ended { since, at, exit })
}

/// The manager does not know the task: it has lost it or forgotten it, or it was never submitted.
pub(in crate::site) fn absent<M: Manager>(
    ticket: &Ticket,
    trace: Option<Option<&Trace>>,
    now: Time,
) -> TaskVerdict {
    let Some(trace) = trace else { return TaskVerdict::Look };
    let Some(trace) = trace else {
        return match (ticket.is_withdrawn, ticket.is_taken) {
            (true, _) => TaskVerdict::Bury(Exit::Withdrawn),
            (false, true) => TaskVerdict::Bury(dropped::<M>()),
            (false, false) => TaskVerdict::Nothing,
        };
    };
    if trace.is_claimed {
        return TaskVerdict::Bury(never::<M>(ticket));
    }
    let since = trace.here.as_ref().map(|here| seconds(here.at));
    if let Some(seen) = told_end::<M>(ticket, trace, since) {
        return TaskVerdict::Seen(seen);
    }
    let Some(here) = &trace.here else { return TaskVerdict::Bury(Exit::Lost) };
    // It runs on without its manager, or was killed before it could write its end down.
    let began = seconds(trace.began.unwrap_or(here.at));
    let waited = if trace.began.is_some() { 0 } else { ticket.gather.unwrap_or(0) };
    let last = began + Span(ticket.limit + waited) + LAST_WORD;
    match now > last {
        true => TaskVerdict::Seen(Seen::Ended { since, at: last.min(now), exit: Exit::Lost }),
        false => TaskVerdict::Seen(on_its_own(ticket, Some(trace), now)),
    }
}
