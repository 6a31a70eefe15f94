//! Papers 001 and 002: the slot searches ALP and AMP, compared over thousands of cycles, and the
//! worked example.

mod claims;
mod cycles;
mod example;
mod figures;
mod gains;
mod parameters;
mod published;
mod studies;
mod whole;
mod whole_study;
mod world;

pub(super) use studies::ALL;
