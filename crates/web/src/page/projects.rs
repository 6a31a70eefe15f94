//! Projects: members, limits, what was spent and when the money ends.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;

use super::reply::{Shown, show as page};
use super::shell::Shell;
use super::words;
use crate::api::{Context, present};
use crate::documents::{Credits, ProjectList, SpendingLimits};
use crate::auth::Caller;
use crate::extract::Selection;
use crate::views::projects;

/// Projects on a page.
const PAGE: usize = 50;

/// From where on.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Which {
    /// Behind this project.
    after: Option<String>,
}

#[derive(Template)]
#[template(path = "page/projects.html")]
struct Projects {
    shell: Shell,
    list: ProjectList,
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(Which { after }): Selection<Which>,
) -> Shown {
    let shell = Shell::new(&context, &caller, "Projects").await?;
    let actor = caller.actor;
    let list = context.look(move |live| {
        let state = live.state();
        projects::list(state, &actor, after.as_ref(), PAGE, present(state))
    });
    page(&Projects { shell, list: list.await? })
}

/// Both limits in words.
fn limits(it: &SpendingLimits) -> String {
    let of = |limit: Option<Credits>, span: &str| {
        limit.map(|it| format!("{} {span}", words::credits(&it)))
    };
    let all: Vec<String> =
        [of(it.total, "in all"), of(it.month, "a month")].into_iter().flatten().collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Of a member whose spending is not for the reader, nothing.
fn seen(limits_of: &Option<SpendingLimits>) -> String {
    limits_of.as_ref().map(limits).unwrap_or_default()
}

fn amount(credits: &Option<Credits>) -> String {
    credits.as_ref().map(|it| words::credits(it).to_string()).unwrap_or_default()
}
