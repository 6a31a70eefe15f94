//! What a task's own words mean while the manager's are not at hand.

use tradewind_model::Time;

use super::judge::{is_other, told_end};
use super::manager::Manager;
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::Ticket;
use crate::site::{Exit, Seen};

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// It is so.
    Is(Seen),
    /// It is over, and the manager knows why.
    AskManager,
    /// It has its nodes, and its start lies ahead.
    NotYet,
    /// Nothing that matters.
    Nothing,
}

/// What to say of a task that is not known to be over. `job` is the manager's as it was last listed,
/// `known` what was last said of the task.
pub(super) fn word<M: Manager>(
    ticket: &Ticket,
    job: Option<&M::Job>,
    known: Option<&Seen>,
    trace: &Trace,
    now: Time,
) -> Word {
    let here = trace.here.as_ref();
    // Two jobs of one tag: only the manager knows what became of the other.
    if job.is_some_and(|job| is_other(job, trace)) {
        return Word::AskManager;
    }
    let arrived = here.map(|here| Time(seconds(here.at).0.max(ticket.start_at(now))));
    let since = match known {
        Some(Seen::Running { since, .. }) => Some(*since),
        _ => arrived,
    };
    if let Some(end) = &trace.end {
        let is_clear = match (ticket.is_withdrawn, &end.exit) {
            _ if !M::KEEPS_ENDED => true,
            // By itself; one that may be preempted may have been told that its nodes are taken.
            (false, Exit::Code(code)) => *code == 0 || !ticket.is_preemptible,
            (false, Exit::TimeLimit | Exit::NotStarted(_)) => true,
            // As we asked for.
            (true, Exit::Signal(_) | Exit::Withdrawn) => true,
            _ => false,
        };
        let told = told_end::<M>(ticket, trace, since).filter(|_| is_clear);
        return told.map_or(Word::AskManager, Word::Is);
    }
    match (here, known) {
        (None, _) => Word::Nothing,
        (Some(_), Some(Seen::Running { .. } | Seen::Ended { .. })) => Word::Nothing,
        (Some(_), _) if ticket.start_at(now) > now.0 => Word::NotYet,
        (Some(here), _) => {
            let since = arrived.unwrap_or(Time(0));
            Word::Is(Seen::Running { since, nodes: here.nodes.clone() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::managed::spool::{Here, SpoolEnd};
    use crate::site::slurm::{Controller, SlurmJob};

    fn word(
        ticket: &Ticket,
        job: Option<&SlurmJob>,
        known: Option<&Seen>,
        trace: &Trace,
        now: Time,
    ) -> Word {
        super::word::<Controller>(ticket, job, known, trace, now)
    }

    fn ticket() -> Ticket {
        Ticket {
            tag: "tw-m-1-0-0".to_owned(),
            account: "ana".to_owned(),
            pool: "cpu".to_owned(),
            nodes: 1,
            handed_in: 100_500_000,
            start: 100,
            limit: 60,
            gather: None,
            directory: String::new(),
            output: String::new(),
            error: None,
            spool: String::new(),
            data: std::collections::BTreeMap::new(),
            staging: 0,
            is_held: false,
            is_taken: true,
            is_withdrawn: false,
            is_recalled: false,
            was_held: false,
            is_preemptible: false,
            ended: None,
            is_forgotten: false,
        }
    }

    fn trace(end: Option<Exit>) -> Trace {
        let here = Here { at: 101_900, id: "7".to_owned(), nodes: vec!["a1".to_owned()] };
        let end = end.map(|exit| SpoolEnd { since: Some(101_950), at: 105_200, exit });
        Trace { here: Some(here), began: Some(102_000), end, is_claimed: false }
    }

    const NOW: Time = Time(106);

    fn ended(since: i64, exit: Exit) -> Word {
        Word::Is(Seen::Ended { since: Some(Time(since)), at: Time(105), exit })
    }

    #[test]
    fn a_task_that_has_its_nodes_runs() {
        let runs = Seen::Running { since: Time(101), nodes: vec!["a1".to_owned()] };
        let of = |known, now| word(&ticket(), None, known, &trace(None), now);
        assert_eq!(of(Some(&Seen::Waiting), NOW), Word::Is(runs.clone()));
        assert_eq!(of(None, NOW), Word::Is(runs.clone()));
        assert_eq!(of(Some(&runs), NOW), Word::Nothing, "as is known");
        let later = Ticket { start: 110, ..ticket() };
        assert_eq!(word(&later, None, None, &trace(None), NOW), Word::NotYet);
        assert_eq!(word(&ticket(), None, None, &Trace::default(), NOW), Word::Nothing);
    }

    #[test]
    fn only_an_end_by_itself_counts_without_slurm() {
        let of = |exit| word(&ticket(), None, None, &trace(Some(exit)), NOW);
        for exit in [Exit::Code(3), Exit::TimeLimit] {
            assert_eq!(of(exit.clone()), ended(101, exit));
        }
        for exit in [Exit::Signal(9), Exit::Withdrawn] {
            assert_eq!(of(exit), Word::AskManager);
        }
        let gives_way = Ticket { is_preemptible: true, ..ticket() };
        let of = |code| word(&gives_way, None, None, &trace(Some(Exit::Code(code))), NOW);
        assert_eq!((of(0), of(3)), (ended(101, Exit::Code(0)), Word::AskManager));
        // What was said of its beginning stands.
        let runs = Seen::Running { since: Time(100), nodes: Vec::new() };
        let told = word(&ticket(), None, Some(&runs), &trace(Some(Exit::Code(0))), NOW);
        assert_eq!(told, ended(100, Exit::Code(0)));
        let other = SlurmJob { id: 8, ..SlurmJob::default() };
        let told = word(&ticket(), Some(&other), None, &trace(Some(Exit::Code(0))), NOW);
        assert_eq!(told, Word::AskManager, "two jobs of one tag");
    }

    #[test]
    fn what_we_stopped_is_over_once_it_says_so() {
        let stopped = Ticket { is_withdrawn: true, ..ticket() };
        let of = |exit| word(&stopped, None, None, &trace(Some(exit)), NOW);
        for exit in [Exit::Signal(15), Exit::Withdrawn] {
            assert_eq!(of(exit), ended(101, Exit::Withdrawn));
        }
        // It may have been over before: Slurm knows.
        assert_eq!(of(Exit::Code(0)), Word::AskManager);
    }
}
