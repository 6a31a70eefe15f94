//! What of jobs is looked for often: it follows from the state, and is kept up to date.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::Time;

use super::alike::AlikeRuns;
use super::awaited::Awaited;
use super::bodies::Bodies;
use super::named::NamedJobs;
use crate::live::state::jobs::{BreachReason, Job, JobHold, Phase, Promise};
use crate::site::Tag;

/// Jobs by what they wait for, and by what is to be done with them when.
#[derive(Debug, Default)]
pub(in crate::live) struct JobIndex {
    /// What jobs wait for that wait for others.
    pub(in crate::live) awaited: Awaited,
    /// Jobs that those name.
    pub(in crate::live) named: NamedJobs,
    /// Jobs whose payer had too little.
    pub(in crate::live) short: BTreeSet<u64>,
    /// Jobs whose window is booked: by its start.
    pub(in crate::live) booked: BTreeSet<(Time, u64)>,
    /// Jobs whose accepted offer is not decided yet: by the start of its window.
    pub(in crate::live) promises: BTreeSet<(Time, u64)>,
    /// Jobs whose accepted offer was not kept, while their parts are taken back.
    pub(in crate::live) breached: BTreeSet<u64>,
    /// Of those whose window has come: what was in the way when they were to start.
    pub(in crate::live) obstacles: BTreeMap<u64, BreachReason>,
    /// Jobs that are over: by their end. Without those that others name, and whose time has come.
    pub(in crate::live) over: BTreeSet<(Time, u64)>,
    /// Those of them whose scripts and environments may be there still: by their end.
    pub(in crate::live) redactable: BTreeSet<(Time, u64)>,
    /// Those of them that say how long such jobs run.
    pub(in crate::live) runs: AlikeRuns,
    /// Jobs that are not over.
    pub(in crate::live) active: Bodies,
    /// Jobs that run, or did a moment ago, and whose parts wait for each other.
    pub(in crate::live) gathering: BTreeSet<u64>,
    /// When the work of parts really began, of jobs of which not all parts are known to have.
    pub(in crate::live) began: BTreeMap<Tag, i64>,
    /// Jobs whose tasks differ, and that are not over.
    pub(in crate::live) grouped: BTreeSet<u64>,
    /// Jobs that no nodes here suit; some may be gone since.
    pub(in crate::live) nowhere: BTreeSet<u64>,
    /// Jobs that were given notice, by its end; some may be over since.
    pub(in crate::live) notices: BTreeSet<(Time, u64)>,
    /// Jobs that are at peers; some may be over since.
    pub(in crate::live) away: BTreeSet<u64>,
}

impl JobIndex {
    /// A job of a state that was read; jobs that wait for others are not among it.
    pub(in crate::live) fn add(&mut self, job: &Job) {
        let number = job.number;
        self.awaited.note(job);
        match job.phase() {
            Phase::Over(_) => {
                self.runs.add(job);
                self.over.extend(job.ended().map(|at| (at, number)));
                let ended = job.ended().filter(|_| job.redacted().is_none());
                self.redactable.extend(ended.map(|at| (at, number)));
                return;
            }
            Phase::Held(JobHold::Nowhere) => self.nowhere.extend([number]),
            Phase::Held(JobHold::Funds(_)) => self.short.extend([number]),
            Phase::Held(JobHold::Booked) => {
                self.booked.extend(job.booking.as_ref().map(|it| (it.start, number)));
            }
            Phase::Away => self.away.extend([number]),
            Phase::Running if job.is_gathering() => self.gathering.extend([number]),
            _ => {}
        }
        let notice = job.run().and_then(|run| run.notice.as_ref());
        self.notices.extend(notice.map(|it| (it.ends, number)));
        self.promises.extend(job.open_promise().map(|it| (it.window.start, number)));
        if job.in_window() && job.promise().is_some_and(Promise::is_breached) {
            self.breached.insert(number);
        }
        self.track(job);
    }

    /// A job that is not over.
    pub(in crate::live) fn track(&mut self, job: &Job) {
        if job.submission.terms.groups.is_some() {
            self.grouped.insert(job.number);
        }
        self.awaited.note(job);
        self.named.note(job);
        self.active.add(job);
    }
}
