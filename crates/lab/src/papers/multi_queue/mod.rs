//! Paper 004: a grid without a centre, whose sites have three queues each and pass jobs on.

mod load;
mod months;
mod outcome;
mod parameters;
mod scale;
mod schemes;
mod tuning;
mod world;

pub(super) use load::LOAD;
pub(super) use months::MONTHS;
pub(super) use scale::SCALE;
pub(super) use tuning::TUNING;
pub(super) use world::stated_load;
