//! Which rows are in archive files: the table, and reading them.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, Row as Entry};

use super::error::{damaged, explain};
use super::{Sqlite, files};
use crate::store::archive::{Segment, SegmentReader};
use crate::store::chain::{Digest, JournalEnd};
use crate::store::{Row, StoreError};

/// The folder of a journal's archive files.
pub(super) fn folder(journal: &Path) -> PathBuf {
    files::beside(journal, ".archive")
}

/// A journal of an earlier format has no such table.
fn has_table(view: &Connection, path: &Path) -> Result<bool, StoreError> {
    let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'archives'";
    let count = view.query_row(count, [], |row| row.get::<_, i64>(0));
    Ok(count.map_err(|e| explain(path, 0, &e))? > 0)
}

/// Segments that a condition on the table selects, in the order of their rows.
fn select(
    view: &Connection,
    path: &Path,
    condition: &str,
    seq: u64,
) -> Result<Vec<Segment>, StoreError> {
    if !has_table(view, path)? {
        return Ok(Vec::new());
    }
    let select = format!(
        "SELECT first, last, first_at, last_at, before, after FROM archives \
         WHERE {condition} ORDER BY first"
    );
    let read = || -> rusqlite::Result<Vec<Segment>> {
        let mut found = view.prepare(&select)?;
        found.query_map([i64::try_from(seq).unwrap_or(i64::MAX)], segment)?.collect()
    };
    let found = read().map_err(|e| explain(path, seq, &e))?;
    match found.iter().find(|it| it.first == 0 || it.first > it.last) {
        Some(bad) => Err(damaged(path, bad.first, "its list of archive files is damaged")),
        None => Ok(found),
    }
}

fn segment(row: &Entry<'_>) -> rusqlite::Result<Segment> {
    let number = |place: usize| row.get::<_, i64>(place).map(|it| u64::try_from(it).unwrap_or(0));
    Ok(Segment {
        first: number(0)?,
        last: number(1)?,
        times: (row.get(2)?, row.get(3)?),
        before: Digest(row.get(4)?),
        after: Digest(row.get(5)?),
    })
}

/// All of them.
pub(super) fn all(view: &Connection, path: &Path) -> Result<Vec<Segment>, StoreError> {
    select(view, path, "last >= ?1", 0)
}

/// The one that has row `seq`.
pub(super) fn holding(
    view: &Connection,
    path: &Path,
    seq: u64,
) -> Result<Option<Segment>, StoreError> {
    Ok(select(view, path, "first <= ?1 AND last >= ?1", seq)?.pop())
}

/// The last one.
pub(super) fn last(view: &Connection, path: &Path) -> Result<Option<Segment>, StoreError> {
    Ok(select(view, path, "last >= ?1 AND last = (SELECT max(last) FROM archives)", 0)?.pop())
}

/// Where the journal ends if the database has no rows.
pub(super) fn end(view: &Connection, path: &Path) -> Result<Option<JournalEnd>, StoreError> {
    let last = last(view, path)?;
    Ok(last.map(|it| JournalEnd { seq: it.last, at: it.times.1, digest: it.after }))
}

/// The chain after row `seq`, if that is the last row of a segment.
pub(super) fn after(
    view: &Connection,
    path: &Path,
    seq: u64,
) -> Result<Option<Digest>, StoreError> {
    Ok(select(view, path, "last = ?1", seq)?.pop().map(|it| it.after))
}

/// Notes a segment, whose file is there, and deletes its rows: both or none.
pub(super) fn note(
    connection: &mut Connection,
    path: &Path,
    it: &Segment,
) -> Result<(), StoreError> {
    let mut noted = || -> rusqlite::Result<bool> {
        let behaviour = rusqlite::TransactionBehavior::Immediate;
        let change = connection.transaction_with_behavior(behaviour)?;
        let next = "SELECT coalesce((SELECT max(last) FROM archives), 0) + 1";
        let next: i64 = change.query_row(next, [], |row| row.get(0))?;
        change.execute(
            "INSERT INTO archives (first, last, first_at, last_at, before, after) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (it.first as i64, it.last as i64, it.times.0, it.times.1, &it.before.0, &it.after.0),
        )?;
        let bounds = (it.first as i64, it.last as i64);
        let gone = change.execute("DELETE FROM rows WHERE seq BETWEEN ?1 AND ?2", bounds)?;
        let is_right = next == it.first as i64 && gone as u64 == it.last - it.first + 1;
        if is_right {
            change.commit()?;
        }
        Ok(is_right)
    };
    match noted().map_err(|e| explain(path, it.first, &e))? {
        true => Ok(()),
        false => Err(damaged(path, it.first, "its rows are not those of the archive file")),
    }
}

/// The digest of a row that is in the database.
pub(super) fn digest_in_rows(
    view: &Connection,
    path: &Path,
    seq: u64,
) -> Result<Option<Digest>, StoreError> {
    let chain = "SELECT chain FROM rows WHERE seq = ?1";
    let found = view.query_row(chain, [seq as i64], |row| row.get(0)).optional();
    Ok(found.map_err(|e| explain(path, seq, &e))?.map(Digest))
}

impl Sqlite {
    /// The archive files that the journal has noted, in the order of their rows.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn archives(&self) -> Result<Vec<Segment>, StoreError> {
        all(&self.connection, &self.path)
    }

    /// At most `max` rows behind `after` of the segment that has the next one. A reader that reads
    /// on where the last call ended reads each file once.
    pub(super) fn read_archived(
        &mut self,
        segment: &Segment,
        after: u64,
        max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let goes_on = |it: &SegmentReader| it.segment() == segment && it.at() <= after;
        let mut reader = match self.archive.take().filter(goes_on) {
            Some(reader) => reader,
            None => SegmentReader::open(&folder(&self.path), &self.origin, segment)?,
        };
        let rows = reader.rows(after, max)?;
        self.archive = Some(reader);
        Ok(rows)
    }
}
