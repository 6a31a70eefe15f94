//! Requests over HTTP, and what may go wrong below it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{Method, Request, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::expiry::HEADER;
use super::place::{Found, is_loopback};
use crate::exit::Failure;

/// How long it may take to reach the market.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest answer: bytes.
pub(super) const LONGEST: u64 = 256 << 20;

/// Whether the server may have got the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// There was no server.
    No,
    /// Perhaps: there was no answer.
    Perhaps,
}

/// The daemon did not answer.
#[derive(Debug, Clone)]
pub(super) struct NoResponse {
    pub(super) heard: Heard,
    /// The request was taken, and the time for an answer is over.
    pub(super) is_late: bool,
    pub(super) failure: Failure,
}

/// An answer, good or not.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// When the token expires, if the market says so.
    pub(super) expires: Option<i64>,
    /// Where to ask instead.
    pub(super) elsewhere: Option<String>,
    /// It is a standby's, and may be a moment old.
    pub(super) is_of_standby: bool,
    /// Of an output: where the bytes begin in the file, and how long that was.
    pub(crate) place: Option<(u64, u64)>,
}

/// A request of the client.
#[derive(Debug, Clone)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    /// From the first slash.
    pub(super) path: String,
    /// Body in JSON.
    pub(super) body: Option<Vec<u8>>,
    /// Key that makes a repeated submission idempotent.
    pub(super) key: Option<String>,
}

/// A way to the market that answers whole.
pub(super) fn agent(found: &Found) -> Result<Agent, Failure> {
    let timeout = Some(found.timeout);
    Ok(settings(found)?.timeout_global(timeout).build().into())
}

/// A way to the market for answers that never end, but where nothing comes for so long.
pub(super) fn stream(found: &Found, quiet: Option<Duration>) -> Result<Agent, Failure> {
    let timeout = Some(found.timeout);
    // The market says something at least every quarter of a minute.
    let silence = Some(quiet.unwrap_or(Duration::from_secs(60)));
    Ok(settings(found)?.timeout_recv_response(timeout).timeout_per_read(silence).build().into())
}

fn settings(
    found: &Found,
) -> Result<ureq::config::ConfigBuilder<ureq::typestate::AgentScope>, Failure> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(CONNECT.min(found.timeout)))
        .user_agent(concat!("tradewind/", env!("CARGO_PKG_VERSION")));
    let rest = found.url.split_once("://").map_or("", |(_, rest)| rest);
    if is_loopback(rest) {
        config = config.proxy(None);
    }
    if let Some((path, pem)) = &found.ca {
        let wrong = |why: &str| {
            let message = format!("`{}`: {why}", path.display());
            Failure::usage(message).hint("`--ca` takes certificates in PEM")
        };
        let mut certificates = Vec::new();
        for item in parse_pem(pem) {
            if let PemItem::Certificate(it) = item.map_err(|it| wrong(&it.to_string()))? {
                certificates.push(it);
            }
        }
        if certificates.is_empty() {
            return Err(wrong("there is no certificate in it"));
        }
        let roots = RootCerts::Specific(Arc::new(certificates));
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
    }
    Ok(config)
}

/// Asks, and reads the whole answer.
pub(super) fn ask(
    agent: &Agent,
    found: &Found,
    question: &ApiRequest,
) -> Result<ApiResponse, NoResponse> {
    ask_within(agent, found, question, LONGEST)
}

/// The same, of an answer of so many bytes at most. What is longer is not read to its end.
pub(super) fn ask_within(
    agent: &Agent,
    found: &Found,
    question: &ApiRequest,
    longest: u64,
) -> Result<ApiResponse, NoResponse> {
    let mut response = send(agent, found, question)?;
    let status = response.status().as_u16();
    let text = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
    let number = |name: &str| text(name).and_then(|it| it.parse::<u64>().ok());
    let expires = text(HEADER).and_then(|it| it.parse().ok());
    let place = number("Tradewind-Output-From").zip(number("Tradewind-Output-Size"));
    let elsewhere = text("Location").map(str::to_owned);
    let is_of_standby = response.headers().contains_key("Tradewind-Standby-Rows-Behind");
    let body = response.body_mut().with_config().limit(longest + 1).read_to_vec();
    let body = body.map_err(|wrong| silence(found, &wrong))?;
    Ok(ApiResponse { status, body, expires, elsewhere, is_of_standby, place })
}

/// Asks, and reads nothing but the head of the answer.
pub(super) fn send(
    agent: &Agent,
    found: &Found,
    question: &ApiRequest,
) -> Result<Response<Body>, NoResponse> {
    let mut request = Request::builder()
        .method(&question.method)
        .uri(format!("{}{}", found.url, question.path))
        .header("Authorization", format!("Bearer {}", found.token));
    if let Some(key) = &question.key {
        request = request.header("Idempotency-Key", key);
    }
    let sent = match &question.body {
        Some(body) => {
            let request = request.header("Content-Type", "application/json").body(body.as_slice());
            request.map_err(ureq::Error::from).and_then(|it| agent.run(it))
        }
        None => request.body(()).map_err(ureq::Error::from).and_then(|it| agent.run(it)),
    };
    sent.map_err(|wrong| silence(found, &wrong))
}

/// What a missing answer means.
fn silence(found: &Found, wrong: &ureq::Error) -> NoResponse {
    let url = &found.url;
    let nobody = |why: String| {
        let hint = match found.here {
            true => "it was stopped, or died: `tradewind up` starts it again, and nothing is lost",
            false => "is it running, and is this its URL?",
        };
        let failure = Failure::usage(format!("no market answers at {url}: {why}")).hint(hint);
        NoResponse { heard: Heard::No, is_late: false, failure }
    };
    match wrong {
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
            nobody("connection refused".to_owned())
        }
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            nobody("it took too long to reach it".to_owned())
        }
        ureq::Error::HostNotFound => nobody("there is no such host".to_owned()),
        ureq::Error::ConnectionFailed => nobody("the connection failed".to_owned()),
        ureq::Error::BadUri(why) => nobody(format!("not a URL: {why}")),
        ureq::Error::Rustls(why) => no_trust(url, &why.to_string()),
        ureq::Error::Tls(why) => no_trust(url, why),
        ureq::Error::Io(error) if error.to_string().contains("certificate") => {
            no_trust(url, &error.to_string())
        }
        other => {
            let (seconds, hint) = (found.timeout.as_secs(), "`--timeout SECONDS` waits longer");
            let message = match other {
                ureq::Error::Timeout(_) => format!("{url} did not answer within {seconds} s"),
                ureq::Error::BodyExceedsLimit(_) => {
                    format!("{url} gave an answer that is too long")
                }
                other => format!("{url} broke off: {other}"),
            };
            let failure = Failure::negative(message).hint(hint);
            let is_late = matches!(other, ureq::Error::Timeout(_));
            NoResponse { heard: Heard::Perhaps, is_late, failure }
        }
    }
}

fn no_trust(url: &str, why: &str) -> NoResponse {
    let failure = Failure::usage(format!("no trusted connection to {url}: {why}"));
    let failure = failure.hint(mistrusted(why));
    NoResponse { heard: Heard::No, is_late: false, failure }
}

/// What to do about a certificate, by what rustls says of it.
fn mistrusted(why: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    match () {
        () if says(&["NotValidForName", "not valid for name"]) => {
            "the certificate is for other names: write `--url https://NAME:PORT` with one of them, \
             or have one made for this name"
        }
        () if says(&["Expired", "expired"]) => {
            "the market needs a new certificate; or is the clock of this machine wrong?"
        }
        () if says(&["NotValidYet", "not valid yet"]) => {
            "the certificate begins later: is the clock of this machine wrong?"
        }
        () if says(&["CaUsedAsEndEntity"]) => {
            "the market shows its authority's certificate: it needs one of its own, signed by that"
        }
        () if says(&["InvalidContentType", "corrupt message"]) => {
            "what answers speaks no TLS: is this `http://` on this machine?"
        }
        () => "if its certificate is of an authority of your own, give `--ca FILE`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_depends_on_what_is_wrong_with_the_certificate() {
        for (why, hint) in [
            ("UnknownIssuer", "--ca"),
            ("NotValidForName", "other names"),
            ("certificate not valid for name \"a\"; it is only valid for b", "other names"),
            (
                "certificate expired: verification time 9 (UNIX), not valid after 5",
                "new certificate",
            ),
            ("certificate not valid yet: verification time 5 (UNIX)", "begins later"),
        ] {
            let why = format!("invalid peer certificate: {why}");
            assert!(mistrusted(&why).contains(hint), "{why}");
        }
    }
}
