//! Access: the tokens with which people, programs and peers identify themselves.

pub mod rights;

use std::collections::BTreeMap;

use tradewind_model::Time;

use super::ApplyError;
use rights::{Role, SignedIn, TokenHash};

/// Tokens.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// By their numbers, also those that have expired and are not removed yet.
    pub(crate) tokens: BTreeMap<u64, Token>,
    /// The last token's number.
    pub(crate) last: u64,
}

/// A token: its user, and what it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Whose it is.
    pub user: String,
    /// As what.
    pub role: Role,
    /// Of the secret.
    pub hash: TokenHash,
    /// For people.
    pub note: String,
    /// Since when.
    pub issued: Time,
    /// From when on it does not open any more; `None`: it opens until it is revoked.
    pub expires: Option<Time>,
    /// The secret before the last one, as long as it still opens.
    pub earlier: Option<EarlierSecret>,
    /// If it was issued at a sign-in with a provider of identities.
    pub signed_in: Option<SignedIn>,
}

impl Token {
    /// Whether it opens nothing any more at `at`.
    pub fn is_expired(&self, at: Time) -> bool {
        self.expires.is_some_and(|it| it <= at)
    }
}

/// A secret that was replaced, and still opens for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierSecret {
    /// Of the secret.
    pub hash: TokenHash,
    /// From when on it does not open any more.
    pub until: Time,
}

/// What is written down of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessRecord {
    /// A token was issued.
    Admitted {
        /// A number that was never used.
        token: u64,
        /// Whose it is.
        user: String,
        /// As what.
        role: Role,
        /// Of the secret, which is kept nowhere.
        hash: TokenHash,
        /// For people.
        note: String,
    },
    /// A token was revoked.
    Expelled {
        /// Which.
        token: u64,
    },
    /// A token got a moment at which it expires, or has none any more.
    TokenExpires {
        /// Which.
        token: u64,
        /// From when on it does not open; `None`: never.
        at: Option<Time>,
    },
    /// A token got another secret.
    TokenRotated {
        /// Which.
        token: u64,
        /// Of the new secret.
        hash: TokenHash,
        /// From when on the secret before it does not open any more.
        earlier_until: Time,
    },
    /// A token was issued at a sign-in with a provider of identities.
    TokenSignedIn {
        /// Which.
        token: u64,
        /// What the provider said.
        signed_in: SignedIn,
    },
}

impl Access {
    /// Makes one change at `at`.
    pub(super) fn apply(&mut self, at: Time, record: &AccessRecord) -> Result<(), ApplyError> {
        match record {
            AccessRecord::Admitted { token, user, role, hash, note } => {
                if *token != self.last + 1 {
                    return Err(ApplyError::Other("a token's number is not the next one"));
                }
                self.last = *token;
                let (user, note, issued) = (user.clone(), note.clone(), at);
                let (role, hash) = (*role, *hash);
                let (expires, earlier, signed_in) = (None, None, None);
                let new = Token { user, role, hash, note, issued, expires, earlier, signed_in };
                self.tokens.insert(*token, new);
            }
            AccessRecord::Expelled { token } => drop(self.tokens.remove(token).ok_or(MISSING)?),
            AccessRecord::TokenExpires { token, at } => self.token(*token)?.expires = *at,
            AccessRecord::TokenRotated { token, hash, earlier_until } => {
                let token = self.token(*token)?;
                token.earlier = Some(EarlierSecret { hash: token.hash, until: *earlier_until });
                token.hash = *hash;
            }
            AccessRecord::TokenSignedIn { token, signed_in } => {
                self.token(*token)?.signed_in = Some(signed_in.clone());
            }
        }
        Ok(())
    }

    fn token(&mut self, token: u64) -> Result<&mut Token, ApplyError> {
        self.tokens.get_mut(&token).ok_or(MISSING)
    }
}

const MISSING: ApplyError = ApplyError::Other("a token that is not known");
