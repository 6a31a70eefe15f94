//! Tokens of users.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use tradewind_daemon::live::rights::{self, Actor, Expiry, TokenTerms};
use tradewind_daemon::live::{Ask, Live, Reply, state};
use tradewind_io::hidden::is_hidden;
use tradewind_model::{Span, Time};
use utoipa::IntoParams;

use super::openapi::Refusals;
use super::page;
use crate::auth::{Caller, new_secret};
use crate::clock::present;
use crate::context::Context;
use crate::documents::{IssuedToken, Myself, NewSecret, NewToken, Role, Token, TokenList};
use crate::extract::{At, Document, Selection};
use crate::failure::{Answer, ErrorResponse};

/// The longest name of a user, and the longest note.
const MAX_NAME: usize = 64;
const MAX_NOTE: usize = 200;
/// Ten years and 30 days, in seconds: the longest that is sensible.
const MAX_LIFETIME: i64 = 315_360_000;
const MAX_GRACE: i64 = 2_592_000;
/// How long the secret before a new one stays valid by default: seconds.
const GRACE: i64 = 3_600;

/// Parameters of the URL that select a page of tokens.
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
pub(crate) async fn me(
    State(context): State<Context>,
    Caller { actor, token, expires, .. }: Caller,
) -> Answer<Json<Myself>> {
    let user = actor.user.clone();
    let projects = context.look(move |live| {
        let state = live.state();
        let projects = state.projects_by_sign_in(&user, present(state));
        projects.into_iter().map(str::to_owned).collect()
    });
    let (role, expires) = (actor.role.into(), expires.map(|it| it.0));
    Ok(Json(Myself { user: actor.user, role, token, expires, projects: projects.await? }))
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
        let tokens = live.state().tokens().range(after.saturating_add(1)..);
        let mut tokens = tokens.filter(|(_, it)| caller.actor.may_act_for(&it.user));
        let at = present(live.state());
        let page = tokens.by_ref().take(limit).map(|(id, it)| document(*id, it, at));
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
    Document(NewToken { user, role, note, lifetime }): Document<NewToken>,
) -> Answer<(StatusCode, Json<IssuedToken>)> {
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
    if user.is_empty() || user.len() > MAX_NAME || !user.chars().all(good) {
        let message = format!("this is no name of at most {MAX_NAME} characters");
        return Err(ErrorResponse::invalid(message, "letters, digits and `_-.@`").in_field("user"));
    }
    if note.len() > MAX_NOTE {
        let message = format!("a note has at most {MAX_NOTE} bytes");
        return Err(ErrorResponse::invalid(message, "shorten it").in_field("note"));
    }
    if note.chars().any(is_hidden) {
        let hint = "keep to letters, digits and signs on one line";
        return Err(
            ErrorResponse::invalid("the note has control characters", hint).in_field("note")
        );
    }
    let usual = context.sign_in.token_lifetime.filter(|_| role != Role::Peer);
    let lifetime = match lifetime {
        None => usual,
        Some(seconds) => seconds_in(seconds, MAX_LIFETIME, "lifetime")?.filter(|it| it.0 > 0),
    };
    let (token, hash) = new_secret().map_err(ErrorResponse::unavailable)?;
    let terms = TokenTerms { lifetime, signed_in: None };
    let ask = Ask::Admit { user, role: role.into(), hash, note, terms };
    let Reply::Number(id) = context.ask(caller.actor, ask).await? else {
        return Err(ErrorResponse::unavailable("the market said nothing"));
    };
    let expires = expiry(&context, id).await?;
    Ok((StatusCode::CREATED, Json(IssuedToken { id, token, expires })))
}

/// Seconds from 0 to `max`.
fn seconds_in(seconds: i64, max: i64, field: &str) -> Answer<Option<Span>> {
    match (0..=max).contains(&seconds) {
        true => Ok(Some(Span(seconds))),
        false => {
            let message = format!("`{field}` is a number of seconds from 0 to {max}");
            Err(ErrorResponse::invalid(message, "give another length").in_field(field))
        }
    }
}

async fn expiry(context: &Context, token: u64) -> Answer<Option<i64>> {
    let found = context.look(move |live| live.state().tokens().get(&token)?.expires);
    Ok(found.await?.map(|it| it.0))
}

/// Gives a token another secret: its user may, and administrators. The present one stays valid for
/// a while yet, so that all who use it can get the new one.
#[utoipa::path(
    post, path = "/v1/tokens/{id}/rotate", tag = "tokens", operation_id = "rotate_token",
    params(("id" = u64, Path, description = "the token")), request_body = NewSecret,
    responses((status = 200, description = "the token with its new secret", body = IssuedToken), Refusals),
)]
pub(crate) async fn rotate(
    State(context): State<Context>,
    caller: Caller,
    At(id): At<u64>,
    Document(NewSecret { grace, lifetime }): Document<NewSecret>,
) -> Answer<Json<IssuedToken>> {
    let grace = seconds_in(grace.unwrap_or(GRACE), MAX_GRACE, "grace")?;
    let lifetime = lifetime.map(|it| seconds_in(it, MAX_LIFETIME, "lifetime")).transpose()?;
    let expiry_after = match lifetime.flatten() {
        None => Expiry::Kept,
        Some(Span(0)) => Expiry::Never,
        Some(span) => Expiry::After(span),
    };
    let (token, hash) = new_secret().map_err(ErrorResponse::unavailable)?;
    let grace = grace.unwrap_or(Span::ZERO);
    let ask = Ask::Rotate { token: id, hash, grace, expiry: expiry_after };
    context.ask(caller.actor, ask).await?;
    // The market is asked again for the user of the present secret.
    context.auth.expel(id);
    let expires = expiry(&context, id).await?;
    Ok(Json(IssuedToken { id, token, expires }))
}

/// Makes a token useless, at once: administrators may.
#[utoipa::path(
    delete, path = "/v1/tokens/{id}", tag = "tokens", operation_id = "revoke_token",
    params(("id" = u64, Path, description = "the token")),
    responses((status = 204, description = "it is no longer valid"), Refusals),
)]
pub(crate) async fn revoke(
    State(context): State<Context>,
    caller: Caller,
    At(token): At<u64>,
) -> Answer<StatusCode> {
    expel(&context, caller.actor, token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A token and all that was signed in with it end.
pub(crate) async fn expel(context: &Context, actor: Actor, token: u64) -> Answer<()> {
    context.ask(actor, Ask::Expel { token }).await?;
    context.auth.expel(token);
    context.auth.sessions.end(|_, it| it.who.token == token);
    Ok(())
}

fn document(id: u64, it: &state::Token, at: Time) -> Token {
    let earlier = it.earlier.filter(|it| it.until > at);
    let signed_in = it.signed_in.as_ref();
    Token {
        id,
        user: it.user.clone(),
        role: it.role.into(),
        note: it.note.clone(),
        issued: it.issued.0,
        expires: it.expires.map(|it| it.0),
        earlier_until: earlier.map(|it| it.until.0),
        signed_in: signed_in.map(|it| it.provider.clone()),
        projects: signed_in.map(|it| it.projects.clone()).unwrap_or_default(),
    }
}

/// The tokens that the actor may see: those of one user, or all.
pub(crate) fn seen_by(live: &Live, actor: &Actor, max: usize) -> Vec<Token> {
    let at = present(live.state());
    let own = live.state().tokens().iter().filter(|(_, it)| actor.may_act_for(&it.user));
    own.take(max).map(|(id, it)| document(*id, it, at)).collect()
}
