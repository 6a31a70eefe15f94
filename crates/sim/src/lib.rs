//! Tradewind's simulator: a log of jobs replayed in virtual time, on the policies that will run
//! live.
//!
//! [`workload`] turns what a log says into jobs that can be replayed, [`run`](fn@run) replays them
//! under a policy, [`check`] watches, [`metrics`] sums up and [`placement`] names processors;
//! [`models`] makes workloads up.
//! No files, no threads, no clock: the same input gives the same run.

pub mod check;
mod estimate;
mod kernel;
pub mod metrics;
pub mod models;
pub mod placement;
pub mod workload;

pub use estimate::Estimate;
pub use kernel::{Ran, Run, Semantics, Settings, SimError, run};
