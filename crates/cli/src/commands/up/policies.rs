//! Policies of their names, for the live market.

use tradewind_daemon::live::{Make, Refusal, RefusalKind};
use tradewind_model::Pools;
use tradewind_sched::policy::Policy;

use crate::exit::Failure;
use crate::policy::PolicySpec;

/// Makes every policy that `simulate` knows and that can be live.
#[derive(Debug)]
pub(crate) struct Policies;

impl Make for Policies {
    fn make(&self, name: &str, pools: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        let made = PolicySpec::parse(name).and_then(|policy| policy.for_live_market(pools));
        made.map(|made| made as Box<dyn Policy + Send>).map_err(|failure| words(&failure))
    }
}

/// The policy of a market, or of a question about it.
///
/// # Errors
/// If there is no such policy.
pub(crate) fn read(text: &str) -> Result<PolicySpec, Refusal> {
    PolicySpec::parse(text).map_err(|wrong| unsuited(&wrong))
}

/// There is no such policy, or it cannot decide for the market.
pub(crate) fn unsuited(wrong: &Failure) -> Refusal {
    Refusal::new(RefusalKind::Invalid, words(wrong), "`tradewind simulate --help` names policies")
}

/// What is wrong, on one line.
fn words(failure: &Failure) -> String {
    let problems = failure.problems.iter().map(|problem| match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.message),
        None => problem.message.clone(),
    });
    problems.collect::<Vec<_>>().join("; ")
}
