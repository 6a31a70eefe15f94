//! Browsers that are signed in.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::openapi::Refusals;
use super::{page, tokens};
use crate::auth::{Caller, sessions};
use crate::context::Context;
use crate::documents::{Session, SessionList};
use crate::extract::{At, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::notes;

/// Parameters of the URL that select a page of sessions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionPage {
    /// With a number above this.
    after: Option<u64>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// The caller's browsers that are signed in on the pages; an administrator sees all.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "tokens", operation_id = "list_sessions", params(SessionPage),
    responses((status = 200, description = "a page of sessions", body = SessionList), Refusals),
)]
pub(crate) async fn list(
    State(context): State<Context>,
    caller: Caller,
    Selection(SessionPage { after, limit }): Selection<SessionPage>,
) -> Answer<Json<SessionList>> {
    let limit = page(limit)?;
    let mut sessions = seen_by(&context, &caller);
    sessions.retain(|it| it.id > after.unwrap_or(0));
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| more).map(|it| it.id);
    Ok(Json(SessionList { sessions, next }))
}

/// The sessions that the caller may see.
pub(crate) fn seen_by(context: &Context, caller: &Caller) -> Vec<Session> {
    let auth = &context.auth;
    let longest = i64::try_from(auth.sessions.longest().as_secs()).unwrap_or(i64::MAX);
    let document = |it: sessions::BrowserSession| Session {
        id: it.id,
        user: it.who.user,
        token: it.who.token,
        since: it.since.0,
        ends: it.since.0.saturating_add(longest),
        browser: it.who.agent,
        own: caller.session == Some(it.id),
    };
    let own = auth.sessions.list(|it| caller.actor.may_act_for(&it.who.user));
    own.into_iter().map(document).collect()
}

/// Signs a browser out: one's own, or as an administrator any user's.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", tag = "tokens", operation_id = "end_session",
    params(("id" = u64, Path, description = "the session")),
    responses((status = 204, description = "it is signed out"), Refusals),
)]
pub(crate) async fn end(
    State(context): State<Context>,
    caller: Caller,
    At(id): At<u64>,
) -> Answer<StatusCode> {
    match end_session(&context, &caller, id).await? {
        false => Err(ErrorResponse::unknown(format!("you have no session {id}"))),
        true => Ok(StatusCode::NO_CONTENT),
    }
}

/// Whether there was such a session of a user whom the caller may act for; it is over then.
pub(crate) async fn end_session(context: &Context, caller: &Caller, id: u64) -> Answer<bool> {
    let actor = &caller.actor;
    let ended = context.auth.sessions.end(|_, it| it.id == id && actor.may_act_for(&it.who.user));
    let Some(session) = ended.first() else { return Ok(false) };
    notes::session_ended(&context.audit, caller, &session.who.user, id);
    close(context, ended).await?;
    Ok(true)
}

/// What goes with sessions that have ended: tokens that were issued for them alone.
pub(crate) async fn close(context: &Context, ended: Vec<sessions::BrowserSession>) -> Answer<()> {
    for session in ended.into_iter().filter(|it| it.who.is_own_token) {
        let owner = session.who.actor();
        // It may have expired and be gone already, which is as good.
        match tokens::expel(context, owner, session.who.token).await {
            Err(failure) if failure.is_unavailable() => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}
