//! Users, projects, members and budgets in; what was used out.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::ledger::projects::import::{AccountingRow, Field, Mistake};
use tradewind_daemon::live::projects::{MemberRole, month_of_text};
use tradewind_daemon::live::{Ask, Reply};
use tradewind_model::Money;
use utoipa::IntoParams;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{
    Credits, ImportKind, ImportRole, ImportRow, ImportTable, Imported, LimitName, UsageList,
};
use crate::extract::{Document, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::views::usage::{self, By};

/// Rows at once.
const MAX_ROWS: usize = 100_000;

/// Whether to change anything.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ImportParams {
    /// `true`: nothing changes, the answer says what would.
    #[serde(default)]
    dry_run: bool,
}

/// Users, projects, members and budgets: what the table says is so afterwards, all of it or
/// nothing; the same table again changes nothing. Administrators may.
#[utoipa::path(
    post, path = "/v1/import", tag = "projects", operation_id = "import", params(ImportParams),
    request_body = ImportTable,
    responses((status = 200, description = "what was changed", body = Imported), Refusals),
)]
pub(crate) async fn import(
    State(context): State<Context>,
    caller: Caller,
    Selection(ImportParams { dry_run }): Selection<ImportParams>,
    Document(ImportTable { rows }): Document<ImportTable>,
) -> Answer<Json<Imported>> {
    if rows.len() > MAX_ROWS {
        let message = format!("a table has at most {MAX_ROWS} rows");
        return Err(ErrorResponse::invalid(message, "send it in parts").in_field("rows"));
    }
    let read = |(at, it): (usize, ImportRow)| {
        row(it).map_err(|(field, failure)| failure.in_field(format!("rows[{at}].{field}")))
    };
    let rows = rows.into_iter().enumerate().map(read).collect::<Answer<Vec<_>>>()?;
    let actor = caller.actor.clone();
    let (planned, rows) = context
        .look(move |live| (live.plan_import(&actor, &rows).map(|plan| plan.words), rows))
        .await?;
    let changes = planned.map_err(told)?;
    if dry_run {
        return Ok(Json(Imported { dry_run, changes }));
    }
    match context.ask(caller.actor, Ask::Import { rows }).await? {
        Reply::Changes(changes) => Ok(Json(Imported { dry_run, changes })),
        _ => Err(ErrorResponse::unavailable("the market said nothing")),
    }
}

fn told(mistake: Mistake) -> ErrorResponse {
    let Mistake { row, field, refusal } = mistake;
    let failure = ErrorResponse::from(refusal);
    if field.is_empty() { failure } else { failure.in_field(format!("rows[{row}].{field}")) }
}

/// Reads a body that may be a table: for the fuzz targets.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzzed(bytes: &[u8]) {
    let Ok(ImportTable { rows }) = crate::extract::read(bytes) else { return };
    for it in rows {
        let _ = row(it);
    }
}

type RowError = (&'static str, ErrorResponse);

fn row(it: ImportRow) -> Result<AccountingRow, RowError> {
    let has = [
        ("project", it.project.is_some(), it.kind != ImportKind::User),
        ("user", it.user.is_some(), it.kind != ImportKind::Project),
        ("role", it.role.is_some(), it.kind == ImportKind::Member),
        ("credits", it.credits.is_some(), it.kind != ImportKind::Member),
        ("total", it.total.is_some(), it.kind != ImportKind::User),
        ("month", it.month.is_some(), it.kind != ImportKind::User),
        ("lift", !it.lift.is_empty(), it.kind != ImportKind::User),
        ("note", it.note.is_some(), it.kind == ImportKind::Project),
    ];
    if let Some((field, ..)) = has.iter().find(|(_, is_there, may_be)| *is_there && !*may_be) {
        let hint = "see the table of columns in docs/reference/project.md";
        return Err((field, ErrorResponse::invalid("a row of this kind has none", hint)));
    }
    let text = |text: Option<String>, field| {
        text.ok_or_else(|| (field, ErrorResponse::invalid("it is missing", "give a name")))
    };
    let total = limit(it.total, it.lift.contains(&LimitName::Total), "total")?;
    let month = limit(it.month, it.lift.contains(&LimitName::Month), "month")?;
    let credits = it.credits.map(|it| amount(it, "credits")).transpose()?;
    let long = it.note.as_ref().is_some_and(|it| it.len() > 1_000 || it.contains(char::is_control));
    if long {
        let message = "a note is one line of at most 1000 bytes";
        return Err(("note", ErrorResponse::invalid(message, "shorten it")));
    }
    Ok(match it.kind {
        ImportKind::User => AccountingRow::User { user: text(it.user, "user")?, credits },
        ImportKind::Project => {
            let project = text(it.project, "project")?;
            AccountingRow::Project { project, credits, total, month, note: it.note }
        }
        ImportKind::Member => {
            let role = match it.role {
                None => Field::Keep,
                Some(ImportRole::None) => Field::None,
                Some(ImportRole::Member) => Field::Be(MemberRole::Member),
                Some(ImportRole::Manager) => Field::Be(MemberRole::Manager),
            };
            let (project, user) = (text(it.project, "project")?, text(it.user, "user")?);
            AccountingRow::Member { project, user, role, total, month }
        }
    })
}

fn amount(credits: Credits, field: &'static str) -> Result<Money, RowError> {
    let hint = "credits, with at most six decimals";
    credits.money().ok_or_else(|| (field, ErrorResponse::invalid("no amount from 0 up", hint)))
}

fn limit(
    credits: Option<Credits>,
    is_lifted: bool,
    field: &'static str,
) -> Result<Field<Money>, RowError> {
    match (credits, is_lifted) {
        (None, false) => Ok(Field::Keep),
        (None, true) => Ok(Field::None),
        (Some(it), false) => amount(it, field).map(Field::Be),
        (Some(_), true) => {
            Err((field, ErrorResponse::invalid("a limit is set and lifted at once", "choose one")))
        }
    }
}

/// Users, projects and members as a table that can be imported: administrators may.
#[utoipa::path(
    get, path = "/v1/export", tag = "projects", operation_id = "export",
    responses((status = 200, description = "the table", body = ImportTable), Refusals),
)]
pub(crate) async fn export(
    State(context): State<Context>,
    caller: Caller,
) -> Answer<Json<ImportTable>> {
    if caller.actor.role != tradewind_daemon::live::rights::Role::Administrator {
        return Err(ErrorResponse::forbidden("only an administrator may do this"));
    }
    context.look(|live| usage::table(live.state())).await.map(Json)
}

/// Parameters of the URL that select what is summed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UsageParams {
    /// Columns with commas between: `project`, `user`, `site`, `month`; all of them if left out.
    by: Option<String>,
    /// The first month, as in `2027-01`.
    from: Option<String>,
    /// The last month.
    to: Option<String>,
    /// Only those of this project.
    project: Option<String>,
}

/// What was used and charged: the caller's own, and of projects that the caller manages; an
/// administrator sees all. The last 36 months are kept.
#[utoipa::path(
    get, path = "/v1/usage", tag = "money", operation_id = "usage", params(UsageParams),
    responses((status = 200, description = "sums", body = UsageList), Refusals),
)]
pub(crate) async fn used(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<UsageParams>,
) -> Answer<Json<UsageList>> {
    let by = By::read(which.by.as_deref()).ok_or_else(|| {
        let hint = "name `project`, `user`, `site` or `month`, with commas between";
        ErrorResponse::invalid("these are no columns", hint).in_field("by")
    })?;
    let month = |text: Option<String>, field| {
        let wrong =
            || ErrorResponse::invalid("this is no month", "write `2027-01`").in_field(field);
        text.map(|text| month_of_text(&text).ok_or_else(wrong)).transpose()
    };
    let (from, to) = (month(which.from, "from")?, month(which.to, "to")?);
    let span = from.unwrap_or(i64::MIN)..=to.unwrap_or(i64::MAX);
    let project = which.project;
    let found = context
        .look(move |live| usage::sums(live.state(), &caller.actor, by, &span, project.as_ref()));
    found.await.map(Json)
}
