//! Who may come in.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use tradewind_daemon::live::rights;
use tradewind_daemon::live::{Ask, Reply};
use tradewind_io::hidden::is_hidden;
use utoipa::IntoParams;

use super::page;
use crate::api::Context;
use crate::documents::{IssuedToken, Myself, NewToken, Role, Token, TokenList};
use crate::doors::{Caller, new_secret};
use crate::extract::{At, Document, Selection};
use crate::failure::{Answer, Failure};
use crate::openapi::Refusals;

/// The longest name of a user, and the longest note.
const MAX_NAME: usize = 64;
const MAX_NOTE: usize = 200;

/// Which page of tokens.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TokenPage {
    /// With a number above this.
    after: Option<u64>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

impl From<rights::Role> for Role {
    fn from(role: rights::Role) -> Role {
        match role {
            rights::Role::User => Role::User,
            rights::Role::Owner => Role::Owner,
            rights::Role::Administrator => Role::Administrator,
            rights::Role::Peer => Role::Peer,
        }
    }
}

impl From<Role> for rights::Role {
    fn from(role: Role) -> rights::Role {
        match role {
            Role::User => rights::Role::User,
            Role::Owner => rights::Role::Owner,
            Role::Administrator => rights::Role::Administrator,
            Role::Peer => rights::Role::Peer,
        }
    }
}

/// Who the caller is.
#[utoipa::path(
    get, path = "/v1/me", tag = "tokens", operation_id = "show_me",
    responses((status = 200, description = "the caller", body = Myself), Refusals),
)]
pub(crate) async fn me(Caller { actor, token }: Caller) -> Json<Myself> {
    Json(Myself { user: actor.user, role: actor.role.into(), token })
}

/// The caller's tokens; an administrator sees all. Their secrets are kept nowhere.
#[utoipa::path(
    get, path = "/v1/tokens", tag = "tokens", operation_id = "list_tokens", params(TokenPage),
    responses((status = 200, description = "a page of tokens", body = TokenList), Refusals),
)]
pub(crate) async fn list(
    State(context): State<Context>,
    caller: Caller,
    Selection(TokenPage { after, limit }): Selection<TokenPage>,
) -> Answer<Json<TokenList>> {
    let (after, limit) = (after.unwrap_or(0), page(limit)?);
    let list = context.look(move |live| {
        let tokens = live.state().tokens.range(after.saturating_add(1)..);
        let mut tokens = tokens.filter(|(_, it)| caller.actor.may_act_for(&it.user));
        let page = tokens.by_ref().take(limit).map(|(id, it)| Token {
            id: *id,
            user: it.user.clone(),
            role: it.role.into(),
            note: it.note.clone(),
            issued: it.issued.0,
        });
        let page: Vec<Token> = page.collect();
        let next = tokens.next().and_then(|_| page.last().map(|it| it.id));
        TokenList { tokens: page, next }
    });
    list.await.map(Json)
}

/// Makes a token: administrators may. Its secret is in the answer, and nowhere else.
#[utoipa::path(
    post, path = "/v1/tokens", tag = "tokens", operation_id = "issue_token", request_body = NewToken,
    responses((status = 201, description = "the token with its secret", body = IssuedToken), Refusals),
)]
pub(crate) async fn issue(
    State(context): State<Context>,
    caller: Caller,
    Document(NewToken { user, role, note }): Document<NewToken>,
) -> Answer<(StatusCode, Json<IssuedToken>)> {
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
    if user.is_empty() || user.len() > MAX_NAME || !user.chars().all(good) {
        let message = format!("this is no name of at most {MAX_NAME} characters");
        return Err(Failure::invalid(message, "letters, digits and `_-.@`").in_field("user"));
    }
    if note.len() > MAX_NOTE {
        let message = format!("a note has at most {MAX_NOTE} bytes");
        return Err(Failure::invalid(message, "shorten it").in_field("note"));
    }
    if note.chars().any(is_hidden) {
        let hint = "keep to letters, digits and signs on one line";
        return Err(Failure::invalid("the note has control characters", hint).in_field("note"));
    }
    let (token, hash) = new_secret().map_err(Failure::unavailable)?;
    let ask = Ask::Admit { user, role: role.into(), hash, note };
    match context.ask(caller.actor, ask).await? {
        Reply::Number(id) => Ok((StatusCode::CREATED, Json(IssuedToken { id, token }))),
        _ => Err(Failure::unavailable("the market said nothing")),
    }
}

/// Makes a token useless, at once: administrators may.
#[utoipa::path(
    delete, path = "/v1/tokens/{id}", tag = "tokens", operation_id = "revoke_token",
    params(("id" = u64, Path, description = "the token")),
    responses((status = 204, description = "it opens nothing any more"), Refusals),
)]
pub(crate) async fn revoke(
    State(context): State<Context>,
    caller: Caller,
    At(token): At<u64>,
) -> Answer<StatusCode> {
    context.ask(caller.actor, Ask::Expel { token }).await?;
    context.doors.expel(token);
    Ok(StatusCode::NO_CONTENT)
}
