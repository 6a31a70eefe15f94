//! Changes of projects as events: for those whom they concern and for managers.

use tradewind_daemon::live::projects::{ProjectEdit, Which};
use tradewind_model::Money;

use crate::context::Context;
use crate::documents::Event;

/// The event, and which users may see it.
pub(super) fn told(
    context: &Context,
    name: &str,
    change: &ProjectEdit,
    base: &Event,
) -> Option<(Event, Vec<String>)> {
    let event = |kind: &str| Event {
        kind: kind.to_owned(),
        project: Some(name.to_owned()),
        ..base.clone()
    };
    let (event, user) = match change {
        ProjectEdit::BudgetWarning { user, which, level, spent, of } => {
            let message = Some(warning(name, user.as_deref(), *which, *spent, *of));
            let (percent, amount) = (Some(*level), Some((*spent).into()));
            (Event { percent, amount, message, ..event("budget") }, user.clone())
        }
        ProjectEdit::Eased { .. } => return None,
        change => {
            let (message, user) = words(change);
            (Event { message: Some(message), ..event("project") }, user)
        }
    };
    let mut audience = managers(context, name);
    audience.extend(user.clone());
    Some((Event { user, ..event }, audience))
}

fn managers(context: &Context, name: &str) -> Vec<String> {
    let name = name.to_owned();
    let found = context.market.look(move |live| {
        let project = live.state().projects().get(&name);
        project.map(|it| it.managers().map(str::to_owned).collect::<Vec<_>>())
    });
    found.ok().flatten().unwrap_or_default()
}

fn warning(name: &str, user: Option<&str>, which: Which, spent: Money, of: Money) -> String {
    let whose = match user {
        Some(user) => format!("{user} has spent {spent} of {of} credits from project {name}"),
        None => format!("project {name} has spent {spent} of {of} credits"),
    };
    match which {
        Which::Total => whose,
        Which::Month => format!("{whose} of this month"),
    }
}

fn words(change: &ProjectEdit) -> (String, Option<String>) {
    match change {
        ProjectEdit::Made { .. } => ("made".to_owned(), None),
        ProjectEdit::Noted { note } => (note.clone(), None),
        ProjectEdit::Joined { user, role } => {
            (format!("{user} is a {}", role.name()), Some(user.clone()))
        }
        ProjectEdit::Left { user } => (format!("{user} is no member any more"), Some(user.clone())),
        ProjectEdit::Limited { user: None, limits } => (format!("limit: {}", limits.words()), None),
        ProjectEdit::Limited { user: Some(user), limits } => {
            (format!("limit of {user}: {}", limits.words()), Some(user.clone()))
        }
        ProjectEdit::BudgetWarning { .. } | ProjectEdit::Eased { .. } => (String::new(), None),
    }
}
