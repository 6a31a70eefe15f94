//! Policies on several sites with unequal, priced nodes.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

mod bsf;
mod cases;
mod cycles;
mod fallback;
mod fill;
mod fly;
mod forks;
mod live;
mod loaded;
mod naive;
mod posted;
mod priced;
mod retraces;
mod worlds;
