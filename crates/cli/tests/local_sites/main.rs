//! Local sites of a real daemon: reads of output, and as whom jobs run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accounts;
mod market;
mod policy;
mod reads;
mod requests;
