//! What is announced as outages, and withdrawn: what sites say of their nodes and of their owners'
//! jobs becomes nodes that are missing or will be.

pub(super) mod away;
pub mod bound;
mod lined;
mod lookback;
pub(super) mod missing;
pub mod owners;
pub mod usual;
