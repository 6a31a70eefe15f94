//! What a market keeps, against a real daemon: its journal missing, its disk full, its past put
//! away.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its programs has failed")]

mod accident;
mod full;
mod old;
mod releases;
mod restored;
mod stage;
