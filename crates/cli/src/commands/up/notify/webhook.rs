//! Calls of one URL.

use std::sync::Arc;
use std::time::Duration;

use tradewind_web::Notice;
use ureq::Agent;

use super::queue::Queue;
use super::sign::signature;

/// How hard it is tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// For one call with its answer.
    pub(super) timeout: Duration,
    /// Calls for one event.
    pub(super) tries: u32,
    /// After the first call; four times as long after each further one.
    pub(super) pause: Duration,
}

/// Over a minute and a half in all: a receiver may start again meanwhile.
pub(super) const EFFORT: Effort =
    Effort { timeout: Duration::from_secs(5), tries: 5, pause: Duration::from_secs(1) };

/// Bytes of an answer that are read, so that the connection can be used again.
const ANSWER: u64 = 64 << 10;

/// A receiver of calls, with its secret.
#[derive(Debug)]
pub(super) struct Webhook {
    url: String,
    /// Its host, for the log: the rest of a URL may be a secret.
    host: String,
    secret: Option<Vec<u8>>,
    effort: Effort,
    agent: Agent,
}

/// How a call ended that was not good.
#[derive(Debug)]
struct Failed {
    why: String,
    /// It may help to call again.
    again: bool,
}

impl Webhook {
    pub(super) fn new(url: String, secret: Option<Vec<u8>>, effort: Effort) -> Webhook {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // The signed body is for this receiver, not for any other that it names.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(effort.timeout))
            .user_agent(concat!("tradewind/", env!("CARGO_PKG_VERSION")));
        if url.starts_with("http://") {
            // The settings allow it on this machine only: there is no way round.
            config = config.proxy(None);
        }
        let host = host(&url).to_owned();
        Webhook { host, secret, effort, agent: config.build().into(), url }
    }

    /// Delivers one after another, until the queue is closed and empty.
    pub(super) fn run(&self, queue: &Queue<Arc<Notice>>) {
        while let Some(notice) = queue.pop() {
            let dropped = queue.dropped();
            if dropped > 0 {
                tracing::warn!(host = self.host, dropped, "a webhook is too slow: events dropped");
            }
            let outcome = self.deliver(&notice, queue);
            queue.note(&outcome);
            if let Err(why) = outcome {
                let (host, event) = (&self.host, id(&notice));
                tracing::warn!(%host, event, why, "a webhook was not told of an event");
            }
        }
    }

    /// Tries until it is done or hopeless; once the queue is closed, no more pauses.
    fn deliver(&self, notice: &Notice, queue: &Queue<Arc<Notice>>) -> Result<(), String> {
        let mut pause = self.effort.pause;
        let mut tried = 1;
        loop {
            match self.call(notice) {
                Ok(()) => return Ok(()),
                Err(failed) if !failed.again || tried >= self.effort.tries => {
                    return Err(failed.why);
                }
                Err(failed) => {
                    tracing::debug!(host = self.host, tried, why = failed.why, "a webhook failed");
                    if queue.pause(pause) {
                        return Err(failed.why);
                    }
                }
            }
            tried += 1;
            pause = pause.saturating_mul(4);
        }
    }

    fn call(&self, notice: &Notice) -> Result<(), Failed> {
        let body = notice.text.as_bytes();
        let mut request = self
            .agent
            .post(&self.url)
            .header("Content-Type", "application/json")
            .header("X-Tradewind-Event", &notice.kind)
            .header("X-Tradewind-Delivery", id(notice));
        if let Some(secret) = &self.secret {
            request = request.header("X-Tradewind-Signature", signature(secret, body));
        }
        let sent = request.send(body);
        let mut answer = sent.map_err(|it| Failed { why: it.to_string(), again: true })?;
        let status = answer.status();
        // What it says is not for us.
        drop(answer.body_mut().with_config().limit(ANSWER).read_to_vec());
        if status.is_success() {
            return Ok(());
        }
        let again = status.is_server_error() || [408, 425, 429].contains(&status.as_u16());
        Err(Failed { why: format!("the answer was {status}"), again })
    }
}

/// Of a URL.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // What is before it may be a password.
    host.rsplit('@').next().unwrap_or_default()
}

/// The same for all tries, different for all events of a journal.
fn id(notice: &Notice) -> String {
    format!("{}.{}", notice.seq, notice.place)
}
