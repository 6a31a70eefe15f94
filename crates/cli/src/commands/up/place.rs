//! The folder of a market: its journal, its sites, and how to reach it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// Where a market keeps everything.
#[derive(Debug, Clone)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// The folder that is given, or else the user's own: `$XDG_STATE_HOME/tradewind`, or
    /// `~/.local/state/tradewind`.
    ///
    /// # Errors
    /// If none is given and there is no home.
    pub(crate) fn new(given: Option<&Path>) -> Result<Place, Failure> {
        if let Some(given) = given {
            return Ok(Place(given.to_owned()));
        }
        let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
        let state = set("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")));
        let state = state.ok_or_else(|| {
            Failure::usage("there is no home for the market's state: HOME is not set")
                .hint("say where: `--state DIR`")
        })?;
        Ok(Place(state.join("tradewind")))
    }

    /// Makes the folder, for its owner only.
    ///
    /// # Errors
    /// If that is not possible.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.map_err(|wrong| cannot("make", &self.0, &wrong))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal.db")
    }

    /// The administrator's token.
    pub(crate) fn token(&self) -> PathBuf {
        self.0.join("admin.token")
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> PathBuf {
        self.0.join("url")
    }
}

/// Writes a file that only its owner can read; as a whole or not at all.
///
/// # Errors
/// If that is not possible.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || {
        let part = path.with_extension("part");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|wrong| cannot("write", path, &wrong))
}

fn cannot(what: &str, path: &Path, wrong: &std::io::Error) -> Failure {
    let message = format!("cannot {what} `{}`: {wrong}", path.display());
    Failure::usage(message).hint("choose another folder: `--state DIR`")
}
