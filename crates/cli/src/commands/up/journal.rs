//! The journal of the market that starts: a file in its folder, or a database.

use std::path::Path;
use std::sync::Arc;

use tradewind_daemon::engine::{Lease, OpenStore, Term, Tick};
use tradewind_daemon::live::RuleChange;
use tradewind_daemon::store::sqlite::{Cover, Sqlite};
use tradewind_daemon::store::{Origin, Store, StoreError};
use tradewind_daemon::upkeep::{Maintenance, SqliteMaintenance};
use tradewind_io::settings::{JournalStore, Settings};
use tradewind_postgres::{
    Address, Advertised, Claim, Claimant, PatientStore, Postgres, Renewal, take_in_time,
};

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
    let there = Postgres::market(address).map_err(|wrong| unopened(folder, &wrong))?;
    match (there, how) {
        (Some(origin), Beginning::New) => {
            let name = address.name();
            let message = format!("there is a journal of the market `{}`: {name}", origin.market);
            Err(Failure::usage(message).hint("start without `--new`, or name another database"))
        }
        // The opening compares it with the note.
        (Some(_), Beginning::AsFound) | (None, Beginning::New) => Ok(()),
        (None, Beginning::AsFound) if note.is_some() => Ok(()),
        (None, Beginning::AsFound) => remains::nothing_is_left(folder, address.name()),
    }
}

/// How a store is opened: now, and again after its connection was lost.
///
/// # Errors
/// If it cannot be opened.
pub(super) fn open(journal: &JournalPlace, claim: Claim) -> Result<OpenStore, Failure> {
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
        // Several daemons may share it: `shared`.
        JournalPlace::Database(_) => Err(Failure::usage("this journal is no file")),
    }
}

/// A daemon that may own the market of a database, and what it says of itself.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    pub(super) folder: StateFolder,
    pub(super) address: Address,
    pub(super) claimant: Claimant,
    pub(super) advertised: Advertised,
    /// The market that it must be, if that is known.
    pub(super) market: Option<Origin>,
}

impl Contender {
    /// Owns the market from now on.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if it is another's; or if the journal cannot be opened.
    pub(super) fn own(&self, claim: Claim) -> Result<Term, StoreError> {
        let asked = Tick::now();
        let first = self.open(claim, self.market.as_ref())?;
        let lease = Lease::timed(asked, self.claimant.length);
        let origin = first.origin().clone();
        let (epoch, term) = (first.epoch().unwrap_or(0), first.term());
        let rules = RuleChange::after(first.known_before());
        let (claimant, advertised) = (self.claimant.clone(), self.advertised.clone());
        let hold = Renewal::start(&self.address, claimant, Arc::clone(&lease), advertised);
        let hold = hold.map_err(|wrong| StoreError::Io {
            path: self.address.name().to_owned(),
            what: format!("no thread renews the lease: {wrong}"),
        })?;
        let (mut newest, mut first, again) = (epoch, Some(first), self.clone());
        let open: OpenStore = Box::new(move || {
            let store = match first.take() {
                Some(first) => first,
                // Unless another daemon has taken over meanwhile.
                None => {
                    let (contender, origin) = (again.clone(), origin.clone());
                    let open = move || contender.open(Claim::Again(newest), Some(&origin));
                    take_in_time(&again.address, open)?
                }
            };
            newest = store.epoch().unwrap_or(newest);
            Ok(Box::new(PatientStore::from(store)) as Box<dyn Store>)
        });
        Ok(Term { open, epoch: term, lease, hold: Some(Box::new(hold)), rules })
    }

    fn open(&self, claim: Claim, market: Option<&Origin>) -> Result<Postgres, StoreError> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_secs() as i64);
        Postgres::open_for(Some(&self.claimant), &self.address, claim, market, now)
    }

    /// Notes in the folder to which market it belongs.
    ///
    /// # Errors
    /// If the database cannot be reached, or the folder not be written.
    pub(super) fn note(&self) -> Result<(), Failure> {
        let origin =
            Postgres::market(&self.address).map_err(|wrong| unopened(&self.folder, &wrong))?;
        match origin {
            Some(origin) => {
                write_note(self.folder.folder(), &JournalNote::new(&origin, &self.address))
            }
            None => Ok(()),
        }
    }
}

/// Why a database cannot be opened, and what to do.
pub(super) fn unopened(folder: &StateFolder, wrong: &StoreError) -> Failure {
    match wrong {
        StoreError::Lost { .. } => Failure::data(wrong.to_string()).hint(format!(
            "`{}` says whose journal it must be; restore the database, or begin a new market: \
             `tradewind up --new`",
            JournalNote::path(folder.folder()).display()
        )),
        StoreError::Busy { .. } => explain(wrong),
        _ => Failure::usage(wrong.to_string()).hint(format!("see {PAGE}")),
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
