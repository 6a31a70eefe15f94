//! Names of users, projects and sites that the market knows, and the nearest to one that it does
//! not.

use std::collections::BTreeSet;

use tradewind_io::diagnostics::suggestion;

use super::answer::{Refusal, RefusalKind};
use super::money::Account;
use super::projects::may_be_named;
use super::state::State;

impl State {
    /// All users who ever submitted, have a token or an account, or are members of a project.
    pub fn known_users(&self) -> BTreeSet<&str> {
        let users = self.jobs.users.iter().map(String::as_str);
        let tokens = self.access.tokens.values().map(|token| token.user.as_str());
        let members = self.ledger.projects.0.values().flat_map(|it| it.members.keys());
        let accounts = self.ledger.accounts.balances().filter_map(|(account, _)| match account {
            Account::User(name) => Some(name.as_str()),
            _ => None,
        });
        users.chain(tokens).chain(members.map(String::as_str)).chain(accounts).collect()
    }

    fn known_projects(&self) -> BTreeSet<&str> {
        self.ledger.projects.0.keys().map(String::as_str).collect()
    }

    fn known_sites(&self) -> BTreeSet<&str> {
        self.market.pools().sites().iter().map(|site| site.name.as_str()).collect()
    }

    fn known_peers(&self) -> BTreeSet<&str> {
        self.peers.directory.values().map(|known| known.name.as_str()).collect()
    }

    /// Whether money may be moved to the account, and whether it is one that can be made.
    ///
    /// # Errors
    /// If the market does not know whose it is: the message has the nearest names that it knows.
    pub(super) fn may_receive(&self, account: &Account) -> Result<(), Stranger> {
        let (kind, name, known, may_be_made) = match account {
            Account::Bank | Account::Held(_) => return Ok(()),
            Account::User(name) => ("user", name, self.known_users(), may_be_named(name)),
            Account::Project(name) => ("project", name, self.known_projects(), may_be_named(name)),
            Account::Owner(name) => ("site", name, self.known_sites(), false),
            Account::Peer(name) => ("peer", name, self.known_peers(), false),
        };
        if known.contains(name.as_str()) {
            return Ok(());
        }
        let message = format!("there is no {kind} `{}`", name.escape_default());
        let hint = match (nearest(name, &known), may_be_made) {
            (Some(names), true) => format!("did you mean {names}? `--create` makes a new {kind}"),
            (Some(names), false) => format!("did you mean {names}?"),
            (None, true) => format!("`--create` makes a new {kind}"),
            (None, false) => match kind {
                "site" | "peer" => format!("the configuration names every {kind}"),
                _ => "a name has 1 to 64 letters, digits and `_-.@`".to_owned(),
            },
        };
        Err(Stranger { refusal: Refusal::new(RefusalKind::Invalid, message, hint), may_be_made })
    }
}

/// Why an account cannot have money.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) refusal: Refusal,
    /// It can be made.
    pub(super) may_be_made: bool,
}

/// There is no such project. The hint has the user's own projects of similar names.
pub(super) fn unknown_project(state: &State, user: &str, project: &str) -> Refusal {
    let own: BTreeSet<&str> = state.ledger.projects.of(user).collect();
    let message = format!("there is no project `{}`", project.escape_default());
    let hint = match (nearest(project, &own), own.is_empty()) {
        (Some(names), _) => format!("did you mean {names}?"),
        (None, false) => {
            let own: Vec<&str> = own.into_iter().take(10).collect();
            format!("your projects: {}", own.join(", "))
        }
        (None, true) => "an administrator makes one with `tradewind project create NAME`".into(),
    };
    Refusal::new(RefusalKind::Invalid, message, hint)
}

/// The name that is most like `name`, in words; `None` if none is.
fn nearest(name: &str, known: &BTreeSet<&str>) -> Option<String> {
    let near = suggestion(name.trim(), known.iter().copied());
    near.map(|name| format!("`{name}`"))
}

/// Whether users and projects may have this name.
///
/// # Errors
/// If not.
pub(super) fn good_name(name: &str) -> Result<(), Refusal> {
    match may_be_named(name) {
        true => Ok(()),
        false => {
            let message = format!("`{}` cannot be a name", name.escape_default());
            let hint = "a name has 1 to 64 letters, digits and `_-.@`";
            Err(Refusal::new(RefusalKind::Invalid, message, hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_are_near() {
        let known = BTreeSet::from(["ana", "apollo", "bob", "climate"]);
        assert_eq!(nearest(" ana", &known).as_deref(), Some("`ana`"));
        assert_eq!(nearest("apolo", &known).as_deref(), Some("`apollo`"));
        assert_eq!(nearest("climat", &known).as_deref(), Some("`climate`"));
        assert_eq!(nearest("zebra", &known), None);
    }
}
