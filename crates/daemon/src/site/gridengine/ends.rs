//! How a task ended that could not say so itself: its job is in error, or was killed, or its node
//! died.

use super::cluster::GridEngineCluster;
use super::replies::{GridEngineJob, QacctRow};
use super::{Master, now, words};
use crate::site::managed::driver::Base;
use crate::site::managed::driver::judge::TaskVerdict;
use crate::site::managed::driver::manager::ManagedTask;
use crate::site::managed::driver::missing::RecordedEnd;
use crate::site::{Exit, SiteError};

impl Master {
    /// What Grid Engine's records say of a task whose job is in error, or is not listed any more and
    /// has not written its end.
    pub(super) fn ask_records(
        &mut self,
        base: &Base,
        task: &ManagedTask<'_, GridEngineJob>,
    ) -> Result<Option<TaskVerdict>, SiteError> {
        let cluster = GridEngineCluster(&base.tool);
        if let Some(job) = task.job {
            let reasons = cluster.details(std::iter::once(job.id.as_str()))?.reason;
            let why = reasons.get(&job.id).map_or("Grid Engine does not say why", String::as_str);
            return Ok(Some(TaskVerdict::Bury(Exit::NotStarted(why.to_owned()))));
        }
        let has_begun = task.trace.is_some_and(|trace| trace.here.is_some());
        let records = || {
            let row = cluster.account(&task.ticket.account, &words::job_name(task.tag))?;
            Ok(row.map(|row| RecordedEnd { until: row.until, exit: exit(row, has_begun) }))
        };
        self.missing.judge(task.tag, (task.ticket, task.trace), now(), records)
    }
}

/// As the manager's record has it. An exit code of 0 does not say that the work ended well: then
/// its script would have said so.
fn exit(account: QacctRow, has_begun: bool) -> Exit {
    /// `qmaster enforced h_rt, h_cpu, or h_vmem limit`.
    const LIMIT: i32 = 37;
    /// The script found no place for its folder.
    const NO_SPOOL: i32 = 125;
    match account {
        QacctRow { failed: LIMIT, .. } => Exit::TimeLimit,
        QacctRow { status, .. } if status > 128 && status <= 192 => Exit::Signal(status - 128),
        QacctRow { status: NO_SPOOL, .. } if !has_begun => Exit::NotStarted(
            "its spool folder cannot be written on the node, or the script's tools are missing there"
                .to_owned(),
        ),
        QacctRow { .. } => Exit::Lost,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tradewind_model::Time;

    use super::*;
    use crate::site::Seen;
    use crate::site::managed::driver::judge::judge;
    use crate::site::managed::driver::missing::end;
    use crate::site::managed::spool::{Here, SpoolEnd, Trace};
    use crate::site::managed::tickets::Ticket;

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
            error: None,
            spool: String::new(),
            data: std::collections::BTreeMap::new(),
            staging: 0,
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

    fn job(state: &str) -> GridEngineJob {
        GridEngineJob {
            id: "1".to_owned(),
            name: "tw-m-1-0-0".to_owned(),
            owner: "ana".to_owned(),
            state: state.to_owned(),
            places: BTreeMap::from([("q@h".to_owned(), 1)]),
            ..GridEngineJob::default()
        }
    }

    fn waiting() -> GridEngineJob {
        GridEngineJob { places: BTreeMap::new(), ..job("qw") }
    }

    #[test]
    fn the_tasks_own_word_counts_first() {
        let judge = |ticket: &Ticket, trace: Option<&Trace>, job: Option<&GridEngineJob>| {
            judge::<Master>(ticket, job, Some(trace), Time(20))
        };
        let end = SpoolEnd { since: Some(6_000), at: 7_999, exit: Exit::Code(3) };
        let trace = Trace { end: Some(end), ..here() };
        let ended = Seen::Ended { since: Some(Time(6)), at: Time(8), exit: Exit::Code(3) };
        for job in [None, Some(&job("r")), Some(&waiting())] {
            assert_eq!(judge(&ticket(), Some(&trace), job), TaskVerdict::Seen(ended.clone()));
        }
        let running = Seen::Running { since: Time(5), nodes: vec!["h".to_owned()] };
        assert_eq!(judge(&ticket(), Some(&here()), Some(&job("r"))), TaskVerdict::Seen(running));
        let early = judge(&ticket(), None, Some(&job("r")));
        assert_eq!(early, TaskVerdict::Seen(Seen::Waiting), "it is on its way to its host");
        let broken = GridEngineJob { state: "Eqw".to_owned(), ..waiting() };
        assert_eq!(judge(&ticket(), None, Some(&broken)), TaskVerdict::AskRecords);
        assert_eq!(judge(&ticket(), None, None), TaskVerdict::AskRecords);
        let untaken = Ticket { is_taken: false, ..ticket() };
        assert_eq!(judge(&untaken, None, None), TaskVerdict::Nothing);
        assert_eq!(judge(&untaken, Some(&here()), None), TaskVerdict::AskRecords);
    }

    #[test]
    fn a_killed_script_is_no_success() {
        let account = |failed, status| {
            Some(QacctRow { since: Some(Time(5)), until: Some(Time(9)), failed, status })
        };
        let recorded = |row: Option<QacctRow>, has_begun| {
            row.map(|row| RecordedEnd { until: row.until, exit: exit(row, has_begun) })
        };
        let end_of = |row, trace: Option<&Trace>| {
            end(&ticket(), trace, recorded(row, trace.is_some()), Time(20)).2
        };
        let here = here();
        assert_eq!(end_of(account(0, 0), Some(&here)), Exit::Lost);
        assert_eq!(end_of(account(100, 137), Some(&here)), Exit::Signal(9));
        assert_eq!(end_of(account(37, 137), Some(&here)), Exit::TimeLimit);
        assert!(matches!(end_of(account(0, 125), None), Exit::NotStarted(_)));
        assert_eq!(end_of(None, Some(&here)), Exit::Lost);
        let late = Ticket { start: 5, limit: 4, ..ticket() };
        let (.., exit) = end(&late, Some(&here), recorded(account(100, 137), true), Time(20));
        assert_eq!(exit, Exit::TimeLimit);
        let withdrawn = Ticket { is_withdrawn: true, ..ticket() };
        let ended = end(&withdrawn, None, None, Time(20));
        assert_eq!(ended, (None, Time(20), Exit::Withdrawn));
    }
}
