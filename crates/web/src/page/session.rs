//! Signing in and out.

use askama::Template;
use axum::Form;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::net::SocketAddr;
use tradewind_daemon::audit::Kind;

use super::assets::VERSION;
use super::reply::{Shown, go, show};
use super::words;
use crate::api::{Context, Limits};
use crate::doors::sessions::{COOKIE, REST, own_page};
use crate::doors::{self, hash_of, looks_right, new_secret};
use crate::failure::Failure;

#[derive(Template)]
#[template(path = "page/signin.html")]
struct SignIn<'a> {
    version: &'static str,
    next: &'a str,
    wrong: Option<&'a str>,
}

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

/// What is filled in.
#[derive(Deserialize)]
pub(crate) struct Filled {
    token: String,
    #[serde(default)]
    next: String,
}

/// A page of ours: nobody is sent elsewhere by a link.
fn own(next: &str) -> &str {
    let good =
        next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\r', '\n']);
    if good { next } else { "/" }
}

/// The page to sign in on, which leads back to where the reader wanted to go.
pub(crate) fn to_the_door(uri: &Uri) -> Response {
    let wanted = uri.path_and_query().map_or("/", |it| it.as_str());
    let query = words::in_address(wanted);
    go(&format!("/signin?next={query}")).into_response()
}

pub(crate) async fn form(Query(Next { next }): Query<Next>) -> Shown {
    show(&SignIn { version: VERSION, next: own(&next), wrong: None })
}

/// Checks the token; a wrong one costs the address as much as at the API.
pub(crate) async fn begin(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Form(Filled { token, next }): Form<Filled>,
) -> Shown {
    own_page(&Method::POST, &headers)?;
    let next = own(&next);
    let token = token.trim();
    doors::knock(&context, peer.ip(), 1)?;
    let hash = hash_of(token);
    let known = match looks_right(token) {
        true => doors::identify(&context, hash).await.ok(),
        false => None,
    };
    let address = format!("from {}", peer.ip().to_canonical());
    if let Some(caller) = &known {
        context.audit.note(&caller.actor.user, Kind::SignIn, address, "done");
    } else {
        let who = format!("@{}", peer.ip().to_canonical());
        context.audit.note(&who, Kind::SignIn, address, "wrong token");
        drop(doors::knock(&context, peer.ip(), Limits::WRONG_TOKEN));
        let wrong = Some("This token does not open. An administrator issues tokens.");
        let page = show(&SignIn { version: VERSION, next, wrong })?;
        return Ok(page.at(StatusCode::UNAUTHORIZED));
    }
    let (cookie, cookie_hash) = new_secret().map_err(Failure::unavailable)?;
    context.doors.sessions.begin(cookie_hash, hash);
    let secure = if context.secure { "; Secure" } else { "" };
    let rest = REST.as_secs();
    let cookie =
        format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={rest}{secure}");
    Ok(go(next).with(header::SET_COOKIE, &cookie))
}

pub(crate) async fn end(State(context): State<Context>, headers: HeaderMap) -> Shown {
    own_page(&Method::POST, &headers)?;
    context.doors.sessions.end(&headers);
    let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok(go("/signin").with(header::SET_COOKIE, &gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for wrong in ["", "//evil.example", "https://evil.example", "/\\evil", "jobs"] {
            assert_eq!(own(wrong), "/", "{wrong}");
        }
        assert_eq!(own("/jobs/7?x=1"), "/jobs/7?x=1");
    }
}
