//! Which requests are admitted, and how often: what is asked before a request reaches its handler.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tradewind_daemon::audit::AuditKind;
use tradewind_daemon::live::rights::TokenHash;
use tradewind_model::Time;

use crate::api::Limits;
use crate::auth::places::network;
use crate::auth::{Caller, look_up, token_of};
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};
use crate::notes;
use crate::views::words;

/// How late a refusal for a limit comes, so that there are few on each connection.
pub(crate) const DELAY: Duration = Duration::from_millis(250);

/// Header that says when the token expires: seconds since 1970.
const EXPIRES: HeaderName = HeaderName::from_static("tradewind-token-expires");

/// Refuses requests for hosts of other names.
pub(crate) async fn guard_host(
    State(context): State<Context>,
    request: Request,
    next: Next,
) -> Response {
    match context.auth.hosts.check(request.headers().get_all(header::HOST).iter()) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

/// Admits requests with a valid token, within the rate limit.
pub(crate) async fn guard(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    match enter(&context, peer, request.method(), request.headers()).await {
        Ok(caller) => told(&context, caller, request, next).await,
        Err(failure) => failure.into_response(),
    }
}

/// Hands the request on with its caller, and says whom it was that was refused; writes down what an
/// administrator reads of all users.
pub(crate) async fn told(
    context: &Context,
    caller: Caller,
    mut request: Request,
    next: Next,
) -> Response {
    let (user, expires) = (caller.actor.user.clone(), caller.expires);
    let route = request.extensions().get::<MatchedPath>();
    let read = route.and_then(|it| notes::wide_read(&caller, request.method(), it.as_str()));
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(what) = read.filter(|_| response.status().is_success()) {
        context.audit.note(&user, AuditKind::Read, what, "done");
    }
    if let Some(expires) = expires {
        response.headers_mut().insert(EXPIRES, HeaderValue::from(expires.0));
    }
    if let Some(failure) = response.extensions_mut().remove::<ErrorResponse>() {
        response.extensions_mut().insert(failure.to(&user));
    }
    response
}

/// The same for what all callers on this machine may read, and from elsewhere administrators only.
pub(crate) async fn guard_metrics(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    if peer.ip().to_canonical().is_loopback() {
        return next.run(request).await;
    }
    match enter(&context, peer, request.method(), request.headers()).await {
        Ok(caller) if caller.actor.may_act_for("") => next.run(request).await,
        Ok(_) => ErrorResponse::forbidden("only an administrator may see this").into_response(),
        Err(failure) => failure.into_response(),
    }
}

/// Counts a request without a token, such as one to sign in; at a cost above 1 one that failed.
///
/// # Errors
/// If there were too many recently.
pub(crate) fn admit(context: &Context, address: IpAddr, cost: u32) -> Answer<()> {
    let taken = context.auth.count(address, cost, Instant::now());
    taken.map_err(|usage| ErrorResponse::short("too many requests from this address", usage))
}

/// Counts a sign-in with a provider that a caller without a token begins.
///
/// # Errors
/// If there were too many from this address recently.
pub(crate) fn begin_sign_in(context: &Context, address: IpAddr) -> Answer<()> {
    let taken = context.auth.sign_ins.take(network(address), 1, Instant::now());
    taken.map_err(|usage| ErrorResponse::short("too many sign-ins from this address", usage))
}

/// Counts a question that goes on to the provider.
///
/// # Errors
/// If there were too many from this address recently.
pub(crate) fn ask_provider(context: &Context, address: IpAddr) -> Answer<()> {
    let taken = context.auth.asked.take(network(address), 1, Instant::now());
    taken.map_err(|usage| ErrorResponse::short("too many questions from this address", usage))
}

/// The caller, if the token is valid now. What other requests of the same address did
/// matters only to requests without a valid token.
pub(crate) async fn enter(
    context: &Context,
    peer: SocketAddr,
    method: &Method,
    headers: &HeaderMap,
) -> Answer<Caller> {
    let auth = &context.auth;
    let found = match token_of(auth, method, headers) {
        Ok((hash, session)) => {
            let caller = identify(context, hash).await;
            caller.map(|caller| Caller { session, ..caller })
        }
        Err(failure) => Err(failure),
    };
    let caller = match found {
        Ok(caller) => caller,
        Err(failure) if failure.is_unauthorized() => {
            admit(context, peer.ip(), Limits::WRONG_TOKEN)?;
            return Err(failure);
        }
        Err(failure) => return Err(failure),
    };
    let (now, user) = (Instant::now(), &caller.actor.user);
    let limit = |what: &'static str| move |usage| ErrorResponse::short(what, usage).to(user);
    let taken = auth.places.known(peer, user, now);
    taken.map_err(limit("you have too many connections"))?;
    let taken = auth.tokens.take(caller.token, 1, now);
    taken.map_err(limit("too many requests with this token"))?;
    let taken = auth.users.take(user.clone(), 1, now);
    taken.map_err(limit("too many requests of this user"))?;
    let taken = auth.addresses.take(network(peer.ip()), 1, now);
    taken.map_err(limit("too many requests from this address"))?;
    Ok(caller)
}

/// Whether the caller may still be here: streams end when the token is revoked or expires, and when
/// the session that opened them ends. That the token is not known here says nothing: the market is
/// asked then.
pub(crate) async fn is_still_valid(context: &Context, caller: &Caller) -> bool {
    let is_open = caller.session.is_none_or(|it| context.auth.sessions.is_open(it));
    is_open && identify(context, caller.secret).await.is_ok()
}

/// Whose token it is.
pub(crate) async fn identify(context: &Context, hash: TokenHash) -> Answer<Caller> {
    let (known, gone) = context.auth.find(&hash);
    let caller = match known {
        Some(caller) => caller,
        None => {
            let found = context.look(move |live| look_up(live.state(), &hash)).await?;
            let caller =
                found.ok_or_else(|| ErrorResponse::unauthorized("token not recognised"))?;
            context.auth.admit(hash, caller.clone(), gone);
            caller
        }
    };
    match caller.expires.filter(|_| caller.is_expired()) {
        None => Ok(caller),
        Some(at) => Err(expired(at)),
    }
}

/// A caller with the right secret may know why it is not valid.
fn expired(at: Time) -> ErrorResponse {
    let message = format!("this token expired at {}", words::moment(at));
    let hint = "sign in again, or have an administrator issue another: `tradewind token create`";
    ErrorResponse::new(StatusCode::UNAUTHORIZED, "unauthorized", message, hint)
}
