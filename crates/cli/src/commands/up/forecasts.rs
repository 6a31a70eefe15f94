//! When waiting jobs are expected to start: said to the market now and then, so that it learns how
//! far off such words are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tradewind_daemon::engine::{Gone, Handle};
use tradewind_daemon::live::{Input, State};
use tradewind_model::Market;
use tradewind_web::present;

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
        new.then(|| (of_now(state), state.policy.clone(), state.numbers.clone()))
    })?;
    let Some((copy, policy, numbers)) = view else { return Ok(()) };
    let starts = advice::starts(&copy, &policy).into_iter();
    let starts = starts.filter_map(|(id, at)| Some((*numbers.get(&id)?, at))).collect();
    market.tell(Input::Forecast { starts })
}

/// The market of now: its own moment is that of the last record.
fn of_now(state: &State) -> Market {
    let mut market = state.market.clone();
    // Never back.
    let _ = market.pass_to(present(state));
    market
}

#[cfg(test)]
mod tests {
    use tradewind_model::Time;

    use super::*;

    #[test]
    fn forecasts_begin_now_and_not_at_the_last_record() {
        let long_ago = State::empty(Time(1_000_000));
        assert!(of_now(&long_ago).now() > Time(1_700_000_000));
        let ahead = State::empty(Time(4_000_000_000));
        assert_eq!(of_now(&ahead).now(), Time(4_000_000_000), "a clock that was set back");
    }
}
