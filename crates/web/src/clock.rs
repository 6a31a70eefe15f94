//! The system's clock, and the market's time.

use std::time::{SystemTime, UNIX_EPOCH};

use tradewind_daemon::live::state::State;
use tradewind_model::Time;

/// Seconds since 1970, by the system's clock.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_secs()).unwrap_or(0))
}

/// The moment at which a market is looked at. Its own is that of the last record, which may be hours
/// ago when jobs just run; a clock that was set back changes nothing.
pub fn present(state: &State) -> Time {
    (now() + state.lead()).max(state.now())
}
