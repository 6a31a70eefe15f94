//! Policies by name: `easy`, `easy[depth=4,order=shortest]`, `css[period=10m,search=cost]`.
//!
//! A text is read once into a [`PolicySpec`], which answers all questions about the policy and
//! makes it, for replays and for live markets.

mod federal;
mod parameters;
mod read;
mod spec;
#[cfg(test)]
mod tests;

use crate::brackets;
use crate::failure::Failure;
pub use spec::PolicySpec;

/// The name of the user's own policy, which a command decides.
pub const COMMAND: &str = "command";

/// What a run's nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Pools as they are.
    Pools,
    /// Some pool is cut into queues.
    Queues,
}

/// Where the lots come from that a policy draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lots {
    /// A seed of its own.
    Own(u64),
    /// That of the run.
    Run,
}

/// The seed of lots in a run that has none.
pub const SEED: u64 = 1;

/// The policies of `P[,P…]`; commas in brackets belong to a policy.
///
/// # Errors
/// If one cannot be read, or is named twice.
pub fn list(text: &str) -> Result<Vec<PolicySpec>, Failure> {
    let mut policies: Vec<PolicySpec> = Vec::new();
    for name in brackets::list(text) {
        let policy = PolicySpec::parse(name)?;
        if policies.iter().any(|other| other.text() == name) {
            return Err(Failure::usage(format!("policy `{name}` is named twice")));
        }
        policies.push(policy);
    }
    Ok(policies)
}

/// What is wrong with a name in a campaign file, if anything.
pub fn objection(name: &str) -> Option<(String, String)> {
    let hint = "write a name, such as `easy`, or one with parameters: `easy[depth=4]`";
    brackets::objection(PolicySpec::parse(name), hint)
}
