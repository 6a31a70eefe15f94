//! How a task ended whose job Slurm lists as over: what Slurm says, what the task has written, and
//! what is known of Slurm's mistakes.

use tradewind_model::{Span, Time};

use super::Controller;
use super::listing::SlurmJob;
use crate::site::managed::driver::judge::{
    self, LAST_WORD, TaskVerdict, absent, dropped, is_other, never,
};
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::Ticket;
use crate::site::{Exit, Seen};

/// A node that refuses a job may take so long to say so.
const REFUSED: Span = Span(10);

/// What to say of a task whose job is over; `trace` as for [`judge::judge`].
pub(super) fn over(
    ticket: &Ticket,
    job: &SlurmJob,
    trace: Option<Option<&Trace>>,
    now: Time,
) -> TaskVerdict {
    match trace {
        None => TaskVerdict::Look,
        Some(Some(trace)) if trace.is_claimed => TaskVerdict::Bury(never::<Controller>(ticket)),
        Some(Some(trace)) if is_other(job, trace) => {
            absent::<Controller>(ticket, Some(Some(trace)), now)
        }
        Some(None) if was_revoked(ticket, job, REFUSED) || had_no_script(job) => {
            TaskVerdict::Bury(dropped::<Controller>())
        }
        Some(None) if was_never_begun(job) => TaskVerdict::Bury(unbegun(ticket, job)),
        Some(Some(trace)) if had_its_turn(ticket, trace, job) => {
            absent::<Controller>(ticket, Some(Some(trace)), now)
        }
        Some(Some(trace)) if found_begun(trace, job) => {
            // A file may be seen later than its folder.
            TaskVerdict::Seen(match now > Time(job.end) + LAST_WORD {
                true => Seen::Ended { since: None, at: Time(job.end), exit: unsaid(ticket) },
                false => judge::meanwhile::<Controller>(ticket, Some(job), now),
            })
        }
        Some(trace) => TaskVerdict::Seen(ended(ticket, job, trace, now)),
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
fn found_begun(trace: &Trace, job: &SlurmJob) -> bool {
    job.state == "COMPLETED" && job.status == 0 && *trace == Trace::default()
}

/// After a crash of its controller, Slurm uses numbers again and begins jobs again that have ended
/// meanwhile, and a node on which a job of the same number has ended refuses this one: it is
/// cancelled at once, `max` after it began, and the market did not order it.
fn was_revoked(ticket: &Ticket, job: &SlurmJob, max: Span) -> bool {
    let had_nodes = !job.nodes.is_empty() && job.start > 0;
    let is_soon = Time(job.end) - Time(job.start) <= max;
    job.state == "CANCELLED" && had_nodes && is_soon && !ticket.is_withdrawn
}

/// Whether the task's script has never run, if it has not made its folder either: Slurm ends jobs
/// that wait when their partition is removed, a node may fail before the script starts, and a
/// controller that dies while it starts a job counts the job as running until its limit. An end with
/// an exit code may be the script's own.
fn was_never_begun(job: &SlurmJob) -> bool {
    match job.state.as_str() {
        "TIMEOUT" | "NODE_FAIL" | "BOOT_FAIL" => true,
        "FAILED" => job.status & 0x7f != 0 && !was_preempted(job),
        _ => false,
    }
}

/// How a task ends whose script never ran, once its folder is ours: it may be submitted again.
fn unbegun(ticket: &Ticket, job: &SlurmJob) -> Exit {
    match ticket.is_withdrawn || ticket.is_recalled {
        true => Exit::Withdrawn,
        false => Exit::Refused(format!("Slurm says {}: {}", job.state, job.reason)),
    }
}

/// What a node clears away of an ended job takes the script of a new one of the same number with
/// it: the shell finds no script, and says 2 (dash) or 127.
fn had_no_script(job: &SlurmJob) -> bool {
    let code = job.status >> 8 & 0xff;
    job.state == "FAILED" && matches!(code, 2 | 127)
}

/// The job was revoked, and what its task wrote is of an earlier start: the task was there before
/// this one; or it has ended by itself, maybe all of it in one second.
fn had_its_turn(ticket: &Ticket, trace: &Trace, job: &SlurmJob) -> bool {
    let is_older = trace.here.as_ref().is_some_and(|here| seconds(here.at) < Time(job.start));
    let by_itself = trace.end.as_ref().is_some_and(|end| matches!(end.exit, Exit::Code(_)));
    is_older && was_revoked(ticket, job, Span(i64::MAX))
        || by_itself && was_revoked(ticket, job, Span(1))
}

fn ended(ticket: &Ticket, job: &SlurmJob, trace: Option<&Trace>, now: Time) -> Seen {
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

fn exit(job: &SlurmJob, trace: Option<&Trace>, has_run: bool) -> Exit {
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
fn was_preempted(job: &SlurmJob) -> bool {
    job.state == "PREEMPTED" || job.is_preempted
}

/// Whether the end was written when the job's node had been given up: a shell whose command was
/// killed under it may go on, and end with 0, before the signal reaches itself.
fn was_struck(job: &SlurmJob, trace: Option<&Trace>) -> bool {
    let end = trace.and_then(|trace| trace.end.as_ref());
    job.state == "NODE_FAIL" && job.end > 0 && end.is_some_and(|end| seconds(end.at).0 >= job.end)
}
