//! The journal of the market that starts: a file in its folder, or a database.

use std::path::Path;

use tradewind_daemon::engine::Open;
use tradewind_daemon::store::sqlite::{Cover, Sqlite};
use tradewind_daemon::store::{Origin, Store, StoreError};
use tradewind_daemon::upkeep::{Maintenance, SqliteMaintenance};
use tradewind_io::settings::{JournalStore, Settings};
use tradewind_postgres::{Address, Claim, Postgres};

use super::place::{self, StateFolder};
use super::remains::{self, Beginning, explain};
use crate::exit::Failure;
use crate::journals::{JournalNote, JournalPlace, PAGE};
use crate::report::Report;

/// Where the configuration has the journal.
///
/// # Errors
/// If it names a database that cannot be used.
pub(super) fn located(folder: &StateFolder, settings: &Settings) -> Result<JournalPlace, Failure> {
    match &settings.store {
        JournalStore::Sqlite => Ok(JournalPlace::File(folder.journal())),
        JournalStore::Postgresql(url) => JournalPlace::database(url.secret()),
    }
}

/// Looks whether a market may begin or go on in this folder with this journal, before anything is
/// written.
///
/// # Errors
/// If something of a market is there and its journal is not, or is elsewhere.
pub(super) fn check(
    folder: &StateFolder,
    journal: &JournalPlace,
    how: Beginning,
    report: &Report,
) -> Result<(), Failure> {
    let note = JournalNote::read(folder.folder())?;
    match (journal, note) {
        (JournalPlace::File(_), None) => remains::check(folder, how, report),
        (JournalPlace::File(_), Some(note)) => Err(is_elsewhere(folder, &note)),
        (JournalPlace::Database(_), _) if folder.journal().exists() => Err(is_here(folder)),
        (JournalPlace::Database(address), note) => {
            check_database(folder, address, note.as_ref(), how)
        }
    }
}

fn is_elsewhere(folder: &StateFolder, note: &JournalNote) -> Failure {
    let message = format!(
        "the market `{}` of this folder has its journal in {}, and the configuration names no \
         database",
        note.market, note.store
    );
    Failure::data(message).hint(format!(
        "name it: `store = \"…\"`; or bring the journal back with `tradewind journal import` and \
         remove `{}`",
        JournalNote::path(folder.folder()).display()
    ))
}

fn is_here(folder: &StateFolder) -> Failure {
    let file = folder.journal();
    let file = file.display();
    let message = format!("the configuration names a database, and there is a journal: `{file}`");
    Failure::data(message).hint(format!(
        "bring it there: `tradewind journal import {file} postgresql://…`, and move the file away; \
         see {PAGE}"
    ))
}

fn check_database(
    folder: &StateFolder,
    address: &Address,
    note: Option<&JournalNote>,
    how: Beginning,
) -> Result<(), Failure> {
    let there = Postgres::market(address).map_err(|wrong| explain(&wrong))?;
    match (there, how) {
        (Some(origin), Beginning::Anew) => {
            let name = address.name();
            let message = format!("there is a journal of the market `{}`: {name}", origin.market);
            Err(Failure::usage(message).hint("start without `--new`, or name another database"))
        }
        // The opening compares it with the note.
        (Some(_), Beginning::AsFound) | (None, Beginning::Anew) => Ok(()),
        (None, Beginning::AsFound) if note.is_some() => Ok(()),
        (None, Beginning::AsFound) => remains::nothing_is_left(folder, address.name()),
    }
}

/// How a store is opened: now, and again after its connection was lost.
///
/// # Errors
/// If it cannot be opened.
pub(super) fn open(
    folder: &StateFolder,
    journal: &JournalPlace,
    how: Beginning,
    claim: Claim,
) -> Result<Open, Failure> {
    match journal {
        JournalPlace::File(_) if claim == Claim::TakeOver => {
            let message = "`--take-over` is for a journal in PostgreSQL, and this one is a file";
            Err(Failure::usage(message).hint("stop the daemon that has it"))
        }
        JournalPlace::File(path) => {
            let mut first = Some(super::open(path).map_err(|wrong| explain(&wrong))?);
            let again = path.clone();
            Ok(Box::new(move || match first.take() {
                Some(first) => Ok(first),
                // It was there: a journal that vanished is not made up for by an empty one.
                None => Ok(Box::new(Sqlite::reopen(&again)?) as Box<dyn Store>),
            }))
        }
        JournalPlace::Database(address) => open_database(folder, address, how, claim),
    }
}

fn open_database(
    folder: &StateFolder,
    address: &Address,
    how: Beginning,
    claim: Claim,
) -> Result<Open, Failure> {
    let note = match how {
        Beginning::AsFound => JournalNote::read(folder.folder())?,
        Beginning::Anew => None,
    };
    let market = note.as_ref().map(JournalNote::origin);
    let first = open_at(address, claim, market.as_ref());
    let first = first.map_err(|wrong| unopened(folder, &wrong))?;
    let origin = first.origin().clone();
    write_note(folder.folder(), &JournalNote::new(&origin, address))?;
    let mut epoch = first.epoch().unwrap_or(0);
    let (mut first, address) = (Some(first), address.clone());
    Ok(Box::new(move || {
        let store = match first.take() {
            Some(first) => first,
            // Unless another daemon has taken over meanwhile.
            None => open_at(&address, Claim::Again(epoch), Some(&origin))?,
        };
        epoch = store.epoch().unwrap_or(epoch);
        Ok(Box::new(store) as Box<dyn Store>)
    }))
}

fn open_at(
    address: &Address,
    claim: Claim,
    market: Option<&Origin>,
) -> Result<Postgres, StoreError> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_secs() as i64);
    Postgres::open(address, claim, market, now)
}

fn unopened(folder: &StateFolder, wrong: &StoreError) -> Failure {
    match wrong {
        StoreError::Busy { path } => {
            let message = format!("{path}: another daemon is connected and has this market");
            Failure::usage(message).hint(
                "stop that one; if it can no longer be reached, `tradewind up --take-over` takes the \
                 market from it: it can write nothing from then on",
            )
        }
        StoreError::Lost { .. } => Failure::data(wrong.to_string()).hint(format!(
            "`{}` says whose journal it must be; restore the database, or begin a new market: \
             `tradewind up --new`",
            JournalNote::path(folder.folder()).display()
        )),
        StoreError::Io { .. } => Failure::usage(wrong.to_string()).hint(format!("see {PAGE}")),
        other => explain(other),
    }
}

fn write_note(folder: &Path, note: &JournalNote) -> Result<(), Failure> {
    let text = serde_json::to_string(note).unwrap_or_default();
    place::write_private(&JournalNote::path(folder), &format!("{text}\n"))
}

/// What looks after the journal while the market runs.
pub(super) fn maintenance(journal: &JournalPlace) -> Box<dyn Maintenance> {
    match journal {
        JournalPlace::File(path) => {
            Box::new(SqliteMaintenance::new(path.clone(), Cover::Snapshots))
        }
        JournalPlace::Database(address) => {
            Box::new(tradewind_postgres::Upkeep::new((**address).clone()))
        }
    }
}
