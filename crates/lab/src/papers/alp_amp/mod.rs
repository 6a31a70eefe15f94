//! Papers 001 and 002: the slot searches ALP and AMP, compared over thousands of cycles, and the
//! worked example.

mod cycles;
mod example;
mod parameters;
mod whole;
mod world;

pub(super) use cycles::CYCLES;
pub(super) use example::{EXAMPLE, picture as picture_of_example};
pub(super) use whole::CYCLES as WHOLE;
