//! The market as commands see it: questions over HTTP, answers as documents.

pub(crate) mod expiry;
mod line;
pub(crate) mod logins;
pub(crate) mod place;
mod several;
mod transport;
pub(crate) mod words;

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tradewind_web::documents::{self, Problem};
use ureq::Agent;
use ureq::http::Method;

use crate::exit::{Exit, Failure};
use crate::{exit, output};
pub(crate) use line::MarketClient;
use place::Found;
pub(crate) use place::MarketArgs;
pub(crate) use place::TokenSource;
use several::Silences;
pub(crate) use transport::ApiResponse;
use transport::{ApiRequest, Heard, NoResponse};

/// A daemon that is frozen takes requests and does not answer: so long one of several may take.
const SOON: Duration = Duration::from_secs(5);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(300);

/// A market that answers.
pub(crate) struct Market {
    found: Found,
    agent: Agent,
    /// For requests that another daemon gets if one does not answer soon.
    quick: Agent,
    /// The address that answered last.
    current: RefCell<String>,
    silences: RefCell<Silences>,
}

/// A document as the market sent it.
#[derive(Debug, Clone)]
pub(crate) struct Sent(pub(crate) Value);

impl Sent {
    /// As data.
    ///
    /// # Errors
    /// If it is something else: the market is of another release.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_value(self.0.clone()).map_err(|wrong| strange(&wrong.to_string()))
    }

    /// Prints all of it as JSON.
    pub(crate) fn print(&self) -> Result<(), Failure> {
        output::json(&self.0)
    }
}

impl Market {
    /// The market of `place`; not asked yet.
    ///
    /// # Errors
    /// If there is none, or no token for it.
    pub(crate) fn open(place: &MarketArgs) -> Result<Market, Failure> {
        let found = place.find()?;
        let current = RefCell::new(found.url.clone());
        let quick = Found { timeout: found.timeout.min(SOON), ..found.clone() };
        let (agent, quick) = (transport::agent(&found)?, transport::agent(&quick)?);
        Ok(Market { agent, quick, found, current, silences: RefCell::default() })
    }

    /// Whether it was found in a folder of this machine: paths mean the same to both.
    pub(crate) fn is_here(&self) -> bool {
        self.found.here
    }

    /// What is at `path`.
    pub(crate) fn get(&self, path: &str) -> Result<Sent, Failure> {
        self.ask(Method::GET, path, None)
    }

    /// The bytes at `path`, and their place in a file, if it is a part of one: where they begin, and
    /// how long the file was. Where the market is busy, it is asked again, for as long as an answer may
    /// take.
    pub(crate) fn part(&self, path: &str) -> Result<ApiResponse, Failure> {
        let question = question(Method::GET, path, None);
        let begun = Instant::now();
        loop {
            let answer = self.put_question(&question).map_err(|silence| silence.failure)?;
            let left = self.found.timeout.saturating_sub(begun.elapsed());
            match (answer.status, wait_of(&answer, left)) {
                (200..=299, _) => return Ok(answer),
                (429, Some(wait)) => std::thread::sleep(wait),
                _ => return Err(refusal(&answer)),
            }
        }
    }

    /// Asks with a document.
    pub(crate) fn post(&self, path: &str, body: &impl Serialize) -> Result<Sent, Failure> {
        self.ask(Method::POST, path, Some(bytes_of(body)?))
    }

    /// Asks without one.
    pub(crate) fn post_nothing(&self, path: &str) -> Result<Sent, Failure> {
        self.ask(Method::POST, path, None)
    }

    /// Sets what is at `path`.
    pub(crate) fn put(&self, path: &str, body: &impl Serialize) -> Result<Sent, Failure> {
        self.ask(Method::PUT, path, Some(bytes_of(body)?))
    }

    /// Ends what is at `path`.
    pub(crate) fn delete(&self, path: &str) -> Result<Sent, Failure> {
        self.ask(Method::DELETE, path, None)
    }

    fn ask(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Result<Sent, Failure> {
        let answer = self.put_question(&question(method, path, body));
        sent(&answer.map_err(|silence| silence.failure)?)
    }

    /// Sends a request, and reads when the token expires.
    fn put_question(&self, question: &ApiRequest) -> Result<ApiResponse, NoResponse> {
        let answer = self.ask_any(question)?;
        if let Some(expires) = answer.expires {
            expiry::heard(expires, self.found.early());
        }
        Ok(answer)
    }

    /// Where the market is, without a slash at its end.
    pub(crate) fn url(&self) -> &str {
        &self.found.url
    }

    /// The address of the daemon that answered last.
    pub(crate) fn here(&self) -> String {
        self.current.borrow().clone()
    }

    /// Where the token is from.
    pub(crate) fn source(&self) -> &TokenSource {
        &self.found.source
    }

    /// The file that the token was read from, if it was.
    pub(crate) fn token_file(&self) -> Option<&Path> {
        match &self.found.source {
            TokenSource::File(path) => Some(path),
            TokenSource::Variable | TokenSource::Login => None,
        }
    }

    /// All pages at `path`: their lists of `key` joined, in one document.
    pub(crate) fn pages(&self, path: &str, key: &str) -> Result<Sent, Failure> {
        let mut all: Option<Value> = None;
        let mut after = None;
        loop {
            let sign = if path.contains('?') { '&' } else { '?' };
            let more = after.map(|it: String| format!("&after={it}")).unwrap_or_default();
            let Sent(mut page) = self.get(&format!("{path}{sign}limit=1000{more}"))?;
            let next = page.as_object_mut().and_then(|it| it.remove("next"));
            match &mut all {
                None => all = Some(page),
                Some(all) => {
                    let items = page.get_mut(key).and_then(Value::as_array_mut);
                    let items = items.map(std::mem::take).unwrap_or_default();
                    if let Some(list) = all.get_mut(key).and_then(Value::as_array_mut) {
                        list.extend(items);
                    }
                }
            }
            after = match next {
                Some(Value::String(name)) => Some(encode(&name)),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => return Ok(Sent(all.unwrap_or_default())),
            };
        }
    }

    /// Hands a job in, once, whatever happens on the way: where there was no answer, it is asked
    /// again with the same key. A refusal that says when to come again is waited for, if that is
    /// within the time that an answer may take.
    pub(crate) fn submit(&self, body: &Value, key: &str) -> Result<Sent, Failure> {
        let key = Some(key.to_owned());
        let question =
            ApiRequest { key, ..question(Method::POST, "/v1/jobs", Some(bytes_of(body)?)) };
        let begun = Instant::now();
        let mut heard = Heard::No;
        loop {
            let left = self.found.timeout.checked_sub(begun.elapsed());
            let mut pause = PAUSE;
            match self.put_question(&question) {
                Ok(answer) => match left.and_then(|left| wait_of(&answer, left)) {
                    Some(wait) => pause = wait,
                    None => return sent(&answer),
                },
                Err(silence) => {
                    if silence.heard == Heard::Perhaps {
                        heard = Heard::Perhaps;
                    }
                    if heard == Heard::No {
                        return Err(silence.failure);
                    }
                    if left.is_none() {
                        return Err(unsure(silence.failure, &question));
                    }
                }
            }
            std::thread::sleep(pause);
        }
    }

    /// The job as soon as it is over, or as it is at the moment `until`; `seen` is shown it
    /// whenever it was looked at before, and may end the wait. Once it has answered, the market may be away for as long
    /// as an answer may take: where it is then, `place` says.
    pub(crate) fn wait(
        place: &MarketArgs,
        job: u64,
        until: Option<Instant>,
        mut seen: impl FnMut(&Sent) -> ControlFlow<()>,
    ) -> Result<Sent, Failure> {
        let is_over = |job: &Sent| words::is_over(job.0.get("state").and_then(Value::as_str));
        let mut last = Market::open(place)?.get(&format!("/v1/jobs/{job}"))?;
        let mut patience = Patience::new(place);
        patience.heard();
        // What holds a new job is seen soon after; later on there is less to see.
        let mut seconds = 1;
        let left =
            || until.map_or(Duration::MAX, |it| it.saturating_duration_since(Instant::now()));
        while !is_over(&last) && !left().is_zero() {
            if seen(&last).is_break() {
                break;
            }
            if left().as_secs() == 0 {
                std::thread::sleep(left());
            }
            let seconds_left = seconds.min(left().as_secs());
            match Market::open(place).and_then(|market| market.look(job, seconds_left)) {
                Err(failure) if left().is_zero() => return Err(failure),
                Ok(answer) => {
                    patience.heard();
                    seconds = (seconds * 2).min(60);
                    last = sent(&answer)?;
                }
                Err(failure) => patience.pause(failure)?,
            }
        }
        Ok(last)
    }

    /// What is said of the job when it is over or so many seconds have passed, or some fewer; an
    /// error may pass.
    fn look(&self, job: u64, seconds: u64) -> Result<ApiResponse, Failure> {
        let seconds = seconds.min((self.found.timeout.as_secs() / 2).clamp(1, 30));
        let path = format!("/v1/jobs/{job}/wait?seconds={seconds}");
        let question = question(Method::GET, &path, None);
        match self.put_question(&question) {
            Ok(answer) if answer.status == 503 => Err(refusal(&answer)),
            Ok(answer) => Ok(answer),
            Err(silence) => Err(silence.failure),
        }
    }

    /// Follows the events: the data of each, until the market breaks off, or nothing
    /// comes for as long as `quiet` says.
    pub(crate) fn events(
        &self,
        path: &str,
        quiet: Option<Duration>,
        mut each: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let agent = transport::stream(&self.found, quiet)?;
        let question = question(Method::GET, path, None);
        let mut sent = transport::send(&agent, &self.found, &question);
        for url in &self.found.others {
            if sent.is_err() {
                sent = transport::send(&agent, &self.found.at(url), &question);
            }
        }
        let mut response = sent.map_err(|silence| silence.failure)?;
        let status = response.status().as_u16();
        if status != 200 {
            let body = response.body_mut().read_to_vec().unwrap_or_default();
            let answer = ApiResponse { status, body, ..ApiResponse::default() };
            return Err(refusal(&answer));
        }
        let mut lines = BufReader::new(response.into_body().into_reader()).lines();
        while let Some(Ok(line)) = lines.next() {
            if let Some(data) = line.strip_prefix("data:") {
                each(data.trim_start())?;
            }
        }
        Ok(())
    }
}

/// With a market that has answered, and may be started again meanwhile.
#[derive(Debug)]
pub(crate) struct Patience {
    answered: bool,
    /// Since when there is no answer.
    since: Option<Instant>,
    max: Duration,
}

impl Patience {
    pub(crate) fn new(place: &MarketArgs) -> Patience {
        Patience { answered: false, since: None, max: place.timeout() }
    }

    /// Notes that the server has answered.
    pub(crate) fn heard(&mut self) {
        self.answered = true;
        self.since = None;
    }

    /// Waits a moment after a failure that may pass.
    ///
    /// # Errors
    /// The failure, if it has lasted too long, or there never was an answer.
    pub(crate) fn pause(&mut self, failure: Failure) -> Result<(), Failure> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if !self.answered || since.elapsed() > self.max {
            return Err(failure);
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }
}

fn question(method: Method, path: &str, body: Option<Vec<u8>>) -> ApiRequest {
    ApiRequest { method, path: path.to_owned(), body, key: None }
}

fn bytes_of(body: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(body).map_err(|wrong| strange(&wrong.to_string()))
}

/// The document of a good answer.
fn sent(answer: &ApiResponse) -> Result<Sent, Failure> {
    match answer.status {
        204 => Ok(Sent(Value::Null)),
        200..=299 => serde_json::from_slice(&answer.body)
            .map(Sent)
            .map_err(|wrong| strange(&wrong.to_string())),
        _ => Err(refusal(answer)),
    }
}

/// How long to wait before the same is asked again, if the answer says so and there is time left.
fn wait_of(answer: &ApiResponse, left: Duration) -> Option<Duration> {
    if ![307, 429, 503].contains(&answer.status) {
        return None;
    }
    let told = serde_json::from_slice::<documents::Failure>(&answer.body).ok();
    let wait = told.and_then(|it| it.error.retry_after).map_or(PAUSE, Duration::from_secs);
    Some(wait).filter(|wait| *wait <= left)
}

/// A bad answer, for people.
fn refusal(answer: &ApiResponse) -> Failure {
    let Ok(documents::Failure { error }) = serde_json::from_slice(&answer.body) else {
        return strange(&format!("status {}", answer.status));
    };
    let exit = match error.kind.as_str() {
        "malformed" | "invalid" | "too_large" => Exit::Data,
        "unauthorized" | "method" | "media_type" => Exit::Usage,
        "internal" => Exit::Bug,
        _ => Exit::Negative,
    };
    let mut problems = vec![problem(&error)];
    problems.extend(error.also.iter().map(problem));
    Failure { exit, problems }
}

fn problem(it: &Problem) -> exit::Problem {
    let message = match &it.field {
        Some(field) => format!("{field}: {}", it.message),
        None => it.message.clone(),
    };
    let hint = match it.kind.as_str() {
        "unauthorized" => {
            "give another token: `--token-file FILE` or `TRADEWIND_TOKEN`; an administrator \
             issues one with `tradewind token new USER`"
        }
        _ => it.hint.as_str(),
    };
    exit::Problem { message, hint: Some(hint.to_owned()).filter(|hint| !hint.is_empty()) }
}

/// Something answers that is no market of this release.
fn strange(what: &str) -> Failure {
    let hint = "is this the URL of a market, and of this release?";
    Failure::usage(format!("the answer is not understood: {what}")).hint(hint)
}

/// It is unknown whether the job was accepted.
fn unsure(mut failure: Failure, question: &ApiRequest) -> Failure {
    let key = question.key.as_deref().unwrap_or_default();
    let hint = format!(
        "it is unknown whether the job was accepted: submit it again with `--key {key}`, and it is \
         not taken on twice"
    );
    failure.exit = Exit::Negative;
    failure.hint(hint)
}

/// A key that no other submission uses.
pub(crate) fn new_key() -> String {
    let half = || RandomState::new().hash_one((SystemTime::now(), std::process::id()));
    format!("{:016x}{:016x}", half(), half())
}

/// A text as a part of a URL.
pub(crate) fn encode(text: &str) -> String {
    const ESCAPED: AsciiSet =
        NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');
    utf8_percent_encode(text, &ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> ApiResponse {
        ApiResponse { status, body: body.as_bytes().to_vec(), ..ApiResponse::default() }
    }

    #[test]
    fn refusals_have_exit_codes_by_meaning() {
        for (kind, expected) in [
            ("invalid", Exit::Data),
            ("unknown", Exit::Negative),
            ("unauthorized", Exit::Usage),
            ("internal", Exit::Bug),
        ] {
            let body = format!(r#"{{"error":{{"kind":"{kind}","message":"m","hint":"h"}}}}"#);
            assert_eq!(sent(&answer(422, &body)).unwrap_err().exit, expected, "{kind}");
        }
        let odd = sent(&answer(502, "<html>")).unwrap_err();
        assert!(odd.problems[0].message.contains("status 502"));
    }

    #[test]
    fn a_submission_waits_as_asked_and_not_longer_than_it_may() {
        let left = Duration::from_secs(30);
        let told = |wait: &str| {
            let body = format!(r#"{{"error":{{"kind":"limit","message":"m"{wait}}}}}"#);
            wait_of(&answer(429, &body), left)
        };
        assert_eq!(told(r#","limit":"x","retry_after":2"#), Some(Duration::from_secs(2)));
        assert_eq!(told(r#","retry_after":60"#), None);
        assert_eq!(told(""), Some(PAUSE));
        assert_eq!(wait_of(&answer(413, ""), left), None);
    }

    #[test]
    fn all_problems_are_reported() {
        let body = r#"{"error":{"kind":"invalid","message":"a","field":"x","also":[
            {"kind":"invalid","message":"b","hint":"do c"}]}}"#;
        let told = sent(&answer(422, body)).unwrap_err().problems;
        assert_eq!(told[0].message, "x: a");
        assert_eq!((told[1].message.as_str(), told[1].hint.as_deref()), ("b", Some("do c")));
    }

    #[test]
    fn names_are_safe_in_urls() {
        assert_eq!(encode("user:ana/x?é"), "user:ana%2Fx%3F%C3%A9");
        assert_ne!(new_key(), new_key());
    }
}
