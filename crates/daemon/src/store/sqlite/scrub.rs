//! A slow look at all that is old: rows in archive files and in the database, and the snapshot.

use std::path::Path;

use super::error::explain;
use super::{Sqlite, archives, snapshots};
use crate::store::{Store as _, StoreError};

/// Rows that are looked at in one step.
const STEP: usize = 256;

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Damage {
    /// Path of the damaged file.
    pub path: String,
    /// The first row that is wrong there; 0: the snapshot.
    pub row: u64,
    /// What is wrong, and what to do.
    pub what: String,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scrubbed {
    /// So many rows are as they were written.
    Rows(u64),
    /// A row, or the snapshot, is not; the next step goes on behind it.
    Damaged(Damage),
    /// All was looked at; the next step begins at the first row.
    End,
}

/// A look at a journal, in steps of some hundred rows and at most some megabytes.
#[derive(Debug)]
pub struct Scrub {
    store: Sqlite,
    /// The last row that was looked at.
    after: u64,
}

impl Scrub {
    /// Begins at the first row. A process may write the journal meanwhile.
    ///
    /// # Errors
    /// As [`Sqlite::look`].
    pub fn begin(path: &Path) -> Result<Scrub, StoreError> {
        Ok(Scrub { store: Sqlite::look(path)?, after: 0 })
    }

    /// Looks at the next rows.
    ///
    /// # Errors
    /// If the journal cannot be read at all; damage is no error.
    pub fn step(&mut self) -> Result<Scrubbed, StoreError> {
        match self.store.read(self.after, STEP) {
            Ok(rows) => match rows.last() {
                Some(last) => {
                    self.after = last.seq;
                    Ok(Scrubbed::Rows(rows.len() as u64))
                }
                None => self.end(),
            },
            Err(StoreError::Damaged { path, seq, what }) => {
                let damage = self.damage(path, seq, &what)?;
                Ok(Scrubbed::Damaged(damage))
            }
            Err(wrong) => Err(wrong),
        }
    }

    /// Of a damaged archive file the rest cannot be read either.
    fn damage(&mut self, path: String, seq: u64, what: &str) -> Result<Damage, StoreError> {
        let holding = archives::holding(&self.store.connection, &self.store.path, seq)?;
        self.after = match &holding {
            Some(segment) => segment.last,
            None => seq.max(self.after + 1),
        };
        let what = match holding {
            Some(_) => format!(
                "{what}; put the file of this name from a backup in its place, then run \
                 `tradewind journal verify`"
            ),
            None => format!(
                "{what}; the market goes on, but its journal cannot be proved any more: look at the \
                 disk, and keep the last backup that `tradewind journal verify --file` proves"
            ),
        };
        Ok(Damage { path, row: seq, what })
    }

    fn end(&mut self) -> Result<Scrubbed, StoreError> {
        // Only once in a pass: the snapshot is looked at where the rows end.
        if self.after == u64::MAX {
            self.after = 0;
            return Ok(Scrubbed::End);
        }
        self.after = u64::MAX;
        // One view: the market may keep its next snapshot meanwhile.
        let view = self.store.connection.unchecked_transaction();
        let view = view.map_err(|e| explain(&self.store.path, 0, &e))?;
        let damaged = snapshots::damaged(&view, &self.store.path)?;
        Ok(match damaged.first() {
            None => Scrubbed::Rows(0),
            Some(row) => Scrubbed::Damaged(Damage {
                path: self.store.path.display().to_string(),
                row: 0,
                what: format!(
                    "the snapshot after row {row} is damaged; nothing is lost, the next start reads \
                     all rows, and the next snapshot is whole"
                ),
            }),
        })
    }
}
