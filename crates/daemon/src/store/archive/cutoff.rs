//! Which rows go into the next archive file.

use crate::store::Row;

/// Which rows may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveCutoff {
    /// Those that are older than this: seconds since 1970.
    pub before: i64,
    /// Fewer than fill a file go only if the first of them is older than this.
    pub partly_before: i64,
}

/// Why rows must stay in the database although they are old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// They are needed until a snapshot has what they say.
    Snapshots,
    /// There are no snapshots: they are only read.
    Nothing,
}

impl ArchiveCutoff {
    /// Rows of one archive file, at most.
    pub const ROWS: usize = 10_000;
    /// Bytes of their bodies: the file ends with the row that reaches them.
    const BYTES: usize = 4 << 20;

    /// Of these, the first [`ArchiveCutoff::ROWS`] rows of the database, those of the next file, none
    /// with a number above `upto`; `None`: they do not go yet.
    pub fn segment(self, mut rows: Vec<Row>, upto: u64) -> Option<Vec<Row>> {
        rows.truncate(rows.iter().take_while(|it| it.seq <= upto && it.at < self.before).count());
        let mut bytes = 0;
        let fits = rows.iter().position(|row| {
            bytes += row.body.len();
            bytes >= Self::BYTES
        });
        rows.truncate(fits.map_or(rows.len(), |place| place + 1));
        let is_full = rows.len() == Self::ROWS || fits.is_some();
        let is_old = rows.first().is_some_and(|row| row.at < self.partly_before);
        (is_full || is_old).then_some(rows)
    }
}
