//! What is done with the ledger: who may spend what, who lacks money, and what was used.

pub mod budgets;
pub(super) mod funds;
pub mod projects;
mod renew;
mod usage;
