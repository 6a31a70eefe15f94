//! Signing in with a provider of identities: there and back.

use askama::Template;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use cookie::SameSite;
use serde::Deserialize;
use std::net::SocketAddr;

use super::assets::version;
use super::next::own;
use super::reply::{PageResult, go, show};
use super::session::{door, start};
use crate::auth::new_secret;
use crate::auth::sessions::{Newcomer, agent_of};
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};
use crate::guard;
use crate::oidc::{Attempt, Hint, Identity, Oidc, Refused};
use crate::routes::sign_in;

/// The cookie of a browser that is on its way, before its prefix.
const COOKIE: &str = "tradewind-begun";
/// How long it may take: seconds.
const PATIENCE: u64 = 600;

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Begin {
    #[serde(default)]
    next: String,
}

/// What the provider sends a browser back with.
#[derive(Default, Deserialize)]
pub(crate) struct Back {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Leads on. It is written by our own page, so that browsers send the new cookie along, which they
/// do not where another site leads to.
#[derive(Template)]
#[template(path = "page/onward.html")]
struct Onward<'a> {
    version: &'static str,
    title: &'static str,
    next: &'a str,
}

/// Leads to the provider's page to sign out, whose address is `to`. It is no redirection: browsers
/// let forms lead to our own pages only.
pub(super) fn out(to: &str) -> PageResult {
    show(&Onward { version: version(), title: "Signed out", next: to })
}

fn provider(context: &Context) -> Answer<&Oidc> {
    let found = context.oidc.as_ref();
    found.ok_or_else(|| ErrorResponse::unknown("this market has no provider of identities"))
}

/// Sends the browser to the provider.
pub(crate) async fn begin(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(Begin { next }): Query<Begin>,
) -> PageResult {
    let oidc = provider(&context)?;
    guard::begin_sign_in(&context, peer.ip())?;
    let next = own(&next);
    let (secret, _) = new_secret().map_err(ErrorResponse::unavailable)?;
    match oidc.address(Attempt { secret: &secret, next }).await? {
        Ok(address) => {
            // The provider leads back from another site.
            let set = context.auth.ours.set(COOKIE, &secret, PATIENCE, SameSite::Lax);
            Ok(go(&address).with(header::SET_COOKIE, &set))
        }
        Err(refused) => refuse(&context, next, &refused).await,
    }
}

/// Signs in whom the provider has sent back.
pub(crate) async fn back(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Query(Back { state, code, error, iss }): Query<Back>,
) -> PageResult {
    let oidc = provider(&context)?;
    let secret = context.auth.ours.cookie(COOKIE, &headers);
    let begun = secret.and_then(|it| Some((it, Attempt::next_of(it, &state)?)));
    let Some((secret, next)) = begun else {
        let why = "the state is not of a sign-in that this browser began in the last ten minutes";
        return refuse(&context, "/", &Refused::Proof(why.to_owned())).await;
    };
    let next = own(&next);
    let Some(code) = code else {
        let word = error.unwrap_or_default();
        let word: String = word.chars().filter(char::is_ascii_graphic).take(80).collect();
        let why = format!("the sign-in was not completed there ({word})");
        return refuse(&context, next, &Refused::Person(why)).await;
    };
    guard::ask_provider(&context, peer.ip())?;
    match oidc.arrive(Attempt { secret, next }, code, iss).await? {
        Ok(found) => enter(&context, &headers, found, next).await,
        Err(refused) => refuse(&context, next, &refused).await,
    }
}

async fn enter(
    context: &Context,
    headers: &HeaderMap,
    (who, hint): (Identity, Hint),
    next: &str,
) -> PageResult {
    let Identity { user, .. } = who.clone();
    let issued = sign_in::admit(context, who, "signed in on the pages").await?;
    let (hash, token, agent) = (issued.hash, issued.id, agent_of(headers));
    let who = Newcomer { hash, token, user, agent, is_own_token: true, hint: Some(hint) };
    let page = show(&Onward { version: version(), title: "Signed in", next })?;
    let page = start(context, headers, who, page).await?;
    let gone = context.auth.ours.set(COOKIE, "", 0, SameSite::Lax);
    Ok(page.and(header::SET_COOKIE, &gone))
}

async fn refuse(context: &Context, next: &str, refused: &Refused) -> PageResult {
    sign_in::refused(context, refused).await?;
    let name = context.oidc.as_ref().map_or("", |it| it.provider().name.as_str());
    let status = match refused {
        Refused::Provider(_) => StatusCode::BAD_GATEWAY,
        Refused::Proof(_) => StatusCode::UNAUTHORIZED,
        Refused::Person(_) | Refused::NoRole { .. } => StatusCode::FORBIDDEN,
    };
    Ok(door(context, next, Some(&refused.message(name)))?.at(status))
}
