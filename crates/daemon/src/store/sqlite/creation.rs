//! A journal begins once: what must be there before, and what may not be.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::OpenFlags;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::files::{self, Lock, beside};
use super::{connect, schema};
use crate::store::{Origin, StoreError};

/// What belongs to a journal: its file, what SQLite keeps beside it, its archive files.
const PARTS: [&str; 4] = ["", "-wal", "-shm", ".archive"];

/// A part of the journal is missing.
pub(super) fn lost(path: &Path, what: &str) -> StoreError {
    StoreError::Lost { path: path.display().to_string(), what: what.to_owned() }
}

/// Whether there is no journal and never was one, as far as can be seen beside it.
///
/// # Errors
/// If the journal's file is missing, and was there.
pub(super) fn is_due(path: &Path, lock: &Lock) -> Result<bool, StoreError> {
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    if lock.was_open() {
        return Err(lost(path, "the journal is missing, and was not closed before it went"));
    }
    match PARTS[1..].iter().find(|part| beside(path, part).symlink_metadata().is_ok()) {
        None => Ok(true),
        Some(log) => {
            let log = beside(path, log);
            Err(lost(path, &format!("the journal is missing, and `{}` is there", log.display())))
        }
    }
}

/// Looks whether the file and its write-ahead log are there, before SQLite makes up for them:
/// it would take a file without its log for a whole one, and forget the log of an empty file.
///
/// # Errors
/// If one of them is missing.
pub(super) fn nothing_is_missing(path: &Path, lock: &Lock) -> Result<(), StoreError> {
    let file = fs::metadata(path);
    file.map_err(|e| lost(path, &format!("the journal is missing: {e}")))?;
    if is_empty(path) {
        return Err(lost(path, "the journal is empty"));
    }
    let log = beside(path, "-wal");
    if lock.was_open() && (is_empty(&log) || log.symlink_metadata().is_err()) {
        let what = format!(
            "the daemon was not stopped, and `{}` is missing: changes that were made last are only \
             there; to go on without them, remove `{}`",
            log.display(),
            beside(path, ".lock").display()
        );
        return Err(lost(path, &what));
    }
    Ok(())
}

/// Makes a journal that is complete and synced before it has its name. What an earlier creation
/// left when it was cut short is replaced.
///
/// # Errors
/// If the disk will not have it.
pub(super) fn create(path: &Path, origin: &Origin) -> Result<(), StoreError> {
    let part = beside(path, ".new");
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let _ = fs::remove_file(beside(&part, suffix));
    }
    let made = make(&part, origin).and_then(|()| {
        let put = renameat_with(CWD, &part, CWD, path, RenameFlags::NOREPLACE);
        put.map_err(|e| files::failed(path, "put there", &e.into()))?;
        files::sync_folder(path).map_err(|e| files::failed(path, "synced", &e))
    });
    if made.is_err() {
        let _ = fs::remove_file(&part);
    }
    made
}

fn make(part: &Path, origin: &Origin) -> Result<(), StoreError> {
    files::make_file(part)?;
    let mut connection = connect(part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::create(&mut connection, part, origin)?;
    connection.close().map_err(|(_, e)| super::error::explain(part, 0, &e))?;
    let synced = File::open(part).and_then(|file| file.sync_all());
    synced.map_err(|e| files::failed(part, "synced", &e))
}

/// Whether it is a file without contents.
pub(super) fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() == 0)
}

/// What is left of a journal whose file is missing or empty; nothing if there is none at all, or
/// if there is something in the file. Nothing is opened: SQLite would change what is left.
pub fn remains(path: &Path) -> Vec<PathBuf> {
    if path.exists() && !is_empty(path) {
        return Vec::new();
    }
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    PARTS.iter().map(|suffix| beside(path, suffix)).filter(is_there).collect()
}

/// Gives what is left of a journal other names, so that another can begin and nothing is lost.
/// Returns the new names.
///
/// # Errors
/// If a process has the journal, or if a file cannot be renamed.
pub fn set_aside(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let lock = Lock::take(path)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut names = Vec::new();
    for suffix in PARTS {
        let from = beside(path, suffix);
        let to = beside(path, &format!(".lost-{now}{suffix}"));
        if from.symlink_metadata().is_ok() {
            let put = renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE);
            put.map_err(|e| files::failed(&from, "renamed", &e.into()))?;
            names.push(to);
        }
    }
    // What comes next in its place was never open.
    lock.unmark();
    Ok(names)
}
