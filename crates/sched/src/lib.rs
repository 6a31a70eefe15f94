//! Decisions as pure functions.
pub mod combine;
pub mod policy;
pub mod window;
