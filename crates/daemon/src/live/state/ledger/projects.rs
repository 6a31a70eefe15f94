//! Projects: who belongs to them, what they may spend, and what they have spent.
//!
//! Everything here follows from records. What a project has spent is counted from the record that
//! makes it; a project of an older journal is made at the first start under this release, and that
//! record carries what is known of its spending by then.

use std::collections::{BTreeMap, VecDeque};

use tradewind_model::{Money, Time};

use crate::live::state::ApplyError;

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;

/// All projects, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projects(pub BTreeMap<String, Project>);

/// Who belongs to a project and what it has spent. Its money is on its account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// When it was made, seconds since 1970.
    pub made: i64,
    /// For people.
    pub note: String,
    /// By name: who may spend.
    pub members: BTreeMap<String, Member>,
    /// What all members together may spend.
    pub limits: SpendingLimits,
    /// What they have spent.
    pub spent: Spent,
    /// By user, also of those who are no members any more.
    pub by_user: BTreeMap<String, Spent>,
    /// What was spent on the last days: days since 1970 and amounts, at most [`Project::DAYS`].
    pub days: VecDeque<(i64, Money)>,
    /// What was warned of last: of the project (no user) or a member, and of which limit.
    pub warned: BTreeMap<(Option<String>, Which), BudgetWarning>,
}

/// A user who may spend a project's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// As what.
    pub role: MemberRole,
    /// Since when, seconds since 1970.
    pub since: i64,
    /// What this member may spend.
    pub limits: SpendingLimits,
}

/// What a member may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberRole {
    /// Spends, and sees the project's sum and the rows of own jobs.
    Member,
    /// The same; sees all rows, adds and removes members and sets their limits.
    Manager,
}

impl MemberRole {
    /// Both, with the names that scripts know.
    pub const ALL: [(MemberRole, &'static str); 2] =
        [(MemberRole::Member, "member"), (MemberRole::Manager, "manager")];

    /// The name that scripts know.
    pub fn name(self) -> &'static str {
        match self {
            MemberRole::Member => "member",
            MemberRole::Manager => "manager",
        }
    }
}

/// The most that may be spent; `None`: as much as is on the account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// Since the project was made.
    pub total: Option<Money>,
    /// In one calendar month, UTC.
    pub month: Option<Money>,
}

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Since the project was made.
    pub total: Money,
    /// The month that `in_month` is of: months since January 1970, UTC.
    pub month: i64,
    /// In that month.
    pub in_month: Money,
}

impl Spent {
    fn add(&mut self, month: i64, amount: Money) {
        if self.month != month {
            (self.month, self.in_month) = (month, Money::ZERO);
        }
        self.total += amount;
        self.in_month += amount;
    }

    /// What was spent in this month.
    pub fn in_month_of(&self, at: Time) -> Money {
        match self.month == month_of(at) {
            true => self.in_month,
            false => Money::ZERO,
        }
    }
}

/// Of which limit a warning is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The limit over all time; of a project without one, what it was ever given.
    Total,
    /// The limit of the month.
    Month,
}

/// What was warned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetWarning {
    /// For limits of a month: months since January 1970; else 0.
    pub month: i64,
    /// Per cent.
    pub level: u32,
}

/// One change of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectEdit {
    /// It begins.
    Made {
        /// Who made it; empty: it is of an older journal, or came with the first start.
        by: String,
        /// For people.
        note: String,
        /// What users had spent from it by then, as far as that is known.
        spent: Vec<(String, Money)>,
    },
    /// What people should know of it.
    Noted {
        /// For people.
        note: String,
    },
    /// A user is a member from now on, or has another role.
    Joined {
        /// Who.
        user: String,
        /// As what.
        role: MemberRole,
    },
    /// A user is not a member any more.
    Left {
        /// Who.
        user: String,
    },
    /// Other limits count.
    Limited {
        /// Of which member; `None`: of the project.
        user: Option<String>,
        /// From now on.
        limits: SpendingLimits,
    },
    /// A budget was used up to a level of which people are warned.
    BudgetWarning {
        /// Of which member; `None`: of the project.
        user: Option<String>,
        /// Of which limit.
        which: Which,
        /// Per cent.
        level: u32,
        /// What was spent.
        spent: Money,
        /// Of how much.
        of: Money,
    },
    /// There is more to spend than when people were warned: they are warned again from this level.
    Eased {
        /// Of which member; `None`: of the project.
        user: Option<String>,
        /// Of which limit.
        which: Which,
        /// Per cent; 0: of none.
        level: u32,
    },
}

impl Project {
    /// As many days are remembered.
    pub const DAYS: usize = 28;

    /// Whether the user may spend its money.
    pub fn has(&self, user: &str) -> bool {
        self.members.contains_key(user)
    }

    /// Whether the user may add and remove members, and see everything.
    pub fn is_managed_by(&self, user: &str) -> bool {
        self.members.get(user).is_some_and(|member| member.role == MemberRole::Manager)
    }

    /// By name: those who may add and remove members.
    pub fn managers(&self) -> impl Iterator<Item = &str> {
        let managers = self.members.iter().filter(|(_, it)| it.role == MemberRole::Manager);
        managers.map(|(name, _)| name.as_str())
    }

    /// Whether it, or a member, has a limit of a month, and nothing says that this month has begun.
    pub(in crate::live) fn is_new_month(&self, month: i64) -> bool {
        let mut limits = self.members.values().map(|member| member.limits).chain([self.limits]);
        let known = self.warned.get(&(None, Which::Month)).is_some_and(|it| it.month == month);
        limits.any(|it| it.month.is_some()) && !known
    }

    pub(in crate::live) fn spend(&mut self, at: Time, user: &str, amount: Money) {
        let (month, day) = (month_of(at), at.0.div_euclid(DAY_S));
        self.spent.add(month, amount);
        self.by_user.entry(user.to_owned()).or_default().add(month, amount);
        match self.days.back_mut() {
            Some((last, sum)) if *last == day => *sum += amount,
            _ => self.days.push_back((day, amount)),
        }
        if self.days.len() > Project::DAYS {
            self.days.pop_front();
        }
    }
}

impl Projects {
    /// The project of this name.
    pub fn get(&self, name: &str) -> Option<&Project> {
        self.0.get(name)
    }

    /// Whether the user may spend the project's money.
    pub fn may_spend(&self, project: &str, user: &str) -> bool {
        self.get(project).is_some_and(|project| project.has(user))
    }

    /// The names of the projects that the user belongs to.
    pub fn of<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter().filter(move |(_, project)| project.has(user));
        own.map(|(name, _)| name.as_str())
    }

    /// One change of a project.
    pub(super) fn apply(
        &mut self,
        at: Time,
        name: &str,
        change: &ProjectEdit,
    ) -> Result<(), ApplyError> {
        if let ProjectEdit::Made { note, spent, .. } = change {
            if self.0.contains_key(name) {
                return Err(ApplyError::Other("a project that is there already"));
            }
            let note = note.clone();
            let mut made = Project { made: at.0, note, ..Project::default() };
            for (user, amount) in spent {
                made.spent.total += *amount;
                made.by_user.entry(user.clone()).or_default().total += *amount;
            }
            self.0.insert(name.to_owned(), made);
            return Ok(());
        }
        let missing = ApplyError::Other("a project that is not there");
        self.0.get_mut(name).ok_or(missing)?.apply(at, change)
    }
}

impl Project {
    pub(in crate::live) fn apply(
        &mut self,
        at: Time,
        change: &ProjectEdit,
    ) -> Result<(), ApplyError> {
        let stranger = ApplyError::Other("a user who is no member");
        match change {
            ProjectEdit::Made { .. } => {
                return Err(ApplyError::Other("a project that is there already"));
            }
            ProjectEdit::Noted { note } => self.note.clone_from(note),
            ProjectEdit::Joined { user, role } => match self.members.get_mut(user) {
                Some(member) => member.role = *role,
                None => {
                    let (role, limits) = (*role, SpendingLimits::default());
                    self.members.insert(user.clone(), Member { role, since: at.0, limits });
                }
            },
            ProjectEdit::Left { user } => {
                self.members.remove(user).ok_or(stranger)?;
                self.warned.retain(|(of, _), _| of.as_ref() != Some(user));
            }
            ProjectEdit::Limited { user: None, limits } => self.limits = *limits,
            ProjectEdit::Limited { user: Some(user), limits } => {
                self.members.get_mut(user).ok_or(stranger)?.limits = *limits;
            }
            ProjectEdit::BudgetWarning { user, which, level, .. } => {
                self.warn(at, user, *which, *level);
            }
            ProjectEdit::Eased { user, which, level } => self.warn(at, user, *which, *level),
        }
        Ok(())
    }

    fn warn(&mut self, at: Time, user: &Option<String>, which: Which, level: u32) {
        let month = match which {
            Which::Total => 0,
            Which::Month => month_of(at),
        };
        self.warned.insert((user.clone(), which), BudgetWarning { month, level });
    }
}

/// Months from January 1970 to this moment, UTC.
pub fn month_of(at: Time) -> i64 {
    let (year, month, _) = date_of(at.0.div_euclid(DAY_S));
    (year - 1970) * 12 + month - 1
}

/// The month as `2027-01`.
pub fn text_of_month(month: i64) -> String {
    format!("{:04}-{:02}", 1970 + month.div_euclid(12), month.rem_euclid(12) + 1)
}

/// The month that is written like this.
pub fn month_of_text(text: &str) -> Option<i64> {
    let (year, month) =
        text.split_once('-').filter(|(year, _)| text.len() == 7 && year.len() == 4)?;
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| !text.starts_with(['+', '-']));
    let (year, month) = (number(year)?, number(month).filter(|it| (1..=12).contains(it))?);
    Some((year - 1970) * 12 + month - 1)
}

/// Year, month and day of so many days since 1970, in the Gregorian calendar.
pub fn date_of(day: i64) -> (i64, i64, i64) {
    // Years that begin in March end with the leap day; 400 of them have 146,097 days.
    let shifted = day.saturating_add(719_468);
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Whether users and projects may have this name: 1 to 64 letters, digits and `_-.@`.
pub fn may_be_named(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let cases = [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (-1, (1969, 12, 31))];
        for (day, date) in
            cases.into_iter().chain([(11_016, (2000, 2, 29)), (20_780, (2026, 11, 23))])
        {
            assert_eq!(date_of(day), date);
        }
        assert_eq!(month_of(Time(31 * DAY_S - 1)), 0);
        assert_eq!(month_of(Time(31 * DAY_S)), 1);
        assert_eq!(
            (text_of_month(684), month_of_text("2027-01")),
            ("2027-01".to_owned(), Some(684))
        );
        for text in ["2027-13", "2027-1", "27-0001", "2027-+1", "x"] {
            assert_eq!(month_of_text(text), None, "{text}");
        }
    }

    #[test]
    fn a_new_month_begins_with_nothing() {
        let mut project = Project::default();
        project.spend(Time(0), "ana", Money(5));
        project.spend(Time(31 * DAY_S), "ana", Money(7));
        assert_eq!((project.spent.total, project.spent.in_month), (Money(12), Money(7)));
        assert_eq!(project.by_user["ana"].in_month_of(Time(62 * DAY_S)), Money(0));
        (0..99).for_each(|day| project.spend(Time(day * DAY_S), "ana", Money(1)));
        assert_eq!(project.days.len(), Project::DAYS);
    }
}
