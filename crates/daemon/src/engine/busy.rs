//! A site whose thread is stuck: noticed from outside, reported as away, and left behind at the
//! end.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tradewind_model::SiteId;

use super::handle::TermHandle;
use crate::live::Input;
use crate::site::SiteError;

/// So often it is looked whether a site is stuck.
const LOOK: Duration = Duration::from_millis(250);

/// What a site's thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SiteCall {
    /// A survey.
    Survey,
    /// An answer to orders, which may be many.
    Orders,
}

/// Since when a site's thread has been in a call of its site.
#[derive(Debug)]
pub(super) struct Busy {
    since: Mutex<Option<(SiteCall, Instant)>>,
    within: Duration,
}

impl Busy {
    /// A site that should answer within `within`.
    pub(super) fn new(within: Duration) -> Arc<Busy> {
        Arc::new(Busy { since: Mutex::new(None), within })
    }

    /// Does something that the site may never come back from.
    pub(super) fn during<T>(&self, call: SiteCall, work: impl FnOnce() -> T) -> T {
        *self.since() = Some((call, Instant::now()));
        let done = work();
        *self.since() = None;
        done
    }

    /// Why the site counts as away: it has been in one call for longer than it may.
    pub(super) fn overdue(&self) -> Option<String> {
        let (call, since) = (*self.since())?;
        let (what, within) = match call {
            SiteCall::Survey => ("no survey came", self.within),
            // Several orders are carried out in one call.
            SiteCall::Orders => ("no answer to an order came", self.within * 2),
        };
        let is_late = since.elapsed() > within;
        is_late.then(|| format!("{what} within {} s: the site hangs", within.as_secs()))
    }

    fn since(&self) -> MutexGuard<'_, Option<(SiteCall, Instant)>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches over a site's thread until what is returned is dropped.
pub(super) fn watch(id: SiteId, site: String, busy: Arc<Busy>, engine: TermHandle) -> Sender<()> {
    let (alive, ended) = channel();
    let watch = move || look(id, &site, &busy, &engine, &ended);
    // Without it the site works as it did before there was such a watch.
    drop(std::thread::Builder::new().name("site-watch".to_owned()).spawn(watch));
    alive
}

fn look(id: SiteId, site: &str, busy: &Busy, engine: &TermHandle, ended: &Receiver<()>) {
    let mut is_told = false;
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        match busy.overdue() {
            None => is_told = false,
            Some(_) if is_told => {}
            Some(why) => {
                tracing::warn!(site, why, "the site counts as away until it answers");
                engine.gauges().looked(id, busy.within, Some(why.clone()));
                let survey = Err(SiteError::Hanging(why));
                if engine.tell(Input::Surveyed { site: id, survey }).is_err() {
                    return;
                }
                is_told = true;
            }
        }
    }
}
