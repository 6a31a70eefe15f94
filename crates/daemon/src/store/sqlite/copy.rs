//! Whole journals: checked, copied away and brought back.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::error::{damaged, explain, io};
use super::{Sqlite, archives, connect, files, snapshots};
use crate::store::archive::file_of;
use crate::store::chain::JournalEnd;
use crate::store::{ImportError, RowSource, Store as _, StoreError, Verified, compared, verify};

/// Looks at all of the file: every row, every snapshot, and SQLite's own structures. A daemon may
/// write it meanwhile. Linear in the file.
///
/// # Errors
/// At the first row that is damaged, or if the file is damaged elsewhere.
pub fn check(path: &Path) -> Result<Verified, StoreError> {
    let mut store = Sqlite::look(path)?;
    let mut verified = verify(&mut store)?;
    let said = "PRAGMA integrity_check(1)";
    let said = store.connection.query_row(said, [], |row| row.get::<_, String>(0));
    let said = said.map_err(|e| explain(path, 0, &e))?;
    if said != "ok" {
        return Err(damaged(path, 0, format!("the rows are whole, the file is not: {said}")));
    }
    verified.damaged_snapshots = snapshots::damaged(&store.connection, path)?;
    Ok(verified)
}

/// Copies a journal as it is at one moment, also while a daemon writes it, into one file for its
/// owner only, and its archive files into a folder beside that (`.archive`); checks the copy.
/// Linear; writers do not wait.
///
/// # Errors
/// If there is something at `to`, if either file makes trouble, or if the copy is damaged, as it
/// is if the journal is. There is nothing at `to` then.
pub fn backup(from: &Path, to: &Path) -> Result<Verified, StoreError> {
    let journal = Sqlite::look(from)?;
    copy(&journal, to)
}

/// Brings a backup back: checks it, copies it, checks the copy. The market keeps its name, so
/// journal and copy must never both be in use.
///
/// # Errors
/// If there is a journal at `to`, or what is left of one; if the backup is damaged; if a file
/// makes trouble. There is nothing at `to` then.
pub fn restore(from: &Path, to: &Path) -> Result<Verified, StoreError> {
    check(from)?;
    files::make_folder(to)?;
    let backup = Sqlite::look(from)?;
    copy(&backup, to)
}

/// Copies all rows of `from` into a journal that is not there yet, and compares the digests. The
/// market keeps its name, so only one of the two journals may be used afterwards. Snapshots are not
/// copied: the next start reads all rows.
///
/// # Errors
/// If there is a journal at `to`, or what is left of one; if `from` cannot be read or is damaged; if
/// a file makes trouble. There is nothing at `to` then.
pub fn import(to: &Path, from: &mut dyn RowSource) -> Result<Verified, ImportError> {
    nothing_is_there(to)?;
    files::make_folder(to)?;
    let part = files::beside(to, ".part");
    let tidy = || {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let _ = fs::remove_file(files::beside(&part, suffix));
        }
    };
    tidy();
    let imported = fill(&part, from).and_then(|verified| {
        let put = renameat_with(CWD, &part, CWD, to, RenameFlags::NOREPLACE);
        put.map_err(|e| files::failed(to, "put there", &e.into()))?;
        files::sync_folder(to).map_err(|e| files::failed(to, "synced", &e))?;
        Ok(verified)
    });
    tidy();
    imported
}

fn fill(part: &Path, from: &mut dyn RowSource) -> Result<Verified, ImportError> {
    let origin = from.origin().clone();
    let mut end = JournalEnd::of(&origin);
    let mut store = Sqlite::open_with(part, || Ok(origin))?;
    loop {
        let rows: Vec<_> = from.next()?.into_iter().map(|row| (row.at, row.body)).collect();
        if rows.is_empty() {
            break;
        }
        end = rows.iter().fold(end, |end, (at, body)| end.then(*at, body));
        store.append(&rows)?;
    }
    let verified = compared(&mut store, end)?;
    // Closing moves all of the write-ahead log into the file.
    drop(store);
    let synced = File::open(part).and_then(|file| file.sync_all());
    synced.map_err(|e| files::failed(part, "synced", &e))?;
    Ok(verified)
}

fn nothing_is_there(to: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal", ".archive"] {
        let there = files::beside(to, suffix);
        if there.symlink_metadata().is_ok() {
            return Err(io(&there, "it is there already; move it away, or name another file"));
        }
    }
    Ok(())
}

fn copy(from: &Sqlite, to: &Path) -> Result<Verified, StoreError> {
    nothing_is_there(to)?;
    let part = files::beside(to, ".part");
    let copied = write(&from.connection, &part);
    let copied = copied.and_then(|()| copy_archives(from, &part)).and_then(|()| check(&part));
    let copied = copied.and_then(|verified| {
        put_archives(&part, to)?;
        let put = renameat_with(CWD, &part, CWD, to, RenameFlags::NOREPLACE);
        put.map_err(|e| files::failed(to, "put there", &e.into()))?;
        files::sync_folder(to).map_err(|e| files::failed(to, "synced", &e))?;
        Ok(verified)
    });
    if copied.is_err() {
        let _ = fs::remove_file(&part);
        let _ = fs::remove_dir_all(archives::folder(&part));
    }
    copied
}

/// Copies the archive files that the copy of the database names. They are complete and never
/// change, so it does not matter that some may have come since.
fn copy_archives(from: &Sqlite, part: &Path) -> Result<(), StoreError> {
    let (source, target) = (archives::folder(&from.path), archives::folder(part));
    // What an earlier copy left when it was stopped.
    let _ = fs::remove_dir_all(&target);
    let segments = Sqlite::look(part)?.archives()?;
    if segments.is_empty() {
        return Ok(());
    }
    let made = DirBuilder::new().mode(0o700).create(&target);
    made.map_err(|e| files::failed(&target, "made", &e))?;
    for segment in segments {
        let (read, written) = (file_of(&source, &segment), file_of(&target, &segment));
        let copied = fs::copy(&read, &written).and_then(|_| File::open(&written)?.sync_all());
        copied.map_err(|e| files::failed(&read, "copied", &e))?;
    }
    let synced = File::open(&target).and_then(|folder| folder.sync_all());
    synced.map_err(|e| files::failed(&target, "synced", &e))
}

/// The archive files of the copy get the name that goes with its own.
fn put_archives(part: &Path, to: &Path) -> Result<(), StoreError> {
    let (from, to) = (archives::folder(part), archives::folder(to));
    if !from.exists() {
        return Ok(());
    }
    let put = renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE);
    put.map_err(|e| files::failed(&to, "put there", &e.into()))
}

/// Copies page by page, and makes the copy a single file: a copy of a journal with a write-ahead
/// log would want one too.
fn write(from: &Connection, part: &Path) -> Result<(), StoreError> {
    // What an earlier copy left when it was stopped.
    let _ = fs::remove_file(part);
    if !files::make_file(part)? {
        return Err(io(part, "it is there already; remove it"));
    }
    let mut to = connect(part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let copied = Backup::new(from, &mut to).and_then(|backup| backup.step(-1));
    let copied = copied.map_err(|e| explain(part, 0, &e))?;
    if !matches!(copied, StepResult::Done) {
        return Err(io(part, "the journal was busy for too long; try again"));
    }
    let single = to.pragma_update(None, "journal_mode", "delete");
    single.map_err(|e| explain(part, 0, &e))?;
    to.close().map_err(|(_, e)| explain(part, 0, &e))?;
    let synced = File::open(part).and_then(|file| file.sync_all());
    synced.map_err(|e| files::failed(part, "synced", &e))
}
