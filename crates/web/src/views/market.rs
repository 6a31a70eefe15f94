//! The market as a document.

use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::state::State;

use super::starts;
use super::status::{StatusGroup, group};
use crate::documents::{Credits, JobCounts, Market, MoneyTotals};

/// The market as a whole. Linear in the jobs.
pub(crate) fn market(state: &State) -> Market {
    let pools = state.market.pools();
    Market {
        name: state.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        policy: state.policy.clone(),
        time: state.now().0,
        ahead_of_clock: Some(state.lead().0).filter(|lead| *lead > 0),
        read_only: None,
        standby: None,
        damage: Vec::new(),
        sites: pools.sites().len() as u32,
        nodes: pools.nodes(),
        free: state.market.free(),
        users: state.users().len() as u32,
        jobs: counts(state),
        money: MoneyTotals {
            granted: Credits(-state.accounts().balance(&Account::Bank)),
            held: Credits(held(state)),
        },
        start_ranges: starts::score(&state.range_score()),
    }
}

/// Jobs by where they stand.
pub(crate) fn counts(state: &State) -> JobCounts {
    let mut counts = JobCounts::default();
    for job in state.jobs.values() {
        *match group(state, job) {
            StatusGroup::Held | StatusGroup::Booked => &mut counts.held,
            StatusGroup::Waiting => &mut counts.waiting,
            StatusGroup::Running => &mut counts.running,
            StatusGroup::Unknown => &mut counts.unknown,
            StatusGroup::Over => &mut counts.over,
        } += 1;
    }
    counts
}

/// What is held for jobs.
pub(crate) fn held(state: &State) -> i128 {
    let held =
        state.accounts().balances().filter(|(account, _)| matches!(account, Account::Held(_)));
    held.map(|(_, balance)| balance).sum()
}
