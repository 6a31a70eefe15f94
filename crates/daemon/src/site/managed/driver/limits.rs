//! Limits that jobs meet between two looks, and how many jobs accounts have that are not ours.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Driver;
use super::judge::{all_of, by_mark};
use super::manager::{Manager, ManagerJob};
use crate::site::limits::{Cap, CaughtCaps, Limits};
use crate::site::{Survey, Tag};

/// A job that waits for a limit may wait so long before that counts: the manager's own scheduler
/// may just not have come by.
const PATIENCE: Duration = Duration::from_secs(5);
/// The manager has counted a job out so long after its script has ended.
const FADES: Duration = Duration::from_secs(2);

/// Limits that were met.
#[derive(Debug, Default)]
pub(super) struct MetLimits {
    /// As the manager has told them last.
    limits: Option<Arc<Limits>>,
    /// What was said to submissions.
    pub(super) caught: CaughtCaps,
    /// Jobs that wait for a limit: since when.
    waits: BTreeMap<Tag, (Instant, Cap)>,
    /// By account: our jobs that were over when jobs were last listed, and listed all the same.
    lingering: BTreeMap<String, u32>,
    /// Accounts of our jobs that have ended since, by their own word: the manager may count them still.
    fading: Vec<(Instant, String)>,
}

impl MetLimits {
    /// A job of the account has ended by its own word.
    pub(super) fn fade(&mut self, account: String) {
        let has_limits = self.limits.as_ref().is_some_and(|limits| limits.users.is_some());
        if has_limits {
            self.fading.push((Instant::now(), account));
        }
    }

    /// When the next of them is counted no more.
    pub(super) fn faded(&self) -> Option<Instant> {
        self.fading.iter().map(|(at, _)| *at + FADES).min()
    }

    /// Forgets those that the manager counts no more; whether there were any.
    pub(super) fn forget_faded(&mut self) -> bool {
        let before = self.fading.len();
        self.fading.retain(|(at, _)| at.elapsed() < FADES);
        self.fading.len() < before
    }

    /// By account: our jobs that are over, and that the manager may count still.
    pub(super) fn lingering(&self) -> BTreeMap<String, u32> {
        let mut all = self.lingering.clone();
        for (_, account) in &self.fading {
            *all.entry(account.clone()).or_default() += 1;
        }
        all
    }
}

impl<M: Manager> Driver<M> {
    /// Tells which limits there are, which of them tasks have met, and how many jobs accounts have
    /// that are not ours.
    pub(super) fn tell_limits(&mut self, survey: &mut Survey) {
        self.caps.limits = self.manager.limits(&self.base);
        survey.limits = self.caps.limits.clone();
        let jobs = &self.known.jobs;
        let marked = by_mark(jobs);
        let is_open = |job: &&M::Job| job.waits() || job.holds_nodes();
        let mut foreign: BTreeMap<String, u32> = BTreeMap::new();
        for job in jobs.iter().filter(is_open) {
            *foreign.entry(job.account().to_owned()).or_default() += 1;
        }
        survey.all_jobs = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let mut waits = BTreeMap::new();
        for (tag, ticket) in self.base.tickets.iter() {
            for job in all_of::<M>(&marked, ticket).filter(is_open) {
                if let Some(count) = foreign.get_mut(job.account()) {
                    *count = count.saturating_sub(1);
                }
                if ticket.ended.is_some() {
                    *survey.lingering.entry(job.account().to_owned()).or_default() += 1;
                }
                let cap = Some(job).filter(|job| job.waits() && ticket.ended.is_none());
                let Some(cap) = cap.and_then(ManagerJob::cap) else { continue };
                let since = self.caps.waits.get(tag).map_or_else(Instant::now, |(since, _)| *since);
                if since.elapsed() >= PATIENCE {
                    survey.capped.insert(tag.clone(), cap.clone());
                }
                waits.insert(tag.clone(), (since, cap));
            }
        }
        self.caps.waits = waits;
        self.caps.lingering = survey.lingering.clone();
        self.caps.fading.clear();
        self.caps.caught.tell(survey);
        survey.foreign = foreign;
    }
}
