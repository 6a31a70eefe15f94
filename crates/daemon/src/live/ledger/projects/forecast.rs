//! When a project's budget ends, if its members go on as they did.

use tradewind_model::{Money, Time};

use crate::live::money::Account;
use crate::live::state::State;
use crate::live::state::ledger::projects::{DAY_S, Project, date_of};

/// As many days are looked back at.
const BACK: i64 = 14;

/// When a budget ends, and how that was computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forecast {
    /// The day on which nothing is left, days since 1970; `None`: nothing was spent in the last days.
    pub day: Option<i64>,
    /// What is left.
    pub left: Money,
    /// What was spent in the days that were looked at.
    pub spent: Money,
    /// How many these are, with today.
    pub days: i64,
}

impl Forecast {
    /// The day as `2027-03-01`.
    pub fn date(&self) -> Option<String> {
        let (year, month, day) = date_of(self.day?);
        Some(format!("{year:04}-{month:02}-{day:02}"))
    }

    /// How it was computed.
    pub fn words(&self) -> String {
        let Forecast { left, spent, days, .. } = self;
        let days = if *days == 1 { "today".to_owned() } else { format!("in the last {days} days") };
        match self.date() {
            None => format!("nothing was spent {days}; {left} credits are left"),
            Some(date) => {
                format!(
                    "{spent} credits were spent {days}; at this rate the {left} that are left last until {date}"
                )
            }
        }
    }
}

impl State {
    /// When the project's budget ends: what is left of its account and of its limit over all time,
    /// divided by the mean of what was spent on each of the last days.
    pub fn forecast_of(&self, name: &str, now: Time) -> Option<Forecast> {
        let project = self.ledger.projects.get(name)?;
        let there = self.ledger.accounts.balance(&Account::Project(name.to_owned()))
            + self.held_of_project(name).values().sum::<i128>();
        let limit = project.limits.total.map(|it| i128::from(it.0 - project.spent.total.0));
        let left = limit.map_or(there, |limit| there.min(limit)).max(0);
        let left = Money(i64::try_from(left).unwrap_or(i64::MAX));
        Some(project.forecast(left, now))
    }
}

impl Project {
    fn forecast(&self, left: Money, now: Time) -> Forecast {
        let today = now.0.div_euclid(DAY_S);
        let begin = today - BACK + 1;
        let first = self.made.div_euclid(DAY_S).clamp(begin, today);
        let recent = self.days.iter().filter(|(day, _)| (begin..=today).contains(day));
        let spent: Money = recent.map(|(_, amount)| *amount).sum();
        let days = today - first + 1;
        let lasts = i128::from(left.0) * i128::from(days) / i128::from(spent.0.max(1));
        // No budget is planned a century ahead, and dates have four digits.
        let lasts = i64::try_from(lasts).unwrap_or(i64::MAX).min(36_500);
        Forecast { day: (spent > Money::ZERO).then_some(today + lasts), left, spent, days }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_when_it_is_spent_at_the_same_rate() {
        let mut project = Project { made: 100 * DAY_S, ..Project::default() };
        let now = Time(107 * DAY_S + 5);
        let forecast = |project: &Project| project.forecast(Money(300), now);
        assert_eq!((forecast(&project).day, forecast(&project).days), (None, 8));
        for day in 100..108 {
            project.spend(Time(day * DAY_S), "ana", Money(10));
        }
        assert_eq!(forecast(&project).day, Some(107 + 30));
        assert_eq!(forecast(&project).date().as_deref(), Some("1970-05-18"));
        // Weeks ago does not count.
        let later = Time(125 * DAY_S);
        assert_eq!(project.forecast(Money(300), later).day, None);
        assert_eq!(project.forecast(Money(300), later).days, 14);
    }
}
