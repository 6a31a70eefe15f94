//! By which rules the state follows from records. A journal says from which row on which rules count
//! ([`LedgerRecord::RuledBy`](super::LedgerRecord::RuledBy)), so that what an earlier release has
//! written makes the state that it made then, and daemons of two releases that own a market in turn
//! make the same one.

use super::Ledger;
use crate::live::state::ApplyError;

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
    /// the income of pools; 3 counts what nodes consume, and remembers runs as work, with what tells jobs
    /// apart; 4 makes ranges of waits in another way, which learns from rows of these rules only.
    pub const KNOWN: u32 = 4;

    /// After a term of an owner that knows these rules, of a market that daemons own in turn; `None`:
    /// it does not say. Others of its release may follow the journal, too.
    pub fn after(known: Option<u32>) -> RuleChange {
        match known.is_some_and(|known| known >= RuleChange::KNOWN) {
            true => RuleChange::AtOnce,
            false => RuleChange::Later,
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
