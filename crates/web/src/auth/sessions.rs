//! Who is signed in on the pages: a cookie that stands for a token for a while.
//!
//! The cookie is not the token. Browsers send cookies to every port of a host, so another program
//! on this machine may see it; what it sees is useless after sign-out, after the idle time, at the
//! session's absolute end, and after a restart of the daemon.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method, header};
use tradewind_daemon::live::rights::{Actor, Role, TokenHash};
use tradewind_model::Time;

use crate::clock::now;
use crate::oidc::Hint;

/// The cookie's name, before its prefix.
pub(crate) const COOKIE: &str = "tradewind";
/// Sessions of all users at once: the one that was used longest ago ends for a new one.
const MAX: usize = 10_000;
/// Sessions of one user at once, likewise.
const MOST_OF_A_USER: usize = 50;
/// Bytes kept of what a browser says that it is.
const MAX_AGENT: usize = 160;

/// What a request does to the idle time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// A person did something: the idle time begins again.
    Deed,
    /// A page that is open asks by itself: that is no sign of a person.
    Poll,
}

impl Use {
    /// Of a request. Browsers say whether a person opened a page or a script asked for data;
    /// programs that do not say are taken for people, and end with the session at the latest.
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Use {
        let mode = headers.get("sec-fetch-mode").and_then(|it| it.to_str().ok());
        let is_script = mode.is_some_and(|it| it != "navigate") || headers.contains_key("x-part");
        match *method == Method::GET && is_script {
            true => Use::Poll,
            false => Use::Deed,
        }
    }
}

/// A user who signs in.
#[derive(Debug, Clone)]
pub(crate) struct Newcomer {
    /// Of the token that was signed in with.
    pub(crate) hash: TokenHash,
    /// Id of the token.
    pub(crate) token: u64,
    /// Name of the user.
    pub(crate) user: String,
    /// What the browser says that it is.
    pub(crate) agent: String,
    /// Whether the token was issued for this session alone, and ends with it.
    pub(crate) is_own_token: bool,
    /// If a provider answered for the user: what it needs to end its own session.
    pub(crate) hint: Option<Hint>,
}

impl Newcomer {
    /// The user, with no rights but on what is theirs.
    pub(crate) fn actor(&self) -> Actor {
        Actor { user: self.user.clone(), role: Role::User }
    }
}

/// A browser that is signed in.
#[derive(Debug, Clone)]
pub(crate) struct BrowserSession {
    /// A number that was never used since the daemon started.
    pub(crate) id: u64,
    pub(crate) who: Newcomer,
    /// When it began, by the system's clock.
    pub(crate) since: Time,
    began: Instant,
    used: Instant,
}

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// Without a deed.
    pub(crate) idle: Duration,
    /// In all, whatever is done.
    pub(crate) longest: Duration,
}

/// All browsers that are signed in, by the hash of their cookie.
#[derive(Debug)]
pub(crate) struct Sessions {
    lengths: Lengths,
    all: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    open: BTreeMap<TokenHash, BrowserSession>,
    last: u64,
}

impl Sessions {
    pub(crate) fn new(lengths: Lengths) -> Sessions {
        Sessions { lengths, all: Mutex::default() }
    }

    /// The longest that a session may last.
    pub(crate) fn longest(&self) -> Duration {
        self.lengths.longest
    }

    fn all(&self) -> MutexGuard<'_, Book> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lasts(&self, session: &BrowserSession, at: Instant) -> bool {
        at.saturating_duration_since(session.used) < self.lengths.idle
            && at.saturating_duration_since(session.began) < self.lengths.longest
    }

    /// A user signs in; `cookie` is the hash of a new secret.
    pub(crate) fn begin(&self, cookie: TokenHash, who: Newcomer) {
        self.begin_at(cookie, who, Instant::now());
    }

    fn begin_at(&self, cookie: TokenHash, mut who: Newcomer, at: Instant) {
        let mut book = self.all();
        book.open.retain(|_, session| self.lasts(session, at));
        book.make_room(|it| it.who.user == who.user, MOST_OF_A_USER);
        book.make_room(|_| true, MAX);
        book.last += 1;
        let end = who.agent.char_indices().map(|(i, c)| i + c.len_utf8());
        let end = end.take_while(|end| *end <= MAX_AGENT).last().unwrap_or(0);
        who.agent.truncate(end);
        let session = BrowserSession { id: book.last, who, since: now(), began: at, used: at };
        book.open.insert(cookie, session);
    }

    /// Whose cookie it is: the hash of the token that was signed in with, and the session.
    pub(super) fn find(&self, cookie: &TokenHash, how: Use) -> Option<(TokenHash, u64)> {
        self.find_at(cookie, how, Instant::now())
    }

    fn find_at(&self, cookie: &TokenHash, how: Use, at: Instant) -> Option<(TokenHash, u64)> {
        let mut book = self.all();
        let session = book.open.get_mut(cookie)?;
        if !self.lasts(session, at) {
            book.open.remove(cookie);
            return None;
        }
        if how == Use::Deed {
            session.used = at;
        }
        Some((session.who.hash, session.id))
    }

    /// Whether the session still lasts: what it has opened ends with it.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        let at = Instant::now();
        self.all().open.values().any(|it| it.id == id && self.lasts(it, at))
    }

    /// The open sessions that `mine` takes, the oldest first.
    pub(crate) fn list(&self, mine: impl Fn(&BrowserSession) -> bool) -> Vec<BrowserSession> {
        let at = Instant::now();
        let book = self.all();
        let open = book.open.values().filter(|it| self.lasts(it, at) && mine(it));
        let mut list: Vec<BrowserSession> = open.cloned().collect();
        list.sort_by_key(|it| it.id);
        list
    }

    /// Ends what `mine` takes, and returns it.
    pub(crate) fn end(
        &self,
        mine: impl Fn(&TokenHash, &BrowserSession) -> bool,
    ) -> Vec<BrowserSession> {
        let mut book = self.all();
        let ended: Vec<TokenHash> =
            book.open.iter().filter(|(cookie, it)| mine(cookie, it)).map(|(it, _)| *it).collect();
        ended.iter().filter_map(|cookie| book.open.remove(cookie)).collect()
    }
}

impl Book {
    /// Ends those that were used longest ago, until there are fewer than `max` of a kind.
    fn make_room(&mut self, kind: impl Fn(&BrowserSession) -> bool, max: usize) {
        while self.open.values().filter(|it| kind(it)).count() >= max {
            let oldest = self.open.iter().filter(|(_, it)| kind(it));
            let oldest = oldest.min_by_key(|(_, it)| it.used).map(|(cookie, _)| *cookie);
            let Some(oldest) = oldest else { return };
            self.open.remove(&oldest);
        }
    }
}

/// What the browser says that it is.
pub(crate) fn agent_of(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT).and_then(|it| it.to_str().ok());
    agent.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::hash_of;
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn sessions() -> Sessions {
        Sessions::new(Lengths { idle: 2 * HOUR, longest: 12 * HOUR })
    }

    fn who(user: &str) -> Newcomer {
        let (user, agent) = (user.to_owned(), "x".repeat(1_000));
        Newcomer { hash: hash_of("token"), token: 1, user, agent, is_own_token: false, hint: None }
    }

    #[test]
    fn a_session_lasts_until_it_is_ended() {
        let (sessions, cookie) = (sessions(), hash_of("cookie"));
        assert_eq!(sessions.find(&cookie, Use::Deed), None);
        sessions.begin(cookie, who("ana"));
        assert_eq!(sessions.find(&cookie, Use::Deed), Some((hash_of("token"), 1)));
        assert_eq!(sessions.list(|_| true)[0].who.agent.len(), MAX_AGENT);
        assert_eq!(sessions.end(|it, _| *it == cookie).len(), 1);
        assert!(sessions.find(&cookie, Use::Deed).is_none() && !sessions.is_open(1));
    }

    #[test]
    fn it_ends_absolutely_whatever_is_done() {
        let (sessions, cookie, begin) = (sessions(), hash_of("cookie"), Instant::now());
        sessions.begin_at(cookie, who("ana"), begin);
        for hour in 1..12 {
            assert!(sessions.find_at(&cookie, Use::Deed, begin + hour * HOUR).is_some(), "{hour}");
        }
        assert_eq!(sessions.find_at(&cookie, Use::Deed, begin + 12 * HOUR), None);
    }

    #[test]
    fn a_page_that_polls_keeps_no_user_signed_in() {
        let (sessions, cookie, begin) = (sessions(), hash_of("cookie"), Instant::now());
        sessions.begin_at(cookie, who("ana"), begin);
        let half = HOUR / 2;
        for half_hour in 1..4 {
            assert!(sessions.find_at(&cookie, Use::Poll, begin + half_hour * half).is_some());
        }
        assert_eq!(sessions.find_at(&cookie, Use::Poll, begin + 2 * HOUR), None);
    }

    #[test]
    fn one_user_ends_no_other_users_sessions() {
        let sessions = sessions();
        sessions.begin(hash_of("bob"), who("bob"));
        for number in 0..2 * MOST_OF_A_USER {
            sessions.begin(hash_of(&number.to_string()), who("ana"));
        }
        assert_eq!(sessions.list(|it| it.who.user == "ana").len(), MOST_OF_A_USER);
        assert!(sessions.find(&hash_of("bob"), Use::Deed).is_some());
    }

    #[test]
    fn browsers_say_who_asks() {
        let of = |method: Method, pairs: &[(&'static str, &str)]| {
            let pair = |(name, value): &(&'static str, &str)| {
                (header::HeaderName::from_static(name), value.parse().unwrap())
            };
            Use::of(&method, &pairs.iter().map(pair).collect())
        };
        assert_eq!(of(Method::GET, &[("sec-fetch-mode", "navigate")]), Use::Deed);
        assert_eq!(of(Method::GET, &[("sec-fetch-mode", "cors")]), Use::Poll);
        assert_eq!(of(Method::GET, &[("x-part", "live")]), Use::Poll);
        assert_eq!(of(Method::POST, &[("sec-fetch-mode", "cors")]), Use::Deed);
        assert_eq!(of(Method::GET, &[]), Use::Deed);
    }
}
