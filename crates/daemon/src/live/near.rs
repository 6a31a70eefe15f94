//! Which forecasts say the same.

use tradewind_model::{Span, Time};

/// A forecast that differs by less is the same.
const NEAR: Span = Span(30);

/// Whether two moments are the same for a forecast: within half a minute, or a twentieth of the time
/// until then. Moments before `at` are all the same.
pub(in crate::live) fn is_near(at: Time, one: Time, other: Time) -> bool {
    let (one, other) = (one.max(at), other.max(at));
    let far = (one - at).max(other - at);
    let off = if one > other { one - other } else { other - one };
    off <= NEAR.max(Span(far.0 / 20))
}
