//! The Grid Engine site on a real Grid Engine.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod conformance;
mod driven;
mod faults;
mod fixture;
mod market;
mod owners;
mod resources;
mod surprises;
mod together;
mod users;
