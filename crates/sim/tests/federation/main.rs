//! Sites that pass jobs to each other, under faults of all kinds.
//!
//! [`world`] runs the production negotiators over the simulated network against toy schedulers,
//! and small watchers look at every step. Every seed draws the grid, the jobs, the knobs and the
//! faults; then the faults end and everything must come to rest. [`grid`] and [`cases`] run the
//! federation of real schedulers through the kernel.
#![expect(clippy::unwrap_used, reason = "a simulation that fails is a test that fails")]

mod audit;
mod cases;
mod checkers;
mod grid;
mod mutant;
mod protocol;
mod world;
mod yard;
