//! Counters of the engine, for monitoring.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_model::SiteId;

use super::standby::{MarketRole, StandbyStatus};
use crate::site::managed::requests::{Count, Requests};
use crate::store::sqlite::Damage;

/// A number of things, and the time that they took in all.
#[derive(Debug, Default)]
pub struct Tally {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Tally {
    pub(crate) fn add(&self, count: u64, took: Duration) {
        self.count.fetch_add(count, Ordering::Relaxed);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
    }

    /// Number of values counted.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How long in all.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// The last look at a site.
#[derive(Debug, Clone)]
pub struct LastSurvey {
    /// When it was over.
    pub at: Instant,
    /// How long it took.
    pub took: Duration,
    /// Whether the site answered.
    pub answered: bool,
    /// Since when it has answered, or not, without a break: seconds since 1970.
    pub since: i64,
    /// What was wrong at the last look that was not answered.
    pub wrong: Option<String>,
}

/// Whether the journal can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOnly {
    /// Its disk is full.
    Yes,
    /// The market accepts changes.
    No,
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
    /// Looks at the market, as documents and pages need them, and how long they were waited for.
    pub readings: Tally,
    /// Rows that were moved into archive files.
    pub archived: Tally,
    /// Old rows that were looked at for damage.
    pub scrubbed: Tally,
    damage: Mutex<Vec<Damage>>,
    last_row: AtomicU64,
    read_only: AtomicBool,
    looks: Mutex<BTreeMap<SiteId, LastSurvey>>,
    requests: Mutex<BTreeMap<SiteId, Arc<Requests>>>,
    role: Mutex<MarketRole>,
}

impl Gauges {
    pub(super) fn written(&self, last_row: u64) {
        self.last_row.store(last_row, Ordering::Release);
    }

    /// The number of the journal's last row.
    pub fn last_row(&self) -> u64 {
        self.last_row.load(Ordering::Acquire)
    }

    fn role_now(&self) -> MutexGuard<'_, MarketRole> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this daemon is to its market.
    pub fn role(&self) -> MarketRole {
        self.role_now().clone()
    }

    /// How this daemon stands as a standby; `None`: it owns its market.
    pub fn standing(&self) -> Option<StandbyStatus> {
        match &*self.role_now() {
            MarketRole::Owner { .. } => None,
            MarketRole::Standby(standing) => Some(standing.clone()),
        }
    }

    pub(super) fn set_role(&self, role: MarketRole) {
        *self.role_now() = role;
    }

    /// What a standby has seen of the journal: where its owner is, and rows that are missing here.
    pub(super) fn set_standing(&self, owner: Option<String>, rows_behind: u64) {
        if let MarketRole::Standby(standing) = &mut *self.role_now() {
            let as_of = if rows_behind == 0 { Some(Instant::now()) } else { standing.as_of };
            *standing = StandbyStatus { owner, rows_behind, as_of };
        }
    }

    pub(super) fn set_read_only(&self, read_only: ReadOnly) {
        self.read_only.store(read_only == ReadOnly::Yes, Ordering::Release);
    }

    /// Whether the journal takes no rows, since its disk is full: the market is as it was, can be
    /// looked at, and takes nothing in but cancellations.
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Acquire)
    }

    pub(crate) fn set_damage(&self, damage: Vec<Damage>) {
        *self.damage.lock().unwrap_or_else(PoisonError::into_inner) = damage;
    }

    /// What the last look at everything that is old has found, and the present one so far.
    pub fn damage(&self) -> Vec<Damage> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers a look; `wrong` is what the site said instead of an answer.
    pub(super) fn looked(&self, site: SiteId, took: Duration, wrong: Option<String>) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let before = looks.get(&site);
        let answered = wrong.is_none();
        let since = before.filter(|it| it.answered == answered).map(|it| it.since);
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let since = since.unwrap_or_else(|| i64::try_from(now()).unwrap_or(0));
        looks.insert(site, LastSurvey { at: Instant::now(), took, answered, since, wrong });
    }

    pub(super) fn counts(&self, site: SiteId, requests: Arc<Requests>) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).insert(site, requests);
    }

    /// How many requests each site's manager got, by kind; sites without a manager are left out.
    pub fn requests(&self) -> BTreeMap<SiteId, BTreeMap<String, Count>> {
        let all = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(site, requests)| (*site, requests.counts())).collect()
    }

    /// The last look at each site.
    pub fn looks(&self) -> BTreeMap<SiteId, LastSurvey> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
