//! A market with several daemons: one owns it, the others send clients there.
//!
//! With several addresses, a request goes to the one that answered last, and to the others when it
//! does not answer or cannot do it now; again and again, for as long as an answer may take. What must
//! not be done twice (a request without a key that changes something) is repeated only where it is
//! certain that it was not heard. An address that took a request and did not answer is left alone for
//! a while if another one answers: it may be frozen, and each try costs as much as the first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::Method;

use super::place::check;
use super::transport::{self, ApiRequest, ApiResponse, Heard, NoResponse};
use super::{Market, PAUSE};

/// Where a standby sends who wants something changed.
const REDIRECT: u16 = 307;
/// There is no such thing, or not yet.
const UNKNOWN: u16 = 404;
/// So long a standby may be behind what its client has done at the owner.
const BEHIND: Duration = Duration::from_secs(2);
/// So long an address that did not answer is left alone.
const QUIET: Duration = Duration::from_secs(10);
/// It cannot be done now.
const NOT_NOW: u16 = 503;

/// When addresses last took a request and did not answer.
#[derive(Debug, Default)]
pub(super) struct Silences(HashMap<String, Instant>);

impl Silences {
    fn is_quiet(&self, url: &str) -> bool {
        self.0.get(url).is_some_and(|since| since.elapsed() < QUIET)
    }

    fn note<T>(&mut self, url: &str, answer: &Result<T, NoResponse>) {
        match answer {
            Err(silence) if silence.is_late => {
                self.0.insert(url.to_owned(), Instant::now());
            }
            _ => {
                self.0.remove(url);
            }
        }
    }
}

impl Market {
    /// Asks at the address that answered last, then at the others.
    pub(super) fn ask_any(&self, question: &ApiRequest) -> Result<ApiResponse, NoResponse> {
        let all = self.found.all();
        let begun = Instant::now();
        let mut heard = Heard::No;
        loop {
            let current = self.current.borrow().clone();
            let others = all.iter().filter(|url| **url != current);
            let in_turn = std::iter::once(&current).chain(others);
            let (quiet, asked): (Vec<_>, Vec<_>) =
                in_turn.partition(|url| self.silences.borrow().is_quiet(url));
            let mut last = None;
            for (url, is_quiet) in
                asked.iter().map(|it| (it, false)).chain(quiet.iter().map(|it| (it, true)))
            {
                if is_quiet && matches!(last, Some(Ok(_))) {
                    continue;
                }
                match self.ask_at(url, question) {
                    Ok((answer, _)) if is_early(&answer) && begun.elapsed() < BEHIND => {}
                    Ok((answer, url)) if !is_elsewhere(&answer) => {
                        *self.current.borrow_mut() = url;
                        return Ok(answer);
                    }
                    Err(silence) if silence.heard == Heard::Perhaps => {
                        heard = Heard::Perhaps;
                        if !may_be_repeated(question) {
                            return Err(silence);
                        }
                        last = Some(Err(silence));
                    }
                    Err(silence) => last = Some(Err(NoResponse { heard, ..silence })),
                    Ok((answer, _)) => last = Some(Ok(answer)),
                }
            }
            let is_late = begun.elapsed() + PAUSE > self.found.timeout;
            match last {
                Some(last) if all.len() == 1 || is_late => return last,
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The answer at this address, or where that sends us; and which it was.
    fn ask_at(
        &self,
        url: &str,
        question: &ApiRequest,
    ) -> Result<(ApiResponse, String), NoResponse> {
        // With a key, the same may be asked elsewhere.
        let agent = match self.found.others.is_empty() || question.key.is_none() {
            true => &self.agent,
            false => &self.quick,
        };
        let answer = self.ask_agent(agent, url, question)?;
        let place = answer.elsewhere.as_deref().filter(|_| answer.status == REDIRECT);
        // The token goes nowhere in the clear.
        let owner = place.and_then(|place| place.strip_suffix(&question.path));
        let Some(owner) = owner.filter(|owner| check(owner).is_ok()) else {
            return Ok((answer, url.to_owned()));
        };
        if self.silences.borrow().is_quiet(owner) {
            return Ok((answer, url.to_owned()));
        }
        match self.ask_agent(agent, owner, question) {
            Ok(there) => Ok((there, owner.to_owned())),
            // It is gone: the standby will know better soon.
            Err(silence) if silence.heard == Heard::No => Ok((answer, url.to_owned())),
            Err(silence) => Err(silence),
        }
    }

    fn ask_agent(
        &self,
        agent: &Agent,
        url: &str,
        question: &ApiRequest,
    ) -> Result<ApiResponse, NoResponse> {
        let answer = transport::ask(agent, &self.found.at(url), question);
        self.silences.borrow_mut().note(url, &answer);
        answer
    }
}

/// Whether another daemon may do what this one cannot.
fn is_elsewhere(answer: &ApiResponse) -> bool {
    [REDIRECT, NOT_NOW].contains(&answer.status)
}

/// Whether a standby lacks what its owner may have.
fn is_early(answer: &ApiResponse) -> bool {
    answer.status == UNKNOWN && answer.is_of_standby
}

/// Whether doing it twice is the same as doing it once.
fn may_be_repeated(question: &ApiRequest) -> bool {
    question.method != Method::POST || question.key.is_some()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::super::place::{Found, TokenSource};
    use super::*;

    /// A server that counts requests; `answer` says what the request with this number gets, if anything.
    fn server(
        answer: impl Fn(usize) -> Option<String> + Send + 'static,
    ) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            let mut unanswered = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                match answer(counted.fetch_add(1, Ordering::SeqCst)) {
                    Some(text) => stream.write_all(text.as_bytes()).unwrap(),
                    None => unanswered.push(stream),
                }
            }
        });
        (url, count)
    }

    #[test]
    fn a_frozen_owner_is_not_asked_again_while_a_standby_answers() {
        let (frozen, asked) = server(|_| None);
        let owner = frozen.clone();
        let (standby, _) = server(move |number| {
            let head = match number {
                0..6 => format!("HTTP/1.1 307 -\r\nLocation: {owner}/v1/jobs\r\n"),
                _ => "HTTP/1.1 200 OK\r\n".to_owned(),
            };
            Some(format!("{head}Connection: close\r\nContent-Length: 0\r\n\r\n"))
        });
        let found = Found {
            url: frozen,
            others: vec![standby.clone()],
            token: String::new(),
            ca: None,
            timeout: Duration::from_secs(600),
            here: false,
            source: TokenSource::Variable,
        };
        let quick = Found { timeout: Duration::from_millis(200), ..found.clone() };
        let market = Market {
            agent: transport::agent(&found).unwrap(),
            quick: transport::agent(&quick).unwrap(),
            current: found.url.clone().into(),
            found,
            silences: std::cell::RefCell::default(),
        };
        let submission = ApiRequest {
            method: Method::POST,
            path: "/v1/jobs".to_owned(),
            body: Some(b"{}".to_vec()),
            key: Some("1".to_owned()),
        };
        let answer = market.ask_any(&submission).unwrap();
        assert_eq!((answer.status, &*market.current.borrow()), (200, &standby));
        assert_eq!(asked.load(Ordering::SeqCst), 1, "by its address, and by the redirects");
    }
}
