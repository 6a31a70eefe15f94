//! Tokens: who gets one, for how long, and when it ends.

use std::collections::BTreeSet;

use tradewind_model::{Span, Time};

use super::{Live, Settings};
use crate::live::answer::{Refusal, RefusalKind, Reply, StepResult, refused};
use crate::live::record::AccessRecord;
use crate::live::rights::{Actor, Expiry, Role, SignedIn, TokenHash, TokenTerms};
use crate::live::state::{State, Token};

/// How long an expired token is kept, so that its use is answered with the reason.
const KEPT: Span = Span(30 * 86_400);
/// Tokens from signing in that one user may have at once: the oldest go.
const MOST_SIGNED_IN: usize = 20;
/// Expired tokens that are removed beside one new one.
const REMOVED_AT_ONCE: usize = 100;

/// What an administrator, or a provider of identities, says of a new token.
pub(in crate::live) struct NewToken {
    pub(in crate::live) user: String,
    pub(in crate::live) role: Role,
    pub(in crate::live) hash: TokenHash,
    pub(in crate::live) note: String,
}

/// Another secret for a token.
pub(in crate::live) struct Rotation {
    pub(in crate::live) hash: TokenHash,
    pub(in crate::live) grace: Span,
    pub(in crate::live) expiry: Expiry,
}

impl Live {
    /// Issues a token. A user who signs in with other rights than before loses tokens with those.
    pub(in crate::live) fn admit(
        &mut self,
        at: Time,
        new: NewToken,
        terms: TokenTerms,
    ) -> StepResult {
        let mut gone = self.state.long_expired(at);
        if let Some(signed_in) = &terms.signed_in {
            gone.extend(self.state.outdone(at, &new.user, new.role, signed_in));
        }
        for token in gone {
            self.put(at, AccessRecord::Expelled { token })?;
        }
        let token = self.state.access.last + 1;
        let NewToken { user, role, hash, note } = new;
        self.put(at, AccessRecord::Admitted { token, user, role, hash, note })?;
        if let Some(lifetime) = terms.lifetime {
            self.put(at, AccessRecord::TokenExpires { token, at: Some(at + lifetime) })?;
        }
        if let Some(signed_in) = terms.signed_in {
            self.put(at, AccessRecord::TokenSignedIn { token, signed_in })?;
        }
        Ok(Ok(Reply::Number(token)))
    }

    /// Revokes a token. Users do not learn that others have tokens.
    pub(in crate::live) fn expel(&mut self, at: Time, actor: &Actor, token: u64) -> StepResult {
        if let Some(refusal) = self.not_theirs(actor, token) {
            return refusal;
        }
        self.put(at, AccessRecord::Expelled { token })?;
        Ok(Ok(Reply::Done))
    }

    /// A token gets another secret.
    pub(in crate::live) fn rotate(
        &mut self,
        at: Time,
        actor: &Actor,
        token: u64,
        rotation: &Rotation,
    ) -> StepResult {
        if let Some(refusal) = self.not_theirs(actor, token) {
            return refusal;
        }
        if rotation.expiry != Expiry::Kept && actor.role != Role::Administrator {
            let hint = "leave it out: the new secret then expires when the present one does";
            return refused(
                RefusalKind::Forbidden,
                "only an administrator says when it expires",
                hint,
            );
        }
        if self.state.access.tokens.get(&token).is_some_and(|it| it.is_expired(at))
            && rotation.expiry == Expiry::Kept
        {
            let hint = "an administrator may give it another end: `token rotate ID --expires SPAN`";
            return refused(RefusalKind::Conflict, format!("token {token} has expired"), hint);
        }
        let earlier_until = at + rotation.grace;
        self.put(at, AccessRecord::TokenRotated { token, hash: rotation.hash, earlier_until })?;
        let expires = match rotation.expiry {
            Expiry::Kept => return Ok(Ok(Reply::Done)),
            Expiry::Never => None,
            Expiry::After(span) => Some(at + span),
        };
        self.put(at, AccessRecord::TokenExpires { token, at: expires })?;
        Ok(Ok(Reply::Done))
    }

    fn not_theirs(&self, actor: &Actor, token: u64) -> Option<StepResult> {
        let found = self.state.access.tokens.get(&token).filter(|it| actor.may_act_for(&it.user));
        let message = format!("you have no token {token}");
        found.is_none().then(|| refused(RefusalKind::Unknown, message, "see `token list`"))
    }
}

impl State {
    /// The projects that providers of identities have put the user in: of every sign-in that has
    /// not expired at `at`. Linear in the number of tokens.
    pub fn projects_by_sign_in(&self, user: &str, at: Time) -> BTreeSet<&str> {
        let own = self.access.tokens.values().filter(|it| it.user == user && !it.is_expired(at));
        let projects = own.filter_map(|it| it.signed_in.as_ref()).flat_map(|it| &it.projects);
        projects.map(String::as_str).collect()
    }

    /// Tokens that expired long ago; those of sign-ins go at once.
    fn long_expired(&self, at: Time) -> Vec<u64> {
        let is_old = |it: &Token| match it.signed_in {
            Some(_) => it.is_expired(at),
            None => it.expires.is_some_and(|expires| expires + KEPT <= at),
        };
        let old = self.access.tokens.iter().filter(|(_, it)| is_old(it)).map(|(token, _)| *token);
        old.take(REMOVED_AT_ONCE).collect()
    }

    /// Tokens of the user's earlier sign-ins that a new one ends: those with other rights, and the
    /// oldest of too many.
    fn outdone(&self, at: Time, user: &str, role: Role, signed_in: &SignedIn) -> Vec<u64> {
        let own = self.access.tokens.iter().filter(|(_, it)| it.user == user && !it.is_expired(at));
        let own = own.filter_map(|(token, it)| Some((*token, it.role, it.signed_in.as_ref()?)));
        let (same, mut gone): (Vec<_>, Vec<_>) =
            own.partition(|(_, had, from)| *had == role && *from == signed_in);
        let too_many = (same.len() + 1).saturating_sub(MOST_SIGNED_IN);
        gone.extend(same.into_iter().take(too_many));
        gone.into_iter().map(|(token, ..)| token).collect()
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
