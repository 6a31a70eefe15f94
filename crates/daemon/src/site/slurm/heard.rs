//! What a task's own words mean while Slurm's are not at hand.

use tradewind_model::Time;

use super::listing::Job;
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::Ticket;
use crate::site::{Exit, Seen};

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// It is so.
    Is(Seen),
    /// It is over, and Slurm knows why.
    AskSlurm,
    /// It has its nodes, and its start lies ahead.
    NotYet,
    /// Nothing that matters.
    Nothing,
}

/// What to say of a task that is not known to be over. `job` is Slurm's as it was last listed,
/// `known` what was last said of the task.
pub(super) fn word(
    ticket: &Ticket,
    job: Option<&Job>,
    known: Option<&Seen>,
    trace: &Trace,
    now: Time,
) -> Word {
    let here = trace.here.as_ref();
    // Two jobs of one tag: only Slurm knows what became of the other.
    let is_other = |job: &Job| here.is_some_and(|here| here.id != job.id.to_string());
    if job.is_some_and(is_other) {
        return Word::AskSlurm;
    }
    let began = trace.began.map(seconds);
    let arrived = here.map(|here| Time(seconds(here.at).0.max(ticket.start)));
    let since = match known {
        _ if ticket.waits_there() => began,
        Some(Seen::Running { since, .. }) => Some(*since),
        _ => arrived,
    };
    if let Some(end) = &trace.end {
        let is_clear = match (ticket.is_withdrawn, &end.exit) {
            // By itself.
            (false, Exit::Code(_) | Exit::TimeLimit | Exit::NotStarted(_)) => true,
            // As we asked for.
            (true, Exit::Signal(_) | Exit::Withdrawn) => true,
            _ => false,
        };
        if !is_clear {
            return Word::AskSlurm;
        }
        let exit = if ticket.is_withdrawn { Exit::Withdrawn } else { end.exit.clone() };
        let since = end.since.and(since);
        let at = seconds(end.at).max(since.unwrap_or(Time(0)));
        return Word::Is(Seen::Ended { since, at, exit });
    }
    match (here, known) {
        (None, _) => Word::Nothing,
        (Some(_), Some(Seen::Running { .. } | Seen::Ended { .. })) => Word::Nothing,
        (Some(_), _) if ticket.start > now.0 => Word::NotYet,
        (Some(here), _) => {
            let since = arrived.unwrap_or(Time(0));
            Word::Is(Seen::Running { since, nodes: here.nodes.clone() })
        }
    }
}
