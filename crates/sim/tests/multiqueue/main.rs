//! Autonomous sites: the hybrid multi-queue mechanism and its controls.
#![expect(clippy::unwrap_used, reason = "a drive that fails is a test that fails")]

mod bounded;
mod drive;
mod limits;
mod mechanism;
mod naive;
mod plain;
