//! Projects, their members and limits.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use tradewind_daemon::live::projects::SpendingLimits;
use tradewind_daemon::live::{Ask, ProjectChange};
use tradewind_model::Money;
use utoipa::IntoParams;

use super::openapi::Refusals;
use super::page;
use crate::auth::Caller;
use crate::clock::present;
use crate::context::Context;
use crate::documents::{Credits, LimitChange, Membership, NewProject, Project, ProjectList};
use crate::extract::{At, Document, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::notes;
use crate::views::projects;

/// The longest note.
const MAX_NOTE: usize = 1_000;

/// Parameters of the URL that select a page of projects.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProjectPage {
    /// Behind this project.
    after: Option<String>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// The projects that the caller belongs to; an administrator sees all.
#[utoipa::path(
    get, path = "/v1/projects", tag = "projects", operation_id = "list_projects",
    params(ProjectPage),
    responses((status = 200, description = "a page of projects", body = ProjectList), Refusals),
)]
pub(crate) async fn list(
    State(context): State<Context>,
    caller: Caller,
    Selection(ProjectPage { after, limit }): Selection<ProjectPage>,
) -> Answer<Json<ProjectList>> {
    let limit = page(limit)?;
    let list = context.look(move |live| {
        let state = live.state();
        projects::list(state, &caller.actor, after.as_ref(), limit, present(state))
    });
    list.await.map(Json)
}

async fn found(context: &Context, caller: Caller, name: String) -> Answer<Json<Project>> {
    let found = context.look(move |live| {
        let state = live.state();
        projects::show(state, &caller.actor, &name, present(state))
    });
    let unknown = || ErrorResponse::unknown("there is no such project, or not for you");
    found.await?.map(Json).ok_or_else(unknown)
}

/// One project: members, limits, what was spent, and when its money ends.
#[utoipa::path(
    get, path = "/v1/projects/{project}", tag = "projects", operation_id = "show_project",
    params(("project" = String, Path, description = "the project")),
    responses((status = 200, description = "the project", body = Project), Refusals),
)]
pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    At(name): At<String>,
) -> Answer<Json<Project>> {
    let what = format!("project {name}");
    let reader = caller.clone();
    let project = found(&context, caller, name).await?;
    notes::read(&context.audit, &reader, "", &what);
    Ok(project)
}

async fn wish(
    context: &Context,
    caller: Caller,
    project: String,
    wish: ProjectChange,
) -> Answer<Json<Project>> {
    let ask = Ask::Project { project: project.clone(), wish };
    context.ask(caller.actor.clone(), ask).await?;
    found(context, caller, project).await
}

/// # Errors
/// If the note is too long, or more than a line.
pub(crate) fn check_note(note: &str) -> Answer<()> {
    if note.len() > MAX_NOTE || note.chars().any(char::is_control) {
        let message = format!("a note is one line of at most {MAX_NOTE} bytes");
        return Err(ErrorResponse::invalid(message, "shorten it").in_field("note"));
    }
    Ok(())
}

/// Makes a project without members and money: administrators may.
#[utoipa::path(
    post, path = "/v1/projects", tag = "projects", operation_id = "create_project",
    request_body = NewProject,
    responses((status = 201, description = "the project", body = Project), Refusals),
)]
pub(crate) async fn create(
    State(context): State<Context>,
    caller: Caller,
    Document(NewProject { project, note }): Document<NewProject>,
) -> Answer<(StatusCode, Json<Project>)> {
    check_note(&note)?;
    let made = wish(&context, caller, project, ProjectChange::Make { note }).await?;
    Ok((StatusCode::CREATED, made))
}

/// Makes a user a member, or gives a member another role: managers may, and administrators, who
/// alone say who is a manager.
#[utoipa::path(
    put, path = "/v1/projects/{project}/members/{user}", tag = "projects",
    operation_id = "add_member", request_body = Membership, params(
        ("project" = String, Path, description = "the project"),
        ("user" = String, Path, description = "who"),
    ),
    responses((status = 200, description = "the project", body = Project), Refusals),
)]
pub(crate) async fn add(
    State(context): State<Context>,
    caller: Caller,
    At((project, user)): At<(String, String)>,
    Document(Membership { role }): Document<Membership>,
) -> Answer<Json<Project>> {
    wish(&context, caller, project, ProjectChange::Join { user, role: role.into() }).await
}

/// Removes a member: managers and administrators may. Running jobs go on to their ends, waiting
/// ones are held.
#[utoipa::path(
    delete, path = "/v1/projects/{project}/members/{user}", tag = "projects",
    operation_id = "remove_member", params(
        ("project" = String, Path, description = "the project"),
        ("user" = String, Path, description = "who"),
    ),
    responses((status = 204, description = "no member any more"), Refusals),
)]
pub(crate) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    At((project, user)): At<(String, String)>,
) -> Answer<StatusCode> {
    context
        .ask(caller.actor, Ask::Project { project, wish: ProjectChange::Leave { user } })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sets the limits of a member (managers and administrators may) or of the project
/// (administrators). What is left out has no limit from now on.
#[utoipa::path(
    put, path = "/v1/projects/{project}/limits", tag = "projects", operation_id = "limit_project",
    request_body = LimitChange, params(("project" = String, Path, description = "the project")),
    responses((status = 200, description = "the project", body = Project), Refusals),
)]
pub(crate) async fn limit(
    State(context): State<Context>,
    caller: Caller,
    At(project): At<String>,
    Document(LimitChange { user, total, month }): Document<LimitChange>,
) -> Answer<Json<Project>> {
    let limits = SpendingLimits { total: money(total, "total")?, month: money(month, "month")? };
    wish(&context, caller, project, ProjectChange::Limit { user, limits }).await
}

/// A limit that was sent.
///
/// # Errors
/// If it is no amount.
pub(crate) fn money(credits: Option<Credits>, field: &str) -> Answer<Option<Money>> {
    let wrong =
        || ErrorResponse::invalid("no amount from 0 up", "credits, with at most six decimals");
    credits.map(|it| it.money().ok_or_else(|| wrong().in_field(field))).transpose()
}
