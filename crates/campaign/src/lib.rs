//! Campaigns: logs, models and grids replayed under one or several policies, by one or several
//! rules. What the command `simulate` and the Python package have in common.
//!
//! A [`tradewind_io::campaign::Campaign`] says what is run. [`plan`] makes runs of it, [`workload`]
//! reads files and prepares jobs, [`policy`] reads policies by name, [`replay`] does one run,
//! [`summary`] is its result in numbers, [`fates`] and [`rows`] what happened to each job.
//!
//! Nothing is printed or written here.

pub mod answer;
pub mod brackets;
pub mod checks;
pub mod drawing;
pub mod failure;
pub mod fates;
mod grid_terms;
mod homes;
pub mod links;
mod memory;
pub mod model;
pub mod moldable;
mod owners;
pub mod plan;
pub mod policy;
pub mod preemptible;
pub mod replay;
pub mod rows;
pub mod rules;
mod sites;
pub mod streamed;
pub mod summary;
pub mod values;
pub mod worker_pool;
pub mod workload;
