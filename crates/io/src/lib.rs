//! Tradewind's formats: what goes in and what comes out.
//!
//! - [`submission`]: what a user submits to run: scripts, options, documents.
//! - [`settings`]: how a daemon is set up, with prices and offers by hours and load.
//! - [`swf`]: logs in the Standard Workload Format 2.2, plain, gzip or zstd.
//! - [`sacct`]: the accounting of a Slurm cluster, made into a log and a grid.
//! - [`scenario`]: a planning problem in JSON or TOML.
//! - [`grid`], [`outages`]: sites to simulate on, and when their nodes are missing.
//! - [`snapshot`]: a moment of a log, made into a scenario with a seeded side model.
//! - [`campaign`]: what is to be simulated, in JSON or TOML.
//! - [`wire`]: every JSON document that a command reads or prints.
//! - [`chart`]: plans, replays and comparisons of policies as pictures: SVG, PNG or text.
//! - [`present`]: numbers, times, ticks and SVG, for all that people read.
//! - [`report`]: a campaign as one HTML page.
//! - [`batsim`], [`schedule`], [`jobs_table`] (in [`parquet`]): what a replay leaves for notebooks.
//! - [`diagnostics`]: everything that is wrong with an input, with file, line, field and a hint.
//!
//! Raw text becomes types that cannot be wrong, or a list of *all* problems. Amounts go from text
//! to integers and back without a binary float in between.

pub use tradewind_swf::{diagnostics, input};

pub mod batsim;
pub mod campaign;
pub mod chart;
pub mod decimal;
pub mod digest;
pub mod duration;
mod fields;
pub mod grid;
mod halves;
pub mod hidden;
pub mod jobs_table;
mod kind;
mod licences;
pub mod links;
pub mod log_table;
mod memory;
pub mod outages;
mod owners_first;
pub mod parquet;
pub mod power;
mod preemption;
pub mod present;
pub mod report;
mod rows;
pub mod sacct;
pub mod scenario;
pub mod schedule;
mod series;
pub mod settings;
pub mod shapes;
pub mod snapshot;
pub mod submission;
pub mod swf;
mod value;
pub mod wire;
