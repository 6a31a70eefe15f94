//! Numbers as people read them, without their units' names where a column has them.

use std::fmt::Display;

use tradewind_io::present;

use crate::documents::{Credits, Thousandths};

/// With a typographic minus.
pub(crate) fn typeset(number: &str) -> String {
    number.replace('-', "−")
}

/// A length of time: the two largest units that are not zero.
pub(crate) fn span(seconds: &i64) -> String {
    typeset(&present::whole_span(*seconds))
}

/// Credits with thousands apart, exact.
pub(crate) fn credits(amount: &Credits) -> String {
    typeset(&present::credits(amount.0))
}

/// A price per node-second as one per node-hour, with as few digits as name it.
pub(crate) fn hourly(price: &Credits) -> Credits {
    Credits(present::hourly(price.0))
}

/// As many decimals as there are, up to three.
pub(crate) fn performance(of: &Thousandths) -> String {
    present::trimmed(&format!("{}.{:03}", of.0 / 1_000, of.0 % 1_000)).to_owned()
}

/// With thousands apart.
pub(crate) fn grouped(number: impl Display) -> String {
    present::grouped(number)
}
