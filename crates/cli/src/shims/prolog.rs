//! What runs before each task of a step at a Slurm site: Slurm gives the task its own number of the
//! job, and this gives it the market's back.

use crate::exit::{Exit, Outcome};
use crate::output;

/// The name of the link.
pub(super) const NAME: &str = "tradewind-task-prolog";

/// Slurm sets the variables that a task's prolog prints.
pub(super) fn run() -> Outcome {
    if let Ok(job) = std::env::var("TRADEWIND_JOB_ID") {
        output::print(&format!("export SLURM_JOB_ID={job}\nexport SLURM_JOBID={job}\n"))?;
    }
    Ok(Exit::Ok)
}
