//! A journal in one file, kept by SQLite.
//!
//! The file has a write-ahead log beside it (`-wal`, with `-shm` as its index) while it is open,
//! and a lock (`.lock`): one process writes, others may look ([`Sqlite::look`]), copy
//! ([`backup`]) and check ([`check`]) meanwhile. What `append` has acknowledged is synced. The
//! format is versioned; a later release opens the files of earlier ones.
//!
//! Old rows lie in archive files in a folder beside it (`.archive`); reading goes through them and
//! the database as one chain. [`Keeper`] moves rows there, [`Scrub`] looks at all of it slowly.

mod archives;
mod copy;
mod creation;
mod error;
mod files;
mod keeper;
mod rows;
mod schema;
mod scrub;
mod snapshots;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::archive;
use super::chain::JournalEnd;
use super::{Changes, Origin, Page, PageKey, Row, Snapshot, Store, StoreError};
use error::{explain, foreign, io, is_unsure};
use schema::FileKind;

use files::Lock;

pub use copy::{backup, check, import, restore};
pub use creation::{remains, set_aside};
pub use files::origin as new_origin;
pub use keeper::{Keeper, archive_all, compact};

pub use super::archive::{ArchiveCutoff, Cover};
pub use schema::FORMAT;
pub use scrub::{Damage, Scrub, Scrubbed};
pub use snapshots::KEPT;

/// How long to wait for another process that closes the file or copies its last page.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open journal.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    // Closed before the lock is given up.
    connection: Connection,
    origin: Origin,
    end: JournalEnd,
    mode: Mode,
    // Given up when it is dropped.
    lock: Option<Lock>,
    /// The archive file that was read last.
    archive: Option<archive::SegmentReader>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Writing,
    Looking,
    /// A sync failed: what the disk holds is known after the next opening only.
    Unsure,
}

impl Sqlite {
    /// Opens a journal for writing; makes it, and its folder, if there is none: for their owner
    /// only. Constant time but for what a crash left in the write-ahead log. A new journal is
    /// complete and on the disk before it gets its name, so an empty file is never a new one.
    ///
    /// # Errors
    /// If another process has it, if it is not a journal or one of a later format (it is not
    /// touched then), if a part of it is missing ([`StoreError::Lost`]), if its end is damaged, or
    /// if the disk will not have it.
    pub fn open(path: &Path) -> Result<Sqlite, StoreError> {
        Sqlite::open_with(path, files::origin)
    }

    /// The same with a journal that must be there: none is made.
    ///
    /// # Errors
    /// As with [`Sqlite::open`]; [`StoreError::Lost`] if there is none.
    pub fn reopen(path: &Path) -> Result<Sqlite, StoreError> {
        let lock = Lock::take(path)?;
        creation::nothing_is_missing(path, &lock)?;
        Sqlite::opened(path, lock)
    }

    /// The same with a given origin, if there is no journal.
    fn open_with(
        path: &Path,
        origin: impl FnOnce() -> Result<Origin, StoreError>,
    ) -> Result<Sqlite, StoreError> {
        files::make_folder(path)?;
        let lock = Lock::take(path)?;
        if creation::is_due(path, &lock)? {
            creation::create(path, &origin()?)?;
        }
        creation::nothing_is_missing(path, &lock)?;
        Sqlite::opened(path, lock)
    }

    /// The journal that is there. SQLite's index of the log is a file; where there is no room for
    /// it, this process keeps it in its own memory, and no other can read the journal meanwhile.
    fn opened(path: &Path, lock: Lock) -> Result<Sqlite, StoreError> {
        let connection = match connect_to_write(path, Index::Shared) {
            Err(StoreError::Full { .. }) => connect_to_write(path, Index::Own)?,
            other => other?,
        };
        let mut journal = Sqlite::begin(path, connection, Some(lock))?;
        journal.lock.iter_mut().for_each(Lock::opened);
        Ok(journal)
    }

    /// Opens a journal for reading only, also while a daemon writes it: [`Store::read`] finds new
    /// rows, [`Store::last`] is of now. It needs the right to make files beside the journal, or a
    /// journal that is a backup.
    ///
    /// # Errors
    /// As with [`Sqlite::open`]; or if there is none.
    pub fn look(path: &Path) -> Result<Sqlite, StoreError> {
        if !path.exists() {
            return Err(io(path, "there is no such file"));
        }
        if creation::is_empty(path) {
            // SQLite would remove the write-ahead log of an empty file.
            return Err(creation::lost(path, "the journal is empty"));
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        match schema::kind(&connection, path)? {
            FileKind::Empty => Err(foreign(path)),
            FileKind::Journal | FileKind::Earlier(_) => Sqlite::begin(path, connection, None),
        }
    }

    fn begin(
        path: &Path,
        connection: Connection,
        lock: Option<Lock>,
    ) -> Result<Sqlite, StoreError> {
        let view = connection.unchecked_transaction().map_err(|e| explain(path, 0, &e))?;
        let origin = schema::origin(&view, path)?;
        let end = schema::end(&view, path, &origin)?;
        drop(view);
        let mode = if lock.is_some() { Mode::Writing } else { Mode::Looking };
        let path = path.to_owned();
        Ok(Sqlite { path, connection, origin, end, mode, lock, archive: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn may_write(&self) -> Result<(), StoreError> {
        match self.mode {
            Mode::Writing => Ok(()),
            Mode::Looking => Err(io(&self.path, "it was opened for reading only")),
            Mode::Unsure => Err(io(&self.path, error::UNSURE)),
        }
    }

    /// What a failed writing means, and for what comes after it.
    fn writing_failed(&mut self, seq: u64, error: &rusqlite::Error) -> StoreError {
        if is_unsure(error) {
            self.mode = Mode::Unsure;
        }
        explain(&self.path, seq, error)
    }
}

/// A connection that has changed nothing yet.
fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let ready = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        Ok(connection)
    });
    ready.map_err(|e| explain(path, 0, &e))
}

/// Where SQLite's index of the write-ahead log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    /// In a file, for all processes.
    Shared,
    /// In this process alone.
    Own,
}

fn connect_to_write(path: &Path, index: Index) -> Result<Connection, StoreError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if index == Index::Own {
        let own = connection.pragma_update(None, "locking_mode", "exclusive");
        own.map_err(|e| explain(path, 0, &e))?;
    }
    let kind = schema::kind(&connection, path)?;
    if kind == FileKind::Empty {
        return Err(creation::lost(path, "there are no tables in it"));
    }
    prepare(&connection, path)?;
    if let FileKind::Earlier(format) = kind {
        match schema::migrate(&mut connection, format).map_err(|e| explain(path, 0, &e)) {
            // It can be read as it is.
            Ok(()) | Err(StoreError::Full { .. }) => {}
            Err(wrong) => return Err(wrong),
        }
    }
    Ok(connection)
}

/// The write-ahead log is moved into the file when it has so many pages of 4 KiB, besides every
/// half minute: while that goes on, others wait, so that it must not follow each large row.
const MOVED_AT: i64 = 4_000;

/// A write-ahead log that has become longer is cut when all of it is in the file: bytes.
const LONGEST_LOG: i64 = 16 << 20;

/// Makes what is committed survive a loss of power.
fn prepare(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let set = || -> rusqlite::Result<String> {
        connection.pragma_update(None, "synchronous", "full")?;
        // For systems where a plain sync only reaches the disk's own memory.
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update_and_check(None, "wal_autocheckpoint", MOVED_AT, |_| Ok(()))?;
        connection.pragma_update_and_check(None, "journal_size_limit", LONGEST_LOG, |_| Ok(()))?;
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
    };
    match set().map_err(|e| explain(path, 0, &e))?.as_str() {
        "wal" => Ok(()),
        _ => {
            Err(io(path, "its file system cannot share memory between processes; use a local disk"))
        }
    }
}

impl Store for Sqlite {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn last(&self) -> u64 {
        match self.mode {
            Mode::Looking => rows::last(&self.connection).unwrap_or(self.end.seq),
            Mode::Writing | Mode::Unsure => self.end.seq,
        }
    }

    fn append(&mut self, rows: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        self.may_write()?;
        if let Some(objection) = self.end.objection(rows) {
            return Err(io(&self.path, objection));
        }
        if rows.is_empty() {
            return Ok(());
        }
        match rows::add(&mut self.connection, self.end, rows) {
            Ok(end) => {
                self.end = end;
                self.lock.iter_mut().for_each(Lock::mark_open);
                Ok(())
            }
            Err(error) => Err(self.writing_failed(self.end.seq + 1, &error)),
        }
    }

    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        // One view of the file: a row that is missing below the last is missing indeed.
        let view = self.connection.unchecked_transaction();
        let view = view.map_err(|e| explain(&self.path, after.saturating_add(1), &e))?;
        if let Some(segment) = archives::holding(&view, &self.path, after.saturating_add(1))? {
            drop(view);
            return self.read_archived(&segment, after, max);
        }
        let read =
            rows::JournalSource { path: &self.path, origin: &self.origin, last: self.end.seq };
        read.rows(&view, after, max)
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        snapshots::latest(&self.connection, &self.path)
    }

    fn keep(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.may_write()?;
        if snapshot.seq > self.end.seq {
            return Err(io(&self.path, format!("there is no row {}", snapshot.seq)));
        }
        let kept = snapshots::keep(&mut self.connection, snapshot);
        kept.map_err(|error| self.writing_failed(0, &error))
    }

    fn keep_pages(&mut self, snapshot: &Snapshot, changed: &Changes) -> Result<(), StoreError> {
        self.may_write()?;
        if snapshot.seq > self.end.seq {
            return Err(io(&self.path, format!("there is no row {}", snapshot.seq)));
        }
        let kept = snapshots::keep_pages(&mut self.connection, snapshot, changed);
        kept.map_err(|error| self.writing_failed(0, &error))
    }

    fn pages(&mut self, after: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        snapshots::pages(&self.connection, &self.path, after)
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.may_write()?;
        // Readers keep pages of the log busy: those follow the next time.
        let moved = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        moved.map_err(|error| self.writing_failed(0, &error))
    }
}
