//! Answers of a provider of identities as a fuzzer writes them.

use std::collections::BTreeMap;

use serde_json::Value;
use tradewind_daemon::live::rights::Role;

use super::discovery::ProviderMetadata;
use super::id_token::{Expected, agrees, verify};
use super::keys::Keys;
use super::{Provider, identity, wire};

/// Reads `bytes` as every answer of a provider.
pub(crate) fn read(bytes: &[u8]) {
    let expected = Expected { issuer: "https://i", audience: "us", nonce: Some("n"), now: 1 };
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = wire::checked(text);
        // A set of keys in the first line, and a token.
        let (keys, token) = text.split_once('\n').unwrap_or(("", text));
        let keys: Value = serde_json::from_str(keys).unwrap_or_default();
        if let Ok(keys) = Keys::read(&keys) {
            let _ = verify(token, &keys, &expected);
        }
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    if let Ok(metadata) = serde_json::from_value::<ProviderMetadata>(value.clone()) {
        let _ = metadata.takes_basic();
    }
    if let Value::Object(claims) = value {
        let _ = agrees(claims.clone(), &expected);
        let provider = provider();
        let _ = identity::is_whole(&provider, &claims);
        let _ = identity::of(&provider, &claims);
    }
}

fn provider() -> Provider {
    Provider {
        name: "i".to_owned(),
        issuer: "https://i".to_owned(),
        client_id: "us".to_owned(),
        client_secret: None,
        scopes: Vec::new(),
        user_claim: "email".to_owned(),
        groups_claim: "realm.groups".to_owned(),
        default_role: None,
        roles: BTreeMap::from([("g".to_owned(), Role::User)]),
        projects: BTreeMap::from([("g".to_owned(), "p".to_owned())]),
        authorities: None,
    }
}
