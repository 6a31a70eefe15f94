//! A thread for each observed cluster, and one that writes what they saw.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_model::{Price, Time};

use super::advice::{Advice, Ending, PolicyState, SitePolicy};
use super::ahead::QueueAhead;
use super::file;
use super::record::{ObservedSurvey, Shadow};
use super::summary::{SiteSummary, Summary};
use crate::live::is_sane;
use crate::site::Survey;
use crate::site::observed::Observed;
use crate::site::queued::QueuedJob;

/// The record is written so often, at most; a large one less often.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// New jobs of one survey that are looked for at other clusters, at most: each costs a look-ahead.
const MAX_EXAMINED: usize = 16;
/// What another cluster's queue said so long ago, seconds, still counts.
const FRESH: i64 = 300;
/// A survey may take this part of the time, at most: one in so many seconds.
const SHARE: u32 = 10;

/// The prices of a cluster's pools at a moment, by the thousandths of each that are in use.
pub type Pricing = Box<dyn Fn(Time, &[u32]) -> Vec<Price> + Send>;

/// A cluster to be observed.
pub struct ObservedSite {
    /// Unique name.
    pub name: String,
    /// The cluster.
    pub site: Observed,
    /// The minimum time between two surveys.
    pub every: Duration,
    /// What its nodes would cost.
    pub pricing: Pricing,
    /// A policy of the user's that says what it would start, if there is one.
    pub policy: Option<SitePolicy>,
}

impl Debug for ObservedSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedSite").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What all threads have seen. A clone is the same record.
#[derive(Debug, Clone, Default)]
pub struct Records(Arc<Mutex<WatchedSite>>);

#[derive(Debug, Default)]
struct WatchedSite {
    shadow: Shadow,
    /// By cluster: its queue as it was seen last.
    queues: BTreeMap<String, Arc<QueueAhead>>,
    /// By cluster that is observed now: why its last survey failed, if it did.
    observed: BTreeMap<String, Option<String>>,
    /// By cluster: its policy, if it has one.
    policies: BTreeMap<String, PolicyState>,
    is_changed: bool,
}

impl Records {
    /// What was written to the file, if there is one. A damaged file is put aside.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn load(path: &Path) -> io::Result<Records> {
        let shadow = file::load(path)?;
        Ok(Records(Arc::new(Mutex::new(WatchedSite { shadow, ..WatchedSite::default() }))))
    }

    /// Whether a cluster is observed, or was.
    pub fn has_sites(&self) -> bool {
        let known = self.known();
        !known.shadow.sites.is_empty() || !known.observed.is_empty()
    }

    /// What it says.
    pub fn summary(&self) -> Summary {
        let (mut summary, observed, advised) = {
            let known = self.known();
            let advised = known
                .policies
                .iter()
                .map(|(site, policy)| (site.clone(), known.shadow.advised(site, policy.clone())));
            let advised: BTreeMap<String, _> = advised.collect();
            (known.shadow.summary(), known.observed.clone(), advised)
        };
        for (name, problem) in observed {
            match summary.sites.iter_mut().find(|site| site.name == name) {
                Some(site) => site.problem = problem,
                None => summary.sites.push(SiteSummary { name, problem, ..SiteSummary::default() }),
            }
        }
        for (name, advised) in advised {
            let site = summary.sites.iter_mut().find(|site| site.name == name);
            site.into_iter().for_each(|site| site.advised = Some(advised.clone()));
        }
        summary
    }

    /// Counts a survey of the cluster that was made at `at`, and asks its policy, if it has one.
    pub(super) fn note(
        &self,
        at: Time,
        site: &str,
        observed: &Observed,
        survey: &Survey,
        cost: &Pricing,
        advice: Option<&mut Advice>,
    ) {
        let (ahead, expected) = QueueAhead::of(at, observed.pools(), survey);
        let elsewhere = self.elsewhere(at, site, survey);
        let prices = cost(at, &loads(survey));
        let (elsewhere, prices) = (&elsewhere, &prices);
        let (decision, policy) = match advice {
            Some(advice) => {
                let built_in = || due(at, survey, &expected);
                let decision = advice.of(at, observed.pools(), survey, built_in);
                (Some(decision), Some(advice.state().clone()))
            }
            None => (None, None),
        };
        let decision = decision.as_ref();
        let look = ObservedSurvey { at, survey, expected: &expected, elsewhere, prices, decision };
        let mut known = self.known();
        known.policies.extend(policy.map(|policy| (site.to_owned(), policy)));
        known.shadow.note(site, &look);
        known.queues.insert(site.to_owned(), Arc::new(ahead));
        known.observed.insert(site.to_owned(), None);
        known.is_changed = true;
    }

    /// The earliest starts of new jobs at the other observed clusters.
    fn elsewhere(&self, at: Time, site: &str, survey: &Survey) -> BTreeMap<String, Time> {
        let (new, others) = {
            let known = self.known();
            let is_new = |job: &&QueuedJob| {
                job.tasks == 1 && job.blocked.is_eligible() && !known.shadow.knows(site, &job.name)
            };
            let new: Vec<QueuedJob> =
                survey.queue.iter().filter(is_new).take(MAX_EXAMINED).cloned().collect();
            let others = known.queues.iter().filter(|(name, queue)| {
                name.as_str() != site && at.0.abs_diff(queue.at().0) <= FRESH.unsigned_abs()
            });
            (new, others.map(|(_, queue)| Arc::clone(queue)).collect::<Vec<_>>())
        };
        let start = |job: &QueuedJob| {
            let earliest = others.iter().filter_map(|queue| queue.start_of(job)).min()?;
            Some((job.name.clone(), earliest.max(at)))
        };
        new.iter().filter_map(start).collect()
    }

    /// When the cluster was surveyed last, also by a daemon before this one.
    fn surveyed(&self, site: &str) -> Option<Time> {
        self.known().shadow.surveyed(site)
    }

    fn failed(&self, site: &str, why: String) {
        self.known().observed.insert(site.to_owned(), Some(why));
    }

    /// Writes what is new. Returns how many jobs the file has.
    fn save(&self, path: &Path) -> io::Result<usize> {
        let shadow = {
            let mut known = self.known();
            if !std::mem::take(&mut known.is_changed) {
                return Ok(0);
            }
            known.shadow.clone()
        };
        file::save(path, &shadow).inspect_err(|_| self.known().is_changed = true)?;
        Ok(shadow.scored.len())
    }

    fn known(&self) -> MutexGuard<'_, WatchedSite> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Jobs that the look-ahead starts at once.
fn due(at: Time, survey: &Survey, expected: &[Option<Time>]) -> BTreeSet<String> {
    let all = survey.queue.iter().zip(expected);
    let due = all.filter(|(_, start)| start.is_some_and(|start| start <= at));
    due.map(|(job, _)| job.name.clone()).collect()
}

/// Thousandths of each pool that are in use.
fn loads(survey: &Survey) -> Vec<u32> {
    let load = |pool: &crate::site::PoolSurvey| {
        let used: u64 = pool.local.values().map(|task| u64::from(task.nodes)).sum();
        (used.saturating_mul(1_000) / u64::from(pool.up.max(1))).min(1_000) as u32
    };
    survey.pools.iter().map(load).collect()
}

/// The threads.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    sites: Vec<JoinHandle<()>>,
    policies: Vec<Ending>,
    writer: JoinHandle<()>,
}

impl Watch {
    /// Observes these clusters until it is stopped, and keeps the record in the file.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(sites: Vec<ObservedSite>, records: &Records, path: PathBuf) -> io::Result<Watch> {
        let stop = Arc::new(AtomicBool::new(false));
        let (mut threads, mut policies) = (Vec::new(), Vec::new());
        for mut site in sites {
            records.known().observed.insert(site.name.clone(), None);
            let (records, stop) = (records.clone(), Arc::clone(&stop));
            let advice = site.policy.take().map(|policy| Advice::new(policy, &site.name, &stop));
            policies.extend(advice.as_ref().map(Advice::ending));
            let thread = std::thread::Builder::new().name(format!("observe-{}", site.name));
            threads.push(thread.spawn(move || observe(site, advice, &records, &stop))?);
        }
        let (records, stopped) = (records.clone(), Arc::clone(&stop));
        let writer = std::thread::Builder::new().name("observations".to_owned());
        let writer = writer.spawn(move || write(&records, &path, &stopped))?;
        Ok(Watch { stop, sites: threads, policies, writer })
    }

    /// Writes the record, and ends the policies. A cluster that does not answer is not waited for.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.sites.iter().for_each(|thread| thread.thread().unpark());
        self.writer.thread().unpark();
        self.policies.iter().for_each(Ending::end);
        drop(self.writer.join());
    }
}

fn observe(
    mut site: ObservedSite,
    mut advice: Option<Advice>,
    records: &Records,
    stop: &AtomicBool,
) {
    let mut is_away = false;
    let mut since = records.surveyed(&site.name);
    while !stop.load(Ordering::Relaxed) {
        let (begin, at) = (Instant::now(), now());
        let name = site.name.as_str();
        match site.site.survey(since) {
            Ok(survey) if !is_sane(&survey, site.site.pools().len(), now()) => {
                records.failed(name, "its survey makes no sense".to_owned());
            }
            Ok(survey) => {
                if std::mem::take(&mut is_away) {
                    tracing::warn!(site = name, "the observed site answers again");
                }
                let (seen, pricing) = (&site.site, &site.pricing);
                records.note(now(), name, seen, &survey, pricing, advice.as_mut());
                since = Some(at);
            }
            Err(wrong) => {
                if !is_away {
                    tracing::warn!(site = name, %wrong, "the observed site does not answer");
                }
                is_away = true;
                records.failed(name, wrong.to_string());
            }
        }
        rest(site.every.max(begin.elapsed() * SHARE), stop);
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_secs()).unwrap_or(0))
}

fn write(records: &Records, path: &Path, stop: &AtomicBool) {
    let mut said = false;
    while !stop.load(Ordering::Relaxed) {
        let jobs = save(records, path, &mut said);
        rest(SAVE_EVERY * (1 + u32::try_from(jobs / 10_000).unwrap_or(0)), stop);
    }
    save(records, path, &mut said);
}

/// Failures are said once, until it goes well again.
fn save(records: &Records, path: &Path, said: &mut bool) -> usize {
    match records.save(path) {
        Ok(jobs) => {
            *said = false;
            jobs
        }
        Err(wrong) => {
            if !std::mem::replace(said, true) {
                tracing::warn!(%wrong, "`{}` is not written", path.display());
            }
            0
        }
    }
}

/// Waits so long, or until it is stopped.
fn rest(pause: Duration, stop: &AtomicBool) {
    let until = Instant::now() + pause;
    while !stop.load(Ordering::Relaxed) && Instant::now() < until {
        std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
}
