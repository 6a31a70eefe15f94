//! Papers 001 and 002: the slot searches ALP and AMP, compared over thousands of cycles.

mod cycles;
mod parameters;
mod world;

pub use cycles::CYCLES;
