//! Snapshots beside the rows: the last few, each with a digest of its own.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use super::error::explain;
use crate::store::{Snapshot, StoreError};

/// As many snapshots are kept.
pub const KEPT: u32 = 3;

/// Covers all of it.
fn digest(snapshot: &Snapshot) -> [u8; 32] {
    let hash = Sha256::new().chain_update(snapshot.seq.to_be_bytes());
    let hash = hash.chain_update(snapshot.at.to_be_bytes());
    let hash = hash.chain_update(snapshot.version.to_be_bytes());
    hash.chain_update(&snapshot.body).finalize().into()
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
    let bad = numbers.filter(|seq| !matches!(read(connection, *seq), Ok(Some(_))));
    Ok(bad.map(|seq| seq as u64).collect())
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
