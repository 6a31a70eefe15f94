//! Tokens that expire soon: said once, when the command is done.

use std::sync::atomic::{AtomicI64, Ordering};

use super::words::{moment, now};
use crate::exit::Problem;

/// Header in which the market says when a token expires: seconds since 1970.
pub(super) const HEADER: &str = "tradewind-token-expires";

/// When to warn of tokens that an administrator issued, and of those that signing in gave: seconds
/// before they expire.
pub(super) const OF_TOKENS: i64 = 7 * 86_400;
pub(super) const OF_SIGN_INS: i64 = 30 * 60;

/// The earliest moment of those that are near; 0: none is.
static NEAR: AtomicI64 = AtomicI64::new(0);

/// The market said when the token expires, about which users are warned `early` seconds before.
pub(super) fn heard(expires: i64, early: i64) {
    if is_near(expires, early, now()) {
        NEAR.store(expires, Ordering::Relaxed);
    }
}

fn is_near(expires: i64, early: i64, now: i64) -> bool {
    expires > 0 && expires.saturating_sub(now) <= early
}

/// A warning for the user, if there is one.
pub(crate) fn warning() -> Option<Problem> {
    let near = NEAR.load(Ordering::Relaxed);
    (near != 0).then(|| Problem {
        message: format!("the token that was used expires at {}", moment(near)),
        hint: Some(
            "`tradewind login` signs in again; an administrator gives other tokens a later end: \
             `tradewind token rotate ID --expires 90d`"
                .to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_days_are_near() {
        assert!(is_near(1_000 + OF_TOKENS, OF_TOKENS, 1_000));
        assert!(!is_near(1_001 + OF_TOKENS, OF_TOKENS, 1_000));
        assert!(!is_near(1_000 + 86_400, OF_SIGN_INS, 1_000));
        assert!(is_near(900, OF_TOKENS, 1_000) && !is_near(0, OF_TOKENS, 1_000));
    }
}
