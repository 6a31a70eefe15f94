//! Which pages are our own, and the cookies that they set.

use axum::http::{HeaderMap, HeaderValue, Method, header};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};

use super::secret::looks_right;
use crate::failure::{Answer, ErrorResponse};

/// Whether what goes out is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// It is not: on this machine only.
    Http,
    /// Requests arrive by HTTPS.
    Https,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// What identifies our own pages.
#[derive(Debug, Clone)]
pub(crate) struct Ours {
    scheme: Scheme,
    /// The origin at which a proxy before us is reached.
    public: Option<String>,
}

impl Ours {
    /// Of a server that speaks `scheme` itself, and is reached at `public`, if a proxy is before it.
    pub(crate) fn new(scheme: Scheme, public: Option<String>) -> Ours {
        Ours { scheme, public }
    }

    /// Whether browsers reach us encrypted, and must use encryption in the future.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.scheme == Scheme::Https
            || self.public.as_ref().is_some_and(|it| it.starts_with("https://"))
    }

    /// The full name of a cookie. Browsers take one that begins with `__Host-` from this very host
    /// under TLS only, so that neither a neighbouring host nor a network can plant one.
    pub(crate) fn cookie_name(&self, name: &str) -> String {
        let prefix = if self.is_encrypted() { "__Host-" } else { "" };
        format!("{prefix}{name}")
    }

    /// The header that sets a cookie for so many seconds; 0 removes it.
    pub(crate) fn set(&self, name: &str, value: &str, seconds: u64, from: SameSite) -> String {
        let seconds = Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
        let cookie = Cookie::build((self.cookie_name(name), value)).path("/").http_only(true);
        let cookie = cookie.same_site(from).max_age(seconds).secure(self.is_encrypted());
        cookie.to_string()
    }

    /// The secret in the request's cookie of this name, if it could be ours.
    pub(crate) fn cookie<'a>(&self, name: &str, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.cookie_name(name);
        let all = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
        let cookies = all.flat_map(Cookie::split_parse).filter_map(Result::ok);
        let mut named = cookies.filter(|it| it.name() == name).filter_map(|it| it.value_raw());
        named.find(|it| looks_right(it))
    }

    /// Refuses what a page of another origin may have sent in the name of the person signed in:
    /// scheme, host and port must be ours.
    ///
    /// # Errors
    /// If the request changes something and does not come from our own pages.
    pub(crate) fn own_page(&self, method: &Method, headers: &HeaderMap) -> Answer<()> {
        if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return Ok(());
        }
        let text = |name| headers.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
        let told = text(header::HeaderName::from_static("sec-fetch-site"));
        let same = match (told, text(header::ORIGIN)) {
            (Some(told), None) => told == "same-origin",
            (told, Some(origin)) => {
                told.is_none_or(|it| it == "same-origin") && self.is_own(origin, text(header::HOST))
            }
            (None, None) => false,
        };
        match same {
            true => Ok(()),
            false => Err(ErrorResponse::forbidden("this was not sent by one of our own pages")),
        }
    }

    fn is_own(&self, origin: &str, host: Option<&str>) -> bool {
        let direct = host.map(|host| format!("{}://{host}", self.scheme.name()));
        Some(origin) == direct.as_deref() || Some(origin) == self.public.as_deref()
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

    const HOST: (&str, &str) = ("host", "127.0.0.1:8460");

    fn accepts(ours: &Ours, pairs: &[(&'static str, &str)]) -> bool {
        ours.own_page(&Method::POST, &headers(pairs)).is_ok()
    }

    #[test]
    fn only_our_own_pages_change_things() {
        let ours = Ours::new(Scheme::Http, None);
        let own = |pairs: &[(&'static str, &str)]| accepts(&ours, pairs);
        assert!(own(&[HOST, ("origin", "http://127.0.0.1:8460")]));
        assert!(own(&[HOST, ("sec-fetch-site", "same-origin")]));
        assert!(!own(&[HOST]));
        assert!(!own(&[HOST, ("origin", "http://127.0.0.1:9999")]));
        assert!(!own(&[HOST, ("origin", "https://evil.example")]));
        assert!(!own(&[HOST, ("origin", "null")]));
        assert!(!own(&[HOST, ("sec-fetch-site", "same-site")]));
        let foreign = [("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:8460")];
        assert!(!own(&[HOST, foreign[0], foreign[1]]));
        assert!(ours.own_page(&Method::GET, &headers(&[])).is_ok());
    }

    #[test]
    fn the_scheme_of_the_origin_is_compared() {
        let (plain, secret) = (Ours::new(Scheme::Http, None), Ours::new(Scheme::Https, None));
        let (http, https) =
            (("origin", "http://127.0.0.1:8460"), ("origin", "https://127.0.0.1:8460"));
        assert!(!accepts(&secret, &[HOST, http]) && accepts(&secret, &[HOST, https]));
        assert!(accepts(&plain, &[HOST, http]) && !accepts(&plain, &[HOST, https]));
    }

    #[test]
    fn behind_a_proxy_its_origin_is_ours() {
        let public = Some("https://market.example".to_owned());
        let ours = Ours::new(Scheme::Http, public);
        assert!(accepts(&ours, &[HOST, ("origin", "https://market.example")]));
        assert!(accepts(&ours, &[HOST, ("origin", "http://127.0.0.1:8460")]));
        assert!(!accepts(&ours, &[HOST, ("origin", "http://market.example")]));
        assert!(ours.set("a", "b", 1, SameSite::Lax).starts_with("__Host-a=b; "));
    }

    #[test]
    fn cookies_are_bound_to_the_host_under_tls() {
        let ours = Ours::new(Scheme::Https, None);
        let set = ours.set("tradewind", "x", 60, SameSite::Strict);
        let whole = "__Host-tradewind=x; HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=60";
        assert_eq!(set, whole);
        let (secret, _) = super::super::new_secret().unwrap();
        let planted = headers(&[("cookie", &format!("tradewind={secret}"))]);
        assert_eq!(ours.cookie("tradewind", &planted), None);
        let own = headers(&[("cookie", &format!("a=b; __Host-tradewind={secret}; c=d"))]);
        assert_eq!(ours.cookie("tradewind", &own), Some(secret.as_str()));
        let plain = Ours::new(Scheme::Http, None).set("tradewind", "x", 60, SameSite::Strict);
        assert!(!plain.contains("Secure") && !plain.contains("__Host"), "{plain}");
    }
}
