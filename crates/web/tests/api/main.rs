//! The API as clients see it: a real server on a real market.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_pass_by_value, reason = "short calls read better")]

mod advice;
mod audit;
mod bad;
mod board;
mod contract;
mod crowd;
mod failing;
mod fuzz;
mod hand;
mod jobs;
mod large;
mod limits;
mod money;
mod names;
mod pages;
mod peers;
mod projects;
mod rights;
mod signin;
mod stage;
mod streams;
mod tls;
mod turns;
