//! Rows in the table: added at its end, read with their chain.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::error::{damaged, explain};
use super::schema::{CHANGED, MISSING, digest_at};
use crate::store::chain::{Digest, JournalEnd, link};
use crate::store::{Origin, Row, StoreError};

/// Adds rows behind `end`, in one transaction; returns the new end.
pub(super) fn add(
    connection: &mut Connection,
    mut end: JournalEnd,
    rows: &[(i64, Vec<u8>)],
) -> rusqlite::Result<JournalEnd> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let insert = "INSERT INTO rows (seq, at, body, chain) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = transaction.prepare(insert)?;
    for (at, body) in rows {
        end = end.then(*at, body);
        insert.execute((end.seq as i64, at, body, &end.digest.0))?;
    }
    drop(insert);
    transaction.commit()?;
    Ok(end)
}

/// The highest number that is there, 0 if there is none.
pub(super) fn last(connection: &Connection) -> rusqlite::Result<u64> {
    let last = connection.query_row("SELECT max(seq) FROM rows", [], |row| row.get(0));
    last.map(|last: Option<i64>| last.map_or(0, |last| u64::try_from(last).unwrap_or(0)))
}

/// Rows are read until they have so many bytes: one may have megabytes.
const ENOUGH: usize = 8 << 20;

/// What reading needs to know of the journal.
#[derive(Debug)]
pub(super) struct JournalSource<'a> {
    /// Where it is.
    pub(super) path: &'a Path,
    /// What the first row hangs on.
    pub(super) origin: &'a Origin,
    /// A row that must be there.
    pub(super) last: u64,
}

impl JournalSource<'_> {
    /// At most `max` rows behind `after`, verified.
    pub(super) fn rows(
        &self,
        view: &Connection,
        after: u64,
        max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let last =
            last(view).map_err(|e| explain(self.path, after.saturating_add(1), &e))?.max(self.last);
        if after >= last {
            return Ok(vec![]);
        }
        let mut before = digest_at(view, self.path, self.origin, after)?;
        let wanted = (last - after).min(max as u64);
        let mut rows = Vec::new();
        let mut seq = after;
        let explain = |seq, e| explain(self.path, seq, &e);
        let select = "SELECT seq, at, body, chain FROM rows WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut select = view.prepare(select).map_err(|e| explain(seq + 1, e))?;
        let found = select.query((after as i64, wanted as i64));
        let mut found = found.map_err(|e| explain(seq + 1, e))?;
        let mut bytes = 0;
        while seq < after + wanted && bytes < ENOUGH {
            seq += 1;
            let row = found.next().map_err(|e| explain(seq, e))?;
            let row = row.ok_or_else(|| damaged(self.path, seq, MISSING))?;
            let row = Stored::from(row).map_err(|e| explain(seq, e))?;
            before = row.follows(self.path, before, seq)?;
            bytes += row.body.len();
            rows.push(Row { seq, at: row.at, body: row.body });
        }
        Ok(rows)
    }
}

/// A row as it is in the table.
struct Stored {
    seq: i64,
    at: i64,
    body: Vec<u8>,
    digest: Digest,
}

impl Stored {
    fn from(row: &rusqlite::Row<'_>) -> rusqlite::Result<Stored> {
        let digest = Digest(row.get(3)?);
        Ok(Stored { seq: row.get(0)?, at: row.get(1)?, body: row.get(2)?, digest })
    }

    /// Its digest, if it is the row `seq` behind one with the digest `before`.
    fn follows(&self, path: &Path, before: Digest, seq: u64) -> Result<Digest, StoreError> {
        if self.seq != seq as i64 {
            return Err(damaged(path, seq, MISSING));
        }
        match link(before, seq, self.at, &self.body) == self.digest {
            true => Ok(self.digest),
            false => Err(damaged(path, seq, CHANGED)),
        }
    }
}
