//! Policies of their names, for the live market.

use tradewind_daemon::live::Make;
use tradewind_model::Pools;
use tradewind_sched::policy::Policy;

use crate::exit::Failure;
use crate::policy;

/// Makes every policy that `simulate` knows and that can be live.
#[derive(Debug)]
pub(crate) struct Policies;

/// Draws of policies that draw.
const SEED: u64 = 1;

impl Make for Policies {
    fn make(&self, name: &str, pools: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        policy::live(name, pools, SEED)
            .map(|made| made as Box<dyn Policy + Send>)
            .map_err(|failure| words(&failure))
    }
}

/// What is wrong, on one line.
pub(crate) fn words(failure: &Failure) -> String {
    let problems = failure.problems.iter().map(|problem| match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.message),
        None => problem.message.clone(),
    });
    problems.collect::<Vec<_>>().join("; ")
}
