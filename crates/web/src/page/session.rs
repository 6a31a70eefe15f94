//! Signing in and out.

use askama::Template;
use axum::Form;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use cookie::SameSite;
use serde::Deserialize;
use std::net::SocketAddr;
use tradewind_daemon::audit::AuditKind;

use super::assets::version;
use super::next::own;
use super::provider;
use super::reply::{Html, PageResult, go, show};
use super::words;
use crate::api::Limits;
use crate::auth::guesses::{self, Verdict};
use crate::auth::sessions::{COOKIE, Newcomer, agent_of};
use crate::auth::{Caller, hash_of, looks_right, new_secret};
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};
use crate::guard;
use crate::oidc::Hint;
use crate::routes::sessions;

#[derive(Template)]
#[template(path = "page/signin.html")]
struct SignInPage<'a> {
    version: &'static str,
    next: &'a str,
    wrong: Option<&'a str>,
    /// The provider of identities, if there is one.
    provider: Option<&'a str>,
    /// The address that leads there.
    address: &'a str,
}

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

/// What is filled in.
#[derive(Deserialize)]
pub(crate) struct SignInForm {
    token: String,
    #[serde(default)]
    next: String,
}

/// The page to sign in on, which leads back to where the reader wanted to go.
pub(crate) fn to_the_door(uri: &Uri) -> Response {
    let wanted = uri.path_and_query().map_or("/", |it| it.as_str());
    let query = words::in_address(wanted);
    go(&format!("/signin?next={query}")).into_response()
}

pub(crate) async fn form(
    State(context): State<Context>,
    Query(Next { next }): Query<Next>,
) -> PageResult {
    door(&context, own(&next), None)
}

/// The page to sign in on.
pub(super) fn door(context: &Context, next: &str, wrong: Option<&str>) -> PageResult {
    let provider = context.oidc.as_ref().map(|it| it.provider().name.as_str());
    let address = format!("/signin/oidc?next={}", words::in_address(next));
    show(&SignInPage { version: version(), next, wrong, provider, address: &address })
}

/// Checks the token. A valid one is never refused, whatever others tried before.
pub(crate) async fn begin(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Form(SignInForm { token, next }): Form<SignInForm>,
) -> PageResult {
    context.auth.ours.own_page(&Method::POST, &headers)?;
    let (next, token) = (own(&next), token.trim());
    let hash = hash_of(token);
    let found = match looks_right(token) {
        true => guard::identify(&context, hash).await,
        false => Err(ErrorResponse::unauthorized("this is no token")),
    };
    let address = format!("from {}", peer.ip().to_canonical());
    match found {
        Ok(Caller { actor, token: number, .. }) => {
            context.audit.note(&actor.user, AuditKind::SignIn, address, "done");
            context.auth.guesses.right(&guesses::of_token(token));
            let (user, agent) = (actor.user, agent_of(&headers));
            let who =
                Newcomer { hash, token: number, user, agent, is_own_token: false, hint: None };
            Ok(start(&context, &headers, who, go(next)).await?)
        }
        Err(failure) if failure.is_unauthorized() => {
            let who = format!("@{}", peer.ip().to_canonical());
            context.audit.note(&who, AuditKind::SignIn, address, "wrong token");
            drop(guard::admit(&context, peer.ip(), Limits::WRONG_TOKEN));
            refuse(&context, peer, token, (next, &failure))
        }
        Err(failure) => Err(failure.into()),
    }
}

/// A wrong token is counted for what it begins with, not for the address that sent it.
fn refuse(
    context: &Context,
    peer: SocketAddr,
    token: &str,
    why: (&str, &ErrorResponse),
) -> PageResult {
    let (next, failure) = why;
    let identity = guesses::of_token(token);
    let verdict = context.auth.guesses.wrong(&identity);
    let address = peer.ip();
    tracing::warn!(%address, identity = ?identity, ?verdict, "a sign-in was refused");
    let message = match verdict {
        Verdict::Wrong => {
            let expired = failure.parts().1.message.contains("expired");
            let unknown = "Token not recognised. An administrator issues tokens.";
            let why = failure.parts().1.message.as_str();
            return Ok(door(context, next, Some(if expired { why } else { unknown }))?
                .at(StatusCode::UNAUTHORIZED));
        }
        Verdict::Locked(time) => format!(
            "Too many wrong tokens began like this one. Wrong ones are not looked at for {} \
             minutes; the right one is accepted at once.",
            time.as_secs().div_ceil(60)
        ),
    };
    let page = door(context, next, Some(&message))?.at(StatusCode::TOO_MANY_REQUESTS);
    Ok(page.with(header::RETRY_AFTER, "900"))
}

/// The browser is signed in from now on, as this user only.
pub(super) async fn start(
    context: &Context,
    headers: &HeaderMap,
    who: Newcomer,
    to: Html,
) -> Answer<Html> {
    leave(context, headers).await?;
    let (cookie, cookie_hash) = new_secret().map_err(ErrorResponse::unavailable)?;
    let auth = &context.auth;
    auth.sessions.begin(cookie_hash, who);
    let longest = auth.sessions.longest().as_secs();
    let set = auth.ours.set(COOKIE, &cookie, longest, SameSite::Strict);
    Ok(to.with(header::SET_COOKIE, &set))
}

/// Ends the browser's session, with all that it has opened; what its provider needs to know.
async fn leave(context: &Context, headers: &HeaderMap) -> Answer<Option<Hint>> {
    let auth = &context.auth;
    let Some(cookie) = auth.ours.cookie(COOKIE, headers) else { return Ok(None) };
    let cookie = hash_of(cookie);
    let ended = auth.sessions.end(|it, _| *it == cookie);
    let hint = ended.iter().find_map(|it| it.who.hint.clone());
    sessions::close(context, ended).await?;
    Ok(hint)
}

/// Signs out here, and where a provider signed the person in, there as well if it can.
pub(crate) async fn end(State(context): State<Context>, headers: HeaderMap) -> PageResult {
    let ours = &context.auth.ours;
    ours.own_page(&Method::POST, &headers)?;
    let hint = leave(&context, &headers).await?;
    let gone = ours.set(COOKIE, "", 0, SameSite::Strict);
    let out = hint.zip(context.oidc.as_ref()).and_then(|(hint, oidc)| oidc.sign_out(&hint));
    let to = match out {
        Some(address) => provider::out(&address)?,
        None => go("/signin"),
    };
    Ok(to.with(header::SET_COOKIE, &gone))
}
