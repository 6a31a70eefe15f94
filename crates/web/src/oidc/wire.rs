//! Questions to the provider: over TLS or on this machine, within time and size limits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::{Provider, Refused};

/// How long an answer may take in all.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer: bytes.
const LONGEST: u64 = 512 << 10;

/// A way to the provider.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    agent: Agent,
}

impl Wire {
    pub(super) fn new(provider: &Provider) -> Result<Wire, String> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("tradewind/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&provider.issuer) {
            config = config.proxy(None);
        }
        if let Some(pem) = &provider.authorities {
            let mut certificates = Vec::new();
            for item in parse_pem(pem) {
                if let PemItem::Certificate(it) = item.map_err(|it| it.to_string())? {
                    certificates.push(it);
                }
            }
            let roots = RootCerts::Specific(Arc::new(certificates));
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Wire { agent: config.build().into() })
    }

    /// The document at `url`.
    pub(super) fn get(&self, url: &str, bearer: Option<&str>) -> Result<Value, Refused> {
        let mut request = self.agent.get(checked(url)?).header("Accept", "application/json");
        if let Some(token) = bearer {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        match document(url, request.call())? {
            (200, value) => Ok(value),
            (status, _) => Err(Refused::Provider(format!("{url} answered {status}"))),
        }
    }

    /// Sends a form; status and document of the answer.
    pub(super) fn post(
        &self,
        url: &str,
        form: &[(&str, &str)],
        basic: Option<&str>,
    ) -> Result<(u16, Value), Refused> {
        let mut request = self.agent.post(checked(url)?).header("Accept", "application/json");
        if let Some(basic) = basic {
            request = request.header("Authorization", format!("Basic {basic}"));
        }
        document(url, request.send_form(form.iter().copied()))
    }
}

/// Secrets cross networks encrypted only.
pub(super) fn checked(url: &str) -> Result<&str, Refused> {
    match url.starts_with("https://") || is_loopback(url) {
        true => Ok(url),
        false => Err(Refused::Provider(format!("`{url}` is not encrypted"))),
    }
}

/// Whether it is this machine.
fn is_loopback(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    !host.contains('@') && ["localhost", "127.0.0.1", "::1"].contains(&name)
}

fn document(
    url: &str,
    answer: Result<ureq::http::Response<Body>, ureq::Error>,
) -> Result<(u16, Value), Refused> {
    let wrong = |what: String| Refused::Provider(format!("{url}: {what}"));
    let mut answer = answer.map_err(|it| wrong(it.to_string()))?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(LONGEST).read_to_vec();
    let body = body.map_err(|it| wrong(it.to_string()))?;
    let value = serde_json::from_slice(&body);
    // What it is that is no JSON may have secrets in it.
    value.map(|value| (status, value)).map_err(|_| wrong(format!("status {status}, and no JSON")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_to_this_machine_or_under_tls() {
        for good in
            ["https://i.example/x", "http://127.0.0.1:1/x", "http://[::1]:1", "http://localhost"]
        {
            assert!(checked(good).is_ok(), "{good}");
        }
        for bad in
            ["http://i.example", "http://127.0.0.1@i.example/", "ftp://x", "http://localhost.x"]
        {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
