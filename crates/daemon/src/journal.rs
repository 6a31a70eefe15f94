//! The state is what the journal's rows make of nothing: made again after a crash, and proved.

use tradewind_model::Time;

use crate::codec::{self, Fault, VERSION};
use crate::live::{Record, State, Wrong};
use crate::store::{Digest, Row, Snapshot, Store, StoreError, Verified};

#[cfg(test)]
mod tests;

/// Rows that are replayed in one go.
const PAGE: usize = 256;

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store does not give the rows.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row is no record that is known here.
    #[error("row {seq} of the journal cannot be read: {fault}; was a later release here?")]
    Record {
        /// Which.
        seq: u64,
        /// Why.
        fault: Fault,
    },
    /// A row does not follow from those before it.
    #[error("row {seq} of the journal does not follow from those before it: {wrong}")]
    Wrong {
        /// Which.
        seq: u64,
        /// Why.
        wrong: Wrong,
    },
    /// There is no such row.
    #[error("the journal has no row {seq}: its last is {last}")]
    NoRow {
        /// Which was asked for.
        seq: u64,
        /// What there is.
        last: u64,
    },
    /// What was kept, or what a snapshot makes, is not what the rows make.
    #[error("the {what} after row {seq} is not what the rows up to there make")]
    Different {
        /// Of a snapshot, or of the journal.
        what: &'static str,
        /// After which row.
        seq: u64,
    },
}

/// A state made again.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// After the row `last`.
    pub state: State,
    /// The last row that is in it.
    pub last: u64,
    /// After which row the snapshot was taken that it began with, if with any.
    pub snapshot: Option<u64>,
}

/// The state that the latest snapshot and the rows after it make; without a good snapshot, all
/// rows. A bad one is passed over with a warning. Linear in snapshot and rows.
///
/// # Errors
/// At the first row that is damaged, unknown, or does not follow.
pub fn recover(store: &mut dyn Store) -> Result<Recovered, JournalError> {
    let begun = store.snapshot()?.and_then(|snapshot| begin(&snapshot));
    let snapshot = begun.as_ref().map(|(_, seq)| *seq);
    let (state, after) = match begun {
        Some(begun) => begun,
        None => (nothing(store)?, 0),
    };
    let (state, last) = go_on(store, state, after, u64::MAX)?;
    Ok(Recovered { state, last, snapshot })
}

/// The state after row `to`, from the first row on: no snapshot is asked. Linear in the rows.
///
/// # Errors
/// If there is no such row; else as with [`recover`].
pub fn replay(store: &mut dyn Store, to: u64) -> Result<State, JournalError> {
    let state = nothing(store)?;
    match go_on(store, state, 0, to)? {
        (state, last) if last == to => Ok(state),
        (_, last) => Err(JournalError::NoRow { seq: to, last }),
    }
}

/// A journal whose state is what its rows make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Of the rows.
    pub verified: Verified,
    /// After which row the snapshot was taken that gives the same state, if there is one.
    pub snapshot: Option<u64>,
    /// SHA-256 of the state's encoding.
    pub state: Digest,
}

/// Proves that rows hang together, that each follows from those before it, and that the latest
/// snapshot is what the rows make. Linear in the rows.
///
/// # Errors
/// At the first row that is damaged, unknown, or does not follow; or if states differ.
pub fn prove(store: &mut dyn Store) -> Result<Proof, JournalError> {
    let verified = crate::store::verify(store)?;
    let last = verified.rows;
    let snapshot = store.snapshot()?.filter(|snapshot| snapshot.version == VERSION);
    let snapshot = snapshot.filter(|snapshot| snapshot.seq <= last);
    let mut at = (nothing(store)?, 0);
    if let Some(snapshot) = &snapshot {
        at = go_on(store, at.0, at.1, snapshot.seq)?;
        if codec::encode_state(&at.0) != snapshot.body {
            return Err(JournalError::Different { what: "snapshot", seq: snapshot.seq });
        }
    }
    let (state, _) = go_on(store, at.0, at.1, last)?;
    let replayed = codec::encode_state(&state);
    if let Some((state, seq)) = snapshot.as_ref().and_then(begin) {
        let (state, _) = go_on(store, state, seq, last)?;
        if codec::encode_state(&state) != replayed {
            return Err(JournalError::Different { what: "state", seq: last });
        }
    }
    let state = Digest::of(&replayed);
    Ok(Proof { verified, snapshot: snapshot.map(|snapshot| snapshot.seq), state })
}

/// A snapshot of a state after the store's last row, to be kept.
pub fn snapshot(state: &State, last: u64) -> Snapshot {
    let (at, body) = (state.now().0, codec::encode_state(state));
    Snapshot { seq: last, at, version: VERSION, body }
}

/// A record that was made at `at`, as a row to be appended.
pub fn row(at: Time, record: &Record) -> (i64, Vec<u8>) {
    (at.0, codec::encode(record))
}

/// The state of a snapshot, and after which row it was taken.
fn begin(snapshot: &Snapshot) -> Option<(State, u64)> {
    let seq = snapshot.seq;
    if snapshot.version != VERSION {
        let version = snapshot.version;
        tracing::info!("the snapshot after row {seq} is of version {version}: all rows are read");
        return None;
    }
    match codec::decode_state(&snapshot.body) {
        Ok(state) => Some((state, seq)),
        Err(fault) => {
            tracing::warn!("the snapshot after row {seq} cannot be read ({fault}): all rows are");
            None
        }
    }
}

/// The state before the first row.
fn nothing(store: &mut dyn Store) -> Result<State, StoreError> {
    let first = store.read(0, 1)?.first().map(|row| row.at);
    Ok(State::empty(Time(first.unwrap_or(store.origin().created))))
}

/// Applies rows behind `after` up to `to`, or to the last; says which was the last.
fn go_on(
    store: &mut dyn Store,
    mut state: State,
    after: u64,
    to: u64,
) -> Result<(State, u64), JournalError> {
    let mut last = after;
    while last < to {
        let most = usize::try_from(to - last).unwrap_or(PAGE).min(PAGE);
        let rows = store.read(last, most)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            last = row.seq;
            apply(&mut state, &row)?;
        }
    }
    Ok((state, last))
}

fn apply(state: &mut State, row: &Row) -> Result<(), JournalError> {
    let seq = row.seq;
    let record = codec::decode(&row.body);
    let record = record.map_err(|fault| JournalError::Record { seq, fault })?;
    let applied = state.apply(Time(row.at), &record);
    applied.map_err(|wrong| JournalError::Wrong { seq, wrong })
}
