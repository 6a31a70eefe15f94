//! What the provider says of itself, and its keys: asked for, kept for a while.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::keys::Keys;
use super::wire::checked;
use super::{OidcState, Refused};

/// How long what the provider says of itself counts.
const FRESH: Duration = Duration::from_secs(3_600);
/// How long it does if the provider does not answer when asked again.
const STALE: Duration = Duration::from_secs(24 * 3_600);

/// Its description: `/.well-known/openid-configuration`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ProviderMetadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    pub(super) device_authorization_endpoint: Option<String>,
    #[serde(default)]
    end_session_endpoint: Option<String>,
    #[serde(default)]
    pub(super) userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Whether its answers to browsers always say who it is.
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl ProviderMetadata {
    /// Whether a client proves itself in the header, as all must take who say nothing, or in the
    /// form.
    pub(super) fn takes_basic(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|it| it.iter().any(|it| it == "client_secret_basic"))
    }
}

/// What is known of the provider.
#[derive(Debug, Default)]
pub(super) struct Known {
    description: Option<(ProviderMetadata, Instant)>,
    keys: Option<(Keys, Instant)>,
}

impl OidcState {
    /// The provider's description; asked for at most once an hour.
    pub(super) fn description(&self) -> Result<ProviderMetadata, Refused> {
        let had = self.known().description.clone();
        if let Some((description, _)) = had.as_ref().filter(|(_, at)| at.elapsed() < FRESH) {
            return Ok(description.clone());
        }
        match self.describe() {
            Ok(description) => {
                self.known().description = Some((description.clone(), Instant::now()));
                Ok(description)
            }
            Err(refused) => match had.filter(|(_, at)| at.elapsed() < STALE) {
                Some((description, _)) => {
                    tracing::warn!(why = refused.reason(), "an identity provider does not answer");
                    Ok(description)
                }
                None => Err(refused),
            },
        }
    }

    /// Where people sign out at the provider, if it is known to have such an address. Nothing is
    /// asked for: signing out here never waits for the provider.
    pub(super) fn end_session(&self) -> Option<String> {
        let known = self.known().description.clone().filter(|(_, at)| at.elapsed() < STALE);
        let address = known?.0.end_session_endpoint?;
        checked(&address).is_ok().then_some(address)
    }

    fn describe(&self) -> Result<ProviderMetadata, Refused> {
        let issuer = &self.provider.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let wrong = |what: String| Refused::Provider(format!("{url}: {what}"));
        let found = serde_json::from_value::<ProviderMetadata>(self.wire.get(&url, None)?);
        let found = found.map_err(|it| wrong(it.to_string()))?;
        match found.issuer == *issuer {
            true => Ok(found),
            false => Err(wrong(format!("it says that its issuer is `{}`", found.issuer))),
        }
    }

    /// The provider's keys, asked for again if there is none of this id: it may have a new one.
    /// Also when they were asked for.
    pub(super) fn keys(&self, id: Option<&str>) -> Result<(Keys, Instant), Refused> {
        let had = self.known().keys.clone().filter(|(_, at)| at.elapsed() < FRESH);
        match had.filter(|(keys, _)| id.is_none_or(|id| keys.has(id))) {
            Some(had) => Ok(had),
            None => Ok((self.new_keys()?, Instant::now())),
        }
    }

    /// The provider's keys, asked for now.
    pub(super) fn new_keys(&self) -> Result<Keys, Refused> {
        let url = self.description()?.jwks_uri;
        let keys = Keys::read(&self.wire.get(&url, None)?)
            .map_err(|it| Refused::Provider(format!("{url}: {it}")))?;
        self.known().keys = Some((keys.clone(), Instant::now()));
        Ok(keys)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
