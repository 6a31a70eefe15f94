//! The plan of the queue: kept, and brought up to date in the background.
//!
//! Quotes, explanations and pages read the last plan, which never changes, and take what runs, is
//! closed, is booked and is asked from the market of now. So no question waits for a forecast. A
//! thread looks at the market a few times a second: new jobs are added to the plan, and when
//! anything else has happened it is made again, with a pause of [`PAUSE`] times as long as it took.

pub(crate) mod draft;

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tradewind_daemon::engine::{EngineStopped, Handle};
use tradewind_daemon::live::{Input, Live, Refusal, RefusalKind};
use tradewind_model::{JobId, Span, Time};
use tradewind_web::{MarketView, Watch, present};

use crate::background::{Background, StopFlag};

use draft::{Draft, Kept, New, is_exact};

/// How often the market is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Between two plans, as a multiple of what the last one took.
const PAUSE: u32 = 3;
/// And at least so long, if no caller waits for it.
const REST: Duration = Duration::from_secs(1);
/// A plan is made again after so long even if nothing has happened: jobs run on.
const STALE: Duration = Duration::from_secs(10);
/// How often the market learns when its jobs are expected to start.
const TELL: Duration = Duration::from_secs(10);
/// A question waits for a plan of its own moment if plans take no longer than this.
const QUICK: Duration = Duration::from_millis(100);
/// And no longer than this.
const SOON: Duration = Duration::from_millis(700);

/// The last plan, for all who ask.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    shelf: Mutex<Shelf>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Shelf {
    last: Option<Arc<Kept>>,
    /// Why there is none.
    wrong: Option<Refusal>,
    /// Whether a thread makes plans.
    is_kept: bool,
    /// Number of callers that wait for a newer plan.
    wanted: usize,
}

impl Plans {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last plan.
    pub(crate) fn last(&self) -> Option<Arc<Kept>> {
        self.shelf().last.clone()
    }

    /// The plan to answer with for the market of `view`: one of its own moment if that is available
    /// soon, or else the last one of its policy.
    ///
    /// # Errors
    /// If the policy cannot look ahead, or there is no plan before `watch` is over.
    pub(crate) fn plan(&self, view: &MarketView, watch: &Watch) -> Result<Arc<Kept>, Refusal> {
        let begin = Instant::now();
        let mut shelf = self.shelf();
        if !shelf.is_kept {
            drop(shelf);
            let made = Draft::make(view, &mut || watch.flow())?;
            return made.map(|draft| draft.kept).ok_or_else(no_plan);
        }
        shelf.wanted += 1;
        let found = loop {
            let last = shelf.last.clone().filter(|kept| kept.policy.text() == view.policy);
            let is_good = |kept: &Kept| {
                let is_quick = kept.took <= QUICK && begin.elapsed() < SOON;
                kept.version >= view.market.version() || !is_quick
            };
            match (last, shelf.wrong.clone()) {
                (Some(kept), _) if is_good(&kept) => break Ok(kept),
                (None, Some(wrong)) => break Err(wrong),
                _ if watch.is_over() => break Err(no_plan()),
                _ => {}
            }
            let waited = self.changed.wait_timeout(shelf, Duration::from_millis(20));
            shelf = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        shelf.wanted -= 1;
        found
    }

    fn publish(&self, found: Result<Arc<Kept>, Refusal>) {
        let mut shelf = self.shelf();
        match found {
            Ok(kept) => (shelf.last, shelf.wrong) = (Some(kept), None),
            Err(wrong) => (shelf.last, shelf.wrong) = (None, Some(wrong)),
        }
        drop(shelf);
        self.changed.notify_all();
    }
}

fn no_plan() -> Refusal {
    Refusal::new(
        RefusalKind::Unavailable,
        "there is no plan of the queue yet",
        "try again in a second",
    )
}

/// Keeps the plan until it is stopped.
///
/// # Errors
/// If there is no thread for it.
pub(super) fn start(market: Handle, plans: Arc<Plans>) -> std::io::Result<Background> {
    plans.shelf().is_kept = true;
    Background::start("planner", move |flag| {
        let mut desk = Desk::new(market, plans, flag.clone());
        while !flag.is_set() && desk.turn().is_ok() {
            desk.rest();
        }
    })
}

/// What the thread works with.
#[derive(Debug)]
struct Desk {
    market: Handle,
    plans: Arc<Plans>,
    stopped: StopFlag,
    draft: Option<Draft>,
    /// The journal's last row that was looked at.
    row: u64,
    made: Instant,
    /// Whether the last attempt failed.
    is_wrong: bool,
    told: Option<Instant>,
}

/// What a look at the market has shown.
enum Glance {
    /// All is as it was planned.
    Same,
    /// Jobs were added, and the count of events if there is nothing else.
    New(Vec<New>, Time, Option<u64>),
    /// Something else has happened, and there is to be a plan from nothing.
    Other(Box<MarketView>),
}

/// What the plan knows of the market.
struct Known {
    kept: Arc<Kept>,
    submitted: u32,
    /// Whether it may be made from nothing now.
    is_due: bool,
    /// Whether it has to be, even if nothing happened.
    is_stale: bool,
}

impl Desk {
    fn new(market: Handle, plans: Arc<Plans>, stopped: StopFlag) -> Desk {
        let (draft, row, made, told) = (None, 0, Instant::now(), None);
        Desk { market, plans, stopped, draft, row, made, is_wrong: false, told }
    }

    /// Waits for the next look; shortly, if a caller waits for a plan.
    fn rest(&self) {
        let begin = Instant::now();
        while begin.elapsed() < LOOK && !self.stopped.is_set() {
            std::thread::park_timeout(Duration::from_millis(20));
            if self.plans.shelf().wanted > 0 {
                return;
            }
        }
    }

    fn turn(&mut self) -> Result<(), EngineStopped> {
        let row = self.market.gauges().last_row();
        let age = self.made.elapsed();
        if self.draft.is_some() && row == self.row && age < STALE {
            return self.tell();
        }
        if self.is_wrong && age < REST {
            return Ok(());
        }
        let known = self.draft.as_ref().map(|draft| {
            let took = draft.kept.took * PAUSE;
            let is_due = match self.plans.shelf().wanted {
                0 => age >= took.max(REST),
                _ => age >= took,
            };
            let (kept, submitted) = (Arc::clone(&draft.kept), draft.submitted());
            Known { kept, submitted, is_due, is_stale: age >= STALE.max(took) }
        });
        match self.market.look(move |live| glance(live, known.as_ref()))? {
            Glance::Same => {}
            Glance::New(new, at, version) => self.append(new, at, version),
            Glance::Other(view) => {
                self.make(&view);
                self.row = row;
            }
        }
        self.tell()
    }

    fn make(&mut self, view: &MarketView) {
        let mut going = || match self.stopped.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let found = Draft::make(view, &mut going);
        self.made = Instant::now();
        self.is_wrong = found.is_err();
        match found {
            Ok(Some(draft)) => {
                self.plans.publish(Ok(Arc::clone(&draft.kept)));
                self.draft = Some(draft);
            }
            Ok(None) => {}
            Err(wrong) => {
                self.plans.publish(Err(wrong));
                self.draft = None;
            }
        }
    }

    fn append(&mut self, new: Vec<New>, at: Time, version: Option<u64>) {
        if let Some(draft) = &mut self.draft {
            draft.append(new, at, version);
            self.plans.publish(Ok(Arc::clone(&draft.kept)));
        }
    }

    /// Says to the market when waiting jobs are expected to start, so that it learns how far off
    /// such words are.
    fn tell(&mut self) -> Result<(), EngineStopped> {
        let Some(draft) = &self.draft else { return Ok(()) };
        if self.told.is_some_and(|told| told.elapsed() < TELL) {
            return Ok(());
        }
        let kept = Arc::clone(&draft.kept);
        let starts = self.market.look(move |live| unsaid(live, &kept))?;
        self.told = Some(Instant::now());
        match starts.is_empty() {
            true => Ok(()),
            false => self.market.tell(Input::Forecast { starts }),
        }
    }
}

/// Jobs whose expected start the market does not know yet.
fn unsaid(live: &Live, kept: &Kept) -> Vec<(u64, Time)> {
    let jobs = live.state().jobs.iter().filter(|(_, job)| job.expected.is_none());
    let start = |id: Option<JobId>| Some(kept.expected(id?)?.start);
    jobs.filter_map(|(number, job)| Some((*number, start(job.id())?))).collect()
}

fn glance(live: &Live, known: Option<&Known>) -> Glance {
    let view = || Glance::Other(Box::new(MarketView::of(live, Span(0))));
    let state = live.state();
    let market = &state.market;
    let Some(Known { kept, submitted, is_due, is_stale }) = known else { return view() };
    let (then, now) = (kept.version, market.version());
    if *is_stale || kept.policy.text() != state.policy {
        return view();
    }
    let new = (*submitted..market.submitted()).map(JobId).filter_map(|job| {
        let demand = market.demand(job)?.clone();
        Some(New { job, demand, waits: market.waits(job) })
    });
    let new: Vec<New> = new.collect();
    let is_all = now.saturating_sub(then) == new.len() as u64;
    match (new.is_empty(), is_all) {
        (true, true) => Glance::Same,
        (false, true) if is_exact(&kept.policy, market) => {
            Glance::New(new, present(state), Some(now))
        }
        _ if *is_due => view(),
        (true, false) => Glance::Same,
        (false, _) => Glance::New(new, present(state), None),
    }
}

#[cfg(test)]
mod tests;
