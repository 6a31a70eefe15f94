//! The audit log.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::audit::{AuditKind, StoredAuditEntry};
use utoipa::IntoParams;

use super::openapi::Refusals;
use super::page;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::documents::{AuditList, AuditRow};
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};

/// Rows that are looked at for one page.
const LOOKED: usize = 100_000;

/// Parameters of the URL that select rows.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditPage {
    /// With a number above this.
    after: Option<u64>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// Written at this moment or later: seconds since 1970.
    since: Option<i64>,
    /// Written before this moment.
    until: Option<i64>,
    /// Of this user; `@ADDRESS` where the user is unknown.
    user: Option<String>,
    /// Only those of this kind.
    kind: Option<String>,
}

/// Who was refused, who signed in, who read others' data, who changed rights, prices, policy and
/// money. Administrators may. A page may have fewer rows than `limit`, and others behind it.
#[utoipa::path(
    get, path = "/v1/audit", tag = "audit", operation_id = "list_audit", params(AuditPage),
    responses((status = 200, description = "a page of rows", body = AuditList), Refusals),
)]
pub(crate) async fn list(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<AuditPage>,
) -> Answer<Json<AuditList>> {
    if !caller.actor.may_act_for("") {
        return Err(ErrorResponse::forbidden("only an administrator may see this"));
    }
    let AuditPage { after, limit, since, until, user, kind } = which;
    let (after, limit) = (after.unwrap_or(0), page(limit)?);
    let kind = kind.map(|name| of_name(&name)).transpose()?;
    let audit = context.audit.clone();
    let wanted = move |it: &StoredAuditEntry| {
        until.is_none_or(|until| it.at < until)
            && user.as_ref().is_none_or(|user| *user == it.entry.actor)
            && kind.is_none_or(|kind| kind == it.entry.kind)
    };
    let read = blocking(move || audit.read(after, (limit, LOOKED), since, wanted)).await?;
    let (rows, next) = read.map_err(|wrong| ErrorResponse::unavailable(wrong.to_string()))?;
    Ok(Json(AuditList { rows: rows.into_iter().map(row).collect(), next }))
}

fn of_name(name: &str) -> Answer<AuditKind> {
    let found = AuditKind::ALL.into_iter().find(|(_, it)| *it == name).map(|(kind, _)| kind);
    found.ok_or_else(|| {
        let all = AuditKind::ALL.map(|(_, name)| name).join(", ");
        ErrorResponse::malformed("there is no such kind", format!("there are: {all}"))
            .in_field("kind")
    })
}

fn row(StoredAuditEntry { seq, at, entry }: StoredAuditEntry) -> AuditRow {
    AuditRow {
        seq,
        at,
        kind: entry.kind.name().to_owned(),
        user: entry.actor,
        subject: entry.subject,
        outcome: entry.outcome,
        count: entry.count,
        since: entry.since,
    }
}
