//! A policy of the user's own beside an observed cluster: what it would start.
//!
//! It is a process of its own, which may be slow, end or talk nonsense. Then it is ended, the
//! built-in look-ahead decides in its place, and it is started again, each time after a longer pause.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tradewind_model::{Command, Event, Market, Pools, Time};

use super::mirror::Mirror;
use crate::site::{PoolSetup, Survey};

/// The pause after the first failure in a row, seconds; it doubles with each further one.
const FIRST_PAUSE: i64 = 10;
/// The longest pause, seconds.
const LONGEST_PAUSE: i64 = 3_600;
/// How long a process may take to notice that the daemon stops.
const FAREWELL: Duration = Duration::from_secs(3);

/// What decides outside of this program.
pub trait Adviser: Send {
    /// What it wants to be done, given the market and what has happened since it was asked last.
    ///
    /// # Errors
    /// Why there is no answer. It is not asked again.
    fn decide(&mut self, market: &Market, events: &[Event]) -> Result<Vec<Command>, String>;
}

/// Starts an adviser for a cluster of these pools, which gives up what it waits for once the flag is
/// set; or says why it cannot.
pub type StartAdviser =
    Box<dyn Fn(&Pools, &Arc<AtomicBool>) -> Result<Box<dyn Adviser>, String> + Send>;

/// The policy of an observed cluster.
pub struct SitePolicy {
    /// As the configuration has it.
    pub name: String,
    /// Starts it.
    pub start: StartAdviser,
}

impl SitePolicy {
    /// Starts it and ends it: whether it can be asked.
    ///
    /// # Errors
    /// Why not.
    pub fn try_out(&self, site: &str, pools: &[PoolSetup]) -> Result<(), String> {
        let mirror = Mirror::new(site, pools, Time(0))?;
        (self.start)(mirror.pools(), &Arc::default()).map(drop)
    }
}

impl Debug for SitePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SitePolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What decided at a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Decider {
    /// The user's policy.
    Policy,
    /// The look-ahead, since the policy does not answer.
    BuiltIn,
}

/// What would be started at a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub by: Decider,
    /// Names of jobs in the queue.
    pub starts: BTreeSet<String>,
}

/// How a policy does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyState {
    /// Its name in the configuration.
    pub name: String,
    /// Since when it does not answer, and why, if so.
    pub outage: Option<(i64, String)>,
    /// How often that has happened since the daemon was started.
    pub outages: u64,
}

/// The running adviser. It may be taken from outside, which ends it.
type Held = Arc<Mutex<Option<(Mirror, Box<dyn Adviser>)>>>;

/// The policy of one cluster, for the thread that surveys it.
pub(super) struct Advice {
    policy: SitePolicy,
    site: String,
    held: Held,
    stop: Arc<AtomicBool>,
    state: PolicyState,
    /// Failures in a row.
    failures: u32,
    /// It is not started again before.
    retry: Time,
}

/// Ends the adviser from outside.
#[derive(Clone)]
pub(super) struct Ending(Held);

impl Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ending")
    }
}

impl Ending {
    /// Ends it, once it is not asked any more; the thread that asks has been told to stop.
    pub(super) fn end(&self) {
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if let Ok(mut held) = self.0.try_lock() {
                held.take();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Advice {
    pub(super) fn new(policy: SitePolicy, site: &str, stop: &Arc<AtomicBool>) -> Advice {
        let state = PolicyState { name: policy.name.clone(), ..PolicyState::default() };
        Advice {
            policy,
            site: site.to_owned(),
            held: Held::default(),
            stop: Arc::clone(stop),
            state,
            failures: 0,
            retry: Time(i64::MIN),
        }
    }

    pub(super) fn ending(&self) -> Ending {
        Ending(Arc::clone(&self.held))
    }

    pub(super) fn state(&self) -> &PolicyState {
        &self.state
    }

    /// What would be started now: by the policy, or `built_in` while it does not answer.
    pub(super) fn of(
        &mut self,
        at: Time,
        pools: &[PoolSetup],
        survey: &Survey,
        built_in: impl FnOnce() -> BTreeSet<String>,
    ) -> Decision {
        match self.ask(at, pools, survey) {
            Some(starts) => Decision { by: Decider::Policy, starts },
            None => Decision { by: Decider::BuiltIn, starts: built_in() },
        }
    }

    fn ask(&mut self, at: Time, pools: &[PoolSetup], survey: &Survey) -> Option<BTreeSet<String>> {
        // A clock that was set back makes no pause longer.
        let rests = at < self.retry && self.retry.0.saturating_sub(at.0) <= LONGEST_PAUSE;
        if self.stop.load(Ordering::Relaxed) || rests {
            return None;
        }
        let held = Arc::clone(&self.held);
        let mut held = lock(&held);
        let asked = self.begun(&mut held, at, pools).and_then(|(mirror, adviser)| {
            mirror.follow(at, survey).map_err(|wrong| format!("the survey: {wrong}"))?;
            mirror.ask(|market, events| adviser.decide(market, events))
        });
        match asked {
            Ok(starts) => {
                self.answers();
                Some(starts)
            }
            Err(wrong) => {
                // It is ended here, and learns the market from the beginning.
                held.take();
                self.fails(at, wrong);
                None
            }
        }
    }

    /// The adviser, which is started if there is none.
    fn begun<'a>(
        &self,
        held: &'a mut Option<(Mirror, Box<dyn Adviser>)>,
        at: Time,
        pools: &[PoolSetup],
    ) -> Result<&'a mut (Mirror, Box<dyn Adviser>), String> {
        match held {
            Some(begun) => Ok(begun),
            None => {
                let mirror = Mirror::new(&self.site, pools, at)?;
                let adviser = (self.policy.start)(mirror.pools(), &self.stop)?;
                Ok(held.insert((mirror, adviser)))
            }
        }
    }

    fn answers(&mut self) {
        self.failures = 0;
        if self.state.outage.take().is_some() {
            tracing::warn!(site = self.site, policy = self.state.name, "the policy answers again");
        }
    }

    fn fails(&mut self, at: Time, wrong: String) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        if self.state.outage.is_none() {
            self.state.outages += 1;
            tracing::warn!(
                site = self.site,
                policy = self.state.name,
                wrong,
                "the policy does not answer: the built-in one decides"
            );
        }
        let since = self.state.outage.take().map_or(at.0, |(since, _)| since);
        self.state.outage = Some((since, wrong));
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(20)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.retry = Time(at.0.saturating_add(pause));
    }
}

fn lock(held: &Held) -> MutexGuard<'_, Option<(Mirror, Box<dyn Adviser>)>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
