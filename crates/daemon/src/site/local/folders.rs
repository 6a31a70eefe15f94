//! The folders of a site, and the lock of the one adapter that uses them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::site::fence::TermNames;
use crate::site::files::{at, lock};

/// The folder for what is being made, of each term.
const INCOMING: &str = "incoming";

/// Makes the folders and locks them; the folder for what is being made, which is empty.
///
/// # Errors
/// If they cannot be used, or another process uses them.
pub(super) fn open(folder: &Path) -> io::Result<(PathBuf, File)> {
    if folder.to_str().is_none() {
        return Err(io::Error::other(format!("{}: not UTF-8", folder.display())));
    }
    // Of one look, or else a later term could come between.
    let term = TermNames::newest(folder)?;
    let incoming = folder.join(term.of(INCOMING));
    make(&[&folder.join("tasks"), &incoming, &folder.join("owner")])?;
    let lock = take_lock(folder, &term.of("lock"))?;
    sweep(folder, &incoming)?;
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

/// Removes what was being made. Folders of earlier terms are moved away first: a daemon that was
/// frozen while it submitted a task can then not put it into its place, where it would run again
/// after we have run and forgotten it.
fn sweep(folder: &Path, incoming: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, name) = entry.map(|it| (it.path(), it.file_name()))?;
        if name.to_string_lossy().starts_with(INCOMING) && path != incoming {
            fs::rename(&path, incoming.join(name))?;
        }
    }
    for entry in fs::read_dir(incoming)? {
        fs::remove_dir_all(entry?.path())?;
    }
    Ok(())
}
