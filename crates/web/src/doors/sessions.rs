//! Who is signed in on the pages: a cookie that stands for a token for a while.
//!
//! The cookie is not the token. Browsers send cookies to every port of a host, so another program
//! on this machine may see it; what it sees is of no use after sign-out, a day's rest or a restart
//! of the daemon.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method, header};
use tradewind_daemon::live::rights::TokenHash;

use super::secret::{hash_of, looks_right};
use crate::failure::{Answer, Failure};

/// The cookie's name.
pub(crate) const COOKIE: &str = "tradewind";
/// Nobody who is away for so long stays signed in.
pub(crate) const REST: Duration = Duration::from_secs(12 * 3_600);
/// As many at once.
const MOST: usize = 10_000;

/// All who are signed in: by the hash of the cookie, the hash of the token and the last use.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<TokenHash, (TokenHash, Instant)>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<TokenHash, (TokenHash, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody signs in with a token; `cookie` is the hash of a new secret.
    pub(crate) fn begin(&self, cookie: TokenHash, token: TokenHash) {
        let now = Instant::now();
        let mut all = self.all();
        all.retain(|_, (_, used)| now.duration_since(*used) < REST);
        while all.len() >= MOST {
            let oldest = all.iter().min_by_key(|(_, (_, used))| *used).map(|(cookie, _)| *cookie);
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        all.insert(cookie, (token, now));
    }

    /// Whose cookie it is: the hash of the token that was signed in with.
    pub(super) fn token(&self, cookie: &TokenHash) -> Option<TokenHash> {
        let now = Instant::now();
        let mut all = self.all();
        let (token, used) = all.get_mut(cookie)?;
        if now.duration_since(*used) >= REST {
            all.remove(cookie);
            return None;
        }
        *used = now;
        Some(*token)
    }

    /// Signs out.
    pub(crate) fn end(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            self.all().remove(&hash_of(cookie));
        }
    }
}

/// The request's cookie, if it has one that could be ours.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let pairs = all.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value).find(|it| looks_right(it))
}

/// Refuses what another site's page may have sent in the name of whoever is signed in.
///
/// # Errors
/// If the request changes something and does not come from our own pages.
pub(crate) fn own_page(method: &Method, headers: &HeaderMap) -> Answer<()> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let text = |name| headers.get(name).and_then(|it: &axum::http::HeaderValue| it.to_str().ok());
    let told = text(header::HeaderName::from_static("sec-fetch-site"));
    let origin = text(header::ORIGIN).and_then(|it| it.split_once("://")).map(|(_, host)| host);
    let host = text(header::HOST);
    let same = match (told, origin) {
        (Some(told), None) => told == "same-origin",
        (told, Some(origin)) => told.is_none_or(|it| it == "same-origin") && Some(origin) == host,
        (None, None) => false,
    };
    match same {
        true => Ok(()),
        false => Err(Failure::forbidden("this was not sent by one of our own pages")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (header::HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_our_own_pages_change_things() {
        let own = |pairs: &[(&'static str, &str)]| own_page(&Method::POST, &headers(pairs)).is_ok();
        let host = ("host", "127.0.0.1:8460");
        assert!(own(&[host, ("origin", "http://127.0.0.1:8460")]));
        assert!(own(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(!own(&[host]));
        assert!(!own(&[host, ("origin", "http://127.0.0.1:9999")]));
        assert!(!own(&[host, ("origin", "https://evil.example")]));
        assert!(!own(&[host, ("origin", "null")]));
        assert!(!own(&[host, ("sec-fetch-site", "same-site")]));
        assert!(!own(&[
            host,
            ("sec-fetch-site", "cross-site"),
            ("origin", "http://127.0.0.1:8460")
        ]));
        assert!(own_page(&Method::GET, &headers(&[])).is_ok());
    }

    #[test]
    fn a_session_lasts_until_it_is_ended() {
        let (secret, hash) = super::super::new_secret().unwrap();
        let sessions = Sessions::default();
        let token = hash_of("token");
        assert_eq!(sessions.token(&hash), None);
        sessions.begin(hash, token);
        let headers = headers(&[("cookie", &format!("a=b; {COOKIE}={secret}; c=d"))]);
        assert_eq!(cookie(&headers), Some(secret.as_str()));
        assert_eq!(sessions.token(&hash), Some(token));
        sessions.end(&headers);
        assert_eq!(sessions.token(&hash), None);
    }
}
