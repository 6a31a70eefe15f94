//! The folders of a site, and the lock of the one adapter that uses them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::site::fence::{self, INCOMING, LOCK, TermNames};
use crate::site::files::{at, lock};

/// Makes the folders and locks them; the folder for what is being made, which is empty. `epoch`: that of
/// the term, which has begun; `None`: there is none.
///
/// # Errors
/// If they cannot be used, another process uses them, or a later term has begun.
pub(super) fn open(folder: &Path, epoch: Option<u64>) -> io::Result<(PathBuf, File)> {
    if folder.to_str().is_none() {
        return Err(io::Error::other(format!("{}: not UTF-8", folder.display())));
    }
    let names = match epoch {
        Some(epoch) => TermNames::of_term(epoch),
        None => TermNames::newest(folder)?,
    };
    let incoming = folder.join(names.of(INCOMING));
    make(&[&folder.join("tasks"), &folder.join("owner")])?;
    // That of a term is there, unless the term is over.
    if epoch.is_none() {
        make(&[&incoming])?;
    }
    let lock = take_lock(folder, &names.of(LOCK))?;
    fence::empty(&incoming).map_err(|error| at(&incoming, &error))?;
    Ok((incoming, lock))
}

fn make(folders: &[&Path]) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    folders.iter().try_for_each(|path| {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| at(path, &error))
    })
}

/// A process that is just being made by another thread may hold the lock for a moment after its
/// adapter is gone.
fn take_lock(folder: &Path, name: &str) -> io::Result<File> {
    for _ in 0..100 {
        if let Some(lock) = lock(&folder.join(name))? {
            return Ok(lock);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err(io::Error::other(format!("{}: used by another process", folder.display())))
}
