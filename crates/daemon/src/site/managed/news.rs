//! News of tasks without a request to their manager: each task rings a bell, a file of its name in
//! the folder `.tw-MARKET-SITE` of its spool, when it has written into its own folder.
//!
//! Each spool has a listener, a thread of its own. Where the daemon's own account owns the spool and
//! sees it under the same path, the thread watches the folder (`inotify`), and looks through it once
//! in a while; on a file system that other machines write to, each second, since the kernel hears
//! nothing of them. Elsewhere it reads what one long-lived shell of the account lists. News may be
//! lost (a listener dies, a machine's cache is old): surveys find what was not heard of.

mod ear;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::spool::Trace;
use super::tool::Tool;
use crate::site::files::folder_name;
use crate::site::{Tag, Wake};

/// A listener that ended is started again after so long, and after twice as long each time.
const AGAIN: Duration = Duration::from_secs(2);
/// At last so rarely.
const RARELY: Duration = Duration::from_secs(300);
/// A listener goes on for so long after the last task.
const IDLE: Duration = Duration::from_secs(120);

/// Where tasks of a market ring.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewsPlace {
    /// Whose tasks.
    pub account: String,
    /// The folder of their folders, at the cluster; `~` at its beginning is the home.
    pub spool: String,
    /// Of which market.
    pub market: String,
}

/// The name of the folder of bells in the spool. Sites may share a spool, and who hears a bell takes
/// it away: each site has a folder of its own.
pub fn bells(market: &str, site: &str) -> String {
    format!(".{}", folder_name(&format!("tw-{market}-{site}")))
}

/// What was heard and not taken yet.
#[derive(Debug, Default)]
pub struct News {
    /// What tasks have written, and by which account's listener it was heard.
    pub traces: BTreeMap<Tag, (String, Trace)>,
    /// Places whose listeners have just begun: what was written before was not heard.
    pub begun: BTreeSet<NewsPlace>,
}

/// What listeners share with the site.
#[derive(Debug)]
struct Heard {
    news: Mutex<News>,
    wake: Wake,
}

impl Heard {
    fn add(&self, how: impl FnOnce(&mut News)) {
        how(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.now();
    }
}

/// A listener, as the site sees it.
#[derive(Debug)]
struct Ear {
    /// It is to end.
    stop: Arc<AtomicBool>,
    /// It hears.
    hears: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    began: Instant,
    /// When somebody last wanted it.
    wanted: Instant,
    /// How often it has ended soon after it was started.
    failed: u32,
}

/// All listeners of a site. They end with it.
#[derive(Debug, Default)]
pub struct Listeners {
    heard: Option<Arc<Heard>>,
    ears: BTreeMap<NewsPlace, Ear>,
}

impl Listeners {
    /// From now on there may be listeners, and they wake somebody.
    pub fn begin(&mut self, wake: Wake) {
        self.heard = Some(Arc::new(Heard { news: Mutex::default(), wake }));
    }

    /// Whether there may be listeners at all.
    pub fn is_on(&self) -> bool {
        self.heard.is_some()
    }

    /// Sees to it that there is a listener at the place. Takes no time: it begins by itself.
    pub fn listen(&mut self, tool: &Tool, place: &NewsPlace) {
        let Some(heard) = &self.heard else { return };
        let mut failed = 0;
        if let Some(ear) = self.ears.get_mut(place) {
            ear.wanted = Instant::now();
            let is_alive = ear.thread.as_ref().is_some_and(|thread| !thread.is_finished());
            let pause = (AGAIN * 2_u32.saturating_pow(ear.failed.min(16))).min(RARELY);
            if is_alive || ear.began.elapsed() < pause {
                return;
            }
            let was_well = ear.began.elapsed() > RARELY;
            failed = if was_well { 0 } else { ear.failed + 1 };
        }
        let (stop, hears) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let work = ear::Work {
            tool: tool.clone(),
            place: place.clone(),
            heard: Arc::clone(heard),
            stop: Arc::clone(&stop),
            hears: Arc::clone(&hears),
        };
        let name = format!("news-{}", tool.site);
        let thread = std::thread::Builder::new().name(name).spawn(move || work.go_on());
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "no thread")).ok();
        let (began, wanted) = (Instant::now(), Instant::now());
        let ear = Ear { stop, hears, thread, began, wanted, failed };
        self.ears.insert(place.clone(), ear);
    }

    /// Ends listeners that nobody has wanted for a while: they hold a connection.
    pub fn sweep(&mut self) {
        self.ears.retain(|_, ear| {
            let is_wanted = ear.wanted.elapsed() < IDLE;
            if !is_wanted {
                ear.stop.store(true, Ordering::Release);
            }
            is_wanted
        });
    }

    /// Whether news of the place are heard now.
    pub fn hears(&self, place: &NewsPlace) -> bool {
        self.ears.get(place).is_some_and(|ear| ear.hears.load(Ordering::Acquire))
    }

    /// Takes what was heard since the last time.
    pub fn take(&self) -> News {
        let Some(heard) = &self.heard else { return News::default() };
        std::mem::take(&mut heard.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.ears.values().for_each(|ear| ear.stop.store(true, Ordering::Release));
    }
}
