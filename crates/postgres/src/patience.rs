//! Calls of the database that end in time.
//!
//! The kernel of a server that is frozen, or whose disk is, goes on to acknowledge what it gets: no time
//! limit of the network ends a call then. So what must go on without that server (connecting, where
//! another host may be the primary by now, and all that a standby asks) is done in a thread that is left
//! behind when it takes too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use tradewind_daemon::engine::Term;
use tradewind_daemon::store::{Changes, Origin, Page, PageKey, Row, Snapshot, Store, StoreError};

use crate::address::Address;
use crate::error::io;
use crate::store::Postgres;

/// A look at who owns the market.
pub(crate) const LOOK: Duration = Duration::from_secs(5);
/// Reading some rows, or a page of a snapshot.
const READ: Duration = Duration::from_secs(20);
/// Taking the market over: migrations of large tables take their time.
const TAKE: Duration = Duration::from_secs(120);

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

/// Takes a market, which may be given up.
///
/// # Errors
/// As `take`; if it takes too long.
pub fn take_in_time(
    address: &Address,
    take: impl FnOnce() -> Result<Term, StoreError> + Send + 'static,
) -> Result<Term, StoreError> {
    within((TAKE, address.name()), &Hanging::default(), take)
}

/// A journal that is only read, by a standby: a server that hangs ends it.
#[derive(Debug)]
pub struct PatientReader {
    name: String,
    origin: Origin,
    last: u64,
    /// `None`: it hangs.
    store: Option<Postgres>,
}

impl PatientReader {
    /// Opens the journal for reading.
    ///
    /// # Errors
    /// As [`Postgres::look`]; if that takes too long.
    pub fn open(address: &Address) -> Result<PatientReader, StoreError> {
        let (name, whole) = (address.name().to_owned(), address.clone());
        let store = within((READ, &name), &Hanging::default(), move || Postgres::look(&whole))?;
        let (origin, last) = (store.origin().clone(), store.last());
        Ok(PatientReader { name, origin, last, store: Some(store) })
    }

    fn ask<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Postgres) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.store.take().ok_or_else(|| io(&self.name, "a call of it hangs"))?;
        let call = move || {
            let mut store = store;
            let done = act(&mut store);
            Ok((store, done))
        };
        let (store, done) = within((READ, &self.name), &Hanging::default(), call)?;
        self.last = store.last();
        self.store = Some(store);
        done
    }

    fn refused<T>(&self) -> Result<T, StoreError> {
        Err(io(&self.name, "it was opened for reading only"))
    }
}

impl Store for PatientReader {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn last(&self) -> u64 {
        self.last
    }

    fn append(&mut self, _: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        self.refused()
    }

    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        self.ask(move |store| store.read(after, max))
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        self.ask(Store::snapshot)
    }

    fn keep(&mut self, _: &Snapshot) -> Result<(), StoreError> {
        self.refused()
    }

    fn keep_pages(&mut self, _: &Snapshot, _: &Changes) -> Result<(), StoreError> {
        self.refused()
    }

    fn pages(&mut self, after: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        self.ask(move |store| store.pages(after))
    }
}
