//! Where a market's journal is: a file in its folder, or a database that a note in the folder names.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tradewind_daemon::store::sqlite::Sqlite;
use tradewind_daemon::store::{Origin, Store, StoreError};
use tradewind_postgres::{Address, Postgres};

use crate::client::place;
use crate::exit::Failure;

/// The file in a market's folder that says in which database its journal is.
const NOTE: &str = "journal.json";

/// The page about databases.
pub(crate) const PAGE: &str = "docs/how-to/postgresql.md";

/// Where a journal is.
#[derive(Debug, Clone)]
pub(crate) enum JournalPlace {
    /// A file that SQLite keeps.
    File(PathBuf),
    /// A database.
    Database(Box<Address>),
}

/// What the note in a folder says. It has no password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalNote {
    /// Name of the market.
    pub(crate) market: String,
    /// Since when there is this market: seconds since 1970.
    pub(crate) created: i64,
    /// The database's URL without password.
    pub(crate) store: String,
}

impl JournalNote {
    pub(crate) fn new(origin: &Origin, address: &Address) -> JournalNote {
        let store = address.name().to_owned();
        JournalNote { market: origin.market.clone(), created: origin.created, store }
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin { market: self.market.clone(), created: self.created }
    }

    /// Where the note is.
    pub(crate) fn path(folder: &Path) -> PathBuf {
        folder.join(NOTE)
    }

    /// The note in a folder, if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Option<JournalNote>, Failure> {
        let path = JournalNote::path(folder);
        let bad = |wrong: &dyn std::fmt::Display| {
            let message = format!("`{}` cannot be read: {wrong}", path.display());
            Failure::data(message).hint("it says in which database the journal is; see docs")
        };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|wrong| bad(&wrong)),
            Err(wrong) if wrong.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(wrong) => Err(bad(&wrong)),
        }
    }
}

impl JournalPlace {
    /// A file, or the URL of a database.
    ///
    /// # Errors
    /// If it is no URL that can be used.
    pub(crate) fn named(text: &str) -> Result<JournalPlace, Failure> {
        match text.starts_with("postgresql://") || text.starts_with("postgres://") {
            true => JournalPlace::database(text),
            false => Ok(JournalPlace::File(PathBuf::from(text))),
        }
    }

    /// The URL of a database.
    ///
    /// # Errors
    /// If it cannot be used.
    pub(crate) fn database(url: &str) -> Result<JournalPlace, Failure> {
        let address = Address::parse(url)
            .map_err(|wrong| Failure::usage(wrong.to_string()).hint(format!("see {PAGE}")))?;
        Ok(JournalPlace::Database(Box::new(address)))
    }

    /// The journal of the market in this folder, which must be there.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn of_folder(state: Option<&Path>) -> Result<JournalPlace, Failure> {
        let folder = place::folder(state)?;
        let path = place::journal(&folder);
        if path.exists() {
            return Ok(JournalPlace::File(path));
        }
        match JournalNote::read(&folder)? {
            Some(note) => JournalPlace::database(&note.store),
            None => {
                let message = format!("there is no journal: `{}`", path.display());
                Err(Failure::usage(message).hint("name the folder of a market: `--state DIR`"))
            }
        }
    }

    /// Without a password.
    pub(crate) fn name(&self) -> String {
        match self {
            JournalPlace::File(path) => path.display().to_string(),
            JournalPlace::Database(address) => address.name().to_owned(),
        }
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    pub(crate) fn look(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            JournalPlace::File(path) => Box::new(Sqlite::look(path)?),
            JournalPlace::Database(address) => Box::new(Postgres::look(address)?),
        })
    }
}
