//! Who may do what.

use tradewind_model::Span;

/// SHA-256 of a token's secret.
pub type TokenHash = [u8; 32];

/// The role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Their own jobs and accounts.
    User,
    /// The same, and prices and offers of sites that they own.
    Owner,
    /// Everything.
    Administrator,
    /// Another market: to exchange jobs, and nothing else.
    Peer,
}

/// That a token was issued at a sign-in with a provider of identities.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignedIn {
    /// Its issuer, a URL.
    pub provider: String,
    /// The projects that its groups were mapped to.
    pub projects: Vec<String>,
}

/// What is decided about a new token beside its owner and role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenTerms {
    /// How long it opens, from now on; `None`: until it is revoked.
    pub lifetime: Option<Span>,
    /// If a provider of identities answered for its owner.
    pub signed_in: Option<SignedIn>,
}

/// When a token expires after its secret was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// As before.
    Kept,
    /// Not at all.
    Never,
    /// So long from now on.
    After(Span),
}

impl Role {
    /// All of them, with the names that scripts know.
    pub const ALL: [(Role, &'static str); 4] = [
        (Role::User, "user"),
        (Role::Owner, "owner"),
        (Role::Administrator, "administrator"),
        (Role::Peer, "peer"),
    ];
}

/// The user of a request, with the role of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Who.
    pub user: String,
    /// As what.
    pub role: Role,
}

impl Actor {
    /// Whether they may see and change what belongs to `user`.
    pub fn may_act_for(&self, user: &str) -> bool {
        self.role == Role::Administrator || self.user == user
    }

    /// Whether they may change what `owner`'s site asks and offers.
    pub fn may_manage(&self, owner: &str) -> bool {
        match self.role {
            Role::Administrator => true,
            Role::Owner => self.user == owner,
            Role::User | Role::Peer => false,
        }
    }
}
