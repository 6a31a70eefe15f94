//! Policies that begin on a market that is not empty, and learn what others decide: jobs that
//! start by themselves or are taken back, owners who come early and stay long, prices that change.
#![expect(clippy::unwrap_used, reason = "a run that fails is a test that fails")]

mod cases;
mod laws;
mod worlds;
mod yard;
