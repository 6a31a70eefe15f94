//! Files and folders around the database: who may read them, who has them, what is on the disk.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error;
use crate::store::{Origin, StoreError};

/// `path` with something behind its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the file's folder, for its owner only, if it is not there.
pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    let folder = folder(path);
    if folder.is_dir() {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.and_then(|()| sync_folder(folder)).map_err(|e| failed(folder, "made", &e))
}

/// Makes an empty file for its owner only. `false`: something is there already.
pub(super) fn make_file(path: &Path) -> Result<bool, StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(failed(path, "made", &e)),
    }
}

/// The right to write a journal, until it is dropped. It is a file of its own: SQLite's own locks
/// would be lost if this process closed the journal's file a second time.
///
/// While the journal is written the file says so, and no more once it was closed in good order:
/// the next opening knows by that whether a write-ahead log must be there.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether this process has written the mark.
    marked: bool,
    /// Whether this process has opened the journal.
    opened: bool,
}

/// What the file of the lock says while the journal is open.
const OPEN: &[u8] = b"open\n";

impl Lock {
    /// Waits a moment for it.
    pub(super) fn take(path: &Path) -> Result<Lock, StoreError> {
        let beside = beside(path, ".lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&beside).map_err(|e| failed(&beside, "opened", &e))?;
        for _ in 0..LOCK_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { file, marked: false, opened: false }),
                Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_PAUSE),
                Err(e) => return Err(failed(&beside, "locked", &e.into())),
            }
        }
        Err(error::busy(path))
    }

    /// Whether the last process that had the journal open did not close it.
    pub(super) fn was_open(&self) -> bool {
        let mut said = [0; OPEN.len()];
        self.file.read_exact_at(&mut said, 0).is_ok() && said == OPEN
    }

    /// The journal is open: closing it will empty the log, no matter which process filled it.
    pub(super) fn opened(&mut self) {
        self.opened = true;
    }

    /// Something is in the write-ahead log.
    pub(super) fn mark_open(&mut self) {
        if !self.marked {
            // On a full disk there is no mark, and one warning less after a crash.
            self.marked = self.file.write_all_at(OPEN, 0).is_ok();
        }
    }

    /// Nothing is in it: the journal is closed, or another begins.
    pub(super) fn unmark(&self) {
        let _ = self.file.set_len(0);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The journal is closed before: its file is complete. An opening that was refused leaves
        // the mark of the process that crashed.
        if self.opened {
            self.unmark();
        }
    }
}

/// A process that has just been forked holds copies of its parent's locks until it begins its own
/// program: the lock of a daemon that died may be there a moment longer than the daemon.
const LOCK_TRIES: u32 = 30;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Sees to it that the names in the file's folder survive a loss of power.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// A market's origin: a name from the operating system's randomness, and now.
///
/// # Errors
/// If there is no randomness.
pub fn origin() -> Result<Origin, StoreError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 10];
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|e| failed(source, "read", &e))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(Origin::random(bytes, now as i64))
}

/// What could not be done with a file.
pub(super) fn failed(path: &Path, done: &str, why: &io::Error) -> StoreError {
    if matches!(why.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        return error::full(path);
    }
    error::io(path, format!("it could not be {done}: {why}"))
}
