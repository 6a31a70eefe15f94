//! What is done with jobs: what they ask for, what they wait for, how they get their nodes, and how they
//! end.

pub mod alike;
pub(super) mod awaited;
pub(super) mod bodies;
mod choice;
mod data;
pub(super) mod demand;
pub(super) mod dependencies;
mod gather;
pub(super) mod index;
mod layout;
mod life;
pub(super) mod line;
pub(super) mod named;
mod redact;
mod update;
pub(super) mod width;

pub(in crate::live) use life::within_budget;
