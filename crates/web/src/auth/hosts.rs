//! Under which names the daemon may be addressed while only this machine reaches it.
//!
//! A page of another host can let its own name lead to 127.0.0.1 (DNS rebinding). Its scripts are
//! then of the daemon's origin for the browser, and could read all that needs no token on this
//! machine. The browser sends that name as `Host`, so names that are not ours are refused.
//! Addresses cannot be led elsewhere, and beyond this machine there is TLS, whose certificate does
//! not fit another name.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode};

use crate::failure::{Answer, ErrorResponse};

/// Names of the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Whether only this machine reaches it.
    is_local: bool,
    /// Besides `localhost`, in lower case.
    names: Vec<String>,
}

impl Hosts {
    /// Of a daemon that listens on `address` and is addressed as one of `names`: hosts, or origins
    /// such as `https://market.example.org`.
    pub(crate) fn new<'a>(address: IpAddr, names: impl Iterator<Item = &'a str>) -> Hosts {
        let host = |name: &'a str| {
            let rest = name.split_once("://").map_or(name, |(_, rest)| rest);
            host_of(rest.split('/').next().unwrap_or(rest))
        };
        let is_local = address.to_canonical().is_loopback();
        Hosts { is_local, names: names.filter_map(host).collect() }
    }

    /// # Errors
    /// If the header names another host. A request without the header is no browser's.
    pub(crate) fn check<'a>(&self, mut named: impl Iterator<Item = &'a HeaderValue>) -> Answer<()> {
        let is_own = |value: &HeaderValue| {
            let host = value.to_str().ok().and_then(host_of);
            host.is_some_and(|host| self.is_own(&host))
        };
        match !self.is_local || named.all(is_own) {
            true => Ok(()),
            false => Err(ErrorResponse::new(
                StatusCode::MISDIRECTED_REQUEST,
                "host",
                "the request is for a host of another name",
                "use `localhost`, or add the name to `hosts` of `[listen]` in the configuration",
            )),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        // Names below `localhost` always lead to this machine (RFC 6761).
        let is_localhost = host == "localhost" || host.ends_with(".localhost");
        is_localhost || host.parse::<IpAddr>().is_ok() || self.names.iter().any(|it| it == host)
    }
}

/// The host of `host:port`, in lower case, without the brackets of IPv6 and without a final dot.
fn host_of(text: &str) -> Option<String> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let host = address.unwrap_or_else(|| host.strip_suffix('.').unwrap_or(host));
    (!host.is_empty() && !text.contains('@')).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(address: &str, named: &[&str]) -> bool {
        let names = ["https://Market.example.org:8443", "market.local"];
        let hosts = Hosts::new(address.parse().unwrap(), names.into_iter());
        let named: Vec<HeaderValue> = named.iter().map(|it| it.parse().unwrap()).collect();
        hosts.check(named.iter()).is_ok()
    }

    #[test]
    fn names_of_others_are_refused_where_only_this_machine_listens() {
        for address in ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"] {
            for own in [
                "localhost",
                "LocalHost:8460",
                "localhost.:8460",
                "tradewind.localhost:8460",
                "127.0.0.1",
                "127.0.0.1:8460",
                "[::1]:8460",
                "10.0.0.7:8460",
                "market.example.org",
                "MARKET.example.org:1",
                "market.local:8460",
            ] {
                assert!(accepts(address, &[own]), "{own}");
            }
            for other in [
                "evil.example",
                "evil.example:8460",
                "localhost.evil.example",
                "notlocalhost",
                "127.0.0.1.evil.example",
                "sub.market.example.org",
                "evil.example@localhost",
                "localhost@evil.example",
                "",
                " ",
                "localhost,evil.example",
                "a b",
                "\u{e9}vil",
            ] {
                assert!(!accepts(address, &[other]), "{other:?}");
            }
            assert!(accepts(address, &[]), "no browser");
            assert!(!accepts(address, &["localhost", "evil.example"]));
            assert!(!accepts(address, &["evil.example", "localhost"]));
        }
    }

    #[test]
    fn beyond_this_machine_certificates_tell_names_apart() {
        for address in ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1"] {
            assert!(accepts(address, &["anything.example"]), "{address}");
        }
    }
}
