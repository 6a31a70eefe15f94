//! Who is known: tokens, sessions, hosts, and how often each may ask.

pub(crate) mod bodies;
pub(crate) mod guesses;
pub(crate) mod hosts;
pub(crate) mod ours;
pub(crate) mod places;
pub(crate) mod rate;
pub(crate) mod seats;
mod secret;
pub(crate) mod sessions;

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use axum::http::{HeaderMap, Method, header};
use tradewind_daemon::live::Usage;
use tradewind_daemon::live::rights::{Actor, TokenHash};
use tradewind_daemon::live::state;
use tradewind_model::Time;

pub(crate) use secret::looks_right;
pub use secret::{hash_of, new_secret};

use crate::api::{Limits, SignIn};
use crate::clock::now;
use crate::failure::{Answer, ErrorResponse};
use bodies::Bodies;
use guesses::Guesses;
use hosts::Hosts;
use ours::{Ours, Scheme};
use places::{Connections, network};
use rate::Buckets;
use seats::Seats;
use sessions::{Lengths, Sessions, Use};

/// An authenticated user.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) actor: Actor,
    pub(crate) token: u64,
    pub(crate) secret: TokenHash,
    /// When the secret that was used expires, by the system's clock.
    pub(crate) expires: Option<Time>,
    /// The session on the pages that the request belongs to.
    pub(crate) session: Option<u64>,
}

impl Caller {
    /// Whether the secret is no longer valid.
    pub(crate) fn is_expired(&self) -> bool {
        self.expires.is_some_and(|it| it <= now())
    }
}

/// Known tokens and sessions. The market's own list is asked about the others.
#[derive(Debug)]
pub(crate) struct Doors {
    known: RwLock<CallerCache>,
    pub(crate) tokens: Buckets<u64>,
    pub(crate) users: Buckets<String>,
    pub(crate) addresses: Buckets<IpAddr>,
    /// Requests of each address that failed for want of a valid token: these do not count for other
    /// callers.
    failures: Buckets<IpAddr>,
    /// Sign-ins with a provider that each address begins, and questions to the provider for it.
    pub(crate) sign_ins: Buckets<IpAddr>,
    pub(crate) asked: Buckets<IpAddr>,
    /// Submissions of each user, and their bytes.
    pub(crate) submissions: Buckets<String>,
    pub(crate) submitted_bytes: Buckets<String>,
    /// Limit on large request bodies at one time.
    pub(crate) bodies: Arc<Bodies>,
    /// Limit on open connections.
    pub(crate) places: Arc<Connections>,
    /// Streams of events.
    pub(crate) seats: Arc<Seats>,
    /// Who is signed in on the pages.
    pub(crate) sessions: Sessions,
    /// Which pages and cookies are ours.
    pub(crate) ours: Ours,
    /// Under which names the daemon may be addressed.
    pub(crate) hosts: Hosts,
    /// Wrong guesses at signing in.
    pub(crate) guesses: Guesses,
}

#[derive(Debug, Default)]
struct CallerCache {
    callers: Vec<(TokenHash, Caller)>,
    /// Counts those who had to go: what was looked up before that may be wrong.
    gone: u64,
}

impl Doors {
    pub(crate) fn new(
        limits: &Limits,
        (scheme, hosts): (Scheme, Hosts),
        sign_in: &SignIn,
    ) -> Doors {
        let lengths = Lengths { idle: sign_in.session_idle, longest: sign_in.session_longest };
        Doors {
            known: RwLock::default(),
            tokens: Buckets::new("requests_per_second", limits.per_token),
            users: Buckets::new("requests_per_user", limits.per_user),
            addresses: Buckets::new("requests_per_address", limits.per_address),
            failures: Buckets::new("failures_per_address", limits.per_address),
            sign_ins: Buckets::new("sign_ins_per_address", limits.sign_ins),
            asked: Buckets::new("sign_in_questions_per_address", limits.sign_in_questions),
            submissions: Buckets::new("submissions_per_second", limits.submissions),
            submitted_bytes: Buckets::new("submission_bytes_per_second", limits.submitted_bytes),
            bodies: Arc::new(Bodies::new(limits)),
            places: Arc::new(Connections::new(limits)),
            seats: Arc::new(Seats::new(limits)),
            sessions: Sessions::new(lengths),
            ours: Ours::new(scheme, sign_in.url.clone()),
            hosts,
            guesses: Guesses::default(),
        }
    }

    /// Counts a request without a token, for all addresses that its host has to itself.
    pub(crate) fn count(&self, address: IpAddr, cost: u32, now: Instant) -> Result<(), Usage> {
        let bucket = if cost > 1 { &self.failures } else { &self.addresses };
        bucket.take(network(address), cost.into(), now)
    }

    /// The caller, if known; and how many had to go so far.
    pub(crate) fn find(&self, hash: &TokenHash) -> (Option<Caller>, u64) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // All are compared, whichever it is.
        let same = |found: Option<Caller>, (other, caller): &(TokenHash, Caller)| {
            let hit = secret::same(hash, other);
            if hit { Some(caller.clone()) } else { found }
        };
        (known.callers.iter().fold(None, same), known.gone)
    }

    /// Remembers a caller, unless a token was revoked since it was looked up.
    pub(crate) fn admit(&self, hash: TokenHash, caller: Caller, gone: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.gone == gone && !known.callers.iter().any(|(other, _)| *other == hash) {
            // Secrets that were replaced, and tokens that expired, are not asked for again.
            known.callers.retain(|(_, it)| !it.is_expired());
            known.callers.push((hash, caller));
        }
    }

    /// This token is not accepted any more.
    pub(crate) fn expel(&self, token: u64) {
        self.keep(|caller| caller.token != token);
    }

    /// Forgets all tokens: the market is asked again.
    pub(crate) fn forget_all(&self) {
        self.keep(|_| false);
    }

    fn keep(&self, keep: impl Fn(&Caller) -> bool) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.callers.retain(|(_, caller)| keep(caller));
        known.gone += 1;
    }
}

/// The hash of the token that the request came with, or that its page was signed in with; and the
/// session then.
pub(crate) fn token_of(
    auth: &Doors,
    method: &Method,
    headers: &HeaderMap,
) -> Answer<(TokenHash, Option<u64>)> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok((hash_of(bearer(headers)?), None));
    }
    let cookie = auth.ours.cookie(sessions::COOKIE, headers);
    let cookie = cookie.ok_or_else(|| ErrorResponse::unauthorized("there is no token"))?;
    let found = auth.sessions.find(&hash_of(cookie), Use::of(method, headers));
    let (token, session) =
        found.ok_or_else(|| ErrorResponse::unauthorized("the session is over"))?;
    auth.ours.own_page(method, headers)?;
    Ok((token, Some(session)))
}

/// The secret of the request, if it has one that could be one.
fn bearer(headers: &HeaderMap) -> Answer<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = all.next() else {
        return Err(ErrorResponse::unauthorized("there is no token"));
    };
    let text = value.to_str().ok().filter(|_| all.next().is_none());
    let (scheme, secret) = text.and_then(|text| text.split_once(' ')).unwrap_or_default();
    let secret = secret.trim();
    match scheme.eq_ignore_ascii_case("bearer") && secret::looks_right(secret) {
        true => Ok(secret),
        false => Err(ErrorResponse::unauthorized("this is no token")),
    }
}

/// All are compared, whichever it is, with their secrets before the present ones.
pub(crate) fn look_up(state: &state::State, hash: &TokenHash) -> Option<Caller> {
    // The market's time is converted here, once: requests are many.
    let lead = state.lead();
    let clock = |moment: Time| Time(moment.0.saturating_sub(lead.0));
    let mut found = None;
    for (number, token) in state.tokens() {
        let present = secret::same(hash, &token.hash);
        let earlier = token.earlier.filter(|it| secret::same(hash, &it.hash));
        let until = earlier.map(|it| it.until.min(token.expires.unwrap_or(it.until)));
        let expires = if present { token.expires } else { until };
        if present || earlier.is_some() {
            let actor = Actor { user: token.user.clone(), role: token.role };
            let expires = expires.map(clock);
            let (token, secret) = (*number, *hash);
            found = Some(Caller { actor, token, secret, expires, session: None });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_host_share_what_it_may_guess() {
        let per_address = crate::api::Rate { per_second: 1, burst: 200 };
        let limits = Limits { per_address, ..Limits::default() };
        let hosts = Hosts::new([127, 0, 0, 1].into(), [].into_iter());
        let doors = Doors::new(&limits, (Scheme::Http, hosts), &SignIn::default());
        let now = Instant::now();
        let wrong =
            |address: &str| doors.count(address.parse().unwrap(), Limits::WRONG_TOKEN, now).is_ok();
        assert!(wrong("2001:db8::1") && wrong("2001:db8::2") && !wrong("2001:db8::3"));
        assert!(wrong("2001:db8:0:1::1") && wrong("192.0.2.1"));
    }
}
