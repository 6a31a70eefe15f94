//! Whether a provider's statement about a user is genuine, for us, and of now.
//!
//! Header, keys and signature are read by `jsonwebtoken`. Times are compared here: that crate
//! takes numbers only where JSON numbers are floats, and ours are exact.

use std::collections::BTreeSet;
use std::time::Instant;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::keys::Keys;
use super::{OidcState, Refused};

/// By how much the provider's clock may differ from ours: seconds.
const SKEW: i64 = 120;

/// Algorithms with which only the provider can sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// What a statement must agree with.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    /// What was asked with; the device flow has none.
    pub(super) nonce: Option<&'a str>,
    /// Now, in seconds since 1970.
    pub(super) now: i64,
}

impl OidcState {
    /// The claims of an ID token that proves to be genuine.
    pub(super) fn claims(
        &self,
        token: &str,
        expected: &Expected<'_>,
    ) -> Result<Map<String, Value>, Refused> {
        let id = key_id(token)?;
        let begun = Instant::now();
        let (keys, asked) = self.keys(id.as_deref())?;
        match verify(token, &keys, expected) {
            // Keys without an id may have changed without a sign of it: that costs one question.
            Err(Refused::Proof(_)) if asked < begun => {
                let keys = self.new_keys()?;
                verify(token, &keys, expected)
            }
            verdict => verdict,
        }
    }
}

/// The id of the key that signed, as the token says.
fn key_id(token: &str) -> Result<Option<String>, Refused> {
    let header = decode_header(token).map_err(|_| proof("the ID token cannot be read"))?;
    match ALGORITHMS.contains(&header.alg) {
        true => Ok(header.kid),
        false => Err(proof(format!("the ID token is signed by {:?}", header.alg))),
    }
}

fn proof(why: impl Into<String>) -> Refused {
    Refused::Proof(why.into())
}

/// Checks signature, issuer, audience, times and nonce.
pub(super) fn verify(
    token: &str,
    keys: &Keys,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, Refused> {
    let header = decode_header(token).map_err(|_| proof("the ID token cannot be read"))?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(proof(format!("the ID token is signed by {:?}", header.alg)));
    }
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&[expected.issuer]);
    validation.set_audience(&[expected.audience]);
    validation.set_required_spec_claims(&["iss", "aud", "sub"]);
    (validation.validate_exp, validation.validate_nbf) = (false, false);
    let keys = keys.of(header.kid.as_deref(), header.alg);
    if keys.is_empty() {
        let id = header.kid.unwrap_or_default();
        return Err(proof(format!("the provider has no key `{id}` for {:?}", header.alg)));
    }
    let mut last = None;
    for key in &keys {
        match decode::<Map<String, Value>>(token, key, &validation) {
            Ok(data) => return agrees(data.claims, expected),
            Err(wrong) => last = Some(wrong),
        }
    }
    Err(proof(last.map_or_else(String::new, |it| format!("the ID token: {it}"))))
}

/// What the crate leaves open: times, one issuer, who asked, and the nonce.
pub(super) fn agrees(
    claims: Map<String, Value>,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, Refused> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let moment = |name: &str| seconds(claims.get(name)?);
    if text("iss") != Some(expected.issuer) {
        return Err(proof("the ID token is of another issuer"));
    }
    let audiences: BTreeSet<&str> = match claims.get("aud") {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => [one.as_str()].into(),
        _ => BTreeSet::new(),
    };
    let party = text("azp");
    if party.is_some_and(|it| it != expected.audience) || (audiences.len() > 1 && party.is_none()) {
        return Err(proof("the ID token was given to another client"));
    }
    match moment("exp") {
        Some(at) if at.saturating_add(SKEW) > expected.now => {}
        Some(at) => return Err(proof(format!("the ID token expired at {at}"))),
        None => return Err(proof("the ID token does not say when it expires")),
    }
    let begins = ["nbf", "iat"].into_iter().filter_map(moment).max();
    if begins.is_some_and(|it| it > expected.now.saturating_add(SKEW)) {
        return Err(proof("the ID token is of the future: one of both clocks is wrong"));
    }
    if expected.nonce.is_some() && text("nonce") != expected.nonce {
        return Err(proof("the ID token has another nonce"));
    }
    if text("sub").is_none_or(str::is_empty) {
        return Err(proof("the ID token names no user"));
    }
    Ok(claims)
}

/// Whole seconds; a part of one is left out.
fn seconds(value: &Value) -> Option<i64> {
    let text = value.as_number()?.to_string();
    text.split('.').next()?.parse().ok()
}

#[cfg(test)]
#[path = "id_token_tests.rs"]
mod tests;
