//! What is in the file: tables, format, and what an open must find.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::archives;
use super::error::{damaged, explain, foreign};
use crate::store::chain::{Digest, JournalEnd, link};
use crate::store::{Origin, StoreError};

/// The latest format that is known here: `user_version` of the file.
pub const FORMAT: u32 = 3;

/// Says whose files these are: `application_id` of the file, "TwJn".
const APPLICATION: i64 = 0x5477_4a6e;

/// Rows are only ever added: that is the database's business too.
const TABLES: &str = "
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    market TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT;
CREATE TABLE rows (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    chain BLOB NOT NULL
) STRICT;
CREATE TABLE snapshots (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL
) STRICT;
CREATE TRIGGER rows_stay BEFORE DELETE ON rows
BEGIN SELECT raise(ABORT, 'rows of a journal stay'); END;
CREATE TRIGGER rows_keep BEFORE UPDATE ON rows
BEGIN SELECT raise(ABORT, 'rows of a journal stay as they are'); END;
";

/// Kind of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// An empty database.
    Empty,
    /// A database with a journal.
    Journal,
    /// A journal of this earlier format.
    Earlier(i64),
}

/// Looks whose file it is, and changes nothing.
pub(super) fn kind(connection: &Connection, path: &Path) -> Result<FileKind, StoreError> {
    let number = |what: &str| -> Result<i64, StoreError> {
        let found = connection.query_row(what, [], |row| row.get(0));
        found.map_err(|e| explain(path, 0, &e))
    };
    let application = number("PRAGMA application_id")?;
    let format = number("PRAGMA user_version")?;
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    match application {
        0 if objects == 0 && format == 0 => Ok(FileKind::Empty),
        APPLICATION if format == i64::from(FORMAT) => Ok(FileKind::Journal),
        APPLICATION if (1..i64::from(FORMAT)).contains(&format) => Ok(FileKind::Earlier(format)),
        APPLICATION if format > i64::from(FORMAT) => {
            let found = u32::try_from(format).unwrap_or(u32::MAX);
            Err(StoreError::TooNew { path: path.display().to_string(), found, known: FORMAT })
        }
        _ => Err(foreign(path)),
    }
}

/// What format 2 has beyond format 1.
const PAGES: &str = "
CREATE TABLE pages (
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (kind, number)
) STRICT;
";

/// What format 3 has beyond format 2: rows that an archive file has may be deleted, no others.
const ARCHIVES: &str = "
CREATE TABLE archives (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    before BLOB NOT NULL,
    after BLOB NOT NULL
) STRICT;
DROP TRIGGER IF EXISTS rows_stay;
CREATE TRIGGER rows_stay BEFORE DELETE ON rows
WHEN old.seq > (SELECT coalesce(max(last), 0) FROM archives)
BEGIN SELECT raise(ABORT, 'rows of a journal stay'); END;
CREATE TRIGGER archives_stay BEFORE DELETE ON archives
BEGIN SELECT raise(ABORT, 'archives of a journal stay'); END;
CREATE TRIGGER archives_keep BEFORE UPDATE ON archives
BEGIN SELECT raise(ABORT, 'archives of a journal stay as they are'); END;
";

/// Makes a journal of the format `from` one of the latest. Rows and snapshots stay as they are.
pub(super) fn migrate(connection: &mut Connection, from: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if from < 2 {
        transaction.execute_batch(PAGES)?;
    }
    transaction.execute_batch(ARCHIVES)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Makes the tables, all or none.
pub(super) fn create(
    connection: &mut Connection,
    path: &Path,
    origin: &Origin,
) -> Result<(), StoreError> {
    let mut made = || -> rusqlite::Result<()> {
        // Before the first table, or it has no effect: pages that become free can be given back.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(PAGES)?;
        transaction.execute_batch(ARCHIVES)?;
        let insert = "INSERT INTO meta (id, market, created) VALUES (1, ?1, ?2)";
        transaction.execute(insert, (&origin.market, origin.created))?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        transaction.commit()
    };
    made().map_err(|e| explain(path, 0, &e))
}

/// Market to which the journal belongs.
pub(super) fn origin(connection: &Connection, path: &Path) -> Result<Origin, StoreError> {
    let found = connection.query_row("SELECT market, created FROM meta WHERE id = 1", [], |row| {
        Ok(Origin { market: row.get(0)?, created: row.get(1)? })
    });
    found.map_err(|e| explain(path, 0, &e))
}

/// Where the journal ends, with its last row and its snapshots looked at.
pub(super) fn end(
    connection: &Connection,
    path: &Path,
    origin: &Origin,
) -> Result<JournalEnd, StoreError> {
    let last = "SELECT seq, at, body, chain FROM rows ORDER BY seq DESC LIMIT 1";
    let last = connection.query_row(last, [], |row| {
        let digest = Digest(row.get(3)?);
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Vec<u8>>(2)?, digest))
    });
    let last = last.optional().map_err(|e| explain(path, 0, &e))?;
    let end = match last {
        None => archives::end(connection, path)?.unwrap_or_else(|| JournalEnd::of(origin)),
        Some((seq, at, body, digest)) => {
            let seq = u64::try_from(seq).ok().filter(|seq| *seq > 0);
            let seq = seq.ok_or_else(|| damaged(path, 0, "it has rows before the first"))?;
            let before = digest_at(connection, path, origin, seq - 1)?;
            if link(before, seq, at, &body) != digest {
                return Err(damaged(path, seq, CHANGED));
            }
            JournalEnd { seq, at, digest }
        }
    };
    let newest = connection.query_row("SELECT max(seq) FROM snapshots", [], |row| row.get(0));
    let newest: Option<i64> = newest.map_err(|e| explain(path, 0, &e))?;
    if newest.is_some_and(|newest| u64::try_from(newest).is_ok_and(|newest| newest > end.seq)) {
        let what = "there was a snapshot of later rows, and they are missing";
        return Err(damaged(path, end.seq + 1, what));
    }
    Ok(end)
}

/// What is said of a row that is not what was written.
pub(super) const CHANGED: &str = "it is not what was written";

/// The digest of a row as it is written there; of row 0 the origin's, of the last row that was
/// archived the one that was noted then.
pub(super) fn digest_at(
    connection: &Connection,
    path: &Path,
    origin: &Origin,
    seq: u64,
) -> Result<Digest, StoreError> {
    if seq == 0 {
        return Ok(origin.digest());
    }
    let chain = "SELECT chain FROM rows WHERE seq = ?1";
    let found = connection.query_row(chain, [seq as i64], |row| row.get(0)).optional();
    let found = found.map_err(|e| explain(path, seq, &e))?;
    match found {
        Some(digest) => Ok(Digest(digest)),
        None => archives::after(connection, path, seq)?.ok_or_else(|| damaged(path, seq, MISSING)),
    }
}

/// What is said of a row that is not there.
pub(super) const MISSING: &str = "it is missing";
