//! Records and states as bytes: what the journal keeps for ever.
//!
//! [`Json`] is the codec of the journal. The types that it writes have no duty to stay as they
//! are, so the format is said here, type by type, and nowhere else: `market`, `submission`,
//! `books`, `record` and `state` list fields and names of alternatives, and `wire` makes reader
//! and writer of one list. A field without a value is left out; one that is not known is an
//! error, as is an alternative that is not known: a later release has written it. Money is whole
//! micro-credits, time whole seconds. Lines that releases wrote are in `golden/`, and tests read
//! them.
//!
//! *A new field:* an `Option`, or a record of another name beside the old one.

mod books;
mod lengths;
mod market;
pub mod pages;
pub mod peers;
mod power;
mod projects;
mod record;
mod state;
mod submission;
#[cfg(test)]
mod tests;
mod value;
mod waits;
#[macro_use]
mod wire;

use std::fmt::Debug;

use crate::live::{Record, State};
pub(crate) use market::MOST_SECONDS;
use wire::{Decode, DecodeFault, Encode};

/// Writes records and states, and reads what any release before this one wrote.
pub trait Codec: Debug + Send + Sync {
    /// The format of states that it writes.
    const VERSION: u32;

    /// A record as bytes.
    fn record(&self, record: &Record) -> Vec<u8>;

    /// The record that was written like this.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read_record(&self, body: &[u8]) -> Result<Record, CodecError>;

    /// A state as bytes: equal states give equal bytes.
    fn state(&self, state: &State) -> Vec<u8>;

    /// The state that was written like this.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read_state(&self, version: u32, body: &[u8]) -> Result<State, CodecError>;
}

/// What is wrong with bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(pub String);

impl From<DecodeFault> for CodecError {
    fn from(fault: DecodeFault) -> CodecError {
        CodecError(fault.to_string())
    }
}

/// A record is one line of JSON, without the line's end; so is a state.
///
/// Writing is linear in what is written; a state's also in all jobs ever submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json;

impl Codec for Json {
    const VERSION: u32 = 1;

    fn record(&self, record: &Record) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        record.put(&mut out);
        out
    }

    fn read_record(&self, body: &[u8]) -> Result<Record, CodecError> {
        Ok(Record::get(wire::parse(body)?).map_err(DecodeFault::of_journal)?)
    }

    fn state(&self, state: &State) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 << 16);
        state.put(&mut out);
        out
    }

    fn read_state(&self, version: u32, body: &[u8]) -> Result<State, CodecError> {
        match version {
            Self::VERSION => Ok(State::get(wire::parse(body)?).map_err(DecodeFault::of_journal)?),
            _ => Err(CodecError(format!("states of version {version} are not known here"))),
        }
    }
}
