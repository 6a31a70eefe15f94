//! Who may come in, and how often.

pub(crate) mod bodies;
pub(crate) mod places;
pub(crate) mod rate;
pub(crate) mod seats;
mod secret;
pub(crate) mod sessions;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tradewind_daemon::live::rights::{Actor, TokenHash};
use tradewind_daemon::live::state;

pub(crate) use secret::looks_right;
pub use secret::{hash_of, new_secret};

use crate::api::{Context, Limits};
use crate::failure::{Answer, Failure};
use bodies::Bodies;
use places::Places;
use rate::Buckets;
use seats::Seats;

/// How late a refusal for a limit comes, so that there are few on each connection.
pub(crate) const DELAY: Duration = Duration::from_millis(250);

/// Somebody who came in.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) actor: Actor,
    pub(crate) token: u64,
}

/// What is remembered of who may come in. The market's own list is asked about the others.
#[derive(Debug)]
pub(crate) struct Doors {
    known: RwLock<Known>,
    tokens: Buckets<u64>,
    users: Buckets<String>,
    addresses: Buckets<IpAddr>,
    /// Requests of each address that failed for want of a valid token: these cost nobody else.
    failures: Buckets<IpAddr>,
    /// Submissions of each user, and their bytes.
    pub(crate) submissions: Buckets<String>,
    pub(crate) submitted_bytes: Buckets<String>,
    /// Large requests.
    pub(crate) bodies: Arc<Bodies>,
    /// Connections.
    pub(crate) places: Arc<Places>,
    /// Streams of events.
    pub(crate) seats: Arc<Seats>,
    /// Who is signed in on the pages.
    pub(crate) sessions: sessions::Sessions,
}

#[derive(Debug, Default)]
struct Known {
    callers: Vec<(TokenHash, Caller)>,
    /// Counts those who had to go: what was looked up before that may be wrong.
    gone: u64,
}

impl Doors {
    pub(crate) fn new(limits: &Limits) -> Doors {
        Doors {
            known: RwLock::default(),
            tokens: Buckets::new("requests_per_second", limits.per_token),
            users: Buckets::new("requests_per_user", limits.per_user),
            addresses: Buckets::new("requests_per_address", limits.per_address),
            failures: Buckets::new("failures_per_address", limits.per_address),
            submissions: Buckets::new("submissions_per_second", limits.submissions),
            submitted_bytes: Buckets::new("submission_bytes_per_second", limits.submitted_bytes),
            bodies: Arc::new(Bodies::new(limits)),
            places: Arc::new(Places::new(limits)),
            seats: Arc::new(Seats::new(limits)),
            sessions: sessions::Sessions::default(),
        }
    }

    /// The caller, if known; and how many had to go so far.
    fn find(&self, hash: &TokenHash) -> (Option<Caller>, u64) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // All are compared, whichever it is.
        let same = |found: Option<Caller>, (other, caller): &(TokenHash, Caller)| {
            let hit = secret::same(hash, other);
            if hit { Some(caller.clone()) } else { found }
        };
        (known.callers.iter().fold(None, same), known.gone)
    }

    /// Remembers a caller, unless somebody had to go since it was looked up.
    fn admit(&self, hash: TokenHash, caller: Caller, gone: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.gone == gone && !known.callers.iter().any(|(_, it)| it.token == caller.token) {
            known.callers.push((hash, caller));
        }
    }

    /// Whoever came in by this token does so no more.
    pub(crate) fn expel(&self, token: u64) {
        self.keep(|caller| caller.token != token);
    }

    /// Nobody is remembered: the market is asked anew.
    pub(crate) fn forget_all(&self) {
        self.keep(|_| false);
    }

    /// Whether the token is still remembered: streams end when it is not.
    pub(crate) fn knows(&self, token: u64) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.callers.iter().any(|(_, it)| it.token == token)
    }

    fn keep(&self, keep: impl Fn(&Caller) -> bool) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.callers.retain(|(_, caller)| keep(caller));
        known.gone += 1;
    }
}

/// The hash of the token that the request came with, or that its page was signed in with.
fn token_of(doors: &Doors, method: &Method, headers: &HeaderMap) -> Answer<TokenHash> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok(hash_of(bearer(headers)?));
    }
    let cookie = sessions::cookie(headers);
    let cookie = cookie.ok_or_else(|| Failure::unauthorized("there is no token"))?;
    let token = doors.sessions.token(&hash_of(cookie));
    let token = token.ok_or_else(|| Failure::unauthorized("nobody is signed in any more"))?;
    sessions::own_page(method, headers)?;
    Ok(token)
}

/// The secret of the request, if it has one that could be one.
fn bearer(headers: &HeaderMap) -> Answer<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = all.next() else {
        return Err(Failure::unauthorized("there is no token"));
    };
    let text = value.to_str().ok().filter(|_| all.next().is_none());
    let (scheme, secret) = text.and_then(|text| text.split_once(' ')).unwrap_or_default();
    let secret = secret.trim();
    match scheme.eq_ignore_ascii_case("bearer") && secret::looks_right(secret) {
        true => Ok(secret),
        false => Err(Failure::unauthorized("this is no token")),
    }
}

/// Lets in who has a token that the market knows, and not too often.
pub(crate) async fn guard(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    match enter(&context, peer, request.method(), request.headers()).await {
        Ok(caller) => told(caller, request, next).await,
        Err(failure) => failure.into_response(),
    }
}

/// Hands the request on with its caller, and says whom it was that was refused.
pub(crate) async fn told(caller: Caller, mut request: Request, next: Next) -> Response {
    let user = caller.actor.user.clone();
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        response.extensions_mut().insert(failure.to(&user));
    }
    response
}

/// The same for what is for everybody on this machine, and from elsewhere for administrators.
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
        Ok(_) => Failure::forbidden("only an administrator may see this").into_response(),
        Err(failure) => failure.into_response(),
    }
}

/// Counts a request without a token, such as one to sign in; at a cost above 1 one that failed.
///
/// # Errors
/// If there were too many lately.
pub(crate) fn knock(context: &Context, address: IpAddr, cost: u32) -> Answer<()> {
    let doors = &context.doors;
    let bucket = if cost > 1 { &doors.failures } else { &doors.addresses };
    let taken = bucket.take(address.to_canonical(), cost.into(), Instant::now());
    taken.map_err(|usage| Failure::short("too many requests from this address", usage))
}

/// The caller, if there is one who may come in now. What other requests of the same address did
/// matters only to requests without a valid token.
pub(crate) async fn enter(
    context: &Context,
    peer: SocketAddr,
    method: &Method,
    headers: &HeaderMap,
) -> Answer<Caller> {
    let doors = &context.doors;
    let found = match token_of(doors, method, headers) {
        Ok(hash) => identify(context, hash).await,
        Err(failure) => Err(failure),
    };
    let caller = match found {
        Ok(caller) => caller,
        Err(failure) if failure.is_unauthorized() => {
            knock(context, peer.ip(), Limits::WRONG_TOKEN)?;
            return Err(failure);
        }
        Err(failure) => return Err(failure),
    };
    let (now, user) = (Instant::now(), &caller.actor.user);
    let limit = |what: &'static str| move |usage| Failure::short(what, usage).to(user);
    let taken = doors.places.known(peer, user, now);
    taken.map_err(limit("you have too many connections"))?;
    let taken = doors.tokens.take(caller.token, 1, now);
    taken.map_err(limit("too many requests with this token"))?;
    let taken = doors.users.take(user.clone(), 1, now);
    taken.map_err(limit("too many requests of this user"))?;
    let taken = doors.addresses.take(peer.ip().to_canonical(), 1, now);
    taken.map_err(limit("too many requests from this address"))?;
    Ok(caller)
}

/// Whose token it is.
pub(crate) async fn identify(context: &Context, hash: TokenHash) -> Answer<Caller> {
    let (known, gone) = context.doors.find(&hash);
    if let Some(caller) = known {
        return Ok(caller);
    }
    let found = context.look(move |live| look_up(&live.state().tokens, &hash)).await?;
    let caller = found.ok_or_else(|| Failure::unauthorized("this token does not open"))?;
    context.doors.admit(hash, caller.clone(), gone);
    Ok(caller)
}

fn look_up(
    tokens: &std::collections::BTreeMap<u64, state::Token>,
    hash: &TokenHash,
) -> Option<Caller> {
    let same = |found: Option<Caller>, (number, token): (&u64, &state::Token)| {
        let hit = secret::same(hash, &token.hash);
        let actor = Actor { user: token.user.clone(), role: token.role };
        if hit { Some(Caller { actor, token: *number }) } else { found }
    };
    tokens.iter().fold(None, same)
}
