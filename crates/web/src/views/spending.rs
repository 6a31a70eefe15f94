//! What was spent and earned: sums by month, project, user, site or job.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tradewind_daemon::live::income::{self, PoolMonth};
use tradewind_daemon::live::money::Motive;
use tradewind_daemon::live::projects::text_of_month;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::State;
use tradewind_model::Consumption;

use super::accounts::owns;
use super::jobs;
use super::usage::{By, sums};
use crate::documents::{Consumed, Credits};

/// What sums of spending are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpendingGroup {
    /// The month in which it was charged.
    Month,
    /// The project that paid.
    Project,
    /// Whose jobs.
    User,
    /// Where.
    Site,
    /// Each job, of those whose postings are kept.
    Job,
}

impl SpendingGroup {
    /// All, by the names that addresses and files have.
    pub(crate) const ALL: [(SpendingGroup, &'static str, &'static str); 5] = [
        (SpendingGroup::Month, "month", "Month"),
        (SpendingGroup::Project, "project", "Project"),
        (SpendingGroup::User, "user", "User"),
        (SpendingGroup::Site, "site", "Site"),
        (SpendingGroup::Job, "job", "Job"),
    ];

    /// The group of this name.
    pub(crate) fn of(name: &str) -> Option<SpendingGroup> {
        SpendingGroup::ALL.iter().find(|(_, known, _)| *known == name).map(|(group, _, _)| *group)
    }

    /// As addresses have it, and as people read it.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        let found = SpendingGroup::ALL.iter().find(|(group, _, _)| *group == self);
        found.map_or(("", ""), |(_, name, title)| (*name, *title))
    }
}

/// A sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpendingSum {
    /// Of what; empty: of no project.
    pub(crate) name: String,
    /// The job, if it is one.
    pub(crate) job: Option<u64>,
    /// Nodes times seconds that were charged; `None`: not known of a job.
    pub(crate) node_seconds: Option<i64>,
    /// What was paid.
    pub(crate) charged: Credits,
    /// What nodes consumed in that time, where that is known.
    pub(crate) consumed: Option<Consumed>,
}

/// What the reader may see of what was spent in these months, of this project if one is named: months
/// in their order, all else by what was paid, the most first. Jobs: those whose settlements are among
/// the postings that are kept, in any month. Linear in what is kept.
pub(crate) fn spent(
    state: &State,
    actor: &Actor,
    group: SpendingGroup,
    (months, project): (&RangeInclusive<i64>, Option<&String>),
) -> Vec<SpendingSum> {
    if group == SpendingGroup::Job {
        return by_job(state, actor, project);
    }
    let Some(by) = By::read(Some(group.names().0)) else { return Vec::new() };
    let sums = sums(state, actor, by, months, project).usage.into_iter();
    let mut lines: Vec<SpendingSum> = sums
        .map(|it| SpendingSum {
            name: it.month.or(it.project).or(it.user).or(it.site).unwrap_or_default(),
            job: None,
            node_seconds: Some(it.node_seconds),
            charged: it.charged,
            consumed: it.consumed,
        })
        .collect();
    match group {
        SpendingGroup::Month => lines.reverse(),
        _ => lines.sort_by_key(|it| std::cmp::Reverse(it.charged.0)),
    }
    lines
}

fn by_job(state: &State, actor: &Actor, project: Option<&String>) -> Vec<SpendingSum> {
    let mut all = BTreeMap::<u64, i128>::new();
    for it in state.accounts().postings() {
        if let Motive::Settle(job) = it.motive {
            *all.entry(job).or_default() += i128::from(it.amount.0);
        }
    }
    let line = |(number, paid): (u64, i128)| {
        let job = jobs::find(state, actor, number)?;
        let is_meant = project.is_none_or(|it| job.paying_project() == Some(it.as_str()));
        is_meant.then(|| SpendingSum {
            name: job.submission.name.clone(),
            job: Some(number),
            node_seconds: None,
            charged: Credits(paid),
            consumed: Consumed::of(job.consumed),
        })
    };
    let mut lines: Vec<SpendingSum> = all.into_iter().filter_map(line).collect();
    lines.sort_by_key(|it| std::cmp::Reverse(it.charged.0));
    lines
}

/// What a pool has earned in a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PoolIncome {
    /// As in `2027-01`, UTC.
    pub(crate) month: String,
    /// Name of the pool, with its site.
    pub(crate) pool: String,
    /// Nodes times seconds that were charged.
    pub(crate) node_seconds: i64,
    /// What the owner got.
    pub(crate) income: Credits,
    /// What nodes consumed in that time, where that is known.
    pub(crate) consumed: Option<Consumed>,
}

/// Income of pools of the reader's own sites by month, the latest first; administrators see all.
pub(crate) fn income(state: &State, actor: &Actor) -> Vec<PoolIncome> {
    let sees = |pool: &str| {
        let site = pool.split('/').next().unwrap_or_default();
        actor.role == Role::Administrator || owns(state, actor, site)
    };
    let all = state.income().0.iter().filter(|(it, _)| sees(&it.pool));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(it, _)| (-it.month, it.pool.as_str()));
    let line = |(it, sum): (&PoolMonth, &income::Earned)| PoolIncome {
        month: text_of_month(it.month),
        pool: it.pool.clone(),
        node_seconds: i64::try_from(sum.node_seconds).unwrap_or(i64::MAX),
        income: Credits(i128::from(sum.income.0)),
        consumed: Consumed::of(sum.consumed),
    };
    all.into_iter().map(line).collect()
}

/// What a site has earned in a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SiteIncome {
    /// As in `2027-01`, UTC.
    pub(crate) month: String,
    /// Name of the site.
    pub(crate) site: String,
    /// Nodes times seconds that were charged.
    pub(crate) node_seconds: i64,
    /// What was paid.
    pub(crate) charged: Credits,
    /// What nodes consumed in that time, where that is known.
    pub(crate) consumed: Option<Consumed>,
}

/// Income of the reader's own sites by month, the latest first; administrators see all.
pub(crate) fn earned(state: &State, actor: &Actor) -> Vec<SiteIncome> {
    type Sums = (i128, i128, Consumption);
    let mut all = BTreeMap::<(i64, &str), Sums>::new();
    for (place, used) in &state.used().0 {
        if actor.role == Role::Administrator || owns(state, actor, &place.site) {
            let sum = all.entry((-place.month, place.site.as_str())).or_default();
            sum.0 += used.node_seconds;
            sum.1 += i128::from(used.charged.0);
            sum.2 += used.consumed;
        }
    }
    let line = |((month, site), (seconds, charged, consumed)): ((i64, &str), Sums)| SiteIncome {
        month: text_of_month(-month),
        site: site.to_owned(),
        node_seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
        charged: Credits(charged),
        consumed: Consumed::of(consumed),
    };
    all.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_names() {
        for (group, name, title) in SpendingGroup::ALL {
            assert_eq!((SpendingGroup::of(name), group.names()), (Some(group), (name, title)));
            assert_eq!(By::read(Some(name)).is_some(), group != SpendingGroup::Job);
        }
        assert_eq!(SpendingGroup::of("weather"), None);
    }
}
