//! Snapshots beside the rows: the last few, each with a digest of its own.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::error::{damaged as damaged_page_at, explain};
use crate::store::{Changes, Page, PageKey, Snapshot, StoreError, chain};

/// Snapshots from this version on have pages.
const PAGED: u32 = 2;

fn damaged_page(path: &Path, what: String) -> StoreError {
    damaged_page_at(path, 0, what)
}

/// As many snapshots are kept.
pub const KEPT: u32 = 3;

/// Covers all of it.
fn digest(snapshot: &Snapshot) -> [u8; 32] {
    chain::of_snapshot(snapshot).0
}

/// Covers all of a page.
fn page_digest(key: PageKey, body: &[u8]) -> [u8; 32] {
    chain::of_page(key, body).0
}

/// Puts one with pages there, and lets all others go.
pub(super) fn keep_pages(
    connection: &mut Connection,
    snapshot: &Snapshot,
    changed: &Changes,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let insert =
        "INSERT OR REPLACE INTO pages (kind, number, body, digest) VALUES (?1, ?2, ?3, ?4)";
    if let Changes::All(_) = changed {
        transaction.execute("DELETE FROM pages", [])?;
    }
    let mut insert = transaction.prepare(insert)?;
    let mut delete = transaction.prepare("DELETE FROM pages WHERE kind = ?1 AND number = ?2")?;
    for Page { key, body } in changed.pages() {
        match body.is_empty() {
            true => delete.execute((key.0, key.1 as i64))?,
            false => insert.execute((key.0, key.1 as i64, body, page_digest(*key, body)))?,
        };
    }
    drop((insert, delete));
    transaction.execute("DELETE FROM snapshots", [])?;
    let Snapshot { seq, at, version, body } = snapshot;
    transaction.execute(
        "INSERT INTO snapshots (seq, at, version, body, digest) VALUES (?1, ?2, ?3, ?4, ?5)",
        (*seq as i64, at, version, body, digest(snapshot)),
    )?;
    transaction.commit()
}

/// Pages are read until they have so many bytes.
const ENOUGH: usize = 4 << 20;

/// Pages behind one, in order.
pub(super) fn pages(
    connection: &Connection,
    path: &Path,
    after: Option<PageKey>,
) -> Result<Vec<Page>, StoreError> {
    let read = || -> rusqlite::Result<Vec<(Page, [u8; 32])>> {
        let select = "SELECT kind, number, body, digest FROM pages \
                      WHERE (kind, number) > (?1, ?2) ORDER BY kind, number";
        let (kind, number) =
            after.map_or((-1, 0), |(kind, number)| (i64::from(kind), number as i64));
        let mut select = connection.prepare(select)?;
        let mut found = select.query((kind, number))?;
        let (mut pages, mut bytes) = (Vec::new(), 0);
        while let Some(row) = found.next()? {
            let key = (row.get(0)?, row.get::<_, i64>(1)? as u64);
            let page = Page { key, body: row.get(2)? };
            bytes += page.body.len();
            pages.push((page, row.get(3)?));
            if bytes >= ENOUGH {
                break;
            }
        }
        Ok(pages)
    };
    let pages = read().map_err(|e| explain(path, 0, &e))?;
    let bad = pages.iter().find(|(page, digest)| page_digest(page.key, &page.body) != *digest);
    match bad {
        Some((page, _)) => {
            let (kind, number) = page.key;
            Err(damaged_page(path, format!("page {kind}/{number} of the snapshot is damaged")))
        }
        None => Ok(pages.into_iter().map(|(page, _)| page).collect()),
    }
}

/// Puts one there and lets the oldest go.
pub(super) fn keep(connection: &mut Connection, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Snapshot { seq, at, version, body } = snapshot;
    transaction.execute(
        "INSERT OR REPLACE INTO snapshots (seq, at, version, body, digest) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
        (*seq as i64, at, version, body, digest(snapshot)),
    )?;
    transaction.execute(
        "DELETE FROM snapshots WHERE seq NOT IN \
         (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?1)",
        [KEPT],
    )?;
    transaction.commit()
}

/// The latest that is as it was kept.
pub(super) fn latest(connection: &Connection, path: &Path) -> Result<Option<Snapshot>, StoreError> {
    for seq in numbers(connection, path)? {
        match read(connection, seq) {
            Ok(Some(snapshot)) => return Ok(Some(snapshot)),
            Ok(None) => warn(path, seq, "it is not what was kept"),
            Err(error) => warn(path, seq, &error.to_string()),
        }
    }
    Ok(None)
}

fn warn(path: &Path, seq: i64, why: &str) {
    let path = path.display();
    tracing::warn!("{path}: the snapshot after row {seq} is damaged and not used: {why}");
}

/// Those that are not as they were kept.
pub(super) fn damaged(connection: &Connection, path: &Path) -> Result<Vec<u64>, StoreError> {
    let numbers = numbers(connection, path)?.into_iter();
    let whole = |seq: i64| match read(connection, seq) {
        Ok(Some(snapshot)) => snapshot.version < PAGED || pages_are_whole(connection, path),
        _ => false,
    };
    let bad = numbers.filter(|seq| !whole(*seq));
    Ok(bad.map(|seq| seq as u64).collect())
}

fn pages_are_whole(connection: &Connection, path: &Path) -> bool {
    let mut after = None;
    while let Ok(pages) = pages(connection, path, after) {
        match pages.last() {
            None => return true,
            Some(last) => after = Some(last.key),
        }
    }
    false
}

/// After which rows there are any, the latest first.
fn numbers(connection: &Connection, path: &Path) -> Result<Vec<i64>, StoreError> {
    let read = || -> rusqlite::Result<Vec<i64>> {
        let mut all = connection.prepare("SELECT seq FROM snapshots ORDER BY seq DESC")?;
        all.query_map([], |row| row.get(0))?.collect()
    };
    read().map_err(|e| explain(path, 0, &e))
}

/// One of them; `None` if its digest is wrong.
fn read(connection: &Connection, seq: i64) -> rusqlite::Result<Option<Snapshot>> {
    let select = "SELECT at, version, body, digest FROM snapshots WHERE seq = ?1";
    connection.query_row(select, [seq], |row| {
        let (at, version, body) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let snapshot = Snapshot { seq: seq as u64, at, version, body };
        let kept: [u8; 32] = row.get(3)?;
        Ok((digest(&snapshot) == kept).then_some(snapshot))
    })
}
