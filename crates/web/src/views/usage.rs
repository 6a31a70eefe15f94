//! What was used, and tables that can be imported.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tradewind_daemon::live::projects::{MemberRole, SpendingLimits, may_be_named, text_of_month};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::State;
use tradewind_daemon::live::used::{UsageKey, UsageSum};
use tradewind_model::Money;

use super::projects::may_see_all;
use crate::documents::{
    Consumed, Credits, ImportKind, ImportRole, ImportRow, ImportTable, Usage, UsageList,
};

/// What sums are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct By([bool; 4]);

const COLUMNS: [&str; 4] = ["month", "project", "user", "site"];

impl By {
    /// Columns with commas between; all, if none is named.
    pub(crate) fn read(text: Option<&str>) -> Option<By> {
        let Some(text) = text else { return Some(By([true; 4])) };
        let mut by = [false; 4];
        for word in text.split(',').map(str::trim) {
            by[COLUMNS.iter().position(|it| *it == word)?] = true;
        }
        Some(By(by))
    }
}

/// The sums of these months that the caller may see. Linear in what is kept.
pub(crate) fn sums(
    state: &State,
    actor: &Actor,
    By([month, project, user, site]): By,
    span: &RangeInclusive<i64>,
    only: Option<&String>,
) -> UsageList {
    let is_seen = |it: &UsageKey| {
        let is_managed =
            || it.project.as_ref().is_some_and(|project| may_see_all(state, actor, project));
        actor.role == Role::Administrator || it.user == actor.user || is_managed()
    };
    let is_meant = |it: &UsageKey| {
        span.contains(&it.month) && only.is_none_or(|only| it.project.as_ref() == Some(only))
    };
    let mut all = BTreeMap::<_, UsageSum>::new();
    for (place, used) in state.used().0.iter().filter(|(it, _)| is_meant(it) && is_seen(it)) {
        let key = (
            month.then_some(place.month),
            project.then(|| place.project.clone().unwrap_or_default()),
            user.then(|| place.user.clone()),
            site.then(|| place.site.clone()),
        );
        let sum = all.entry(key).or_default();
        sum.parts += used.parts;
        sum.node_seconds += used.node_seconds;
        sum.charged += used.charged;
        sum.consumed += used.consumed;
    }
    let line = |((month, project, user, site), it): ((Option<i64>, _, _, _), UsageSum)| Usage {
        month: month.map(text_of_month),
        project,
        user,
        site,
        parts: it.parts,
        node_seconds: i64::try_from(it.node_seconds).unwrap_or(i64::MAX),
        charged: it.charged.into(),
        consumed: Consumed::of(it.consumed),
    };
    UsageList { usage: all.into_iter().map(line).collect() }
}

/// All users, projects and members, as a table that changes nothing when it is imported.
pub(crate) fn table(state: &State) -> ImportTable {
    let empty = |kind| ImportRow {
        kind,
        project: None,
        user: None,
        role: None,
        credits: None,
        total: None,
        month: None,
        lift: Vec::new(),
        note: None,
    };
    let limited = |row: ImportRow, limits: SpendingLimits| {
        let credits = |it: Option<Money>| it.map(Credits::from);
        ImportRow { total: credits(limits.total), month: credits(limits.month), ..row }
    };
    let user = |name: &str| ImportRow { user: Some(name.to_owned()), ..empty(ImportKind::User) };
    let known = state.known_users().into_iter().filter(|name| may_be_named(name));
    let mut rows: Vec<ImportRow> = known.map(user).collect();
    for (name, project) in &state.projects().0 {
        let row = ImportRow {
            project: Some(name.clone()),
            credits: Some(Credits(state.given(name))),
            note: Some(project.note.clone()).filter(|note| !note.is_empty()),
            ..empty(ImportKind::Project)
        };
        rows.push(limited(row, project.limits));
        for (user, member) in &project.members {
            let role = match member.role {
                MemberRole::Member => ImportRole::Member,
                MemberRole::Manager => ImportRole::Manager,
            };
            let row = ImportRow {
                project: Some(name.clone()),
                user: Some(user.clone()),
                role: Some(role),
                ..empty(ImportKind::Member)
            };
            rows.push(limited(row, member.limits));
        }
    }
    ImportTable { rows }
}
