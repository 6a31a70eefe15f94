//! The keys that a provider signs with.

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

/// Keys that are looked at: more than any provider has.
const MAX: usize = 64;

/// Its keys, those of kinds that we do not know left out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Keys(Vec<Jwk>);

impl Keys {
    /// Of a set of keys (RFC 7517).
    pub(super) fn read(document: &Value) -> Result<Keys, String> {
        let Some(Value::Array(all)) = document.get("keys") else {
            return Err("there are no `keys`".to_owned());
        };
        let known = all.iter().take(MAX).filter_map(|it| serde_json::from_value(it.clone()).ok());
        Ok(Keys(known.collect()))
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|it| it.common.key_id.as_deref() == Some(id))
    }

    /// The keys that may have signed with the algorithm: the one of the id, or without an id all.
    pub(super) fn of(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<DecodingKey> {
        let fits = |it: &&Jwk| {
            let use_ = it.common.public_key_use.as_ref();
            let named = id.is_none() || it.common.key_id.as_deref() == id;
            let stated = it.common.key_algorithm.map(|it| it.to_string());
            named
                && use_.is_none_or(|it| *it == PublicKeyUse::Signature)
                && stated.is_none_or(|it| it == format!("{algorithm:?}"))
        };
        let keys = self.0.iter().filter(fits).filter_map(|it| DecodingKey::from_jwk(it).ok());
        keys.filter(|it| it.family() == algorithm.family()).collect()
    }
}
