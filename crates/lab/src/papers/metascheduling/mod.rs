//! Paper 000: searches by criterion, batch-slicer, and its union with backfilling, in a simulated
//! virtual organisation.

mod filling;
mod owners;
mod parameters;
mod replay;
mod single;
mod slices;
mod users;
mod working;
mod world;

use parameters::OWNED;

use crate::case::Case;

pub(super) use filling::FILLING;
pub(super) use owners::OWNERS;
pub(super) use single::SINGLE;
pub(super) use slices::SLICES;
pub(super) use users::USERS;
pub(super) use working::WORKING;

/// What a node like the owner's costs in the mean.
pub(super) fn market_price(case: &Case) -> f64 {
    world::market_price(case, case.number(&OWNED))
}
