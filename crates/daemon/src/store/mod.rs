//! Where the journal is kept: rows that are never changed, and snapshots of the state.
//!
//! A store knows nothing of what rows mean. It numbers them, chains them (each row's digest
//! covers the one before, so that a lost, changed or swapped row is seen), and says what is safe.
//!
//! - [`sqlite`]: a file on this machine, its copies and its check.
//! - [`memory`]: for tests, with faults on order.
//! - [`archive`]: files of old rows.
//! - [`chain`]: how rows are chained, in every store.
//! - [`verify`], [`export`]: all rows of any store, one after the other.
//! - [`RowSource`]: all rows of a store or an export for another store.
//! - [`conformance`]: what every store must hold. A journal in PostgreSQL is in a crate of its own,
//!   `tradewind-postgres`, since its client has an async runtime inside.

pub mod archive;
pub mod chain;
pub mod conformance;
mod export;
mod import;
pub mod memory;
pub mod sqlite;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt::Debug;

pub use chain::{Digest, Origin};
pub use export::{ExportError, export};
pub use import::{ExportedRows, ImportError, RowSource, StoreRows, compared};
pub use sqlite::new_origin;
pub use verify::{Verified, verify};

/// One row of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// From 1, without gaps.
    pub seq: u64,
    /// Seconds since 1970, never less than that of the row before.
    pub at: i64,
    /// A record, as its codec writes it.
    pub body: Vec<u8>,
}

/// The state after some row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// After which row.
    pub seq: u64,
    /// When it was taken.
    pub at: i64,
    /// Version of the format.
    pub version: u32,
    /// The state, as its codec writes it.
    pub body: Vec<u8>,
}

/// A part of a snapshot that has parts: of some kind, with a number.
pub type PageKey = (u8, u64);

/// One of them, or that there is none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Key of the page.
    pub key: PageKey,
    /// As its codec writes it; empty: it is gone.
    pub body: Vec<u8>,
}

/// What a snapshot's pages are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// These, and no others.
    All(Vec<Page>),
    /// Those of the last snapshot, but for these.
    Some(Vec<Page>),
}

impl Changes {
    /// What is to be written.
    pub fn pages(&self) -> &[Page] {
        match self {
            Changes::All(pages) | Changes::Some(pages) => pages,
        }
    }
}

/// Why a store did not do as asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It could not be written or read: full, gone, forbidden.
    #[error("{path}: {what}")]
    Io {
        /// Path of the file or folder.
        path: String,
        /// What went wrong, and what to do.
        what: String,
    },
    /// The disk takes no more, or not from us.
    #[error("{path}: the disk is full, nothing was written; make room")]
    Full {
        /// Path of the file or folder.
        path: String,
    },
    /// What was read is not what was written.
    #[error("{path}: the journal is damaged at row {seq}: {what}")]
    Damaged {
        /// Path of the file or folder.
        path: String,
        /// The first row that is wrong; 0: what comes before the rows, or the file as such.
        seq: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A journal was here, and it or its write-ahead log is missing. Nothing was begun instead.
    #[error("{path}: {what}")]
    Lost {
        /// Path of the file or folder.
        path: String,
        /// What is missing, and what is there.
        what: String,
    },
    /// Another process has it.
    #[error("{path} is in use by another process")]
    Busy {
        /// Path of the file or folder.
        path: String,
    },
    /// Another daemon has taken over the journal since, or the database has gone back to an earlier
    /// state. Nothing is written here any more.
    #[error("{path}: {}: nothing is written here any more", succession(*epoch, *ours))]
    Superseded {
        /// Where the journal is.
        path: String,
        /// The owner's epoch.
        epoch: u64,
        /// The epoch of this store.
        ours: u64,
    },
    /// Written by a later release.
    #[error("{path} was written by a later release (format {found}, this one knows {known})")]
    TooNew {
        /// Path of the file or folder.
        path: String,
        /// Number of the format found.
        found: u32,
        /// The latest that is known here.
        known: u32,
    },
}

/// Epochs only rise: an earlier one is of a database that has lost what it had confirmed.
fn succession(epoch: u64, ours: u64) -> String {
    match epoch < ours {
        true => format!(
            "the database has gone back to an earlier state (its epoch is {epoch}, ours was {ours}), \
             and what it had confirmed since is lost"
        ),
        false => format!(
            "another daemon has taken over this market (its epoch is {epoch}, ours was {ours})"
        ),
    }
}

/// A journal with one writer. Another database implements this.
pub trait Store: Debug + Send {
    /// Whose journal it is, and since when.
    fn origin(&self) -> &Origin;

    /// The last row's number, 0 if there is none.
    fn last(&self) -> u64;

    /// Adds rows, all or none; when it returns they survive a loss of power.
    ///
    /// `at` and body of each; they are numbered from `last() + 1` on.
    ///
    /// # Errors
    /// If they are not safe, or earlier than the row before. They are not there then: the next
    /// rows have their numbers. But where the disk did not say whether it kept them, nothing
    /// more is added, and only the next opening shows it.
    fn append(&mut self, rows: &[(i64, Vec<u8>)]) -> Result<(), StoreError>;

    /// Rows after `seq`, in order, at most `max` and some megabytes; their chain is verified.
    ///
    /// # Errors
    /// If they cannot be read, or are not what was written.
    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError>;

    /// The latest snapshot that is as it was kept; a damaged one is passed over with a warning.
    ///
    /// # Errors
    /// If it cannot be read.
    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError>;

    /// Keeps a snapshot beside the rows; older ones may go.
    ///
    /// # Errors
    /// If it is not safe, or of a row that is not there. The journal is whole without it.
    fn keep(&mut self, snapshot: &Snapshot) -> Result<(), StoreError>;

    /// Keeps a snapshot that has parts: its own body, and those pages that have changed since the
    /// last one of this kind. All other snapshots go. All or nothing.
    ///
    /// # Errors
    /// As [`Store::keep`].
    fn keep_pages(&mut self, snapshot: &Snapshot, changed: &Changes) -> Result<(), StoreError>;

    /// Pages behind `after` in the order of their keys, some megabytes at most; none at the end.
    ///
    /// # Errors
    /// If they cannot be read, or one is not what was kept.
    fn pages(&mut self, after: Option<PageKey>) -> Result<Vec<Page>, StoreError>;

    /// Moves what was appended into its lasting place, so that little is left to recover after a
    /// crash. Rows are safe without it; readers do not wait.
    ///
    /// # Errors
    /// If the disk takes no more.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
