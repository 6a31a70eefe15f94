//! How much a member may still spend from a project, and when people are warned.

use std::collections::BTreeMap;

use tradewind_model::{Money, Time};

use crate::live::money::Account;
use crate::live::record::LedgerRecord;
use crate::live::state::ledger::projects::{
    Project, ProjectEdit, SpendingLimits, Spent, Which, month_of,
};
use crate::live::state::{Job, State};
use crate::live::{ApplyError, Live};

/// Per cent of a budget at which people are warned.
const LEVELS: [u32; 3] = [50, 80, 95];

/// A limit that leaves less than what is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    /// Of which member; `None`: of the project.
    pub user: Option<String>,
    /// Which.
    pub which: Which,
    /// How much it is.
    pub limit: Money,
    /// What is left of it, micro-credits; below 0 if it was lowered.
    pub left: i128,
}

/// As in `the limit of ana in project flow, 20 credits a month, leaves 3`.
impl Limited {
    /// The limit, in words.
    pub fn words(&self, project: &str) -> String {
        let whose = match &self.user {
            Some(user) => format!("the limit of {user} in project {project}"),
            None => format!("the limit of project {project}"),
        };
        let span = match self.which {
            Which::Total => "in all",
            Which::Month => "a month",
        };
        let left = Money(i64::try_from(self.left.max(0)).unwrap_or(i64::MAX));
        format!("{whose}, {} credits {span}, leaves {left}", self.limit)
    }
}

/// A budget and what was spent of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetShare {
    /// Of which member; `None`: of the project.
    pub user: Option<String>,
    /// Of which limit.
    pub which: Which,
    /// What was spent.
    pub spent: Money,
    /// Of how much.
    pub of: Money,
}

impl BudgetShare {
    /// Whole per cent that were spent, rounded down; 100 of nothing.
    pub fn percent(&self) -> u32 {
        if self.of.0 <= 0 {
            return 100;
        }
        let percent = i128::from(self.spent.0) * 100 / i128::from(self.of.0);
        u32::try_from(percent).unwrap_or(0)
    }

    /// The highest level of which people are to be warned; 0: of none.
    pub fn level(&self) -> u32 {
        let percent = self.percent();
        LEVELS.into_iter().rev().find(|level| percent >= *level).unwrap_or(0)
    }
}

impl State {
    /// What limits leave the user of the project's money, the narrowest first: limits of the
    /// project and of the member, less what was spent, is held and is promised to booked windows.
    /// Linear in what is held.
    pub fn limits_left(&self, name: &str, user: &str) -> Vec<Limited> {
        let Some(project) = self.ledger.projects.get(name) else { return Vec::new() };
        let own = project.members.get(user).map(|it| it.limits).unwrap_or_default();
        if project.limits == SpendingLimits::default() && own == SpendingLimits::default() {
            return Vec::new();
        }
        let held = self.held_of_project(name);
        let promised = |user: Option<&str>| self.promised_by(name, user);
        let all = held.values().sum::<i128>() + promised(None);
        let ours = held.get(user).copied().unwrap_or(0) + promised(Some(user));
        let by_user = project.by_user.get(user).copied().unwrap_or_default();
        let mut left = self.left_of(project.limits, &project.spent, all, None);
        left.extend(self.left_of(own, &by_user, ours, Some(user)));
        left.sort_by_key(|it| it.left);
        left
    }

    fn left_of(
        &self,
        limits: SpendingLimits,
        spent: &Spent,
        bound: i128,
        user: Option<&str>,
    ) -> Vec<Limited> {
        let all = [
            (Which::Total, limits.total, spent.total),
            (Which::Month, limits.month, spent.in_month_of(self.now())),
        ];
        let left = |(which, limit, spent): (Which, Option<Money>, Money)| {
            let limit: Money = limit?;
            let left = i128::from(limit.0) - i128::from(spent.0) - bound;
            Some(Limited { user: user.map(str::to_owned), which, limit, left })
        };
        all.into_iter().filter_map(left).collect()
    }

    /// What booked windows of the project, or of one of its users, will cost at most.
    fn promised_by(&self, name: &str, user: Option<&str>) -> i128 {
        let account = Account::Project(name.to_owned());
        self.promised_of(&account, |job| user.is_none_or(|user| job.user == user))
    }

    /// What is left to the job's user of the account that pays for it, and of all limits.
    pub fn purse_of(&self, job: &Job) -> i128 {
        let there = self.to_spend(&job.payer());
        self.within_limits(there, job.paying_project(), &job.user)
    }

    /// Of so much on the project's account, what limits leave to the user.
    pub fn within_limits(&self, there: i128, project: Option<&str>, user: &str) -> i128 {
        let left = project.and_then(|name| self.limits_left(name, user).into_iter().next());
        left.map_or(there, |it| there.min(it.left))
    }

    /// Every budget of the project of which people are warned, and what was spent of it. A project
    /// without a limit has what was spent and what is left; one that never had money has none.
    pub fn shares(&self, name: &str) -> Vec<BudgetShare> {
        let Some(project) = self.ledger.projects.get(name) else { return Vec::new() };
        let mut all = self.shares_of(project.limits, &project.spent, None);
        if project.limits.total.is_none() {
            all.extend(self.given_to(name, project));
        }
        for (user, member) in &project.members {
            let spent = project.by_user.get(user).copied().unwrap_or_default();
            all.extend(self.shares_of(member.limits, &spent, Some(user)));
        }
        all
    }

    fn shares_of(
        &self,
        limits: SpendingLimits,
        spent: &Spent,
        user: Option<&String>,
    ) -> Vec<BudgetShare> {
        let month = spent.in_month_of(self.now());
        let all = [(Which::Total, limits.total, spent.total), (Which::Month, limits.month, month)];
        let share = |(which, limit, spent): (Which, Option<Money>, Money)| {
            Some(BudgetShare { user: user.cloned(), which, spent, of: limit? })
        };
        all.into_iter().filter_map(share).collect()
    }

    /// All that the project was ever given, micro-credits: what it has, what is held for its jobs,
    /// and what they have paid.
    pub fn given(&self, name: &str) -> i128 {
        let spent =
            self.ledger.projects.get(name).map_or(0, |project| i128::from(project.spent.total.0));
        let held: i128 = self.held_of_project(name).values().sum();
        self.ledger.accounts.balance(&Account::Project(name.to_owned())) + held + spent
    }

    fn given_to(&self, name: &str, project: &Project) -> Option<BudgetShare> {
        let spent = project.spent.total;
        let of = Money(i64::try_from(self.given(name)).unwrap_or(i64::MAX));
        (of > Money::ZERO).then_some(BudgetShare { user: None, which: Which::Total, spent, of })
    }

    /// The level of which people were warned that still counts.
    fn warned_of(&self, project: &Project, share: &BudgetShare) -> u32 {
        let warned = project.warned.get(&(share.user.clone(), share.which));
        let counts = |month: i64| share.which == Which::Total || month == month_of(self.now());
        warned.filter(|it| counts(it.month)).map_or(0, |it| it.level)
    }
}

impl Live {
    /// People are warned where more was spent than a level, and again if they could spend more
    /// meanwhile.
    pub(in crate::live) fn recheck_budgets(
        &mut self,
        at: Time,
        name: &str,
    ) -> Result<(), ApplyError> {
        let Some(project) = self.state.ledger.projects.get(name) else { return Ok(()) };
        let mut changes = Vec::new();
        for share in self.state.shares(name) {
            let (level, before) = (share.level(), self.state.warned_of(project, &share));
            let BudgetShare { user, which, spent, of } = share;
            match level.cmp(&before) {
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Less => changes.push(ProjectEdit::Eased { user, which, level }),
                std::cmp::Ordering::Greater => {
                    changes.push(ProjectEdit::BudgetWarning { user, which, level, spent, of });
                }
            }
        }
        for change in changes {
            self.put(at, LedgerRecord::Project { project: name.to_owned(), change })?;
        }
        Ok(())
    }

    /// The same for the project that pays for the job, if one does.
    pub(in crate::live) fn mind_budgets_of(
        &mut self,
        at: Time,
        number: u64,
    ) -> Result<(), ApplyError> {
        let job = self.state.jobs.get(&number);
        match job.and_then(Job::paying_project).map(str::to_owned) {
            Some(project) => self.recheck_budgets(at, &project),
            None => Ok(()),
        }
    }
}

impl State {
    /// What is held for running jobs that the project pays for, by user. Linear in what is held.
    pub fn held_of_project(&self, name: &str) -> BTreeMap<&str, i128> {
        let mut held = BTreeMap::new();
        for (number, amount) in self.ledger.accounts.held() {
            let job = self.jobs.get(&number).filter(|it| it.paying_project() == Some(name));
            if let Some(job) = job {
                let own = amount - i128::from(job.covering.0);
                *held.entry(job.user.as_str()).or_default() += own;
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_whole_per_cent() {
        let level = |spent, of| {
            let (spent, of) = (Money(spent), Money(of));
            BudgetShare { user: None, which: Which::Total, spent, of }.level()
        };
        assert_eq!(
            [level(49, 100), level(50, 100), level(799, 1_000), level(800, 1_000)],
            [0, 50, 50, 80]
        );
        assert_eq!([level(95, 100), level(300, 100), level(0, 0)], [95, 95, 95]);
    }
}
