//! What is in the database: tables, their version, and what an opening must find.

use postgres::{Client, GenericClient, Row};
use tradewind_daemon::store::chain::{JournalEnd, link};
use tradewind_daemon::store::{Digest, Origin, StoreError};

use crate::archives;
use crate::error::{damaged, explain, io};

/// Each makes the tables of its version from those of the one before. What a release has written
/// never changes: another is added.
pub(crate) const MIGRATIONS: [&str; 4] = [
    include_str!("schema/1-journal.sql"),
    include_str!("schema/2-archives.sql"),
    include_str!("schema/3-lease.sql"),
    include_str!("schema/4-notes.sql"),
];

/// The first version in which the owner has a lease.
pub(crate) const LEASES: u32 = 3;

/// The latest version of the tables that is known here.
pub const FORMAT: u32 = MIGRATIONS.len() as u32;

/// What is in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing of ours.
    Nothing,
    /// A journal whose tables have this version.
    Journal(u32),
}

/// Looks whose tables there are, and changes nothing.
///
/// # Errors
/// If they are of a later release, or of something else.
pub(crate) fn found(client: &mut Client, name: &str) -> Result<Found, StoreError> {
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let ask = "SELECT (SELECT count(*) FROM pg_class c, pg_namespace n WHERE n.oid = c.relnamespace \
               AND n.nspname = 'tradewind'), to_regnamespace('tradewind') IS NOT NULL \
               AND to_regclass('tradewind.meta') IS NOT NULL";
    let said = client.query_one(ask, &[]).map_err(wrong)?;
    let relations: i64 = said.try_get(0).map_err(wrong)?;
    let is_ours: bool = said.try_get(1).map_err(wrong)?;
    if !is_ours {
        return match relations {
            0 => Ok(Found::Nothing),
            _ => Err(io(
                name,
                "its schema `tradewind` has tables of something else: name another database",
            )),
        };
    }
    let format = "SELECT format FROM tradewind.meta WHERE id = 1";
    let format = client.query_opt(format, &[]);
    let format = format.and_then(|row| row.map(|row| row.try_get::<_, i32>(0)).transpose());
    match format.map_err(wrong)?.and_then(|it| u32::try_from(it).ok()).unwrap_or(0) {
        0 => Err(damaged(name, 0, "its table `meta` says no format")),
        format if format > FORMAT => {
            Err(StoreError::TooNew { path: name.to_owned(), found: format, known: FORMAT })
        }
        format => Ok(Found::Journal(format)),
    }
}

/// Makes the tables of a new journal, as a part of a transaction.
pub(crate) fn create(
    client: &mut impl GenericClient,
    name: &str,
    origin: &Origin,
) -> Result<(), StoreError> {
    let mut made = || -> Result<(), postgres::Error> {
        let schema = client.query_one("SELECT to_regnamespace('tradewind') IS NULL", &[])?;
        if schema.try_get(0)? {
            client.batch_execute("CREATE SCHEMA tradewind")?;
        }
        client.batch_execute(MIGRATIONS[0])?;
        let meta = "INSERT INTO tradewind.meta (id, format, market, created) VALUES (1, 1, $1, $2)";
        client.execute(meta, &[&origin.market, &origin.created])?;
        let owner = "INSERT INTO tradewind.owner (id, epoch, since) VALUES (1, 0, now())";
        client.execute(owner, &[])?;
        migrate_from(client, 1)
    };
    made().map_err(|wrong| explain(name, 0, &wrong))
}

/// Brings the tables of an earlier version up to the latest, as a part of a transaction. Rows and
/// snapshots stay as they are.
pub(crate) fn migrate(
    client: &mut impl GenericClient,
    name: &str,
    from: u32,
) -> Result<(), StoreError> {
    migrate_from(client, from).map_err(|wrong| explain(name, 0, &wrong))
}

fn migrate_from(client: &mut impl GenericClient, from: u32) -> Result<(), postgres::Error> {
    for (sql, format) in MIGRATIONS.iter().zip(1u32..).filter(|(_, format)| *format > from) {
        client.batch_execute(sql)?;
        let set = "UPDATE tradewind.meta SET format = $1 WHERE id = 1";
        client.execute(set, &[&(format as i32)])?;
    }
    Ok(())
}

/// Market to which the journal belongs.
pub(crate) fn origin(client: &mut impl GenericClient, name: &str) -> Result<Origin, StoreError> {
    let ask = "SELECT market, created FROM tradewind.meta WHERE id = 1";
    let row = client.query_one(ask, &[]);
    let origin =
        row.and_then(|row| Ok(Origin { market: row.try_get(0)?, created: row.try_get(1)? }));
    origin.map_err(|wrong| explain(name, 0, &wrong))
}

/// Where the journal ends, with its last row and its snapshots looked at.
pub(crate) fn end(
    client: &mut impl GenericClient,
    name: &str,
    origin: &Origin,
) -> Result<JournalEnd, StoreError> {
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let last = "SELECT seq, at, body, chain FROM tradewind.rows ORDER BY seq DESC LIMIT 1";
    let end = match client.query_opt(last, &[]).map_err(wrong)? {
        None => archives::end(client, name)?.unwrap_or_else(|| JournalEnd::of(origin)),
        Some(row) => {
            let (seq, at, body, digest) = row_of(&row, name)?;
            let before = digest_at(client, name, origin, seq - 1)?;
            if link(before, seq, at, body) != digest {
                return Err(damaged(name, seq, CHANGED));
            }
            JournalEnd { seq, at, digest }
        }
    };
    let newest = client.query_one("SELECT max(seq) FROM tradewind.snapshots", &[]);
    let newest: Option<i64> = newest.and_then(|row| row.try_get(0)).map_err(wrong)?;
    if newest.is_some_and(|newest| u64::try_from(newest).is_ok_and(|newest| newest > end.seq)) {
        let what = "there was a snapshot of later rows, and they are missing";
        return Err(damaged(name, end.seq + 1, what));
    }
    Ok(end)
}

/// A row of the journal: number, time, body and digest, as the columns have them.
pub(crate) fn row_of<'a>(
    row: &'a Row,
    name: &str,
) -> Result<(u64, i64, &'a [u8], Digest), StoreError> {
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let seq: i64 = row.try_get(0).map_err(wrong)?;
    let (at, body) = (row.try_get(1).map_err(wrong)?, row.try_get(2).map_err(wrong)?);
    let chain: &[u8] = row.try_get(3).map_err(wrong)?;
    let seq = u64::try_from(seq).ok().filter(|seq| *seq > 0);
    let seq = seq.ok_or_else(|| damaged(name, 0, "it has rows before the first"))?;
    Ok((seq, at, body, digest(chain, name, seq)?))
}

/// What is said of a row that is not what was written.
pub(crate) const CHANGED: &str = "it is not what was written";

/// What is said of a row that is not there.
pub(crate) const MISSING: &str = "it is missing";

/// A digest as a column has it.
pub(crate) fn digest(bytes: &[u8], name: &str, seq: u64) -> Result<Digest, StoreError> {
    bytes.try_into().map(Digest).map_err(|_| damaged(name, seq, CHANGED))
}

/// The digest of a row as it is written there; of row 0 the origin's, of the last row that was
/// archived the one that was noted then.
pub(crate) fn digest_at(
    client: &mut impl GenericClient,
    name: &str,
    origin: &Origin,
    seq: u64,
) -> Result<Digest, StoreError> {
    if seq == 0 {
        return Ok(origin.digest());
    }
    let chain = "SELECT chain FROM tradewind.rows WHERE seq = $1";
    let found = client.query_opt(chain, &[&(seq as i64)]);
    match found.map_err(|wrong| explain(name, seq, &wrong))? {
        Some(row) => {
            let chain = row.try_get(0).map_err(|wrong| explain(name, seq, &wrong))?;
            digest(chain, name, seq)
        }
        None => archives::after(client, name, seq)?.ok_or_else(|| damaged(name, seq, MISSING)),
    }
}
