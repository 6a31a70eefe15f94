//! The proof that a journal's state is what its rows make, and its states of before.

#[cfg(test)]
mod tests;

use tradewind_model::Time;

use crate::codec::Codec;
use crate::engine::{RecoveryError, begun, replay};
use crate::live::State;
use crate::store::{Digest, Store, StoreError, Verified, verify};

/// Why there is no proof, or no state.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A row is damaged, or does not follow from those before it.
    #[error(transparent)]
    Rows(#[from] RecoveryError),
    /// There is no such row.
    #[error("the journal has no row {seq}: its last is {last}")]
    NoRow {
        /// Number of the row that was requested.
        seq: u64,
        /// Number of the last row.
        last: u64,
    },
    /// A snapshot, or the state that it leads to, is not what the rows make.
    #[error("the state after row {seq} is not what the rows up to there make")]
    Different {
        /// After which row.
        seq: u64,
    },
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> JournalError {
        JournalError::Rows(error.into())
    }
}

/// A journal whose state is what its rows make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Result of the check of the rows.
    pub verified: Verified,
    /// After which row the snapshot was taken that gives the same state, if there is one that can
    /// be read.
    pub snapshot: Option<u64>,
    /// SHA-256 of the state as the codec writes it.
    pub state: Digest,
}

/// Proves that rows hang together, that each follows from those before it, and that the latest
/// snapshot, and the state to which it leads, are what all rows make. Linear in the rows, which
/// are read three times at most.
///
/// # Errors
/// At the first row that is damaged, unknown, or does not follow; or if states differ.
pub fn prove<C: Codec>(store: &mut dyn Store, codec: &C) -> Result<Proof, JournalError> {
    let verified = verify(store)?;
    let last = verified.rows;
    // A daemon may have written on since.
    let begun = begun(store, codec)?.filter(|(seq, ..)| *seq <= last);
    let begun = begun.map(|(seq, state, _)| (seq, state));
    let mut replayed = State::empty(Time(0));
    let mut seq = 0;
    if let Some((at, state)) = &begun {
        (replayed, seq) = (replay(store, codec, replayed, 0, *at)?, *at);
        same(codec, &replayed, state, *at)?;
    }
    let replayed = replay(store, codec, replayed, seq, last)?;
    let snapshot = begun.as_ref().map(|(seq, _)| *seq);
    if let Some((seq, state)) = begun {
        let led = replay(store, codec, state, seq, last)?;
        same(codec, &replayed, &led, last)?;
    }
    Ok(Proof { verified, snapshot, state: Digest::of(&codec.state(&replayed)) })
}

fn same<C: Codec>(codec: &C, one: &State, other: &State, seq: u64) -> Result<(), JournalError> {
    match codec.state(one) == codec.state(other) {
        true => Ok(()),
        false => Err(JournalError::Different { seq }),
    }
}

/// The state after row `to`, made of all rows up to there: no snapshot is asked. Linear in them.
///
/// # Errors
/// If there is no such row, or if one before it is damaged, unknown, or does not follow.
pub fn state_after<C: Codec>(
    store: &mut dyn Store,
    codec: &C,
    to: u64,
) -> Result<State, JournalError> {
    let last = store.last();
    if to > last {
        return Err(JournalError::NoRow { seq: to, last });
    }
    Ok(replay(store, codec, State::empty(Time(0)), 0, to)?)
}
