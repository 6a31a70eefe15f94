//! A market with several daemons: one owns it, the others send clients there.
//!
//! With several addresses, a request goes to the one that answered last, and to the others when it
//! does not answer or cannot do it now; again and again, for as long as an answer may take. What must
//! not be done twice (a request without a key that changes something) is repeated only where it is
//! certain that it was not heard.

use std::time::{Duration, Instant};

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
/// It cannot be done now.
const NOT_NOW: u16 = 503;

impl Market {
    /// Asks at the address that answered last, then at the others.
    pub(super) fn ask_any(&self, question: &ApiRequest) -> Result<ApiResponse, NoResponse> {
        let all = self.found.all();
        let begun = Instant::now();
        let mut heard = Heard::No;
        loop {
            let current = self.current.borrow().clone();
            let others = all.iter().filter(|url| **url != current);
            let mut last = None;
            for url in std::iter::once(&current).chain(others) {
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
        let answer = transport::ask(agent, &self.found.at(url), question)?;
        let place = answer.elsewhere.as_deref().filter(|_| answer.status == REDIRECT);
        // The token goes nowhere in the clear.
        let owner = place.and_then(|place| place.strip_suffix(&question.path));
        let Some(owner) = owner.filter(|owner| check(owner).is_ok()) else {
            return Ok((answer, url.to_owned()));
        };
        match transport::ask(agent, &self.found.at(owner), question) {
            Ok(there) => Ok((there, owner.to_owned())),
            // It is gone: the standby will know better soon.
            Err(silence) if silence.heard == Heard::No => Ok((answer, url.to_owned())),
            Err(silence) => Err(silence),
        }
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
