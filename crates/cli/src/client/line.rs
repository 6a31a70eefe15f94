//! A line to another market, for a daemon that has jobs to exchange: like a command's, but
//! everything about it is given.

use std::path::PathBuf;
use std::time::Duration;

use ureq::Agent;
use ureq::http::Method;

use super::place::{Found, TokenSource, check};
use super::transport::{self, ApiRequest, ApiResponse};
use crate::exit::Failure;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer of a peer: bytes. No more than that of a job's output is ever asked for.
const LONGEST: u64 = 1 << 20;

/// A way to a market, with a token for it.
pub(crate) struct MarketClient {
    found: Found,
    agent: Agent,
    /// The longest answer, bytes.
    longest: u64,
}

impl std::fmt::Debug for MarketClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("url", &self.found.url).finish_non_exhaustive()
    }
}

impl MarketClient {
    /// A way to the market at `url`; not asked yet. Authorities in PEM are trusted instead of the
    /// usual ones.
    ///
    /// # Errors
    /// If the URL would carry the token in the clear, or the certificates are none.
    pub(crate) fn to(url: &str, ca: Option<(PathBuf, Vec<u8>)>) -> Result<MarketClient, Failure> {
        let client = MarketClient::patient(url, ca, TIMEOUT)?;
        Ok(MarketClient { longest: LONGEST, ..client })
    }

    /// The same, where an answer may take so long.
    ///
    /// # Errors
    /// As [`MarketClient::to`].
    pub(crate) fn patient(
        url: &str,
        ca: Option<(PathBuf, Vec<u8>)>,
        timeout: Duration,
    ) -> Result<MarketClient, Failure> {
        let url = url.trim().trim_end_matches('/').to_owned();
        check(&url)?;
        let source = TokenSource::Variable;
        let (token, others) = (String::new(), Vec::new());
        let found = Found { url, others, token, ca, timeout, here: false, source };
        Ok(MarketClient { agent: transport::agent(&found)?, found, longest: transport::LONGEST })
    }

    /// From now on with this token.
    pub(crate) fn admit(&mut self, token: &str) {
        token.trim().clone_into(&mut self.found.token);
    }

    /// Status and body of the answer.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(crate) fn post(&self, path: &str, body: Vec<u8>) -> Result<(u16, Vec<u8>), String> {
        self.send(path, body).map(|answer| (answer.status, answer.body))
    }

    /// The whole answer.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(crate) fn send(&self, path: &str, body: Vec<u8>) -> Result<ApiResponse, String> {
        let path = path.to_owned();
        let question = ApiRequest { method: Method::POST, path, body: Some(body), key: None };
        let answer = transport::ask_within(&self.agent, &self.found, &question, self.longest);
        answer.map_err(|silence| {
            silence.failure.problems.iter().map(|it| it.message.clone()).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The first answer fits, the second does not: how much of it was taken before the line was cut.
    #[test]
    fn no_more_of_a_peers_answer_is_read_than_it_may_have() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let peer = thread::spawn(move || {
            let sent = [LONGEST, 64 << 20].map(|length| {
                let (mut client, _) = listener.accept().unwrap();
                let _ = client.read(&mut [0; 1 << 12]).unwrap();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                client.write_all(head.as_bytes()).unwrap();
                let piece = [b' '; 1 << 16];
                let all = (0..length / piece.len() as u64)
                    .take_while(|_| client.write_all(&piece).is_ok());
                all.count() * piece.len()
            });
            sent[1]
        });
        let client = MarketClient::to(&format!("http://127.0.0.1:{port}"), None).unwrap();
        let body = client.post("/", Vec::new()).map(|(_, body)| body.len() as u64);
        assert_eq!(body, Ok(LONGEST));
        let refused = client.post("/", Vec::new()).map(drop).unwrap_err();
        assert!(refused.contains("too long"), "{refused}");
        drop(client);
        // What the kernel keeps between both is some megabytes.
        assert!(peer.join().unwrap() < 32 << 20);
    }
}
