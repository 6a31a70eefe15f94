//! Paper 003: a double auction between jobs and the queues of sites, and its rivals.

mod balance;
mod count;
mod missed;
mod numbers;
mod parameters;
mod steady;
mod steady_study;
mod testbed;
mod text;
mod urgency;
mod value;
mod week;

use crate::study::Study;

/// In the order of the paper.
pub(super) static ALL: [&Study; 6] = [
    &steady_study::FIG5,
    &urgency::FIG6A,
    &value::FIG6B,
    &missed::FIG6C,
    &balance::FIG7,
    &text::TEXT,
];
