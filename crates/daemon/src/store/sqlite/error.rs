//! What SQLite says, in the words of this store.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;

/// Of the file at `path`.
pub(super) fn io(path: &Path, what: impl Into<String>) -> StoreError {
    StoreError::Io { path: path.display().to_string(), what: what.into() }
}

/// The row is not what was written.
pub(super) fn damaged(path: &Path, seq: u64, what: impl Into<String>) -> StoreError {
    // SQLite quotes the file's own text, with its ends of lines.
    let what = what.into().replace(char::is_control, " ");
    StoreError::Damaged { path: path.display().to_string(), seq, what }
}

/// Another process has it.
pub(super) fn busy(path: &Path) -> StoreError {
    StoreError::Busy { path: path.display().to_string() }
}

/// What another file is.
pub(super) fn foreign(path: &Path) -> StoreError {
    io(path, "it is not a Tradewind journal, or its first bytes are damaged; name another file")
}

/// What went wrong on the way to row `seq`, 0 if it was not about rows.
pub(super) fn explain(path: &Path, seq: u64, error: &Error) -> StoreError {
    match error {
        Error::SqliteFailure(code, said) => from_code(path, seq, *code, said.as_deref()),
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..)
        | Error::SqlInputError { .. }
        | Error::QueryReturnedNoRows => damaged(path, seq, error.to_string()),
        _ => io(path, error.to_string()),
    }
}

fn from_code(path: &Path, seq: u64, code: ffi::Error, said: Option<&str>) -> StoreError {
    let said = said.map_or_else(|| code.to_string(), str::to_owned);
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => busy(path),
        ErrorCode::NotADatabase => foreign(path),
        ErrorCode::DatabaseCorrupt => damaged(path, seq, said),
        // Our statements are right: the tables are not.
        ErrorCode::Unknown if code.extended_code == ffi::SQLITE_ERROR => damaged(path, seq, said),
        ErrorCode::ConstraintViolation => {
            damaged(path, seq, format!("another program has written here ({said})"))
        }
        ErrorCode::DiskFull => full(path),
        _ if FULL.contains(&code.extended_code) => full(path),
        ErrorCode::ReadOnly => {
            io(path, format!("it cannot be written ({said}); look at its owner and mode"))
        }
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            io(path, format!("it cannot be opened ({said}); look at its owner and mode"))
        }
        _ if unsure(code) => io(path, format!("{UNSURE} ({said})")),
        _ => io(path, format!("{said} (SQLite's code {})", code.extended_code)),
    }
}

/// What SQLite also says when there is no room: for the index of its log, by a quota, by a limit
/// of the process.
const FULL: [i32; 2] = [ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_WRITE];

/// There is no room.
pub(super) fn full(path: &Path) -> StoreError {
    StoreError::Full { path: path.display().to_string() }
}

/// What to do when the disk does not say what it kept.
pub(super) const UNSURE: &str =
    "the disk did not confirm that it kept what was written; look at it, then start again";

/// Whether what was written may come back after a crash, although writing failed: after a sync
/// that failed the content of the disk is unknown, and another sync does not show it.
fn unsure(code: ffi::Error) -> bool {
    [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC].contains(&code.extended_code)
}

/// The same of any error.
pub(super) fn is_unsure(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(code, _) if unsure(*code))
}
