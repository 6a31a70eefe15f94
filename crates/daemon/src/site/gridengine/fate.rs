//! What has become of a task, from all that can be seen of it.

use tradewind_model::Time;

use super::replies::{Account, Job};
use crate::site::Exit;
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::{Ended, Ending, Ticket};

const KILL: i32 = 9;

/// How a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// The manager has it, and it has not begun.
    Waiting,
    /// It has its nodes.
    Running { since: Time },
    /// It is over, and its own script says how.
    Ended(Ended),
    /// The manager could not begin it.
    Broken,
    /// The manager has never said that it has it.
    Unheard,
    /// The manager had it, and has it no more; nobody has said how it ended.
    Missing,
}

impl Fate {
    /// Of a task with this ticket, folder and job.
    pub(super) fn of(ticket: &Ticket, trace: Option<&Trace>, job: Option<&Job>) -> Fate {
        let here = trace.and_then(|trace| trace.here.as_ref());
        if let Some(end) = trace.and_then(|trace| trace.end.as_ref()) {
            let since = end.since.map(|ms| seconds(ms).0);
            let exit = Ending::from(&end.exit);
            return Fate::Ended(Ended {
                since,
                at: end.until().0,
                began: trace.and_then(|trace| trace.began),
                exit,
                nodes: Vec::new(),
            });
        }
        match job {
            Some(job) if job.state.contains('E') => Fate::Broken,
            // What the manager says while the task is on its way is too early.
            Some(_) => here.map_or(Fate::Waiting, |here| {
                let at = seconds(here.at);
                let since = Time(at.0.max(ticket.start_at(at)));
                Fate::Running { since }
            }),
            None if here.is_none() && trace.is_none() && !ticket.is_taken => Fate::Unheard,
            None => Fate::Missing,
        }
    }
}

/// The end of a task that could not say how it ended: killed by the manager, or its node died.
/// `account`: the manager's record; `None`: there is none.
pub(super) fn end_of_missing(
    ticket: &Ticket,
    trace: Option<&Trace>,
    account: Option<Account>,
    now: Time,
) -> Ended {
    let here = trace.and_then(|trace| trace.here.as_ref()).map(|here| seconds(here.at));
    // One that waited on its nodes has not run before its work began.
    let has_run = !ticket.waits_there() || trace.is_some_and(|trace| trace.began.is_some());
    let since = here.map(|since| since.0).filter(|_| has_run);
    let at = account.and_then(|account| account.until).unwrap_or(now);
    let at = at.0.max(since.unwrap_or(i64::MIN));
    let exit = match account.map(|account| exit(account, here.is_some())) {
        _ if ticket.is_withdrawn => Exit::Withdrawn,
        // With its reservation a job ends, too: it began late, and its own limit comes later.
        Some(Exit::Signal(KILL)) if at >= ticket.start.saturating_add(ticket.limit) => {
            Exit::TimeLimit
        }
        Some(exit) => exit,
        None => Exit::Lost,
    };
    let (began, nodes) = (trace.and_then(|trace| trace.began), Vec::new());
    Ended { since, at, began, exit: Ending::from(&exit), nodes }
}

/// As the manager's record has it. An exit code of 0 does not say that the work ended well: then
/// its script would have said so.
fn exit(account: Account, has_begun: bool) -> Exit {
    /// `qmaster enforced h_rt, h_cpu, or h_vmem limit`.
    const LIMIT: i32 = 37;
    /// The script found no place for its folder.
    const NO_SPOOL: i32 = 125;
    match account {
        Account { failed: LIMIT, .. } => Exit::TimeLimit,
        Account { status, .. } if status > 128 && status <= 192 => Exit::Signal(status - 128),
        Account { status: NO_SPOOL, .. } if !has_begun => Exit::NotStarted(
            "its spool folder cannot be written on the node, or the script's tools are missing there"
                .to_owned(),
        ),
        Account { .. } => Exit::Lost,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::site::managed::spool::{End, Here};

    fn ticket() -> Ticket {
        Ticket {
            tag: "tw-m-1-0-0".to_owned(),
            account: "ana".to_owned(),
            pool: "p".to_owned(),
            nodes: 1,
            handed_in: 0,
            start: 0,
            limit: 60,
            gather: None,
            directory: String::new(),
            output: String::new(),
            spool: String::new(),
            is_held: false,
            is_preemptible: false,
            was_held: false,
            is_taken: true,
            is_withdrawn: false,
            is_recalled: false,
            ended: None,
            is_forgotten: false,
        }
    }

    fn here() -> Trace {
        let here = Here { at: 5_900, id: "1".to_owned(), nodes: vec!["h".to_owned()] };
        Trace { here: Some(here), ..Trace::default() }
    }

    fn job(state: &str) -> Job {
        Job {
            id: "1".to_owned(),
            name: "tw-m-1-0-0".to_owned(),
            owner: "ana".to_owned(),
            state: state.to_owned(),
            since: None,
            places: BTreeMap::new(),
            limit: None,
            queues: Vec::new(),
        }
    }

    #[test]
    fn the_tasks_own_word_counts_first() {
        let end = End { since: Some(6_000), at: 7_999, exit: Exit::Code(3) };
        let trace = Trace { end: Some(end), ..here() };
        let (exit, nodes) = (Ending::Code(3), Vec::new());
        let ended = Ended { since: Some(6), at: 8, began: None, exit, nodes };
        for job in [None, Some(job("r")), Some(job("Eqw"))] {
            let fate = Fate::of(&ticket(), Some(&trace), job.as_ref());
            assert_eq!(fate, Fate::Ended(ended.clone()));
        }
        let fate = |trace: Option<&Trace>, state| Fate::of(&ticket(), trace, Some(&job(state)));
        assert_eq!(fate(Some(&here()), "r"), Fate::Running { since: Time(5) });
        assert_eq!(fate(None, "r"), Fate::Waiting);
        assert_eq!(fate(None, "Eqw"), Fate::Broken);
        assert_eq!(Fate::of(&ticket(), None, None), Fate::Missing);
        let untaken = Ticket { is_taken: false, ..ticket() };
        assert_eq!(Fate::of(&untaken, None, None), Fate::Unheard);
        assert_eq!(Fate::of(&untaken, Some(&here()), None), Fate::Missing);
    }

    #[test]
    fn a_killed_script_is_no_success() {
        let account = |failed, status| {
            Some(Account { since: Some(Time(5)), until: Some(Time(9)), failed, status })
        };
        let end = |account, trace: Option<&Trace>| {
            Exit::from(&end_of_missing(&ticket(), trace, account, Time(20)).exit)
        };
        let here = here();
        assert_eq!(end(account(0, 0), Some(&here)), Exit::Lost);
        assert_eq!(end(account(100, 137), Some(&here)), Exit::Signal(9));
        assert_eq!(end(account(37, 137), Some(&here)), Exit::TimeLimit);
        assert!(matches!(end(account(0, 125), None), Exit::NotStarted(_)));
        assert_eq!(end(None, Some(&here)), Exit::Lost);
        let late = Ticket { start: 5, limit: 4, ..ticket() };
        let ended = end_of_missing(&late, Some(&here), account(100, 137), Time(20));
        assert_eq!(ended.exit, Ending::TimeLimit);
        let withdrawn = Ticket { is_withdrawn: true, ..ticket() };
        let ended = end_of_missing(&withdrawn, None, None, Time(20));
        assert_eq!((ended.since, ended.at, ended.exit), (None, 20, Ending::Withdrawn));
    }
}
