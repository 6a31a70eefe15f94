//! What policies on several pools share: what a job wants of the pools, where it finds it, and
//! what is taken already.

mod booking;
mod books;
mod free;
mod names;
#[cfg(test)]
mod plain;
mod rooms;
mod search;
mod wish;

pub(crate) use booking::{Booking, Part};
pub(super) use books::News;
pub(crate) use books::{Books, free_in_each};
pub(super) use free::Opening;
pub(crate) use names::Names;
pub(super) use search::Starts;
pub use wish::Spread;
pub(super) use wish::PlacementRequest;
