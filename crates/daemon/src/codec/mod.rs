//! Records and states as JSON, for the journal.
//!
//! What is written must be read for ever, and the types that it is of have no such duty. So the
//! format is said here, type by type, and nowhere else: [`market`], [`submission`], [`books`] and
//! [`record`] list the fields and the names of alternatives, and [`wire`] makes reader and writer
//! of one list. A field without a value is left out; one that is not known is an error, as is an
//! alternative that is not known: a later release has written it. Money is whole micro-credits,
//! time whole seconds. Lines that earlier releases wrote are in `golden/`, and tests read them.

mod books;
mod market;
mod record;
mod state;
mod submission;
#[cfg(test)]
mod tests;
mod value;
#[macro_use]
mod wire;

pub use state::VERSION;
pub use wire::Fault;

use crate::live::{Record, State};
use wire::{Get, Put};

/// A record as one line of JSON, without the line's end.
pub fn encode(record: &Record) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    record.put(&mut out);
    out
}

/// The record that was written like this.
///
/// # Errors
/// If it is not JSON, not a record, or one of a later release; says where.
pub fn decode(body: &[u8]) -> Result<Record, Fault> {
    Record::get(wire::parse(body)?)
}

/// A state as JSON: the body of a snapshot of [`VERSION`]. The same state gives the same bytes.
/// Linear in the state, and in all jobs ever submitted.
pub fn encode_state(state: &State) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 << 16);
    state.put(&mut out);
    out
}

/// The state that was written like this.
///
/// # Errors
/// If it is not JSON, not a state, or one that does not add up; says where.
pub fn decode_state(body: &[u8]) -> Result<State, Fault> {
    State::get(wire::parse(body)?)
}
