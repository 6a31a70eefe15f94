//! What administrators ask of the daemon itself, beside its market: whether its sites have what
//! they need, whether notifications arrive, and which daemons follow the journal.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tradewind_daemon::site::Finding;

use crate::receipts::ReceiptKey;

/// Asks the daemon; the command supplies it. Calls may take seconds, or minutes where a login
/// hangs: they come from threads that may wait. What is left out, a daemon does not have.
pub trait Operations: Debug + Send + Sync {
    /// Examines everything as `tradewind doctor --no-jobs` does: findings with the names of sites, or
    /// `market`.
    ///
    /// # Errors
    /// Why that is not possible, for people.
    fn examine(&self) -> Result<Vec<(String, Finding)>, String> {
        Err("this daemon has no sites to examine".to_owned())
    }

    /// Receivers of notifications, in the order of the configuration.
    fn receivers(&self) -> Vec<Receiver> {
        Vec::new()
    }

    /// The key with which receipts for peers are signed, if there is one.
    fn receipt_key(&self) -> Option<&ReceiptKey> {
        None
    }

    /// The daemons of the market, if several may own it in turn.
    fn daemons(&self) -> Option<Result<Daemons, String>> {
        None
    }
}

/// A daemon that has nothing of all that.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOperations;

impl Operations for NoOperations {}

/// Who is notified of events, and how that went since the daemon's start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receiver {
    /// Host of a webhook, program of a mail command: the rest may be a secret.
    pub name: String,
    /// Events or mails that arrived.
    pub sent: u64,
    /// When the last one did, seconds since 1970.
    pub last_sent: Option<i64>,
    /// Events or mails that did not arrive, or were dropped because the receiver was too slow.
    pub failed: u64,
    /// When that was last, and why.
    pub last_failure: Option<(i64, String)>,
    /// Events or mails that wait for their turn.
    pub waiting: usize,
}

/// The daemons of a market, as its database knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Daemons {
    /// Where the owner can be reached; `None`: there is none, or it has not said.
    pub owner: Option<String>,
    /// Seconds until its lease runs out if it is not renewed; `None`: it has run out.
    pub lease: Option<u64>,
    /// Those that follow its journal.
    pub standbys: Vec<StandbyDaemon>,
}

/// A daemon that follows the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandbyDaemon {
    /// Where it can be reached.
    pub url: String,
    /// Rows of the journal that it has not taken in.
    pub rows_behind: u64,
    /// Seconds since it looked at the journal last.
    pub silent: u64,
}

/// What an examination of the sites has found.
#[derive(Debug, Clone)]
pub(crate) struct Examined {
    /// When it was over.
    pub(crate) at: i64,
    pub(crate) found: Result<Vec<(String, Finding)>, String>,
}

/// The last examination of the sites, and the one that runs: one at a time.
#[derive(Debug, Default)]
pub(crate) struct Examinations(Mutex<OperationsState>);

#[derive(Debug, Default)]
struct OperationsState {
    /// Since when one runs.
    running: Option<i64>,
    last: Option<Examined>,
}

/// An examination that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Examining<'a>(&'a Examinations);

impl Examinations {
    fn inside(&self) -> MutexGuard<'_, OperationsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when one runs, and what the last one found.
    pub(crate) fn look(&self) -> (Option<i64>, Option<Examined>) {
        let inside = self.inside();
        (inside.running, inside.last.clone())
    }

    /// Begins one, if none runs.
    pub(crate) fn begin(&self, now: i64) -> Option<Examining<'_>> {
        let mut inside = self.inside();
        if inside.running.is_some() {
            return None;
        }
        inside.running = Some(now);
        Some(Examining(self))
    }
}

impl Examining<'_> {
    /// It is over.
    pub(crate) fn end(self, at: i64, found: Result<Vec<(String, Finding)>, String>) {
        self.0.inside().last = Some(Examined { at, found });
    }
}

impl Drop for Examining<'_> {
    fn drop(&mut self) {
        self.0.inside().running = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_examination_runs_at_a_time() {
        let all = Examinations::default();
        let first = all.begin(10).unwrap();
        assert!(all.begin(11).is_none());
        assert_eq!(all.look().0, Some(10));
        first.end(12, Ok(vec![]));
        let (running, last) = all.look();
        assert_eq!((running, last.map(|it| it.at)), (None, Some(12)));
        // One that broke off is not waited for.
        drop(all.begin(13));
        assert!(all.begin(14).is_some());
        assert_eq!(all.look().1.map(|it| it.at), Some(12));
    }

    #[test]
    fn a_daemon_may_have_nothing_of_all_that() {
        assert!(NoOperations.examine().is_err());
        assert!(NoOperations.receivers().is_empty() && NoOperations.daemons().is_none());
    }
}
