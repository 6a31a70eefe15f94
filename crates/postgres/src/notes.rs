//! What must be remembered of sites, in the database that has the journal.
//!
//! Each change is one statement that holds the owner's row, as an append is: one of an earlier term of
//! ownership is refused, and a daemon that is cut off between two statements holds nothing up. A
//! connection of its own, opened again after it was lost: changes say what is to be there, so one whose
//! outcome is unknown may be repeated.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use tradewind_daemon::site::notes::{Note, NoteChange, NoteKind, Notes};
use tradewind_daemon::store::StoreError;

use crate::address::Address;
use crate::connect::{Access, Connection, connect};
use crate::error::{UNSURE, explain, io as wrong};
use crate::lease::IN_DATABASE;
use crate::owner;
use crate::patience::ask;

/// The notes of one site in one term of ownership.
pub struct SiteNotes {
    address: Address,
    site: String,
    term: u64,
    connection: Mutex<Option<Connection>>,
}

impl std::fmt::Debug for SiteNotes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut it = f.debug_struct("SiteNotes");
        it.field("site", &self.site).field("term", &self.term).finish_non_exhaustive()
    }
}

impl SiteNotes {
    /// Those of a site, for the owner whose orders carry this epoch. Connects when they are needed.
    pub fn new(address: Address, site: &str, term: u64) -> SiteNotes {
        SiteNotes { address, site: site.to_owned(), term, connection: Mutex::new(None) }
    }

    /// Does something over the connection, which is opened again after an error.
    fn over<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Connection, &str, &str, u64) -> Result<T, StoreError> + Send + 'static,
    ) -> io::Result<T> {
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut open = match connection.take() {
            Some(open) => open,
            None => connect(&self.address, Access::Write).map_err(io::Error::other)?,
        };
        let (site, term) = (self.site.clone(), self.term);
        let done = ask(&self.address, move |address| {
            let done = act(&mut open, address.name(), &site, term)?;
            Ok((open, done))
        });
        let (open, done) = done.map_err(io::Error::other)?;
        *connection = Some(open);
        Ok(done)
    }

    fn write(
        &mut self,
        end: &'static str,
        gone: Vec<(i16, &str)>,
        there: &[&Note],
    ) -> io::Result<()> {
        let gone = gone.into_iter().map(|(kind, key)| (kind, key.to_owned()));
        let (gone_kinds, gone_keys): (Vec<i16>, Vec<String>) = gone.unzip();
        let kinds: Vec<i16> = there.iter().map(|it| it.kind.number()).collect();
        let keys: Vec<String> = there.iter().map(|it| it.key.clone()).collect();
        let bodies: Vec<String> = there.iter().map(|it| it.body.clone()).collect();
        self.over(move |open, name, site, term| {
            let number = i64::try_from(term).unwrap_or(i64::MAX);
            let row = open.client.query_one(
                &format!("{CHANGE}{end}"),
                &[&number, &site, &gone_kinds, &gone_keys, &kinds, &keys, &bodies],
            );
            let held = row.and_then(|row| row.try_get::<_, i64>(0));
            if held.map_err(|error| explain(name, 0, &error))? == 0 {
                owner::is_term(&mut open.client, name, term)?;
                return Err(wrong(name, "its table `owner` has changed meanwhile"));
            }
            match open.was_warned() {
                // No standby has it, although it was to wait for one.
                true => Err(wrong(name, UNSURE)),
                false => Ok(()),
            }
        })
    }
}

/// Parameters: term, site, kinds and keys that go, kinds, keys and bodies that are put. New ones are
/// numbered in their order, in which they are read again.
const CHANGE: &str = "
WITH held AS (SELECT 1 FROM tradewind.owner WHERE id = 1 AND term = $1 FOR SHARE),
gone AS (
    DELETE FROM tradewind.site_notes USING held, unnest($3::int2[], $4::text[]) AS it (kind, key)
    WHERE site_notes.site = $2 AND site_notes.kind = it.kind AND site_notes.key = it.key
),
there AS (
    INSERT INTO tradewind.site_notes (site, kind, key, body)
    SELECT $2, it.kind, it.key, it.body
    FROM held, unnest($5::int2[], $6::text[], $7::text[]) WITH ORDINALITY
        AS it (kind, key, body, place)
    ORDER BY it.place
    ON CONFLICT (site, kind, key) DO UPDATE SET body = excluded.body
)";
/// How a change ends.
const DONE: &str = " SELECT count(*) FROM held";
/// How the first one ends: from then on the notes are here.
const BEGUN: &str = ",
noted AS (
    INSERT INTO tradewind.site_folders SELECT $2, 'database' FROM held
    ON CONFLICT (site) DO UPDATE SET folder = excluded.folder
)
SELECT count(*) FROM held";

impl Notes for SiteNotes {
    fn read(&mut self) -> io::Result<Option<Vec<Note>>> {
        self.over(|open, name, site, term| {
            let explained = |error: postgres::Error| explain(name, 0, &error);
            owner::is_term(&mut open.client, name, term)?;
            let ask = "SELECT 1 FROM tradewind.site_folders WHERE site = $1 AND folder = $2";
            let found = open.client.query_opt(ask, &[&site, &IN_DATABASE]);
            if found.map_err(explained)?.is_none() {
                return Ok(None);
            }
            let ask = "SELECT kind, key, body FROM tradewind.site_notes WHERE site = $1 \
                       ORDER BY place";
            let mut all = Vec::new();
            for row in open.client.query(ask, &[&site]).map_err(explained)? {
                let kind: i16 = row.try_get(0).map_err(explained)?;
                let key: String = row.try_get(1).map_err(explained)?;
                let body: String = row.try_get(2).map_err(explained)?;
                // A later release may know other kinds.
                all.extend(NoteKind::of_number(kind).map(|kind| Note { kind, key, body }));
            }
            Ok(Some(all))
        })
    }

    fn begin(&mut self, notes: &[Note]) -> io::Result<()> {
        self.write(BEGUN, Vec::new(), &notes.iter().collect::<Vec<_>>())
    }

    fn change(&mut self, changes: &[NoteChange]) -> io::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let (gone, there) = last_words(changes);
        self.write(DONE, gone, &there)
    }
}

/// What is to be there after all changes, and what is not.
fn last_words(changes: &[NoteChange]) -> (Vec<(i16, &str)>, Vec<&Note>) {
    let key = |change: &'_ NoteChange| match change {
        NoteChange::Put(note) => (note.kind, note.key.clone()),
        NoteChange::Drop(kind, key) => (*kind, key.clone()),
    };
    let last: BTreeMap<(NoteKind, String), usize> =
        changes.iter().enumerate().map(|(place, change)| (key(change), place)).collect();
    let (mut gone, mut there) = (Vec::new(), Vec::new());
    for (place, change) in changes.iter().enumerate() {
        match change {
            _ if last.get(&key(change)) != Some(&place) => {}
            NoteChange::Put(note) => there.push(note),
            NoteChange::Drop(kind, key) => gone.push((kind.number(), key.as_str())),
        }
    }
    (gone, there)
}
