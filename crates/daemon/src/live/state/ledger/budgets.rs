//! Budgets of energy and carbon: their limits, and what was consumed of them.

use std::collections::BTreeMap;
use std::fmt;

use tradewind_model::{Carbon, Consumption, Energy, Time};

use super::projects::month_of;

/// All budgets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budgets(pub BTreeMap<BudgetHolder, Budget>);

/// Whose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetHolder {
    /// A user: all own jobs, also those that a project pays for.
    User(String),
    /// A project: the jobs that it pays for.
    Project(String),
}

/// As in `user:ana` and `project:flow`.
impl fmt::Display for BudgetHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetHolder::User(name) => write!(f, "user:{name}"),
            BudgetHolder::Project(name) => write!(f, "project:{name}"),
        }
    }
}

impl BudgetHolder {
    /// The holder that is written like this.
    pub fn parse(text: &str) -> Option<BudgetHolder> {
        let (kind, name) = text.split_once(':').filter(|(_, name)| !name.is_empty())?;
        match kind {
            "user" => Some(BudgetHolder::User(name.to_owned())),
            "project" => Some(BudgetHolder::Project(name.to_owned())),
            _ => None,
        }
    }
}

/// The most that may be consumed; `None`: any amount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PowerLimits {
    /// Since the budget was first set.
    pub energy: Option<Energy>,
    /// In one calendar month, UTC.
    pub energy_month: Option<Energy>,
    /// Since the budget was first set.
    pub carbon: Option<Carbon>,
    /// In one calendar month, UTC.
    pub carbon_month: Option<Carbon>,
}

/// A budget, and what was consumed of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// The most.
    pub limits: PowerLimits,
    /// Since it was first set.
    pub used: Consumption,
    /// The month that `used_in_month` is of: months since January 1970, UTC.
    pub month: i64,
    /// In that month.
    pub used_in_month: Consumption,
}

impl Budget {
    /// What was consumed in this month.
    pub fn used_in_month_of(&self, at: Time) -> Consumption {
        match self.month == month_of(at) {
            true => self.used_in_month,
            false => Consumption::default(),
        }
    }

    pub(in crate::live::state) fn add(&mut self, at: Time, consumed: Consumption) {
        self.used_in_month = self.used_in_month_of(at) + consumed;
        self.month = month_of(at);
        self.used += consumed;
    }

    /// The first limit that leaves less than `need`, where so much is `held`: in words.
    pub(in crate::live) fn exceeded(
        &self,
        at: Time,
        held: Consumption,
        need: Consumption,
    ) -> Option<String> {
        let PowerLimits { energy, energy_month, carbon, carbon_month } = self.limits;
        let (all, month) = (self.used + held, self.used_in_month_of(at) + held);
        let kwh = |amount: i64| format!("{} kWh", Energy(amount));
        let grams = |amount: i64| format!("{} gCO2e", Carbon(amount));
        type Words = fn(i64) -> String;
        let limits: [(Option<i64>, i64, i64, Words, &str); 4] = [
            (energy.map(|it| it.0), all.energy.0, need.energy.0, kwh, "in all"),
            (energy_month.map(|it| it.0), month.energy.0, need.energy.0, kwh, "this month"),
            (carbon.map(|it| it.0), all.carbon.0, need.carbon.0, grams, "in all"),
            (carbon_month.map(|it| it.0), month.carbon.0, need.carbon.0, grams, "this month"),
        ];
        limits.into_iter().find_map(|(limit, used, need, words, span)| {
            let limit = limit?;
            let left = limit.saturating_sub(used);
            (left < need).then(|| {
                let (left, limit, need) = (words(left.max(0)), words(limit), words(need));
                format!("{left} left of {limit} {span}, and it may take {need}")
            })
        })
    }
}

impl Budgets {
    /// Other limits count; what was consumed so far stays.
    pub(super) fn limit(&mut self, at: Time, holder: &BudgetHolder, limits: PowerLimits) {
        if limits == PowerLimits::default() {
            self.0.remove(holder);
            return;
        }
        let new = || Budget { month: month_of(at), ..Budget::default() };
        self.0.entry(holder.clone()).or_insert_with(new).limits = limits;
    }
}

impl PowerLimits {
    pub(in crate::live) fn make_sense(&self) -> bool {
        let energy = [self.energy, self.energy_month].into_iter().flatten().map(|it| it.0);
        let carbon = [self.carbon, self.carbon_month].into_iter().flatten().map(|it| it.0);
        energy.chain(carbon).all(|amount| amount >= 0)
    }
}

/// Whose budgets a job of the user counts for, which this project pays for if there is one.
pub(in crate::live) fn holders_of(user: &str, project: Option<&str>) -> Vec<BudgetHolder> {
    let project = project.map(|project| BudgetHolder::Project(project.to_owned()));
    [BudgetHolder::User(user.to_owned())].into_iter().chain(project).collect()
}
