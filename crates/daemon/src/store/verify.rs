//! A look at every row.

use super::chain::{Digest, JournalEnd};
use super::{Store, StoreError};

/// Rows that are looked at in one go.
const PAGE: usize = 256;

/// A journal whose chain holds from the first row to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Number of rows.
    pub rows: u64,
    /// The time of the first and of the last row.
    pub times: Option<(i64, i64)>,
    /// The last row's digest, which covers all of them.
    pub digest: Digest,
    /// Snapshots that are not what was kept, by the row after which they were taken. The rows make
    /// up for them. Empty where the store did not look.
    pub damaged_snapshots: Vec<u64>,
}

/// Reads all rows up to the last that is there when they end. Linear, in pieces.
///
/// # Errors
/// At the first row that is missing or not what was written.
pub fn verify(store: &mut dyn Store) -> Result<Verified, StoreError> {
    let mut end = JournalEnd::of(store.origin());
    let mut first = None;
    loop {
        let rows = store.read(end.seq, PAGE)?;
        if rows.is_empty() {
            break;
        }
        first = first.or(rows.first().map(|row| row.at));
        end = rows.iter().fold(end, |end, row| end.then(row.at, &row.body));
    }
    let times = first.map(|first| (first, end.at));
    Ok(Verified { rows: end.seq, times, digest: end.digest, damaged_snapshots: vec![] })
}
