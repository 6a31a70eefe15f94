//! Who may do what.

/// SHA-256 of a token's secret.
pub type TokenHash = [u8; 32];

/// As what somebody comes in.
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

impl Role {
    /// All of them, with the names that scripts know.
    pub const ALL: [(Role, &'static str); 4] = [
        (Role::User, "user"),
        (Role::Owner, "owner"),
        (Role::Administrator, "administrator"),
        (Role::Peer, "peer"),
    ];
}

/// Somebody who came in.
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
