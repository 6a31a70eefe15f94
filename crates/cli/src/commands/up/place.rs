//! The folder of a market: its journal, its sites, and how to reach it.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::client;
use crate::exit::Failure;

/// Where local tasks run that do not say where.
const WORK: &str = "work";
/// Folder with a subfolder for each site.
const SITES: &str = "sites";

/// Where a market keeps everything.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder(PathBuf);

impl StateFolder {
    /// The folder that is given, that of `TRADEWIND_STATE`, or else the user's own:
    /// `$XDG_STATE_HOME/tradewind`, or `~/.local/state/tradewind`.
    ///
    /// # Errors
    /// If none is given and there is no home.
    pub(crate) fn new(given: Option<&Path>) -> Result<StateFolder, Failure> {
        client::place::folder(given).map(StateFolder)
    }

    /// The folder of a market that lasts as long as a demo.
    ///
    /// # Errors
    /// If there is no home.
    pub(crate) fn of_demo() -> Result<StateFolder, Failure> {
        client::place::demo_folder().map(StateFolder)
    }

    /// Makes the folder, for its owner only, and closes what an older release has left open to other
    /// accounts. Files that this process makes from now on are its owner's only.
    ///
    /// # Errors
    /// If that is not possible.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.map_err(|wrong| cannot("make", &self.0, &wrong))?;
        let inside = [WORK, SITES].map(|name| self.0.join(name));
        [self.0.clone()].iter().chain(&inside).try_for_each(|folder| close(folder))
    }

    /// Removes the folder with everything in it. What looks after tasks that were stopped may still
    /// write its last files: that is waited for.
    ///
    /// # Errors
    /// If that is not possible.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        let until = Instant::now() + Duration::from_secs(3);
        loop {
            match fs::remove_dir_all(&self.0) {
                Ok(()) => return Ok(()),
                Err(wrong) if wrong.kind() == ErrorKind::NotFound => return Ok(()),
                Err(_) if Instant::now() < until => thread::sleep(Duration::from_millis(100)),
                Err(wrong) => return Err(cannot("remove", &self.0, &wrong)),
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn journal(&self) -> PathBuf {
        client::place::journal(&self.0)
    }

    /// The administrator's token.
    pub(crate) fn token(&self) -> PathBuf {
        client::place::token(&self.0)
    }

    /// The private key of receipts for peers.
    pub(crate) fn receipt_key(&self) -> PathBuf {
        self.0.join("receipt.key")
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> PathBuf {
        client::place::url(&self.0)
    }
}

/// Takes a folder's rights from all but its owner, if it is there.
fn close(folder: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(about) = fs::symlink_metadata(folder) else { return Ok(()) };
    let mode = about.permissions().mode() & 0o7777;
    if !about.is_dir() || mode & 0o077 == 0 {
        return Ok(());
    }
    tracing::warn!(
        folder = %folder.display(),
        "other accounts could read the folder (mode {mode:04o}): it is set to 0700"
    );
    let closed = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    closed.map_err(|wrong| cannot("close", folder, &wrong))
}

/// Writes a file that only its owner can read; as a whole or not at all.
///
/// # Errors
/// If that is not possible.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    try_write_private(path, text).map_err(|wrong| cannot("write", path, &wrong))
}

/// The same, with the error as it is.
///
/// # Errors
/// If that is not possible.
pub(crate) fn try_write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let write = || {
        let part = path.with_extension("part");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write()
}

/// Whether there is no room.
pub(crate) fn is_full(wrong: &std::io::Error) -> bool {
    matches!(wrong.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn cannot(what: &str, path: &Path, wrong: &std::io::Error) -> Failure {
    let failure = Failure::usage(format!("cannot {what} `{}`: {wrong}", path.display()));
    match is_full(wrong) {
        // Another folder would be another market.
        true => failure.hint("make room on the disk"),
        false => failure.hint("look at the owner and the mode of the folder"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn folders_of_older_releases_are_closed() {
        let outside = tempfile::tempdir().unwrap();
        let state = outside.path().join("state");
        let folders = [state.clone(), state.join(WORK), state.join(SITES)];
        for folder in &folders {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        StateFolder::new(Some(&state)).unwrap().make().unwrap();
        for folder in &folders {
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        }
    }
}
