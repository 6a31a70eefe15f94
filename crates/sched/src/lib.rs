//! Tradewind's decisions as pure functions of what they are given: no files, clocks, threads or
//! unseeded randomness, so that simulation, live planning, quotes and what-ifs share one code.
//!
//! - [`window`]: one job → its best window.
//! - [`combine`]: jobs with alternatives → the best combination of them.
//! - [`policy`]: queue + grid → a plan.
//! - [`quote`](mod@quote) and [`explain`](mod@explain): what a user may ask before submitting.

pub mod combine;
pub mod explain;
pub mod policy;
pub mod quote;
pub mod window;

#[cfg(test)]
mod testing;
