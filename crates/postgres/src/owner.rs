//! Which daemon may write.
//!
//! Two things of different strength:
//!
//! - **The epoch** is what protects. It is a number in the table `owner`, and each opening for
//!   writing raises it. A transaction that writes locks that row in share mode and compares the
//!   number; a takeover changes the row. So a takeover waits for what is under way, and what comes
//!   later is refused.
//! - **An advisory lock** of the session only says whether some daemon is connected, so that a
//!   second `up` by mistake is refused. It may be lost (with the connection, in a failover); nothing
//!   depends on it.

use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, Error, GenericClient};
use tradewind_daemon::store::StoreError;

use crate::error::{explain, io};

/// How a store is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// If no other daemon is connected.
    IfFree,
    /// Also from a daemon that is connected: it can write nothing from then on.
    TakeOver,
    /// By the owner of this epoch, which lost its connection; refused if another has taken over.
    Again(u64),
}

/// "TwJn", the same as SQLite's files have.
const LOCK: i32 = 0x5477_4a6e;

/// A session that has just ended may have its lock a moment longer.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);

/// The session that has the lock.
pub(crate) fn holder(client: &mut Client) -> Result<Option<i32>, Error> {
    let ask = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted \
               AND classid = $1::int4::oid AND objid = 0 AND objsubid = 2 AND database = \
               (SELECT oid FROM pg_database WHERE datname = current_database())";
    client.query_opt(ask, &[&LOCK])?.map(|row| row.try_get(0)).transpose()
}

/// Waits a moment for the lock; ends the session that has it if the claim allows that.
///
/// # Errors
/// [`StoreError::Busy`] if another session has it.
pub(crate) fn lock(client: &mut Client, name: &str, claim: Claim) -> Result<(), StoreError> {
    let wrong = |wrong: Error| explain(name, 0, &wrong);
    if claim != Claim::IfFree
        && let Some(pid) = holder(client).map_err(wrong)?
    {
        // Of the same role, which may do that.
        client.execute("SELECT pg_terminate_backend($1)", &[&pid]).map_err(wrong)?;
    }
    let begin = Instant::now();
    loop {
        let try_it = client.query_one("SELECT pg_try_advisory_lock($1, 0)", &[&LOCK]);
        if try_it.and_then(|row| row.try_get(0)).map_err(wrong)? {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            return Err(StoreError::Busy { path: name.to_owned() });
        }
        thread::sleep(PAUSE);
    }
}

/// The owner's epoch.
pub(crate) fn epoch(client: &mut impl GenericClient, name: &str) -> Result<u64, StoreError> {
    let found = client.query_opt("SELECT epoch FROM tradewind.owner WHERE id = 1", &[]);
    let found = found.and_then(|row| row.map(|row| row.try_get::<_, i64>(0)).transpose());
    let found = found.map_err(|wrong| explain(name, 0, &wrong))?;
    found
        .and_then(|epoch| u64::try_from(epoch).ok())
        .ok_or_else(|| io(name, "its table `owner` is damaged: there is no epoch"))
}

/// Whether the owner of `ours` was succeeded.
///
/// # Errors
/// [`StoreError::Superseded`].
pub(crate) fn is_ours(
    client: &mut impl GenericClient,
    name: &str,
    ours: u64,
) -> Result<(), StoreError> {
    let epoch = epoch(client, name)?;
    match epoch == ours {
        true => Ok(()),
        false => Err(StoreError::Superseded { path: name.to_owned(), epoch, ours }),
    }
}

/// Raises the epoch; returns the new one. What writes with an earlier one is refused from then on.
pub(crate) fn raise(
    client: &mut impl GenericClient,
    name: &str,
    claim: Claim,
) -> Result<u64, StoreError> {
    let raise = "UPDATE tradewind.owner SET epoch = epoch + 1, since = now() \
                 WHERE id = 1 AND ($1::int8 < 0 OR epoch = $1) RETURNING epoch";
    let seen = match claim {
        Claim::Again(ours) => i64::try_from(ours).unwrap_or(i64::MAX),
        Claim::IfFree | Claim::TakeOver => -1,
    };
    let raised = client.query_opt(raise, &[&seen]);
    let raised = raised.and_then(|row| row.map(|row| row.try_get::<_, i64>(0)).transpose());
    match (raised.map_err(|wrong| explain(name, 0, &wrong))?, claim) {
        (Some(epoch), _) => Ok(u64::try_from(epoch).unwrap_or(0)),
        (None, Claim::Again(ours)) => {
            is_ours(client, name, ours)?;
            Err(io(name, "its table `owner` has changed meanwhile"))
        }
        (None, _) => Err(io(name, "its table `owner` is damaged: there is no epoch")),
    }
}

/// Locks the owner's row against a takeover until the transaction ends, and looks whether it is
/// ours.
///
/// # Errors
/// [`StoreError::Superseded`] if it is not.
pub(crate) fn hold(
    transaction: &mut postgres::Transaction<'_>,
    name: &str,
    ours: u64,
) -> Result<(), StoreError> {
    let hold = "SELECT epoch FROM tradewind.owner WHERE id = 1 AND epoch = $1 FOR SHARE";
    let found = transaction.query_opt(hold, &[&(ours as i64)]);
    match found.map_err(|wrong| explain(name, 0, &wrong))? {
        Some(_) => Ok(()),
        None => is_ours(transaction, name, ours),
    }
}
