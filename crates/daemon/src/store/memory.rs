//! A store without a disk, for tests: it fails on request.
//!
//! A [`Disk`] exceeds the [`MemoryStore`] that was opened on it, as a file exceeds a process.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::chain::{Digest, JournalEnd, Origin, link};
use super::{Changes, Page, PageKey, Row, Snapshot, Store, StoreError};

/// How an append goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// The disk is full: nothing was added, the store goes on.
    Full,
    /// The same, and the store is of no more use, as if its server had ended.
    FullAndGone,
    /// The process dies before the rows are safe: they are not there when it is opened again.
    DiesBefore,
    /// The process dies when the rows are safe and no caller was notified: they are there.
    DiesAfter,
}

/// What survives a crash. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct Disk {
    contents: Arc<Mutex<Contents>>,
    origin: Origin,
}

#[derive(Debug, Default)]
struct Contents {
    rows: Vec<(Row, Digest)>,
    snapshot: Option<Snapshot>,
    pages: BTreeMap<PageKey, Vec<u8>>,
    /// Counts openings and crashes: a store of an earlier one is dead.
    era: u64,
    open: bool,
    /// Of the next append.
    fault: Option<StoreFault>,
    /// Nothing can be added.
    is_full: bool,
}

impl Disk {
    /// With an empty journal.
    pub fn new(origin: Origin) -> Disk {
        Disk { contents: Arc::default(), origin }
    }

    /// Opens the journal.
    ///
    /// # Errors
    /// If it is open already.
    pub fn open(&self) -> Result<MemoryStore, StoreError> {
        let mut contents = self.contents();
        if contents.open {
            return Err(StoreError::Busy { path: PATH.to_owned() });
        }
        contents.open = true;
        contents.era += 1;
        let era = contents.era;
        drop(contents);
        Ok(MemoryStore { disk: self.clone(), era })
    }

    /// The process that has it open dies: the store is of no more use, and it can be opened again.
    pub fn crash(&self) {
        let mut contents = self.contents();
        contents.era += 1;
        contents.open = false;
    }

    /// The next append, and only that, goes wrong like this.
    pub fn fail_next(&self, fault: StoreFault) {
        self.contents().fault = Some(fault);
    }

    /// Nothing can be added from now on.
    pub fn fill(&self) {
        self.contents().is_full = true;
    }

    /// There is room again.
    pub fn make_room(&self) {
        self.contents().is_full = false;
    }

    /// Turns a bit of a row's body over; of an empty one, its time.
    pub fn corrupt(&self, seq: u64, byte: usize) {
        let mut contents = self.contents();
        let Some((row, _)) = contents.rows.get_mut((seq as usize).wrapping_sub(1)) else { return };
        let length = row.body.len().max(1);
        match row.body.get_mut(byte % length) {
            Some(byte) => *byte ^= 1,
            None => row.at ^= 1,
        }
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn end(&self, origin: &Origin) -> JournalEnd {
        let end = |(row, digest): &(Row, Digest)| JournalEnd {
            seq: row.seq,
            at: row.at,
            digest: *digest,
        };
        self.rows.last().map_or(JournalEnd::of(origin), end)
    }

    fn add(&mut self, rows: &[(i64, Vec<u8>)], mut end: JournalEnd) {
        for (at, body) in rows {
            end = end.then(*at, body);
            self.rows.push((Row { seq: end.seq, at: *at, body: body.clone() }, end.digest));
        }
    }
}

const PATH: &str = "memory";

fn io(what: impl Into<String>) -> StoreError {
    StoreError::Io { path: PATH.to_owned(), what: what.into() }
}

fn full() -> StoreError {
    StoreError::Full { path: PATH.to_owned() }
}

/// An open journal on a [`Disk`].
#[derive(Debug)]
pub struct MemoryStore {
    disk: Disk,
    era: u64,
}

impl MemoryStore {
    /// Its disk, if it is alive.
    fn alive(&self) -> Result<MutexGuard<'_, Contents>, StoreError> {
        let contents = self.disk.contents();
        match contents.era == self.era {
            true => Ok(contents),
            false => Err(io("the process has died")),
        }
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        let mut contents = self.disk.contents();
        if contents.era == self.era {
            contents.open = false;
        }
    }
}

impl Store for MemoryStore {
    fn origin(&self) -> &Origin {
        &self.disk.origin
    }

    fn last(&self) -> u64 {
        self.disk.contents().rows.len() as u64
    }

    fn append(&mut self, rows: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        let mut contents = self.alive()?;
        let end = contents.end(&self.disk.origin);
        if let Some(objection) = end.objection(rows) {
            return Err(io(objection));
        }
        let fault = contents.fault.take();
        if contents.is_full {
            return Err(full());
        }
        if fault.is_none_or(|fault| fault == StoreFault::DiesAfter) {
            contents.add(rows, end);
        }
        match fault {
            None => Ok(()),
            Some(StoreFault::Full) => Err(full()),
            Some(StoreFault::FullAndGone) => {
                drop(contents);
                self.disk.crash();
                Err(full())
            }
            Some(StoreFault::DiesBefore | StoreFault::DiesAfter) => {
                drop(contents);
                self.disk.crash();
                Err(io("the process has died"))
            }
        }
    }

    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        let contents = self.alive()?;
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(contents.rows.len());
        let before = from.checked_sub(1).map(|before| contents.rows[before].1);
        let mut before = before.unwrap_or_else(|| self.disk.origin.digest());
        let mut read = Vec::new();
        for (row, digest) in contents.rows[from..].iter().take(max) {
            if link(before, row.seq, row.at, &row.body) != *digest {
                let what = "it is not what was written".to_owned();
                return Err(StoreError::Damaged { path: PATH.to_owned(), seq: row.seq, what });
            }
            before = *digest;
            read.push(row.clone());
        }
        Ok(read)
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.alive()?.snapshot.clone())
    }

    fn keep(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut contents = self.alive()?;
        if snapshot.seq > contents.rows.len() as u64 {
            return Err(io(format!("there is no row {}", snapshot.seq)));
        }
        contents.snapshot = Some(snapshot.clone());
        Ok(())
    }

    fn keep_pages(&mut self, snapshot: &Snapshot, changed: &Changes) -> Result<(), StoreError> {
        self.keep(snapshot)?;
        let mut contents = self.alive()?;
        if let Changes::All(_) = changed {
            contents.pages.clear();
        }
        for page in changed.pages() {
            match page.body.is_empty() {
                true => contents.pages.remove(&page.key),
                false => contents.pages.insert(page.key, page.body.clone()),
            };
        }
        Ok(())
    }

    fn pages(&mut self, after: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        let contents = self.alive()?;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let pages = contents.pages.range((from, Bound::Unbounded)).take(64);
        Ok(pages.map(|(key, body)| Page { key: *key, body: body.clone() }).collect())
    }
}
