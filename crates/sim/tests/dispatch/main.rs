//! The double auction and its baselines, replayed.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

mod cases;
mod laws;
mod matching;
mod naive;
mod prices;
mod worlds;
