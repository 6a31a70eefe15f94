//! Tradewind's simulator: a log of jobs replayed in virtual time, on the policies that will run
//! live.
//!
//! [`workload`] turns what a log says into jobs that can be replayed, [`run`](fn@run) replays them
//! under a policy, [`outage`] takes nodes away, [`feedback`] lets submissions depend on the run, [`owners`] are sites whose owners have jobs of their own,
//! [`check`] watches, [`metrics`] sums up,
//! [`placement`] names processors and [`replications`] says how sure a mean is; [`models`] makes
//! workloads up, and [`queueing`] says what theory expects. [`stepped`] is a replay that stops where
//! something is to be decided, and [`worlds`] are episodes of such replays for agents that learn. [`fork`](mod@fork) carries a live market on, and
//! [`retrace`] proves that a live policy decided as it would here.
//! No files, no threads, no clock: the same input gives the same run.

pub mod check;
mod engine;
mod estimate;
pub mod feedback;
pub mod forecast;
pub mod fork;
pub mod load;
pub mod metrics;
pub mod models;
pub mod network;
pub mod outage;
pub mod owners;
pub mod paired;
pub mod placement;
mod posting;
pub mod queueing;
mod replay;
pub mod replications;
mod result;
pub mod retrace;
mod semantics;
pub mod stepped;
pub mod stream;
pub mod workload;
pub mod worlds;

pub use engine::SimError;
pub use estimate::Estimate;
pub use replay::{ReplaySettings, run};
pub use result::{LossCause, Lost, Ran, Run, Struck};
pub use semantics::Semantics;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
