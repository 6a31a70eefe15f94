//! Projects as documents.

use std::ops::Bound;

use tradewind_daemon::live::ledger::projects::BudgetShare;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::projects::{self, Which};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::State;
use tradewind_model::{Money, Time};

use crate::documents::{
    Credits, MemberRole, Project, ProjectBudget, ProjectForecast, ProjectList, ProjectMember,
    SpendingLimits,
};

impl From<projects::MemberRole> for MemberRole {
    fn from(role: projects::MemberRole) -> MemberRole {
        match role {
            projects::MemberRole::Member => MemberRole::Member,
            projects::MemberRole::Manager => MemberRole::Manager,
        }
    }
}

impl From<MemberRole> for projects::MemberRole {
    fn from(role: MemberRole) -> projects::MemberRole {
        match role {
            MemberRole::Member => projects::MemberRole::Member,
            MemberRole::Manager => projects::MemberRole::Manager,
        }
    }
}

/// Whether the caller may see that the project is there, and what it has.
pub(crate) fn may_see(state: &State, actor: &Actor, project: &str) -> bool {
    match actor.role {
        Role::Administrator => state.projects().get(project).is_some(),
        Role::Peer => false,
        Role::User | Role::Owner => state.projects().may_spend(project, &actor.user),
    }
}

/// Whether the caller may see what others than the caller spend.
pub(crate) fn may_see_all(state: &State, actor: &Actor, project: &str) -> bool {
    let manages = |it: &projects::Project| it.is_managed_by(&actor.user);
    match actor.role {
        Role::Administrator => true,
        Role::Peer => false,
        Role::User | Role::Owner => state.projects().get(project).is_some_and(manages),
    }
}

/// The project, as far as the caller may see it.
pub(crate) fn show(state: &State, actor: &Actor, name: &str, now: Time) -> Option<Project> {
    let project = state.projects().get(name).filter(|_| may_see(state, actor, name))?;
    let all = may_see_all(state, actor, name);
    let held: i128 = state.held_of_project(name).values().sum();
    let is_seen = |user: &str| all || user == actor.user;
    let members = project.members.iter().map(|(user, member)| {
        let spent = project.by_user.get(user).copied().unwrap_or_default();
        let seen = is_seen(user);
        let credits = |amount: Money| seen.then(|| Credits::from(amount));
        ProjectMember {
            user: user.clone(),
            role: member.role.into(),
            since: member.since,
            limits: seen.then(|| limits(member.limits)),
            spent: credits(spent.total),
            spent_this_month: credits(spent.in_month_of(now)),
        }
    });
    let budgets = state.shares(name).into_iter();
    let budgets = budgets.filter(|it| it.user.as_ref().is_none_or(|user| is_seen(user)));
    Some(Project {
        project: name.to_owned(),
        note: project.note.clone(),
        made: project.made,
        role: project.members.get(&actor.user).map(|member| member.role.into()),
        balance: Credits(state.accounts().balance(&Account::Project(name.to_owned()))),
        held: Credits(held),
        spent: project.spent.total.into(),
        spent_this_month: project.spent.in_month_of(now).into(),
        limits: limits(project.limits),
        members: members.collect(),
        budgets: budgets.map(budget).collect(),
        forecast: forecast(state, name, now)?,
    })
}

fn limits(it: projects::SpendingLimits) -> SpendingLimits {
    SpendingLimits { total: it.total.map(Credits::from), month: it.month.map(Credits::from) }
}

fn budget(it: BudgetShare) -> ProjectBudget {
    ProjectBudget {
        limit: limit(it.which).to_owned(),
        percent: it.percent(),
        spent: it.spent.into(),
        of: it.of.into(),
        user: it.user,
    }
}

/// The limit as in JSON.
pub(crate) fn limit(which: Which) -> &'static str {
    match which {
        Which::Total => "total",
        Which::Month => "month",
    }
}

fn forecast(state: &State, name: &str, now: Time) -> Option<ProjectForecast> {
    let it = state.forecast_of(name, now)?;
    Some(ProjectForecast {
        ends: it.date(),
        left: it.left.into(),
        spent: it.spent.into(),
        days: it.days,
        message: it.words(),
    })
}

/// A page of projects that the caller may see. Linear in them and in what is held.
pub(crate) fn list(
    state: &State,
    actor: &Actor,
    after: Option<&String>,
    limit: usize,
    now: Time,
) -> ProjectList {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let names = state.projects().0.range::<String, _>((from, Bound::Unbounded));
    let mut found = names.filter_map(|(name, _)| show(state, actor, name, now));
    let page: Vec<Project> = found.by_ref().take(limit).collect();
    let next = found.next().and_then(|_| page.last().map(|it| it.project.clone()));
    ProjectList { projects: page, next }
}
