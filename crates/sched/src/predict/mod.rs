//! How long jobs will run, learned online from those that have ended; in [`waits`], how long they will
//! wait.
//!
//! A [`Learner`] sees what a submission knows, when jobs start and how long they ran; it never looks
//! ahead, and remembers a bounded amount of each user. What is expected of a job that runs longer
//! than predicted is another matter: [`Correction`](tradewind_model::Correction).

mod last_two;
mod learned;
pub mod limits;
mod published_linear;
pub mod waits;

use std::fmt::Debug;

use tradewind_model::{JobId, Span, Time};

pub use last_two::LastTwo;
pub use learned::{Learned, Prediction, RunForecast};
pub use published_linear::PublishedLinear;

/// What is known of a job when it is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// Whose job it is.
    pub user: i64,
    /// Nodes that it asks for, at least 1.
    pub processors: u32,
    /// Run time that its user asks for, at least 1 s.
    pub requested: Span,
    /// When.
    pub at: Time,
    /// What the job is, as far as that is known.
    pub traits: JobTraits,
}

/// What logs do not say and live markets do: names and scripts, as numbers that differ where these
/// differ. `None`: it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobTraits {
    /// Who pays, if not the user alone.
    pub account: Option<u64>,
    /// What the user calls such jobs.
    pub name: Option<u64>,
    /// Its script or command.
    pub script: Option<u64>,
}

/// Predicts run times, and learns from the runs that it is given. Times never go back. The same calls
/// lead to the same predictions.
pub trait Learner: Debug + Send {
    /// A job is submitted: how long it is expected to run, from 1 s up to its request.
    fn submitted(&mut self, job: JobId, what: Submission) -> Span;

    /// It starts.
    fn started(&mut self, _job: JobId, _at: Time) {}

    /// It lost its nodes and what it had done, and waits again.
    fn interrupted(&mut self, _job: JobId) {}

    /// It will never run.
    fn left(&mut self, _job: JobId) {}

    /// It is over, after it ran for `run`.
    fn ended(&mut self, job: JobId, run: Span, at: Time);
}
