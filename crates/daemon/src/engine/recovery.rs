//! The state of before, made anew from what is written down.

use tradewind_model::Time;

use crate::codec::Codec;
use crate::live::{State, Wrong};
use crate::store::{Store, StoreError};

/// Rows that are read at once.
const PAGE: usize = 4_096;

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row says nothing, or what cannot follow.
    #[error("row {seq} of the journal: {what}")]
    Row {
        /// Which.
        seq: u64,
        /// What is wrong.
        what: String,
    },
}

impl RecoveryError {
    fn row(seq: u64, what: &impl ToString) -> RecoveryError {
        RecoveryError::Row { seq, what: what.to_string() }
    }
}

/// The state after the last row: the latest snapshot that can be read, and the rows behind it.
/// Linear in those.
///
/// # Errors
/// If rows cannot be read, or do not follow from one another.
pub fn recover<C: Codec>(store: &mut dyn Store, codec: &C) -> Result<State, RecoveryError> {
    let snapshot = store.snapshot()?;
    let read = snapshot.and_then(|it| match codec.read_state(it.version, &it.body) {
        Ok(state) => Some((it.seq, state)),
        Err(wrong) => {
            let row = it.seq;
            tracing::warn!(row, %wrong, "a snapshot cannot be read: all rows are, which takes longer");
            None
        }
    });
    let (seq, state) = match read {
        Some((seq, state)) => (seq, state),
        None => (0, State::empty(Time(0))),
    };
    replay(store, codec, state, seq, u64::MAX)
}

/// `state`, which is that after row `seq`, after row `upto` or the last one.
///
/// # Errors
/// As [`recover`].
pub fn replay<C: Codec>(
    store: &mut dyn Store,
    codec: &C,
    mut state: State,
    mut seq: u64,
    upto: u64,
) -> Result<State, RecoveryError> {
    loop {
        let rows = store.read(seq, PAGE)?;
        if rows.is_empty() {
            return Ok(state);
        }
        for row in rows {
            if row.seq > upto {
                return Ok(state);
            }
            let record = codec.read_record(&row.body);
            let record = record.map_err(|wrong| RecoveryError::row(row.seq, &wrong))?;
            let at = Time(row.at);
            let applied = state.apply(at, &record);
            applied.map_err(|wrong: Wrong| RecoveryError::row(row.seq, &wrong))?;
            seq = row.seq;
        }
    }
}
