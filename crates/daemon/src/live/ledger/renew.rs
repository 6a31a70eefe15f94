//! What the state of an older release lacks, when a market begins.

use std::collections::BTreeMap;

use tradewind_model::{Money, Time};

use crate::live::money::Account;
use crate::live::record::LedgerRecord;
use crate::live::state::ledger::projects::{MemberRole, ProjectEdit};
use crate::live::state::ledger::rules::RuleChange;
use crate::live::{ApplyError, Live};

impl Live {
    /// What a state of an older release lacks: it is written down, so that a replay does the same.
    pub(in crate::live) fn renew(&mut self, at: Time) -> Result<(), ApplyError> {
        self.change_rules(at)?;
        let accounts = self.state.ledger.accounts.balances();
        let old: Vec<String> = accounts
            .filter_map(|(account, _)| match account {
                Account::Project(name) => Some(name.clone()),
                _ => None,
            })
            .filter(|name| self.state.ledger.projects.get(name).is_none())
            .collect();
        for name in old {
            self.adopt(at, &name)?;
        }
        Ok(())
    }

    /// A project of an older journal: whose jobs have spent from it are its members.
    fn adopt(&mut self, at: Time, name: &str) -> Result<(), ApplyError> {
        let mut spent = BTreeMap::<String, Money>::new();
        for job in self.state.jobs.values().filter(|it| it.paying_project() == Some(name)) {
            let held = self.state.ledger.accounts.balance(&Account::Held(job.number));
            if job.paid > Money::ZERO || held > 0 {
                *spent.entry(job.user.clone()).or_default() += job.paid;
            }
        }
        let users: Vec<String> = spent.keys().cloned().collect();
        let (by, note) = (String::new(), String::new());
        self.change(at, name, ProjectEdit::Made { by, note, spent: spent.into_iter().collect() })?;
        for user in users {
            self.change(at, name, ProjectEdit::Joined { user, role: MemberRole::Member })?;
        }
        self.turn_away(at, name)
    }

    /// Takes up the latest rules, unless a daemon that does not know them may own the market again. A
    /// market whose sites have electricity is none of its any more.
    fn change_rules(&mut self, at: Time) -> Result<(), ApplyError> {
        let is_new = self.state.ledger.rules.is_none();
        let has_power = self.state.market.pools().power().is_some();
        let is_due = is_new || has_power || self.settings.rules == RuleChange::AtOnce;
        match is_due && !self.state.has_rules(RuleChange::KNOWN) {
            true => self.put(at, LedgerRecord::RuledBy { version: RuleChange::KNOWN }),
            false => Ok(()),
        }
    }
}
