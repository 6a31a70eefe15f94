//! A submission as JSON, for the API: strict, exact, and the same after a round trip.

mod groups;
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

/// How many items the lists and tables of a JSON text have, one of each not counted: its commas
/// outside of texts. Linear, and much quicker than reading it.
pub fn items(text: &[u8]) -> usize {
    let (mut items, mut in_text, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b',' if !in_text => items += 1,
            _ => {}
        }
    }
    items
}

/// The document that [`parse`] reads: keys in the documented order, defaults left out.
pub fn value(submission: &Submission) -> serde_json::Value {
    serde_json::Value::Object(write::object(submission))
}

#[cfg(test)]
mod tests {
    #[test]
    fn items_are_counted_outside_of_texts() {
        let text = br#"{"a,\\": ["x,\"y", 1, 2], "b": {"c": ",", "d": "e"}}"#;
        assert_eq!(super::items(text), 4);
    }
}
