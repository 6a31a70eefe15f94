//! Moves old rows into archive files, and gives their room back.
//!
//! The file is complete, synced and under its name before its rows are deleted, and the deletion
//! notes the file in the same transaction. So a crash leaves one of three things: an unfinished
//! file, which is removed; a file whose rows are still in the database, which is compared with them
//! and noted; or a file that is noted. No row is lost, and none is read twice.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::error::{explain, io};
use super::rows::{self, JournalSource};
use super::{Sqlite, archives, connect, prepare, schema, snapshots};
use crate::store::archive::{self, ArchiveCutoff, Cover, Segment, SegmentReader, file_of, rows_of};
use crate::store::chain::Digest;
use crate::store::{Origin, Row, StoreError};

/// So many free pages of 4 KiB stay in the file.
const PAGES: i64 = 1_024;

/// The connection for archiving old rows.
#[derive(Debug)]
pub struct Keeper {
    path: PathBuf,
    connection: Connection,
    origin: Origin,
    cover: Cover,
}

impl Keeper {
    /// Beside the writer of a journal, in its process: the writer has the lock, and writes of both
    /// wait for one another for milliseconds. Tidies up what a crash left of archive files.
    ///
    /// # Errors
    /// If the journal cannot be opened, is one of another format, or if a file that a crash left
    /// makes trouble.
    pub fn beside(path: &Path, cover: Cover) -> Result<Keeper, StoreError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if schema::kind(&connection, path)? != schema::FileKind::Journal {
            return Err(io(path, "it was not brought up to this release's format: is there room?"));
        }
        prepare(&connection, path)?;
        let origin = schema::origin(&connection, path)?;
        let mut keeper = Keeper { path: path.to_owned(), connection, origin, cover };
        keeper.tidy()?;
        Ok(keeper)
    }

    /// Moves the oldest rows that are due into one archive file; `None`: there are none, or too few.
    /// A file is at most about 10,000 rows or 4 MiB of them, so that no caller waits for long. The
    /// last row of the journal always stays, and all that the latest snapshot does not have.
    ///
    /// # Errors
    /// If rows are damaged, or a file makes trouble. All rows are where they were then, or in the
    /// archive.
    pub fn archive(&mut self, due: ArchiveCutoff) -> Result<Option<Segment>, StoreError> {
        let Some((before, rows)) = self.due(due)? else { return Ok(None) };
        let folder = archives::folder(&self.path);
        let segment = archive::write(&folder, &self.origin, before, &rows)?;
        drop(rows);
        archives::note(&mut self.connection, &self.path, &segment)?;
        Ok(Some(segment))
    }

    /// The rows of the next file, and the chain before them.
    fn due(&self, due: ArchiveCutoff) -> Result<Option<(Digest, Vec<Row>)>, StoreError> {
        let view = self.connection.unchecked_transaction();
        let view = view.map_err(|e| explain(&self.path, 0, &e))?;
        let after = archives::last(&view, &self.path)?.map_or(0, |it| it.last);
        let last = rows::last(&view).map_err(|e| explain(&self.path, 0, &e))?;
        let reading = JournalSource { path: &self.path, origin: &self.origin, last };
        if reading.rows(&view, after, 1)?.first().is_none_or(|row| row.at >= due.before) {
            return Ok(None);
        }
        let upto = last.saturating_sub(1).min(match self.cover {
            Cover::Nothing => u64::MAX,
            Cover::Snapshots => snapshots::latest(&view, &self.path)?.map_or(0, |it| it.seq),
        });
        let rows = reading.rows(&view, after, ArchiveCutoff::ROWS)?;
        let before = schema::digest_at(&view, &self.path, &self.origin, after)?;
        Ok(due.segment(rows, upto).map(|rows| (before, rows)))
    }

    /// Gives room that deleted rows have left back to the disk: at most some megabytes at once, and
    /// nothing while an eighth of the file or less is free, or few megabytes, since new rows take
    /// that.
    ///
    /// # Errors
    /// If the file makes trouble.
    pub fn shrink(&mut self) -> Result<(), StoreError> {
        let number = |what: &str| self.connection.query_row(what, [], |row| row.get::<_, i64>(0));
        let freed = || -> rusqlite::Result<()> {
            let spare = (number("PRAGMA page_count")? / 8).max(PAGES);
            if number("PRAGMA freelist_count")? <= spare {
                return Ok(());
            }
            let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum(1024)")?;
            let mut steps = vacuum.query([])?;
            while steps.next()?.is_some() {}
            Ok(())
        };
        freed().map_err(|e| explain(&self.path, 0, &e))
    }

    /// Brings files and database together after a crash.
    fn tidy(&mut self) -> Result<(), StoreError> {
        let folder = archives::folder(&self.path);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
        let names = entries.filter_map(|it| it.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        for name in names {
            if archive::is_unfinished(&name) {
                let _ = fs::remove_file(folder.join(&name));
                continue;
            }
            let next = archives::last(&self.connection, &self.path)?.map_or(1, |it| it.last + 1);
            let Some((first, _)) = rows_of(&name).filter(|(first, _)| *first >= next) else {
                continue;
            };
            match self.accept(&folder.join(&name), first, next) {
                Ok(()) => tracing::info!(name, "an archive file of before a crash is complete"),
                Err(wrong) => self.put_aside(&folder.join(&name), &wrong)?,
            }
        }
        Ok(())
    }

    /// Notes a file whose rows are all in the database still, and deletes them there.
    fn accept(&mut self, file: &Path, first: u64, next: u64) -> Result<(), StoreError> {
        let (mut reader, segment) = SegmentReader::begin(file.to_owned(), &self.origin, first)?;
        while reader.next()?.is_some() {}
        let after = archives::digest_in_rows(&self.connection, &self.path, segment.last)?;
        let before = schema::digest_at(&self.connection, &self.path, &self.origin, first - 1)?;
        let last = rows::last(&self.connection).map_err(|e| explain(&self.path, 0, &e))?;
        let is_ours = segment.first == next
            && file == file_of(&archives::folder(&self.path), &segment)
            && (Some(segment.after), segment.before) == (after, before)
            && segment.last < last;
        if !is_ours {
            return Err(io(file, "its rows are not those of the journal"));
        }
        archives::note(&mut self.connection, &self.path, &segment)
    }

    /// Keeps a file that does not belong here out of the way.
    fn put_aside(&self, file: &Path, wrong: &StoreError) -> Result<(), StoreError> {
        let aside = super::files::beside(file, ".unknown");
        tracing::warn!(%wrong, "{} is not needed and becomes {}", file.display(), aside.display());
        fs::rename(file, &aside).map_err(|e| super::files::failed(file, "renamed", &e))
    }
}

/// Makes the file of a journal as small as what is in it, and lets later deletions shrink it bit by
/// bit. The market must not run. Linear in the file, which is written once more beside itself.
///
/// # Errors
/// If a process has the journal, or the disk has no room for the copy.
pub fn compact(path: &Path) -> Result<(), StoreError> {
    let journal = Sqlite::reopen(path)?;
    let shrunk = || -> rusqlite::Result<()> {
        journal.connection.pragma_update(None, "auto_vacuum", "incremental")?;
        journal.connection.execute_batch("VACUUM")?;
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        journal.connection.query_row(truncate, [], |_| Ok(()))
    };
    shrunk().map_err(|e| explain(path, 0, &e))
}

/// Moves all rows that are older than `before` into archive files; returns them. The market must not
/// run. `Cover` as with [`Keeper::beside`].
///
/// # Errors
/// If a process has the journal, rows are damaged, or a file makes trouble.
pub fn archive_all(path: &Path, cover: Cover, before: i64) -> Result<Vec<Segment>, StoreError> {
    let journal = Sqlite::reopen(path)?;
    let mut keeper = Keeper::beside(path, cover)?;
    let due = ArchiveCutoff { before, partly_before: before };
    let mut made = Vec::new();
    while let Some(segment) = keeper.archive(due)? {
        made.push(segment);
    }
    drop((keeper, journal));
    Ok(made)
}
