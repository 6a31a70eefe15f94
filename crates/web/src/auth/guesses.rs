//! Wrong guesses at signing in, counted for the identity that was tried.
//!
//! Counting by address would let one person on a shared host, or behind a proxy, lock out the
//! others. What is counted here is what was tried: the beginning of a token, or the name of a
//! provider. A valid token is never refused, so a lock-out answers wrong guesses only: it tells
//! them apart from a mistake in typing, in answers and in the log. What makes guessing hopeless is
//! the secret itself: 200 bits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong guesses of one identity before it is locked.
const FREE: u32 = 10;
/// How long a lock lasts after the last wrong guess.
const LOCK: Duration = Duration::from_secs(15 * 60);
/// Identities that are remembered.
const MAX: usize = 10_000;
/// Letters of a token that name it: those of its beginning, and three, which is 15 bits of 200.
const PREFIX: usize = 6;

/// Wrong guesses, by identity.
#[derive(Debug, Default)]
pub(crate) struct Guesses(Mutex<HashMap<String, (u32, Instant)>>);

/// Whether more guesses are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// This one was wrong, and others may be tried.
    Wrong,
    /// Too many were wrong: come again after so long.
    Locked(Duration),
}

impl Guesses {
    /// Counts a wrong guess at the identity.
    pub(crate) fn wrong(&self, identity: &str) -> Verdict {
        self.wrong_at(identity, Instant::now())
    }

    fn wrong_at(&self, identity: &str, at: Instant) -> Verdict {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX {
            all.retain(|_, (_, last)| at.saturating_duration_since(*last) < LOCK);
        }
        if all.len() >= MAX {
            // More identities than real users have: one person tries them all.
            all.clear();
        }
        let (count, last) = all.entry(identity.to_owned()).or_insert((0, at));
        if at.saturating_duration_since(*last) >= LOCK {
            *count = 0;
        }
        (*count, *last) = (count.saturating_add(1), at);
        match *count > FREE {
            true => Verdict::Locked(LOCK),
            false => Verdict::Wrong,
        }
    }

    /// Who guessed right needs no memory of earlier mistakes.
    pub(crate) fn right(&self, identity: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(identity);
    }
}

/// The identity of a token that is tried: enough to distinguish tokens, too little to help.
pub(crate) fn of_token(text: &str) -> String {
    text.chars().filter(char::is_ascii_graphic).take(PREFIX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_locked_one_by_one_and_open_again() {
        let (guesses, begin) = (Guesses::default(), Instant::now());
        for _ in 0..FREE {
            assert_eq!(guesses.wrong_at("tw_abc", begin), Verdict::Wrong);
        }
        assert_eq!(guesses.wrong_at("tw_abc", begin), Verdict::Locked(LOCK));
        assert_eq!(guesses.wrong_at("tw_xyz", begin), Verdict::Wrong);
        assert_eq!(guesses.wrong_at("tw_abc", begin + LOCK), Verdict::Wrong);
        guesses.right("tw_xyz");
        assert_eq!(guesses.wrong_at("tw_xyz", begin), Verdict::Wrong);
    }

    #[test]
    fn memory_is_bounded() {
        let guesses = Guesses::default();
        for number in 0..2 * MAX {
            guesses.wrong(&number.to_string());
        }
        assert!(guesses.0.lock().unwrap().len() <= MAX);
        assert_eq!(of_token("tw_abcdefgh"), "tw_abc");
        assert_eq!(of_token("\u{202e} \n"), "");
    }
}
