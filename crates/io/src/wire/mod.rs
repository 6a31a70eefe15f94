//! The JSON documents that commands read and print. Times are integers in seconds, amounts exact
//! numbers of credits; nodes and jobs go by name.

mod amount;
pub mod combine;
mod explain;
mod plan;
mod quote;
mod reason;
#[cfg(test)]
mod tests;
mod window;

pub use amount::Amount;
pub use combine::Combined;
pub use explain::{Binding, Explanation, Relaxation};
pub use plan::{BatchLimits, JobPlan, Plan, Totals, sum_of, summed};
pub use quote::{Quote, QuotePoint, Quotes};
pub use reason::{Postponed, Reason};
pub use window::{Consumption, PerTask, StagedData, Task, Window, staged};

use serde::Serialize;

/// `document` as JSON text, indented by two spaces, with a final line break.
pub fn to_json(document: &impl Serialize) -> String {
    // Only maps with keys other than texts can fail, and no document has one.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
