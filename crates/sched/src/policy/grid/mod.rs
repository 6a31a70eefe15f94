//! What policies on several pools share: what a job wants of the pools, where it finds it, and
//! what is taken already.

mod booking;
mod free;
mod names;
mod rooms;
mod search;
mod wish;

pub(crate) use booking::{Booking, Part};
pub(super) use free::{Free, Opening};
pub(crate) use names::Names;
pub(super) use search::Starts;
pub use tradewind_model::Spread;
pub(super) use wish::PlacementRequest;

/// What is free in each pool, and in all of them together.
pub(super) type Availability = super::availability::Availability<Free>;
