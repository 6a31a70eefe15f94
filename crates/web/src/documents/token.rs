//! Tokens.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Their own jobs and accounts.
    User,
    /// The same, and their sites.
    Owner,
    /// May see and change everything.
    Administrator,
    /// Another market: to exchange jobs, and nothing else.
    Peer,
}

/// A token, without its secret, which is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"id": 2, "user": "ana", "role": "user", "note": "laptop", "issued": 1_800_000_000}))]
pub struct Token {
    /// Id of the token.
    pub id: u64,
    /// Name of the user.
    pub user: String,
    /// Role of the user.
    pub role: Role,
    /// Free text, which the program does not read.
    pub note: String,
    /// Moment since which this holds, in Unix seconds.
    pub issued: i64,
    /// From when on it is no longer valid; left out: it is valid until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// Its secret was changed, and until then the one before is valid, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_until: Option<i64>,
    /// The provider of identities that answered for its user, if the token is of a sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in: Option<String>,
    /// The projects that the provider's groups put the user in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
}

/// All tokens that the caller may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// In the order of ids.
    pub tokens: Vec<Token>,
    /// There are more: ask for those `after` this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A token that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"user": "ana", "role": "user", "note": "laptop"}))]
pub struct NewToken {
    /// Whose it is to be: letters, digits and `_-.@`.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.@-]+$")]
    pub user: String,
    /// Role of the user.
    pub role: Role,
    /// Free text, which the program does not read.
    #[serde(default)]
    #[schema(max_length = 200)]
    pub note: String,
    /// For how many seconds it is valid; 0: until it is revoked. Left out: as the configuration
    /// says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 315_360_000)]
    pub lifetime: Option<i64>,
}

/// Another secret that is wanted for a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"grace": 3_600}))]
pub struct NewSecret {
    /// For how many seconds the present secret stays valid: an hour if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2_592_000)]
    pub grace: Option<i64>,
    /// For how many seconds from now on the token is valid; 0: until it is revoked. Administrators
    /// may say so; left out: as long as it would have without the new secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 315_360_000)]
    pub lifetime: Option<i64>,
}

/// A new token. This is the only time that its secret is seen.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"id": 2, "token": "tw_…"}))]
pub struct IssuedToken {
    /// Id of the token.
    pub id: u64,
    /// To be sent as `Authorization: Bearer TOKEN`.
    pub token: String,
    /// From when on it is no longer valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
}

/// Without the secret.
impl std::fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedToken").field("id", &self.id).finish_non_exhaustive()
    }
}
