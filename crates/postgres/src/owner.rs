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
//!
//! A third thing, the lease (`lease`), says when another daemon may raise the epoch.

use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, Error, GenericClient};
use tradewind_daemon::store::StoreError;

use crate::error::{explain, io};
use crate::lease::{Claimant, LeaseRow};

/// How a store is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// If no other daemon is connected, or the lease of the one that is has run out.
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

/// Which session that has the lock is ended, since its daemon is not the owner any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// None: it is waited for, a moment.
    Spared,
    /// Any.
    Whichever,
    /// That of this holder, as long as the table names it.
    Of(String),
    /// One that is older than the end of the lease. Of several claimants that come after it, none
    /// ends another, which may have become the owner meanwhile.
    OfThePast,
}

/// Looks whether the lease allows an opening, and what it means for the session that has the lock.
///
/// # Errors
/// [`StoreError::Busy`] if the lease is another's and runs.
pub(crate) fn admits(
    client: &mut Client,
    name: &str,
    claim: Claim,
    claimant: Option<&Claimant>,
) -> Result<Ended, StoreError> {
    if claim != Claim::IfFree {
        return Ok(Ended::Whichever);
    }
    let lease = LeaseRow::read(client).map_err(|wrong| explain(name, 0, &wrong))?;
    match (lease.is_of(claimant), lease.runs) {
        (true, _) => Ok(Ended::Of(lease.holder)),
        (false, true) => Err(StoreError::Busy { path: name.to_owned() }),
        (false, false) if lease.ran_out => Ok(Ended::OfThePast),
        (false, false) => Ok(Ended::Spared),
    }
}

/// A claimant that has been connected for so long, and is not the owner yet, has stopped. In seconds.
const STOPPED: i64 = 60;

/// Sessions that stand between a claimant and the market: the one that has the lock, and those that
/// hold the owner's row ([`hold`]). These are of the owner alone, and one that was cut off between two
/// statements would hold it until the server ends the transaction. A claimant that raises the epoch
/// locks the table in another mode.
const IN_THE_WAY: &str = "
SELECT pg_terminate_backend(it.pid) FROM pg_stat_activity it, tradewind.owner
WHERE id = 1 AND it.pid <> pg_backend_pid() AND it.datname = current_database() AND (it.pid = $1 OR
    it.pid IN (SELECT pid FROM pg_locks WHERE granted AND mode = 'RowShareLock'
               AND locktype = 'relation' AND relation = 'tradewind.owner'::regclass
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))";

/// Ends the sessions that are in the way, if they are to be; of the same role, which may do that.
fn end(client: &mut Client, ended: &Ended) -> Result<(), Error> {
    let pid = holder(client)?;
    // Each is one statement, hence of one state of the table.
    match ended {
        Ended::Spared => Ok(0),
        Ended::Whichever => match pid {
            Some(pid) => client.execute("SELECT pg_terminate_backend($1)", &[&pid]),
            None => Ok(0),
        },
        Ended::Of(holder) => {
            client.execute(&format!("{IN_THE_WAY} AND holder = $2"), &[&pid, holder])
        }
        Ended::OfThePast => {
            let past = "until <= clock_timestamp() AND backend_start \
                        < greatest(until, clock_timestamp() - $2::int8 * interval '1 second')";
            client.execute(&format!("{IN_THE_WAY} AND {past}"), &[&pid, &STOPPED])
        }
    }
    .map(|_| ())
}

/// Waits a moment for the lock; ends the session that has it if it is to be.
///
/// # Errors
/// [`StoreError::Busy`] if another session has it.
pub(crate) fn lock(client: &mut Client, name: &str, ended: &Ended) -> Result<(), StoreError> {
    let wrong = |wrong: Error| explain(name, 0, &wrong);
    end(client, ended).map_err(wrong)?;
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

/// What the owner writes with, and what its orders carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raised {
    /// Of this opening.
    pub(crate) epoch: u64,
    /// Of the term: at least the second since 1970 in which it began, so that a journal which was
    /// restored or moved begins above what sites have seen.
    pub(crate) term: u64,
    /// The latest rules that the owner before knew; `None`: it did not say.
    pub(crate) before: Option<u32>,
}

/// Raises the epoch, and gives the claimant its lease; returns the new epoch. What writes with an
/// earlier one is refused from then on. A claimant that does not only open it again begins a new term.
///
/// # Errors
/// [`StoreError::Superseded`], or [`StoreError::Busy`] if another was quicker.
pub(crate) fn raise(
    client: &mut impl GenericClient,
    name: &str,
    claim: Claim,
    claimant: Option<&Claimant>,
) -> Result<Raised, StoreError> {
    let raise = "UPDATE tradewind.owner SET epoch = epoch + 1, since = now(), holder = $2, \
                 term = CASE WHEN $1::int8 >= 0 THEN term ELSE greatest(term + 1, \
                     floor(extract(epoch FROM clock_timestamp()))::int8) END, \
                 url = CASE WHEN holder = $2 THEN url ELSE '' END, \
                 until = CASE WHEN $3::int8 > 0 \
                     THEN clock_timestamp() + $3::int8 * interval '1 millisecond' \
                     ELSE '-infinity' END \
                 WHERE id = 1 AND ($1::int8 < 0 OR epoch = $1) \
                 AND ($4::bool OR until <= clock_timestamp() \
                      OR ($5::text <> '' AND split_part(holder, '/', 1) = $5)) RETURNING epoch, term";
    let seen = match claim {
        Claim::Again(ours) => i64::try_from(ours).unwrap_or(i64::MAX),
        Claim::IfFree | Claim::TakeOver => -1,
    };
    let holder = claimant.map(Claimant::holder).unwrap_or_default();
    let length = claimant.map_or(0, Claimant::milliseconds);
    let folder = claimant.map(|it| it.folder.as_str()).unwrap_or_default();
    let anyway = claim != Claim::IfFree;
    let before = LeaseRow::read(client).map_err(|wrong| explain(name, 0, &wrong))?.knows();
    let raised = client.query_opt(raise, &[&seen, &holder, &length, &anyway, &folder]);
    let numbers = |row: postgres::Row| -> Result<(i64, i64), Error> {
        Ok((row.try_get(0)?, row.try_get(1)?))
    };
    let raised = raised.and_then(|row| row.map(numbers).transpose());
    match (raised.map_err(|wrong| explain(name, 0, &wrong))?, claim) {
        (Some((epoch, term)), _) => {
            let number = |it: i64| u64::try_from(it).unwrap_or(0);
            Ok(Raised { epoch: number(epoch), term: number(term), before })
        }
        (None, Claim::Again(ours)) => {
            is_ours(client, name, ours)?;
            Err(io(name, "its table `owner` has changed meanwhile"))
        }
        (None, Claim::IfFree) => {
            epoch(client, name)?;
            Err(StoreError::Busy { path: name.to_owned() })
        }
        (None, Claim::TakeOver) => Err(io(name, "its table `owner` is damaged: there is no epoch")),
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

/// Whether the owner's term is `ours`, at this moment.
///
/// # Errors
/// [`StoreError::Superseded`] if another daemon has begun one.
pub(crate) fn is_term(
    client: &mut impl GenericClient,
    name: &str,
    ours: u64,
) -> Result<(), StoreError> {
    let ask = "SELECT term FROM tradewind.owner WHERE id = 1";
    let found = client.query_one(ask, &[]).and_then(|row| row.try_get::<_, i64>(0));
    let found = u64::try_from(found.map_err(|wrong| explain(name, 0, &wrong))?).unwrap_or(0);
    match found == ours {
        true => Ok(()),
        false => Err(StoreError::Superseded { path: name.to_owned(), epoch: found, ours }),
    }
}
