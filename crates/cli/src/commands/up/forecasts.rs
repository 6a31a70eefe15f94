//! When waiting jobs are expected to start: said to the market now and then, so that it learns how
//! far off such words are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tradewind_daemon::engine::{Gone, Handle};
use tradewind_daemon::live::Input;

use super::advice;

/// How often.
const EVERY: Duration = Duration::from_secs(10);

/// Forecasts again and again until it is told to stop.
#[derive(Debug)]
pub(super) struct Forecaster {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Forecaster {
    /// Starts.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(super) fn start(market: Handle) -> std::io::Result<Forecaster> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("forecasts".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) && forecast(&market).is_ok() {
                std::thread::park_timeout(EVERY);
            }
        })?;
        Ok(Forecaster { stop, thread })
    }

    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        drop(self.thread.join());
    }
}

fn forecast(market: &Handle) -> Result<(), Gone> {
    let view = market.look(|live| {
        let state = live.state();
        let new = state.jobs.values().any(|job| job.expected.is_none() && job.id.is_some());
        new.then(|| (state.market.clone(), state.policy.clone(), state.numbers.clone()))
    })?;
    let Some((copy, policy, numbers)) = view else { return Ok(()) };
    let starts = advice::starts(&copy, &policy).into_iter();
    let starts = starts.filter_map(|(id, at)| Some((*numbers.get(&id)?, at))).collect();
    market.tell(Input::Forecast { starts })
}
