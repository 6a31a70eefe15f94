//! What the server and the connection say, in the words of this store.

use std::error::Error as _;

use postgres::Error;
use postgres::error::{DbError, Severity, SqlState};
use postgres::types::{WasNull, WrongType};
use tradewind_daemon::store::StoreError;

/// Where the rights that the role needs are written down.
const RIGHTS: &str = "see docs/how-to/postgresql.md for the rights that it needs";

/// Of the database with this name.
pub(crate) fn io(name: &str, what: impl Into<String>) -> StoreError {
    StoreError::Io { path: name.to_owned(), what: what.into() }
}

/// The row is not what was written.
pub(crate) fn damaged(name: &str, seq: u64, what: impl Into<String>) -> StoreError {
    StoreError::Damaged { path: name.to_owned(), seq, what: what.into() }
}

/// What is said when it is unknown what the server kept.
pub(crate) const UNSURE: &str = "the database did not confirm that it kept what was written";

/// Whether it is certain that a statement that failed has changed nothing: the server itself said
/// so, and goes on. After a lost connection, or when the server ended the session, a commit may
/// have happened.
pub(crate) fn is_certain(error: &Error) -> bool {
    error.as_db_error().is_some_and(|said| said.parsed_severity() == Some(Severity::Error))
}

/// What went wrong on the way to row `seq`, 0 if it was not about rows.
pub(crate) fn explain(name: &str, seq: u64, error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(said) => of_server(name, seq, said),
        None if error.is_closed() => io(name, "the connection to the database was lost"),
        None => match error.source() {
            Some(source) if source.is::<WrongType>() || source.is::<WasNull>() => {
                damaged(name, seq, format!("a table is not as it was made ({error}: {source})"))
            }
            Some(source) => io(name, format!("{error}: {source}")),
            None => io(name, error.to_string()),
        },
    }
}

fn of_server(name: &str, seq: u64, said: &DbError) -> StoreError {
    let message = said.message();
    match said.code() {
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            io(name, format!("the role may not do that ({message}); {RIGHTS}"))
        }
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => io(name, READ_ONLY),
        code if *code == SqlState::DISK_FULL && said.parsed_severity() == Some(Severity::Error) => {
            StoreError::Full { path: name.to_owned() }
        }
        code if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN => {
            damaged(name, seq, format!("a table is not as it was made ({message})"))
        }
        code if *code == SqlState::UNIQUE_VIOLATION => {
            damaged(name, seq, format!("another program has written here ({message})"))
        }
        code if *code == SqlState::LOCK_NOT_AVAILABLE => {
            io(name, format!("another session holds a lock in the database ({message})"))
        }
        code => io(name, format!("{message} (SQLSTATE {})", code.code())),
    }
}

/// What is said of a database that takes no changes.
pub(crate) const READ_ONLY: &str =
    "the database is read-only, or it is a standby: name the primary, nothing was written";

/// Why there is no connection.
pub(crate) fn unconnected(name: &str, error: &Error) -> StoreError {
    let Some(said) = error.as_db_error() else {
        return match error.source() {
            Some(source) if source.to_string().contains("password missing") => io(
                name,
                "the server asks for a password: write it into `~/.pgpass`, or into the URL",
            ),
            Some(source) => io(name, format!("the database cannot be reached: {source}")),
            None => io(name, format!("the database cannot be reached: {error}")),
        };
    };
    let message = said.message();
    match said.code() {
        code if *code == SqlState::INVALID_PASSWORD => {
            io(name, format!("the server refuses the password ({message})"))
        }
        code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            io(name, format!("the server refuses this role ({message}); {RIGHTS}"))
        }
        code if *code == SqlState::INVALID_CATALOG_NAME => {
            io(name, format!("there is no such database ({message}); create it: {HOW}"))
        }
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            io(name, format!("the role may not connect ({message}); {RIGHTS}"))
        }
        code => io(name, format!("the server refuses ({message}, SQLSTATE {})", code.code())),
    }
}

/// Where that is written down.
const HOW: &str = "see docs/how-to/postgresql.md";
