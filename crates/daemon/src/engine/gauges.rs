//! What the engine counts of itself, for whoever watches over it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tradewind_model::SiteId;

use crate::site::SiteError;

/// A number of things, and the time that they took in all.
#[derive(Debug, Default)]
pub struct Tally {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Tally {
    pub(super) fn add(&self, count: u64, took: Duration) {
        self.count.fetch_add(count, Ordering::Relaxed);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How long in all.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// The last look at a site.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// When it was over.
    pub at: Instant,
    /// How long it took.
    pub took: Duration,
    /// Whether the site answered.
    pub answered: bool,
}

/// What the engine counts since its start. Reading does not disturb it.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Calls of the policy.
    pub passes: Tally,
    /// Rows of the journal.
    pub rows: Tally,
    /// Times that rows were written.
    pub appends: Tally,
    last_row: AtomicU64,
    looks: Mutex<BTreeMap<SiteId, Look>>,
    reasons: Mutex<BTreeMap<SiteId, String>>,
}

impl Gauges {
    pub(super) fn written(&self, last_row: u64) {
        self.last_row.store(last_row, Ordering::Release);
    }

    /// The number of the journal's last row.
    pub fn last_row(&self) -> u64 {
        self.last_row.load(Ordering::Acquire)
    }

    pub(super) fn looked(&self, site: SiteId, took: Duration, wrong: Option<&SiteError>) {
        let look = Look { at: Instant::now(), took, answered: wrong.is_none() };
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        match wrong {
            Some(wrong) => drop(reasons.insert(site, wrong.to_string())),
            None => drop(reasons.remove(&site)),
        }
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).insert(site, look);
    }

    /// Of sites whose last look had no answer: why.
    pub fn reasons(&self) -> BTreeMap<SiteId, String> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last look at each site.
    pub fn looks(&self) -> BTreeMap<SiteId, Look> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
