//! The ways in: with a browser (authorization code and PKCE), and with a code on another device.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::id_token::Expected;
use super::{Hint, Identity, Oidc, OidcState, Refused, identity};
use crate::clock::now;
use crate::failure::Answer;

/// The longest ID token that is sent in an address: bytes.
const MAX_HINT: usize = 6_000;

/// A try of one browser to sign in. All that must be remembered follows from one secret, which
/// its cookie has: so nothing grows here, however many tries are begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// The secret in the browser's cookie.
    pub(crate) secret: &'a str,
    /// The page of ours where it goes on.
    pub(crate) next: &'a str,
}

impl Attempt<'_> {
    fn derived(&self, what: &str) -> String {
        let text = format!("{what}\n{}\n{}", self.secret, self.next);
        URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))
    }

    /// What comes back with the browser, and where it goes on then.
    fn state(&self) -> String {
        format!("{}.{}", self.derived("state"), URL_SAFE_NO_PAD.encode(self.next))
    }

    fn nonce(&self) -> String {
        self.derived("nonce")
    }

    fn verifier(&self) -> String {
        self.derived("verifier")
    }

    /// The page that the state carries, if the state is of this browser's secret.
    pub(crate) fn next_of(secret: &str, state: &str) -> Option<String> {
        let next = URL_SAFE_NO_PAD.decode(state.split_once('.')?.1).ok()?;
        let next = String::from_utf8(next).ok()?;
        (Attempt { secret, next: &next }.state() == state).then_some(next)
    }
}

/// A sign-in that goes on on another device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) device_code: String,
    pub(crate) user_code: String,
    pub(crate) url: String,
    /// The same with the code in it.
    pub(crate) whole_url: Option<String>,
    /// Validity of the code, in seconds.
    pub(crate) lasts: i64,
    /// Seconds between two questions.
    pub(crate) interval: i64,
}

/// What happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Polled {
    /// The user has not answered yet.
    Pending,
    /// Not answered, and the questions come too often.
    SlowDown,
    /// The user confirmed the code.
    In(Identity),
}

impl Oidc {
    /// Where the browser signs in.
    pub(crate) async fn address(&self, attempt: Attempt<'_>) -> Answer<Result<String, Refused>> {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(attempt.verifier().as_bytes()));
        let (state, nonce) = (attempt.state(), attempt.nonce());
        self.ask(move |inside| {
            let endpoint = inside.description()?.authorization_endpoint;
            let sign = if endpoint.contains('?') { '&' } else { '?' };
            let pairs = [
                ("response_type", "code"),
                ("client_id", &inside.provider.client_id),
                ("redirect_uri", &inside.back),
                ("scope", &inside.scopes()),
                ("state", &state),
                ("nonce", &nonce),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
            ];
            let query = pairs.map(|(name, value)| format!("{name}={}", encoded(value)));
            Ok(format!("{endpoint}{sign}{}", query.join("&")))
        })
        .await
    }

    /// Who it is that came back with this code; `issuer` is what the browser says of the sender.
    pub(crate) async fn arrive(
        &self,
        attempt: Attempt<'_>,
        code: String,
        issuer: Option<String>,
    ) -> Answer<Result<(Identity, Hint), Refused>> {
        let (verifier, nonce) = (attempt.verifier(), attempt.nonce());
        self.ask(move |inside| {
            let description = inside.description()?;
            let must = description.authorization_response_iss_parameter_supported;
            if issuer.as_ref().map_or(must, |it| *it != inside.provider.issuer) {
                return Err(Refused::Proof("the code is of another issuer".to_owned()));
            }
            let form = [
                ("grant_type", "authorization_code"),
                ("code", &code),
                ("redirect_uri", &inside.back),
                ("code_verifier", &verifier),
            ];
            match inside.token(&form)? {
                (200, answer) => {
                    let who = inside.identify(&answer, Some(&nonce))?;
                    let token = answer.get("id_token").and_then(Value::as_str);
                    Ok((who, Hint(token.unwrap_or_default().to_owned())))
                }
                (status, answer) => Err(Refused::Proof(format!(
                    "the provider does not take the code: {status} {}",
                    error_of(&answer)
                ))),
            }
        })
        .await
    }

    /// Where the browser goes to sign out at the provider as well, which leads back to our door;
    /// `None`: the provider announces no such address.
    pub(crate) fn sign_out(&self, hint: &Hint) -> Option<String> {
        let endpoint = self.0.end_session()?;
        let sign = if endpoint.contains('?') { '&' } else { '?' };
        let mut pairs = vec![
            ("client_id", self.0.provider.client_id.as_str()),
            ("post_logout_redirect_uri", self.0.door.as_str()),
        ];
        // Longer addresses do not reach every server.
        if (1..=MAX_HINT).contains(&hint.0.len()) {
            pairs.push(("id_token_hint", &hint.0));
        }
        let query: Vec<String> =
            pairs.into_iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        Some(format!("{endpoint}{sign}{}", query.join("&")))
    }

    /// Begins a sign-in on another device; `None`: the provider has no such thing.
    pub(crate) async fn device(&self) -> Answer<Result<Option<Device>, Refused>> {
        self.ask(|inside| {
            let Some(url) = inside.description()?.device_authorization_endpoint else {
                return Ok(None);
            };
            let scopes = inside.scopes();
            let (status, answer) = inside.send(&url, &[("scope", scopes.as_str())])?;
            let wrong = |what: &str| Refused::Provider(format!("{url}: {what}"));
            if status != 200 {
                return Err(wrong(&format!("{status} {}", error_of(&answer))));
            }
            let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
            let whole = |name: &str| answer.get(name).and_then(Value::as_i64);
            // The older name is still in use.
            let address = text("verification_uri").or_else(|| text("verification_url"));
            Ok(Some(Device {
                device_code: text("device_code").ok_or_else(|| wrong("no device code"))?,
                user_code: text("user_code").ok_or_else(|| wrong("no user code"))?,
                url: address.ok_or_else(|| wrong("no address"))?,
                whole_url: text("verification_uri_complete"),
                lasts: whole("expires_in").unwrap_or(600).clamp(1, 3_600),
                interval: whole("interval").unwrap_or(5).clamp(1, 60),
            }))
        })
        .await
    }

    /// Whether the user has answered there.
    pub(crate) async fn poll(&self, device_code: String) -> Answer<Result<Polled, Refused>> {
        self.ask(move |inside| {
            let form = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", &device_code),
            ];
            let (status, answer) = inside.token(&form)?;
            match (status, answer.get("error").and_then(Value::as_str)) {
                (200, _) => inside.identify(&answer, None).map(Polled::In),
                (_, Some("authorization_pending")) => Ok(Polled::Pending),
                (_, Some("slow_down")) => Ok(Polled::SlowDown),
                (_, Some("access_denied")) => {
                    Err(Refused::Person("the sign-in was denied there".to_owned()))
                }
                (_, Some("expired_token" | "invalid_grant")) => {
                    Err(Refused::Person("the code has expired".to_owned()))
                }
                _ => Err(Refused::Provider(format!("{status} {}", error_of(&answer)))),
            }
        })
        .await
    }
}

impl OidcState {
    fn scopes(&self) -> String {
        self.provider.scopes.join(" ")
    }

    /// Asks the token endpoint.
    fn token(&self, form: &[(&str, &str)]) -> Result<(u16, Value), Refused> {
        let url = self.description()?.token_endpoint;
        self.send(&url, form)
    }

    /// Sends a form with what proves who we are.
    fn send(&self, url: &str, form: &[(&str, &str)]) -> Result<(u16, Value), Refused> {
        let mut form = form.to_vec();
        let (id, secret) = (&self.provider.client_id, self.provider.client_secret.as_deref());
        let in_header = self.description()?.takes_basic();
        let basic = secret
            .filter(|_| in_header)
            .map(|secret| STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))));
        // It is harmless beside the header, and some providers look for it in any case.
        form.push(("client_id", id));
        if let Some(secret) = secret.filter(|_| !in_header) {
            form.push(("client_secret", secret));
        }
        self.wire.post(url, &form, basic.as_deref())
    }

    /// Who the provider's answer is about.
    fn identify(&self, answer: &Value, nonce: Option<&str>) -> Result<Identity, Refused> {
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        let token = text("id_token");
        let token = token.ok_or_else(|| Refused::Provider("there is no ID token".to_owned()))?;
        let (issuer, audience) = (&self.provider.issuer, &self.provider.client_id);
        let expected = Expected { issuer, audience, nonce, now: now().0 };
        let claims = self.claims(token, &expected)?;
        let claims = match (identity::is_whole(&self.provider, &claims), text("access_token")) {
            (false, Some(access)) => self.more(claims, access)?,
            _ => claims,
        };
        identity::of(&self.provider, &claims)
    }

    /// Claims that the ID token lacks, as the provider answers on request. Those of the token,
    /// which is signed, count first.
    fn more(
        &self,
        mut claims: Map<String, Value>,
        access: &str,
    ) -> Result<Map<String, Value>, Refused> {
        let Some(url) = self.description()?.userinfo_endpoint else { return Ok(claims) };
        let Value::Object(more) = self.wire.get(&url, Some(access))? else { return Ok(claims) };
        if more.get("sub") != claims.get("sub") {
            return Err(Refused::Proof("the provider answered for another user".to_owned()));
        }
        for (name, value) in more {
            claims.entry(name).or_insert(value);
        }
        Ok(claims)
    }
}

/// What the provider says is wrong: a word of the standard's, shortened.
fn error_of(answer: &Value) -> String {
    let word = answer.get("error").and_then(Value::as_str).unwrap_or("without a reason");
    word.chars().filter(|it| it.is_ascii_graphic() || *it == ' ').take(80).collect()
}

/// As in an address or a form.
fn encoded(text: &str) -> String {
    const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, &ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_of_one_browser_and_one_page() {
        let attempt = Attempt { secret: "one", next: "/jobs?x=1" };
        let state = attempt.state();
        assert_eq!(Attempt::next_of("one", &state).as_deref(), Some("/jobs?x=1"));
        assert_eq!(Attempt::next_of("other", &state), None);
        let forged = state.split_once('.').unwrap().0;
        let forged = format!("{forged}.{}", URL_SAFE_NO_PAD.encode("//evil.example"));
        assert_eq!(Attempt::next_of("one", &forged), None);
        for wrong in ["", ".", "x.y", &state[..state.len() - 1]] {
            assert_eq!(Attempt::next_of("one", wrong), None, "{wrong}");
        }
        assert_ne!(attempt.nonce(), attempt.verifier());
        assert!(attempt.verifier().len() >= 43);
    }

    #[test]
    fn what_goes_into_an_address_is_encoded() {
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
    }
}
