//! The ledger: where the money is, what was used and charged, and who may spend what.

pub mod budgets;
pub mod income;
pub mod money;
pub mod projects;
pub mod rules;
pub mod used;

use tradewind_model::{Money, Time};

use super::ApplyError;
use budgets::{BudgetHolder, Budgets, PowerLimits};
use income::Income;
use money::{Account, Accounts, Motive};
use projects::{ProjectEdit, Projects};
use used::Uses;

/// Money, and what it was spent for.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Where the money is.
    pub accounts: Accounts,
    /// What was used and charged.
    pub(crate) used: Uses,
    /// What pools have earned.
    pub(crate) income: Income,
    /// Who may spend what.
    pub(crate) projects: Projects,
    /// How much energy and carbon may be used.
    pub(crate) budgets: Budgets,
    /// The rules by which charges follow from records; `None`: those of older releases.
    pub(crate) rules: Option<u32>,
}

/// What is written down of money and of projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerRecord {
    /// Money is moved by an administrator.
    Moved {
        /// From whom.
        from: Account,
        /// To whom.
        to: Account,
        /// How much, above 0.
        amount: Money,
        /// Why.
        note: String,
    },
    /// A project is another than before.
    Project {
        /// Its name.
        project: String,
        /// How.
        change: ProjectEdit,
    },
    /// From now on these rules count, by which the state follows from records: what older releases
    /// wrote keeps those of its day.
    Rules {
        /// As [`rules`] says, up to 3.
        version: u32,
    },
    /// The same, from 3 on: a release that does not know the rules refuses the journal.
    RuledBy {
        /// As [`rules`] says.
        version: u32,
    },
    /// Other limits of energy and carbon count.
    PowerLimited {
        /// Whose.
        holder: BudgetHolder,
        /// From now on; none at all: there is no budget any more.
        limits: PowerLimits,
    },
}

impl Ledger {
    /// Makes one change at `at`.
    pub(super) fn apply(&mut self, at: Time, record: &LedgerRecord) -> Result<(), ApplyError> {
        match record {
            LedgerRecord::Moved { from, to, amount, note } => {
                let motive = Motive::Grant(note.clone());
                self.accounts.post(at, from.clone(), to.clone(), *amount, motive);
                Ok(())
            }
            LedgerRecord::Project { project, change } => self.projects.apply(at, project, change),
            LedgerRecord::Rules { version } | LedgerRecord::RuledBy { version } => {
                self.rules = Some(*version);
                self.knows_rules()
            }
            LedgerRecord::PowerLimited { holder, limits } => {
                self.budgets.limit(at, holder, *limits);
                Ok(())
            }
        }
    }
}
