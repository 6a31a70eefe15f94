//! What a job pays in a queue.

use tradewind_model::{Money, Pool, Price, Terms};

/// Per node and second: what the owner's list says.
pub(super) fn list(pool: &Pool) -> Price {
    pool.price
}

/// What the job is worth to its user: its value, else its budget; `None` if that is not above
/// zero.
pub(super) fn value(terms: &Terms) -> Option<Money> {
    terms.value.or(terms.budget).filter(|value| *value > Money::ZERO)
}
