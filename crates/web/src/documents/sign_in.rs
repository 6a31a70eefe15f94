//! Signing in with a provider of identities.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Role;

/// How people sign in here. Tokens always do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"provider": "Example University", "issuer": "https://id.example.org"}))]
pub struct SignInWays {
    /// What people call the provider of identities, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// URL of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// A sign-in that is confirmed in any browser.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"device_code": "d-1", "user_code": "ABCD-EFGH", "url": "https://id.example.org/device", "lasts": 600, "interval": 5}))]
pub struct DeviceSignIn {
    /// To be sent with each question; a secret.
    pub device_code: String,
    /// Code that the user types there.
    pub user_code: String,
    /// URL at which the user confirms the code.
    pub url: String,
    /// The same with the code in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_url: Option<String>,
    /// Validity in seconds.
    pub lasts: i64,
    /// Seconds between two questions, at least.
    pub interval: i64,
}

/// Without the secret.
impl std::fmt::Debug for DeviceSignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSignIn").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Whether a sign-in was confirmed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"device_code": "d-1"}))]
pub struct DeviceQuestion {
    /// Of the answer that began it.
    #[schema(min_length = 1, max_length = 4096)]
    pub device_code: String,
}

/// Without the secret.
impl std::fmt::Debug for DeviceQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceQuestion").finish_non_exhaustive()
    }
}

/// Answer to a device that asks for its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"slower": 0}))]
pub struct DeviceAnswer {
    /// Seconds to be added to the interval from now on.
    pub slower: i64,
}

/// A token that signing in gave. This is the only time that its secret is seen.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"id": 2, "token": "tw_…", "user": "ana", "role": "user", "projects": ["apollo"], "expires": 1_800_043_200}))]
pub struct NewSession {
    /// Id of the token.
    pub id: u64,
    /// To be sent as `Authorization: Bearer TOKEN`.
    pub token: String,
    /// Name of the user.
    pub user: String,
    /// Role of the user.
    pub role: Role,
    /// The projects that the provider's groups put the user in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
    /// From when on it is no longer valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
}

/// Without the secret.
impl std::fmt::Debug for NewSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewSession").field("id", &self.id).finish_non_exhaustive()
    }
}
