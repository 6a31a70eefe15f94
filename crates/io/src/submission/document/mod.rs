//! A submission as JSON, for the API: strict, exact, and the same after a round trip.

mod read;
mod write;

use super::Submission;
use crate::diagnostics::Diagnostics;
use crate::input::Input;

/// Reads a submission. Amounts are credits, times are seconds since 1970.
///
/// # Errors
/// All that is wrong with it, by line; unknown keys are among it.
pub fn parse(input: &Input) -> Result<Submission, Diagnostics> {
    read::parse(input)
}

/// The document that [`parse`] reads: keys in the documented order, defaults left out.
pub fn value(submission: &Submission) -> serde_json::Value {
    serde_json::Value::Object(write::object(submission))
}
