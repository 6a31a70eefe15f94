//! The state of before, made again from what is written down.

use tradewind_model::Time;

use crate::codec::pages::{self, Draft, Pages};
use crate::codec::{Codec, MOST_SECONDS};
use crate::live::{ApplyError, State};
use crate::store::{Row, Snapshot, Store, StoreError};

/// Rows that are read at once.
const PAGE: usize = 1_024;

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row says nothing, or what cannot follow.
    #[error("row {seq} of the journal: {what}")]
    Row {
        /// Number of the row in the journal.
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

/// When the row was written, in market time.
///
/// # Errors
/// If that is beyond all time.
pub fn moment(row: &Row) -> Result<Time, RecoveryError> {
    match row.at.unsigned_abs() <= MOST_SECONDS {
        true => Ok(Time(row.at)),
        false => {
            Err(RecoveryError::row(row.seq, &format!("its moment {} is out of range", row.at)))
        }
    }
}

/// The state after the last row: the latest snapshot that can be read, and the rows behind it.
/// Linear in those.
///
/// # Errors
/// If rows cannot be read, or do not follow from one another.
pub fn recover<C: Codec>(store: &mut dyn Store, codec: &C) -> Result<State, RecoveryError> {
    recover_pages(store, codec).map(|(state, _)| state)
}

/// The same, with the pages that the store has of it.
///
/// # Errors
/// As [`recover`].
pub fn recover_pages<C: Codec>(
    store: &mut dyn Store,
    codec: &C,
) -> Result<(State, Pages), RecoveryError> {
    let begun = begun(store, codec)?;
    let (seq, state, pages) = begun.unwrap_or_else(|| (0, State::empty(Time(0)), Pages::default()));
    Ok((replay(store, codec, state, seq, u64::MAX)?, pages))
}

/// The state of the latest snapshot that can be read, and after which row it was taken.
///
/// # Errors
/// If the store cannot be read.
pub fn begun<C: Codec>(
    store: &mut dyn Store,
    codec: &C,
) -> Result<Option<(u64, State, Pages)>, StoreError> {
    // A daemon that writes may have changed the pages meanwhile.
    for _ in 0..TRIES {
        let Some(snapshot) = store.snapshot()? else { return Ok(None) };
        match read(store, codec, &snapshot) {
            Ok((state, pages)) => return Ok(Some((snapshot.seq, state, pages))),
            Err(wrong) => {
                let row = snapshot.seq;
                tracing::warn!(row, %wrong, "a snapshot cannot be read");
            }
        }
    }
    tracing::warn!("no snapshot can be read: all rows are, which takes longer");
    Ok(None)
}

/// A snapshot is tried so often.
const TRIES: u32 = 3;

fn read<C: Codec>(
    store: &mut dyn Store,
    codec: &C,
    snapshot: &Snapshot,
) -> Result<(State, Pages), String> {
    if snapshot.version < pages::FIRST {
        let state = codec.read_state(snapshot.version, &snapshot.body);
        return state.map(|state| (state, Pages::default())).map_err(|wrong| wrong.to_string());
    }
    let draft = Draft::begin(snapshot.version, &snapshot.body);
    let mut draft = draft.map_err(|wrong| wrong.to_string())?;
    let mut after = None;
    loop {
        let pages = store.pages(after).map_err(|wrong| wrong.to_string())?;
        let Some(last) = pages.last() else { break };
        after = Some(last.key);
        for page in pages {
            draft.add(&page).map_err(|wrong| wrong.to_string())?;
        }
    }
    draft.finish().map_err(|wrong| wrong.to_string())
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
            let at = moment(&row)?;
            let applied = state.apply(at, &record);
            applied.map_err(|wrong: ApplyError| RecoveryError::row(row.seq, &wrong))?;
            seq = row.seq;
        }
    }
}
