//! Who may do what.

use crate::live::answer::{Refusal, RefusalKind};
use crate::live::{Settings, State};
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

impl Settings {
    /// Whether there may be tokens of this role. Where a local site runs all jobs as the daemon's own
    /// account, each user who submits can do what an administrator can.
    ///
    /// # Errors
    /// A refusal that says why, and what the administrator can do.
    pub fn admits(&self, user: &str, role: Role) -> Result<(), Refusal> {
        let [first, ..] = self.one_account.as_slice() else { return Ok(()) };
        let Some((_, name)) = Role::ALL.iter().find(|(it, _)| *it == role) else { return Ok(()) };
        if role == Role::Administrator {
            return Ok(());
        }
        let message = format!(
            "no access for `{user}` as {name}: the local site `{first}` runs all jobs as the \
             daemon's own account, so any job could read the administrator's token"
        );
        let hint = "set `user_command` at the site (docs/reference/local-site.md); or, if all users \
                    may act as administrators, `shared_account = true` in the configuration";
        Err(Refusal::new(RefusalKind::Forbidden, message, hint))
    }

    /// Whether all tokens of the journal may stand.
    ///
    /// # Errors
    /// As [`Settings::admits`], of the first that may not.
    pub fn admits_all(&self, state: &State) -> Result<(), Refusal> {
        state.access.tokens.values().try_for_each(|token| self.admits(&token.user, token.role))
    }
}
