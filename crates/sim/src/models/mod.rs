//! Synthetic workloads: models of jobs, of batches and of owners' local load.
//!
//! Each model is a struct of named parameters with the published values as defaults, and a `draw`
//! that takes a seed. What is drawn is a function of both: the same on every machine, and each
//! kind of number (gaps, widths, run times, …) has a stream of its own, so that a parameter
//! changed shifts no other draw, and more jobs begin with the same ones.
//!
//! Streams of jobs: [`Lublin`], [`Poisson`], by name [`JobModel`]; [`Requests`] adds users and requested
//! times, which they lack. Batches with slots: [`Study1`], [`Environment`]; [`LocalLoad`] is the owners' load,
//! over one cycle or for as long as one likes, and [`FailureModel`] break nodes. [`Moldable`] gives jobs of a
//! log other shapes.

mod draws;
mod environment;
mod faults;
mod load;
mod lublin;
mod moldable;
mod named;
mod poisson;
mod requests;
mod study1;

use tradewind_model::{Span, Time};

pub use draws::Gamma;
pub use environment::{Cycle, Environment};
pub use faults::{FailureModel, Repair};
pub use load::{LocalLoad, owners_load};
pub use lublin::{Arrivals, Lublin, RunTimes, WidthLaw};
pub use moldable::Moldable;
pub use named::{JOB_MODELS, JobModel, ParameterError};
pub use poisson::{Poisson, RunLaw};
pub use requests::Requests;
pub use study1::Study1;

/// A job that a model made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnJob {
    /// When it is submitted, rounded down; never before the job drawn before it.
    pub submit: Time,
    /// How long it runs: at least 1 s.
    pub run: Span,
    /// How wide it is: at least 1.
    pub processors: u32,
    /// How long it asks to run: never less than `run`.
    pub requested: Span,
    /// Whose it is, from 1.
    pub user: u32,
}

impl DrawnJob {
    /// A job of user 1 that asks for what it runs.
    fn new(submit: Time, run: Span, processors: u32) -> DrawnJob {
        DrawnJob { submit, run, processors, requested: run, user: 1 }
    }
}

/// `seconds` from 0 on, rounded down, within the range of times.
fn moment(seconds: f64) -> Time {
    Time(seconds.clamp(0.0, Time::MAX.0 as f64) as i64)
}
