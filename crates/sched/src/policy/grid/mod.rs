//! What policies on several pools share: what a job wants of the pools, where it finds it, and
//! what is taken already.

mod booking;
mod free;
mod lazy;
mod licences;
mod names;
mod outline;
mod priced;
mod rooms;
mod search;
mod shapes;
mod tariff;
mod wish;

pub(crate) use booking::{Booking, Part};
pub(super) use free::{Free, PoolOpening};
pub(super) use lazy::LazyRequest;
pub(super) use licences::Along;
pub(crate) use names::Names;
pub(super) use outline::{RequestOutline, fits_at_once};
pub(super) use search::{PoolRoom, Starts};
pub use shapes::ShapeRule;
pub(super) use tariff::{FEW, Tariff};
pub use tradewind_model::Spread;
pub(super) use wish::{PlacementRequest, PoolOffer};

/// What is free in each pool, and in all of them together.
pub(super) type GridAvailability = super::availability::Availability<Free>;
