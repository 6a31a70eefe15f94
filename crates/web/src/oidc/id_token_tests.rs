//! Statements that are signed here, as a provider would, and spoiled in every way.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;
use crate::oidc::verifier;

const NOW: i64 = 1_800_000_000;

struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    fn new() -> Signer {
        verifier::install();
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).unwrap();
        Signer { pair, random }
    }

    fn jwk(&self, id: &str) -> Value {
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": id, "use": "sig", "alg": "ES256"})
    }

    fn keys(&self, id: &str) -> Keys {
        let odd = json!({"kty": "made-up", "kid": "odd"});
        Keys::read(&json!({"keys": [odd, self.jwk(id)]})).unwrap()
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |it: &Value| URL_SAFE_NO_PAD.encode(it.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&self.random, message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

fn claims() -> Value {
    json!({"iss": "https://p.example", "aud": "market", "sub": "7", "exp": NOW + 300, "iat": NOW,
        "nonce": "n", "preferred_username": "ana"})
}

fn header() -> Value {
    json!({"alg": "ES256", "kid": "one", "typ": "JWT"})
}

const EXPECTED: Expected<'static> =
    Expected { issuer: "https://p.example", audience: "market", nonce: Some("n"), now: NOW };

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value.is_null() {
        true => drop(claims.as_object_mut().unwrap().remove(name)),
        false => claims[name] = value,
    }
    claims
}

#[test]
fn a_genuine_statement_is_taken() {
    let signer = Signer::new();
    let keys = signer.keys("one");
    for claims in [
        claims(),
        with("aud", json!(["market"])),
        with("azp", json!("market")),
        with("exp", json!(NOW - SKEW + 1)),
        with("exp", serde_json::from_str("1800000300.75").unwrap()),
        with("iat", json!(NOW + SKEW)),
        with("nbf", json!(NOW)),
    ] {
        let found = verify(&signer.sign(&header(), &claims), &keys, &EXPECTED);
        assert_eq!(found.unwrap()["preferred_username"], "ana", "{claims}");
    }
    let without_id = json!({"alg": "ES256"});
    assert!(verify(&signer.sign(&without_id, &claims()), &keys, &EXPECTED).is_ok());
    let device = Expected { nonce: None, ..EXPECTED };
    assert!(verify(&signer.sign(&header(), &with("nonce", json!(null))), &keys, &device).is_ok());
}

#[test]
fn what_is_not_for_us_or_not_of_now_is_refused() {
    let signer = Signer::new();
    let keys = signer.keys("one");
    for (claims, why) in [
        (with("iss", json!("https://evil.example")), "InvalidIssuer"),
        (with("iss", json!(["https://p.example", "x"])), "another issuer"),
        (with("iss", json!(null)), "Missing required claim"),
        (with("aud", json!("other")), "InvalidAudience"),
        (with("aud", json!(null)), "Missing required claim"),
        (with("aud", json!(["market", "other"])), "another client"),
        (with("azp", json!("other")), "another client"),
        (with("exp", json!(NOW - SKEW)), "expired at"),
        (with("exp", json!(null)), "does not say when"),
        (with("exp", json!("1900000000")), "does not say when"),
        (with("iat", json!(NOW + SKEW + 1)), "of the future"),
        (with("nbf", json!(NOW + SKEW + 1)), "of the future"),
        (with("nonce", json!("m")), "another nonce"),
        (with("nonce", json!(null)), "another nonce"),
        (with("sub", json!(null)), "Missing required claim"),
        (with("sub", json!("")), "names no user"),
    ] {
        let refused = verify(&signer.sign(&header(), &claims), &keys, &EXPECTED).unwrap_err();
        assert!(refused.reason().contains(why), "{claims}: {refused:?}");
    }
}

#[test]
fn only_the_providers_keys_and_algorithms_count() {
    let (signer, stranger) = (Signer::new(), Signer::new());
    let keys = signer.keys("one");
    let refused =
        |token: &str, keys: &Keys| verify(token, keys, &EXPECTED).unwrap_err().reason().to_owned();
    assert!(refused(&stranger.sign(&header(), &claims()), &keys).contains("InvalidSignature"));
    let other = json!({"alg": "ES256", "kid": "two"});
    assert!(refused(&signer.sign(&other, &claims()), &keys).contains("no key `two`"));
    for algorithm in ["none", "HS256", "HS512", "RS256", "ES384", "ES256K"] {
        let header = json!({"alg": algorithm, "kid": "one"});
        let said = refused(&signer.sign(&header, &claims()), &keys);
        assert!(!said.is_empty(), "{algorithm}: {said}");
    }
    // A token without a signature, and one whose claims were changed.
    let token = signer.sign(&header(), &claims());
    let parts: Vec<&str> = token.split('.').collect();
    let forged = URL_SAFE_NO_PAD.encode(with("preferred_username", json!("root")).to_string());
    refused(&format!("{}.{}.", parts[0], parts[1]), &keys);
    refused(&format!("{}.{forged}.{}", parts[0], parts[2]), &keys);
    for rubbish in ["", ".", "..", "a.b.c", "é.é.é"] {
        refused(rubbish, &keys);
    }
    // A key that is for encryption, and one for another algorithm.
    for (name, value) in [("use", "enc"), ("alg", "ES384")] {
        let mut key = signer.jwk("one");
        key[name] = json!(value);
        let keys = Keys::read(&json!({"keys": [key]})).unwrap();
        assert!(refused(&token, &keys).contains("no key `one`"), "{name}");
    }
}
