//! What this machine's clock says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tradewind_model::Time;

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX)
}

/// Seconds since 1970.
pub(super) fn now() -> Time {
    Time(since_1970().as_secs().cast_signed())
}
