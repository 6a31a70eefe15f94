//! How a task of ours is: what Slurm says of its job, what the task wrote itself, and our ticket.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::listing::Job;
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::Ticket;
use crate::site::{Exit, Seen};

/// A task that Slurm has lost may run on by itself until its own limit; then so much longer until
/// nobody waits for its last word.
pub(super) const LAST_WORD: Span = Span(30);

/// A node that refuses a job may take so long to say so.
const REFUSED: Span = Span(10);

/// What is to be said of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This.
    Seen(Seen),
    /// It depends on what the task has written: look there.
    Look,
    /// Slurm begins it again, though it began before: stop it, then say this.
    Stop(Seen),
    /// Slurm does not know it, and it has never begun: make sure that it never does, then say
    /// how it ended.
    Bury(Exit),
    /// Nothing: whether it was handed in, who hands it in again will find out.
    Nothing,
}

/// Jobs with comments that are marks, by mark; of those with one mark, the one that has nodes, or
/// else the one that was handed in first.
pub(super) fn by_comment(jobs: &[Job]) -> BTreeMap<&str, Vec<&Job>> {
    let mut all: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.comment.starts_with("tw-")) {
        all.entry(&job.comment).or_default().push(job);
    }
    for jobs in all.values_mut() {
        jobs.sort_by_key(|job| (!job.holds_nodes(), job.submitted, job.id));
    }
    all
}

/// Whether a job with the ticket's mark is its: comments can be forged.
pub(super) fn is_its(job: &Job, ticket: &Ticket) -> bool {
    job.user == ticket.account
}

/// What to say of a task: `job` is Slurm's, `trace` what the task wrote, if anybody looked
/// (`Some(None)`: it has not begun).
pub(super) fn judge(
    ticket: &Ticket,
    job: Option<&Job>,
    trace: Option<Option<&Trace>>,
    now: Time,
) -> Verdict {
    let Some(job) = job else { return absent(ticket, trace, now) };
    if job.waits() {
        return waiting(job, trace);
    }
    if job.holds_nodes() {
        return match (ticket.gather, trace) {
            // Its work may be over.
            (_, None) if ticket.gather.is_some() || job.state == "COMPLETING" => Verdict::Look,
            (_, None) => Verdict::Seen(running(ticket, job, now)),
            (gather, Some(trace)) => {
                let is_here = trace.is_some_and(|trace| trace.here.is_some());
                let over = trace.and_then(|trace| unheard(ticket, job, trace, now));
                Verdict::Seen(match over {
                    Some(seen) => seen,
                    None if gather.is_some() && !is_here => Seen::Waiting,
                    None => running(ticket, job, now),
                })
            }
        };
    }
    match trace {
        None => Verdict::Look,
        Some(Some(trace)) if trace.is_claimed => Verdict::Bury(never(ticket)),
        Some(Some(trace)) if is_other(job, trace) => absent(ticket, Some(Some(trace)), now),
        Some(None) if was_revoked(ticket, job, REFUSED) || had_no_script(job) => {
            Verdict::Bury(dropped())
        }
        Some(None) if was_dropped(ticket, job) => {
            Verdict::Bury(Exit::Refused(format!("Slurm says {}: {}", job.state, job.reason)))
        }
        Some(Some(trace)) if had_its_turn(ticket, trace, job) => {
            absent(ticket, Some(Some(trace)), now)
        }
        Some(Some(trace)) if found_begun(trace, job) => {
            // A file may be seen later than its folder.
            Verdict::Seen(match now > Time(job.end) + LAST_WORD {
                true => Seen::Ended { since: None, at: Time(job.end), exit: unsaid(ticket) },
                false => meanwhile(ticket, Some(job), now),
            })
        }
        Some(trace) => Verdict::Seen(ended(ticket, job, trace, now)),
    }
}

/// The end that the task has written, if it counts though Slurm has not heard of it: at once if it
/// ended by itself, later if somebody may have stopped it and Slurm will say so.
fn unheard(ticket: &Ticket, job: &Job, trace: &Trace, now: Time) -> Option<Seen> {
    let end = trace.end.as_ref().filter(|_| !is_other(job, trace))?;
    let by_itself = match end.exit {
        // It may have been told that its nodes are taken away.
        Exit::Code(code) => code == 0 || !ticket.is_preemptible,
        Exit::TimeLimit | Exit::NotStarted(_) => true,
        _ => false,
    };
    let is_old = now > seconds(end.at) + LAST_WORD;
    if !(is_old || by_itself && !ticket.is_withdrawn) {
        return None;
    }
    let exit = if ticket.is_withdrawn { Exit::Withdrawn } else { end.exit.clone() };
    let since = match ticket.waits_there() {
        true => trace.began.map(seconds),
        false => Some(Time(job.start)),
    };
    let since = end.since.and(since);
    Some(Seen::Ended { since, at: seconds(end.at).max(since.unwrap_or(Time(0))), exit })
}

/// Whether a brief list does not say enough of a task: its job is over, and it has not written how
/// it ended (`trace` as for [`judge`]).
pub(super) fn is_unclear(
    ticket: &Ticket,
    job: Option<&Job>,
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
fn is_other(job: &Job, trace: &Trace) -> bool {
    trace.here.as_ref().is_some_and(|here| here.id != job.id.to_string())
}

/// How a task ends that Slurm has lost or given up before it began, once its folder is ours: it
/// never begins, so it may be planned again.
pub(super) fn dropped() -> Exit {
    Exit::Refused("Slurm has lost the job before it began".to_owned())
}

/// How a task ends whose folder we have made.
fn never(ticket: &Ticket) -> Exit {
    match ticket.is_withdrawn || ticket.is_recalled {
        true => Exit::Withdrawn,
        false => dropped(),
    }
}

/// How a task ends of which nobody knows who has made its folder: we were about to, if it was to be
/// taken back.
fn unsaid(ticket: &Ticket) -> Exit {
    match ticket.is_recalled {
        true => Exit::Withdrawn,
        false => Exit::Lost,
    }
}

/// The job ended well without a word of its task: the task's folder was there already, by us (who
/// buried it, and never got the answer) or by a job of the same tag that died before its first word.
fn found_begun(trace: &Trace, job: &Job) -> bool {
    job.state == "COMPLETED" && job.status == 0 && *trace == Trace::default()
}

/// After a crash of its controller, Slurm uses numbers again and begins jobs again that have ended
/// meanwhile, and a node on which a job of the same number has ended refuses this one: it is
/// cancelled at once, `max` after it began, and nobody wanted that.
fn was_revoked(ticket: &Ticket, job: &Job, max: Span) -> bool {
    let had_nodes = !job.nodes.is_empty() && job.start > 0;
    let is_soon = Time(job.end) - Time(job.start) <= max;
    job.state == "CANCELLED" && had_nodes && is_soon && !ticket.is_withdrawn
}

/// Slurm ends jobs that wait when their partition is no more.
fn was_dropped(ticket: &Ticket, job: &Job) -> bool {
    job.state == "NODE_FAIL" && job.nodes.is_empty() && !ticket.is_withdrawn
}

/// What a node clears away of an ended job takes the script of a new one of the same number with
/// it: the shell finds no script, and says 2 (dash) or 127.
fn had_no_script(job: &Job) -> bool {
    let code = job.status >> 8 & 0xff;
    job.state == "FAILED" && matches!(code, 2 | 127)
}

/// The job was revoked, and what its task wrote is of an earlier start: the task was there before
/// this one; or it has ended by itself, maybe all of it in one second.
fn had_its_turn(ticket: &Ticket, trace: &Trace, job: &Job) -> bool {
    let is_older = trace.here.as_ref().is_some_and(|here| seconds(here.at) < Time(job.start));
    let by_itself = trace.end.as_ref().is_some_and(|end| matches!(end.exit, Exit::Code(_)));
    is_older && was_revoked(ticket, job, Span(i64::MAX))
        || by_itself && was_revoked(ticket, job, Span(1))
}

/// What is said of a task whose folder cannot be looked into: nothing that would be its end.
pub(super) fn meanwhile(ticket: &Ticket, job: Option<&Job>, now: Time) -> Seen {
    match job.filter(|job| job.start > 0 && !job.nodes.is_empty()) {
        Some(job) => running(ticket, job, now),
        None => Seen::Waiting,
    }
}

/// It has its nodes; it may wait there for its start.
fn running(ticket: &Ticket, job: &Job, now: Time) -> Seen {
    let start = ticket.start_at(now);
    match start > now.0 {
        true => Seen::Waiting,
        false => {
            let since = Time(job.start.max(start));
            Seen::Running { since, nodes: job.nodes.clone() }
        }
    }
}

fn waiting(job: &Job, trace: Option<Option<&Trace>>) -> Verdict {
    if job.restarts == 0 {
        return Verdict::Seen(Seen::Waiting);
    }
    // Its node died, or an administrator has requeued it: it would find its work begun.
    match trace {
        None => Verdict::Look,
        Some(None) => Verdict::Seen(Seen::Waiting),
        Some(Some(trace)) => {
            let since = trace.here.as_ref().map(|here| seconds(here.at));
            let at = trace.end.as_ref().map_or(Time(job.submitted), |end| seconds(end.at));
            let at = at.max(since.unwrap_or(at));
            let exit = trace.end.as_ref().map_or(Exit::NodeFailed, |end| end.exit.clone());
            Verdict::Stop(Seen::Ended { since, at, exit })
        }
    }
}

fn ended(ticket: &Ticket, job: &Job, trace: Option<&Trace>, now: Time) -> Seen {
    let has_run = !job.nodes.is_empty() && job.start > 0;
    let exit = exit(job, trace, has_run);
    let has_begun = has_run && !matches!(exit, Exit::NotStarted(_));
    let since = has_begun.then_some(Time(job.start));
    // Waiting on its nodes is no work.
    let began = trace.and_then(|trace| trace.began).map(seconds);
    let since = if ticket.waits_there() { since.and(began) } else { since };
    let at = Time(if job.end > 0 { job.end } else { now.0 });
    // A controller that was away when the work ended may notice at the limit only.
    let is_unheard = job.state == "TIMEOUT" && exit != Exit::TimeLimit;
    let own = trace.and_then(|trace| trace.end.as_ref()).filter(|_| is_unheard);
    let at = own.map_or(at, |end| seconds(end.at).min(at)).max(since.unwrap_or(Time(0)));
    Seen::Ended { since, at, exit }
}

fn exit(job: &Job, trace: Option<&Trace>, has_run: bool) -> Exit {
    let told = trace.and_then(|trace| trace.end.as_ref()).map(|end| end.exit.clone());
    match job.state.as_str() {
        "CANCELLED" => Exit::Withdrawn,
        "TIMEOUT" => told.filter(|exit| matches!(exit, Exit::Code(_))).unwrap_or(Exit::TimeLimit),
        // Only work that was done is done: others end by a signal, or as they do when they get one.
        "PREEMPTED" | "FAILED" if was_preempted(job) => {
            told.filter(Exit::is_good).unwrap_or(Exit::Preempted)
        }
        // A signal is how Slurm has taken it off its nodes.
        "NODE_FAIL" | "BOOT_FAIL" => {
            let by_itself =
                |exit: &Exit| !matches!(exit, Exit::Signal(_)) && !was_struck(job, trace);
            told.filter(by_itself).unwrap_or(Exit::NodeFailed)
        }
        "OUT_OF_MEMORY" => Exit::OutOfMemory,
        "DEADLINE" => Exit::NotStarted("its deadline at Slurm is over".to_owned()),
        _ if told.is_some() => told.unwrap_or(Exit::Lost),
        _ if !has_run => Exit::NotStarted(format!("Slurm says {}: {}", job.state, job.reason)),
        // The script could not even make the task's folder.
        "FAILED" if trace.is_none() && job.status == 125 << 8 => {
            let node = job.nodes.first().map_or("?", String::as_str);
            Exit::NotStarted(format!("the site's spool cannot be written on {node}"))
        }
        _ => match (job.status & 0x7f, job.status >> 8 & 0xff) {
            (0, code) => Exit::Code(code),
            (signal, _) => Exit::Signal(signal),
        },
    }
}

/// Whether the job's nodes were taken away for another one.
fn was_preempted(job: &Job) -> bool {
    job.state == "PREEMPTED" || job.is_preempted
}

/// Whether the end was written when the job's node had been given up: a shell whose command was
/// killed under it may go on, and end with 0, before the signal reaches itself.
fn was_struck(job: &Job, trace: Option<&Trace>) -> bool {
    let end = trace.and_then(|trace| trace.end.as_ref());
    job.state == "NODE_FAIL" && job.end > 0 && end.is_some_and(|end| seconds(end.at).0 >= job.end)
}

/// Slurm does not know the task: it has lost it or forgotten it, or it was never handed in.
fn absent(ticket: &Ticket, trace: Option<Option<&Trace>>, now: Time) -> Verdict {
    let Some(trace) = trace else { return Verdict::Look };
    let Some(trace) = trace else {
        return match (ticket.is_withdrawn, ticket.is_taken) {
            (true, _) => Verdict::Bury(Exit::Withdrawn),
            (false, true) => Verdict::Bury(dropped()),
            (false, false) => Verdict::Nothing,
        };
    };
    if trace.is_claimed {
        return Verdict::Bury(never(ticket));
    }
    let since = trace.here.as_ref().map(|here| seconds(here.at));
    if let Some(end) = &trace.end {
        let exit = if ticket.is_withdrawn { Exit::Withdrawn } else { end.exit.clone() };
        let since = if ticket.waits_there() { trace.began.map(seconds) } else { since };
        let since = end.since.and(since);
        let at = seconds(end.at).max(since.unwrap_or(Time(0)));
        return Verdict::Seen(Seen::Ended { since, at, exit });
    }
    let Some(here) = &trace.here else { return Verdict::Bury(Exit::Lost) };
    // It runs on without Slurm, or was killed before it could write its end down.
    let began = seconds(trace.began.unwrap_or(here.at));
    let waited = if trace.began.is_some() { 0 } else { ticket.gather.unwrap_or(0) };
    let last = began + Span(ticket.limit + waited) + LAST_WORD;
    match now > last {
        true => Verdict::Seen(Seen::Ended { since, at: last.min(now), exit: Exit::Lost }),
        false => {
            let since = Time(seconds(here.at).0.max(ticket.start_at(now)));
            Verdict::Seen(Seen::Running { since, nodes: here.nodes.clone() })
        }
    }
}
