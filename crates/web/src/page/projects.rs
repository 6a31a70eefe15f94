//! Projects: members, limits, what was spent and when the money ends.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::projects::MemberRole;
use tradewind_daemon::live::{Ask, ProjectChange};
use tradewind_model::Money;

use super::reply::{PageResult, go, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::clock::present;
use crate::context::Context;
use crate::documents::{Credits, Project, ProjectBudget, ProjectList, SpendingLimits};
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::routes::projects::{check_note, money};
use crate::views::projects;

/// Projects on a page.
const PAGE: usize = 50;
/// Percentages of a budget from which on a warning is shown, and from which on it is an alarm.
const WARN: u32 = 50;
const ALARM: u32 = 95;

/// From where on.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ProjectsQuery {
    /// Behind this project.
    after: Option<String>,
}

#[derive(Template)]
#[template(path = "page/projects.html")]
struct Projects {
    shell: Shell,
    list: ProjectList,
    wrong: Option<ProjectError>,
    filled: ProjectForm,
}

/// What was refused.
struct ProjectError {
    project: String,
    message: String,
    hint: String,
}

impl Projects {
    /// Whether the reader may add and remove members.
    fn manages(&self, project: &Project) -> bool {
        self.shell.is_administrator() || project.role.is_some_and(|it| it.name() == "manager")
    }

    /// What was refused in this project, or in none that there is.
    fn wrong_in(&self, project: &str) -> Option<&ProjectError> {
        self.wrong.as_ref().filter(|it| it.project == project)
    }

    /// What was refused in a project that is not on this page.
    fn wrong_elsewhere(&self) -> Option<&ProjectError> {
        let is_shown =
            |it: &&ProjectError| self.list.projects.iter().any(|of| of.project == it.project);
        self.wrong.as_ref().filter(|it| !is_shown(it))
    }

    /// What was filled in, where it comes back with what is wrong about it.
    fn typed<'a>(&'a self, project: &str, act: &str, field: &'a str) -> &'a str {
        match self.filled.act == act && self.wrong_in(project).is_some() {
            true => field,
            false => "",
        }
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(ProjectsQuery { after }): Selection<ProjectsQuery>,
) -> PageResult {
    page(&shown(&context, &caller, after, (None, ProjectForm::default())).await?)
}

async fn shown(
    context: &Context,
    caller: &Caller,
    after: Option<String>,
    (wrong, filled): (Option<ProjectError>, ProjectForm),
) -> Answer<Projects> {
    let shell = Shell::new(context, caller, "Projects").await?;
    let actor = caller.actor.clone();
    let list = context.look(move |live| {
        let state = live.state();
        projects::list(state, &actor, after.as_ref(), PAGE, present(state))
    });
    Ok(Projects { shell, list: list.await?, wrong, filled })
}

/// What is to be changed, as it was typed.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ProjectForm {
    /// `make`, `add`, `remove` or `limit`.
    #[serde(default)]
    act: String,
    #[serde(default)]
    project: String,
    /// Name of the user; for a limit, an empty name is the whole project.
    #[serde(default)]
    user: String,
    #[serde(default)]
    role: String,
    /// The most in all, credits.
    #[serde(default)]
    total: String,
    /// The most in a calendar month, credits.
    #[serde(default)]
    month: String,
    #[serde(default)]
    note: String,
}

/// Makes the change, as the API does; what is wrong is said beside the form.
pub(crate) async fn change(
    State(context): State<Context>,
    caller: Caller,
    Form(filled): Form<ProjectForm>,
) -> PageResult {
    let project = filled.project.trim().to_owned();
    let done = match wish(&filled) {
        Ok(wish) => {
            let ask = Ask::Project { project: project.clone(), wish };
            context.ask(caller.actor.clone(), ask).await
        }
        Err(failure) => Err(failure),
    };
    let Err(failure) = done else {
        return Ok(go(&format!("/projects#project-{}", words::in_address(&project))));
    };
    if failure.is_unavailable() {
        return Err(failure.into());
    }
    let (status, problem) = failure.parts();
    let (message, hint) = (problem.message.clone(), problem.hint.clone());
    let before = before(&context, &caller, &project).await?;
    let wrong = Some(ProjectError { project, message, hint });
    Ok(page(&shown(&context, &caller, before, (wrong, filled)).await?)?.at(status))
}

/// Behind which project the page begins that shows this one: nothing if it is the first page.
async fn before(context: &Context, caller: &Caller, project: &str) -> Answer<Option<String>> {
    let (actor, project) = (caller.actor.clone(), project.to_owned());
    context
        .look(move |live| {
            let state = live.state();
            let names = state.projects().0.keys().filter(|it| projects::may_see(state, &actor, it));
            let names: Vec<&String> = names.collect();
            let place = names.iter().position(|it| **it == project).unwrap_or(0);
            let first = place / PAGE * PAGE;
            first.checked_sub(1).and_then(|it| names.get(it)).map(|it| (*it).clone())
        })
        .await
}

fn wish(filled: &ProjectForm) -> Answer<ProjectChange> {
    let user = filled.user.trim().to_owned();
    match filled.act.as_str() {
        "make" => {
            let note = filled.note.trim().to_owned();
            check_note(&note)?;
            Ok(ProjectChange::Make { note })
        }
        "add" => {
            let role = match filled.role.as_str() {
                "manager" => MemberRole::Manager,
                _ => MemberRole::Member,
            };
            Ok(ProjectChange::Join { user, role })
        }
        "remove" => Ok(ProjectChange::Leave { user }),
        "limit" => {
            let total = amount_of(&filled.total, "total")?;
            let limits = tradewind_daemon::live::projects::SpendingLimits {
                total,
                month: amount_of(&filled.month, "month")?,
            };
            Ok(ProjectChange::Limit { user: Some(user).filter(|it| !it.is_empty()), limits })
        }
        _ => Err(ErrorResponse::malformed("this form changes nothing", "")),
    }
}

/// An amount as it was typed; without one there is no limit.
fn amount_of(text: &str, field: &str) -> Answer<Option<Money>> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let credits: Credits = serde_json::from_str(text).map_err(|_| {
        let message = format!("the limit `{}` is not a number of credits", excerpt(text));
        ErrorResponse::invalid(message, "as in 120.5; empty: no limit").in_field(field)
    })?;
    money(Some(credits), field)
}

/// The beginning of what was typed.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

fn is_alarm(budget: &ProjectBudget) -> bool {
    budget.percent >= ALARM
}

/// The warning that a budget's share calls for, if one does.
fn level(budget: &ProjectBudget) -> &'static str {
    match budget.percent {
        100.. => ", used up",
        ALARM.. => ", almost used up",
        80.. => ", more than 80 %",
        WARN.. => ", more than half",
        _ => "",
    }
}

/// Budgets of which half or more is used.
fn warnings(project: &Project) -> impl Iterator<Item = &ProjectBudget> {
    project.budgets.iter().filter(|it| it.percent >= WARN)
}

/// The highest share of a budget of the whole project that is used.
fn highest(project: &Project) -> Option<&ProjectBudget> {
    project.budgets.iter().filter(|it| it.user.is_none()).max_by_key(|it| it.percent)
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
