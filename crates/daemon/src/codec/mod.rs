//! Records and states as bytes: what the journal keeps for ever.

use std::fmt::Debug;

use crate::live::{Record, State};

/// Writes records and states, and reads what any release before this one wrote.
pub trait Codec: Debug + Send {
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
