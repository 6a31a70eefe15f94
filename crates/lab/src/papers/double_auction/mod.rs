//! Paper 003: a double auction between jobs and the queues of sites, and its baselines.

mod count;
mod parameters;
mod steady;
mod testbed;
mod valued;
mod week;

pub(super) use steady::STEADY;
pub(super) use week::THUNDER_WEEK;
