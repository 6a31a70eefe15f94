//! The database that all daemons share: rows, who may write them, until when, and what is noted of
//! sites. It does as the journal in PostgreSQL does, and leaves a check out where a test says so.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use tradewind_daemon::engine::{Followed, OwnerLook, Term};
use tradewind_daemon::site::Tag;
use tradewind_daemon::store::chain::{JournalEnd, link};
use tradewind_daemon::store::{
    Changes, Digest, Origin, Page, PageKey, Row, Snapshot, Store, StoreError,
};
use tradewind_model::{Span, Time};

use super::Mutant;

/// How long a lease is.
pub(crate) const LEASE: Span = Span(60);

#[derive(Debug)]
struct Tables {
    rows: Vec<(Row, Digest)>,
    epoch: u64,
    term: u64,
    holder: Option<usize>,
    until: Time,
    /// The session that has the advisory lock.
    locked: Option<u64>,
    sessions: u64,
    /// Tasks that must not run again.
    gone: BTreeSet<Tag>,
    fault: Option<Fault>,
}

/// What happens to the next append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request is lost.
    Request,
    /// The answer is lost.
    Answer,
}

#[derive(Debug, Clone)]
pub(crate) struct Database {
    tables: Arc<Mutex<Tables>>,
    origin: Origin,
    mutant: Option<Mutant>,
}

/// The right to write, and with which term of ownership.
#[derive(Debug)]
pub(crate) struct Session {
    database: Database,
    epoch: u64,
    pub(crate) term: u64,
    number: u64,
    end: JournalEnd,
    /// The last row that it has written.
    pub(crate) written: Option<Row>,
    is_unsure: bool,
}

impl Database {
    pub(crate) fn new(origin: Origin, mutant: Option<Mutant>) -> Database {
        let tables = Tables {
            rows: Vec::new(),
            epoch: 0,
            term: 0,
            holder: None,
            until: Time(i64::MIN),
            locked: None,
            sessions: 0,
            gone: BTreeSet::new(),
            fault: None,
        };
        Database { tables: Arc::new(Mutex::new(tables)), origin, mutant }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }

    /// The market for a daemon, if it is free by the database's clock, which shows `at`.
    pub(crate) fn take(&self, daemon: usize, at: Time) -> Option<Session> {
        let mut tables = self.tables();
        let is_free = match self.mutant {
            Some(Mutant::LockOnly) => tables.locked.is_none(),
            _ => tables.until <= at || tables.holder == Some(daemon),
        };
        is_free.then(|| {
            tables.term += 1;
            tables.holder = Some(daemon);
            tables.until = at + LEASE;
            self.session(&mut tables)
        })
    }

    /// The market once more for its owner, who lost the connection.
    pub(crate) fn again(&self, session: &Session) -> Option<Session> {
        let mut tables = self.tables();
        let is_ours = tables.term == session.term || self.is_blind();
        is_ours.then(|| self.session(&mut tables))
    }

    fn session(&self, tables: &mut Tables) -> Session {
        tables.epoch += 1;
        tables.sessions += 1;
        tables.locked = Some(tables.sessions);
        Session {
            database: self.clone(),
            epoch: tables.epoch,
            term: tables.term,
            number: tables.sessions,
            end: end(tables, &self.origin),
            written: None,
            is_unsure: false,
        }
    }

    /// Whether writers are not compared.
    fn is_blind(&self) -> bool {
        matches!(self.mutant, Some(Mutant::NoEpoch | Mutant::LockOnly))
    }

    /// Renews the lease, if it is the daemon's in this term.
    pub(crate) fn renew(&self, term: u64, at: Time) -> bool {
        let mut tables = self.tables();
        let is_ours = tables.term == term;
        if is_ours {
            tables.until = at + LEASE;
        }
        is_ours || self.is_blind()
    }

    pub(crate) fn give_up(&self, term: u64) {
        let mut tables = self.tables();
        if tables.term == term {
            tables.until = Time(i64::MIN);
            tables.locked = None;
        }
    }

    /// The server notices that a session is gone.
    pub(crate) fn lose(&self, session: &Session) {
        let mut tables = self.tables();
        if tables.locked == Some(session.number) {
            tables.locked = None;
        }
    }

    /// Notes of a task that it must not run again; refused if the term is over.
    pub(crate) fn note_gone(&self, term: u64, tag: &Tag) -> bool {
        let mut tables = self.tables();
        let is_ours = tables.term == term || self.is_blind();
        if is_ours {
            tables.gone.insert(tag.clone());
        }
        is_ours
    }

    /// Whether a daemon may note something of a site in this term.
    pub(crate) fn admits(&self, term: u64) -> bool {
        self.tables().term == term || self.is_blind()
    }

    pub(crate) fn gone(&self) -> BTreeSet<Tag> {
        self.tables().gone.clone()
    }

    pub(crate) fn fail_next(&self, fault: Fault) {
        self.tables().fault = Some(fault);
    }

    /// The primary is lost, and a replica goes on: what was acknowledged is there, unless commits do
    /// not wait for a replica.
    pub(crate) fn fail_over(&self) {
        let mut tables = self.tables();
        tables.locked = None;
        tables.sessions += 1;
        if self.mutant == Some(Mutant::AsynchronousCommit) {
            let left = tables.rows.len().saturating_sub(2).max(2);
            tables.rows.truncate(left);
        }
    }

    pub(crate) fn term(&self) -> u64 {
        self.tables().term
    }

    /// The owner, as the table has it.
    pub(crate) fn holder(&self) -> Option<usize> {
        self.tables().holder
    }

    /// For a look at all rows.
    pub(crate) fn look(&self) -> Session {
        let tables = self.tables();
        let end = end(&tables, &self.origin);
        drop(tables);
        Session {
            database: self.clone(),
            epoch: 0,
            term: 0,
            number: 0,
            end,
            written: None,
            is_unsure: true,
        }
    }
}

fn end(tables: &Tables, origin: &Origin) -> JournalEnd {
    tables.rows.last().map_or(JournalEnd::of(origin), |(row, digest)| JournalEnd {
        seq: row.seq,
        at: row.at,
        digest: *digest,
    })
}

fn refused(what: &str) -> StoreError {
    StoreError::Io { path: "database".to_owned(), what: what.to_owned() }
}

/// As standbys follow it; who takes the market is said elsewhere.
impl Followed for Database {
    fn look(&mut self) -> Result<OwnerLook, StoreError> {
        let last = self.tables().rows.len() as u64;
        Ok(OwnerLook { last, is_free: false, url: None })
    }

    fn read(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(Database::look(self)))
    }

    fn take(&mut self) -> Result<Option<Term>, StoreError> {
        Ok(None)
    }
}

impl Session {
    /// Whether it is known what is written.
    pub(crate) fn is_sound(&self) -> bool {
        !self.is_unsure
    }
}

impl Store for Session {
    fn origin(&self) -> &Origin {
        &self.database.origin
    }

    fn last(&self) -> u64 {
        self.end.seq
    }

    fn append(&mut self, rows: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        if self.is_unsure {
            return Err(refused("what it has is not known"));
        }
        let blind = self.database.is_blind();
        let mut tables = self.database.tables();
        let fault = tables.fault.take();
        if fault == Some(Fault::Request) {
            self.is_unsure = true;
            return Err(refused("the request was lost"));
        }
        let mut last = end(&tables, &self.database.origin);
        if !blind && (tables.epoch != self.epoch || last != self.end) {
            let (epoch, ours) = (tables.epoch, self.epoch);
            return Err(StoreError::Superseded { path: "database".to_owned(), epoch, ours });
        }
        if let Some(objection) = last.objection(rows).filter(|_| !blind) {
            return Err(refused(&objection));
        }
        for (at, body) in rows {
            last = last.then(*at, body);
            tables.rows.push((Row { seq: last.seq, at: *at, body: body.clone() }, last.digest));
        }
        self.written = tables.rows.last().map(|(row, _)| row.clone());
        drop(tables);
        self.end = last;
        match fault {
            Some(Fault::Answer) => {
                self.is_unsure = true;
                Err(refused("the answer was lost"))
            }
            _ => Ok(()),
        }
    }

    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        let tables = self.database.tables();
        let from = (after as usize).min(tables.rows.len());
        let before = from.checked_sub(1).map(|before| tables.rows[before].1);
        let mut before = before.unwrap_or_else(|| self.database.origin.digest());
        for (row, digest) in &tables.rows[from..] {
            if link(before, row.seq, row.at, &row.body) != *digest {
                return Err(refused("it is not what was written"));
            }
            before = *digest;
        }
        Ok(tables.rows[from..].iter().take(max).map(|(row, _)| row.clone()).collect())
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        Ok(None)
    }

    fn keep(&mut self, _: &Snapshot) -> Result<(), StoreError> {
        Ok(())
    }

    fn keep_pages(&mut self, _: &Snapshot, _: &Changes) -> Result<(), StoreError> {
        Ok(())
    }

    fn pages(&mut self, _: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        Ok(Vec::new())
    }
}
