//! By which rules the state follows from records. A journal says from which row on which rules count
//! ([`LedgerRecord::RuledBy`]), so that what an earlier release has written makes the state that it made
//! then, and daemons of two releases that own a market in turn make the same one.

use tradewind_model::Time;

use super::{Ledger, LedgerRecord};
use crate::live::{ApplyError, Live, State};

/// When a market takes up rules that its journal does not have yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleChange {
    /// When it begins.
    #[default]
    AtOnce,
    /// Not in this term: a daemon that does not know them may own the market again.
    Later,
}

impl RuleChange {
    /// The latest rules that are known here. 1 charges tasks by the second that they began; 2 counts
    /// the income of pools; 3 counts what nodes consume, bounds ranges of waits by a ceiling, and
    /// remembers runs as work, with what tells jobs apart.
    pub const KNOWN: u32 = 3;

    /// After a term of an owner that knows these rules, of a market that daemons own in turn; `None`:
    /// it does not say. Others of its release may follow the journal, too.
    pub fn after(known: Option<u32>) -> RuleChange {
        match known.is_some_and(|known| known >= RuleChange::KNOWN) {
            true => RuleChange::AtOnce,
            false => RuleChange::Later,
        }
    }
}

impl State {
    /// Whether these rules count.
    pub(in crate::live) fn has_rules(&self, version: u32) -> bool {
        self.ledger.rules.is_some_and(|rules| rules >= version)
    }

    /// What is no part of a snapshot and depends on the rules.
    pub(crate) fn follow_rules(&mut self) {
        if self.has_rules(3) {
            self.waits.forecaster.keep_ceiling();
        }
    }
}

impl Ledger {
    /// Whether the rules are known here.
    ///
    /// # Errors
    /// If they are of a later release: what they make of records is not known.
    pub(crate) fn knows_rules(&self) -> Result<(), ApplyError> {
        match self.rules {
            Some(found) if found > RuleChange::KNOWN => {
                Err(ApplyError::Rules { found, known: RuleChange::KNOWN })
            }
            _ => Ok(()),
        }
    }
}

impl Live {
    /// Takes up the latest rules, unless a daemon that does not know them may own the market again. A
    /// market whose sites have electricity is none of its any more.
    pub(in crate::live) fn change_rules(&mut self, at: Time) -> Result<(), ApplyError> {
        let is_new = self.state.ledger.rules.is_none();
        let has_power = self.state.market.pools().power().is_some();
        let is_due = is_new || has_power || self.settings.rules == RuleChange::AtOnce;
        match is_due && !self.state.has_rules(RuleChange::KNOWN) {
            true => self.put(at, LedgerRecord::RuledBy { version: RuleChange::KNOWN }),
            false => Ok(()),
        }
    }
}
