//! Calls of the database that end in time.
//!
//! The kernel of a server that is frozen, or whose disk is, goes on to acknowledge what it gets: no time
//! limit of the network ends a call then. So each call is done in a thread that is left behind, with its
//! connection, when it takes too long: another host may be the primary by now. What such a call was to
//! write may be written later, as after a lost connection: rows are added again only by a journal that
//! was opened again, which refuses all that is still under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use tradewind_daemon::store::{Changes, Origin, Page, PageKey, Row, Snapshot, Store, StoreError};

use crate::address::Address;
use crate::error::{UNSURE, io};
use crate::store::Postgres;

/// A look at who owns the market.
pub(crate) const LOOK: Duration = Duration::from_secs(5);
/// Reading some rows, or a page of a snapshot; what concerns sites.
pub(crate) const READ: Duration = limit(20);
/// Adding rows. Longer than a disk stands still now and then: the market is read again after it.
const ADD: Duration = limit(30);
/// Closing a session: only that of an owner, which has a lock, is worth a wait.
const CLOSE: Duration = Duration::from_secs(1);
/// Taking the market over: migrations of large tables take their time, and so do large snapshots.
const TAKE: Duration = Duration::from_secs(120);

/// Tests wait for it.
const fn limit(seconds: u64) -> Duration {
    Duration::from_secs(if cfg!(test) { seconds.div_ceil(4) } else { seconds })
}

/// Whether a server has a call that was given up and has not ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hanging(Arc<AtomicBool>);

impl Hanging {
    pub(crate) fn is_so(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The call has ended, however late.
struct CallEnd(Hanging);

impl Drop for CallEnd {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::SeqCst);
    }
}

/// What `act` returns, if that is within `max`. Otherwise its thread is left behind, and the server is
/// known as `hanging` until it ends.
///
/// # Errors
/// As `act`; if it takes longer, or there is no thread.
pub(crate) fn within<T: Send + 'static>(
    (max, name): (Duration, &str),
    hanging: &Hanging,
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (send, receive) = sync_channel(1);
    let ended = CallEnd(hanging.clone());
    let call = move || {
        let done = act();
        drop(send.send(done));
        drop(ended);
    };
    let thread = thread::Builder::new().name("database".to_owned()).spawn(call);
    thread.map_err(|wrong| io(name, format!("no thread for a call: {wrong}")))?;
    match receive.recv_timeout(max) {
        Ok(done) => return done,
        Err(RecvTimeoutError::Disconnected) => return Err(io(name, "a call has ended by itself")),
        Err(RecvTimeoutError::Timeout) => hanging.0.store(true, Ordering::SeqCst),
    }
    // It may have ended just now, and then it has not seen that it was given up.
    if let Ok(done) = receive.try_recv() {
        hanging.0.store(false, Ordering::SeqCst);
        return done;
    }
    Err(io(name, format!("the database does not answer within {} s", max.as_secs())))
}

/// Asks a database something, which may be given up.
///
/// # Errors
/// As `act`; if it takes too long.
pub(crate) fn ask<T: Send + 'static>(
    address: &Address,
    act: impl FnOnce(&Address) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let whole = address.clone();
    within((READ, address.name()), &Hanging::default(), move || act(&whole))
}

/// Takes a market, or its journal again, which may be given up.
///
/// # Errors
/// As `take`; if it takes too long.
pub fn take_in_time<T: Send + 'static>(
    address: &Address,
    take: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    within((TAKE, address.name()), &Hanging::default(), take)
}

/// A journal whose calls end in time. A call that hangs is the last one: it must be opened again.
#[derive(Debug)]
pub struct PatientStore {
    name: String,
    origin: Origin,
    last: u64,
    /// `None`: it hangs.
    store: Option<Postgres>,
}

impl From<Postgres> for PatientStore {
    fn from(store: Postgres) -> PatientStore {
        let (origin, last) = (store.origin().clone(), store.last());
        PatientStore { name: store.name.clone(), origin, last, store: Some(store) }
    }
}

impl PatientStore {
    /// Opens the journal for reading.
    ///
    /// # Errors
    /// As [`Postgres::look`]; if that takes too long.
    pub fn look(address: &Address) -> Result<PatientStore, StoreError> {
        ask(address, |address| Postgres::look(address).map(PatientStore::from))
    }

    fn ask<T: Send + 'static>(
        &mut self,
        max: Duration,
        act: impl FnOnce(&mut Postgres) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.store.take().ok_or_else(|| io(&self.name, "a call of it hangs"))?;
        let call = move || {
            let mut store = store;
            let done = act(&mut store);
            let last = store.last();
            Ok((store, last, done))
        };
        let (store, last, done) = within((max, &self.name), &Hanging::default(), call)?;
        (self.store, self.last) = (Some(store), last);
        done
    }
}

impl Drop for PatientStore {
    /// A client that is dropped waits until its server closes the session, which one that is frozen
    /// never does.
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            let close = move || {
                drop(store);
                Ok(())
            };
            // Its thread is left behind, and the server ends the session some time.
            drop(within((CLOSE, &self.name), &Hanging::default(), close));
        }
    }
}

impl Store for PatientStore {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn last(&self) -> u64 {
        self.last
    }

    fn append(&mut self, rows: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        let rows = rows.to_vec();
        let added = self.ask(ADD, move |store| store.append(&rows));
        match (added, &self.store) {
            (Err(wrong), None) => Err(io(&self.name, format!("{UNSURE} ({wrong})"))),
            (added, _) => added,
        }
    }

    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        self.ask(READ, move |store| store.read(after, max))
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        self.ask(READ, Store::snapshot)
    }

    fn keep(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let snapshot = snapshot.clone();
        self.ask(TAKE, move |store| store.keep(&snapshot))
    }

    fn keep_pages(&mut self, snapshot: &Snapshot, changed: &Changes) -> Result<(), StoreError> {
        let (snapshot, changed) = (snapshot.clone(), changed.clone());
        self.ask(TAKE, move |store| store.keep_pages(&snapshot, &changed))
    }

    fn pages(&mut self, after: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        self.ask(READ, move |store| store.pages(after))
    }
}
