//! `[[site]]` of the kind `local`: as whom its jobs run on this machine.

use super::cluster::{self, Accounts};
use crate::fields::{Fields, Notes};

/// Keys of such a site beside those that all sites have.
pub(super) const KEYS: [&str; 4] = ["user_command", "accounts", "directory", "spool"];
/// Those that no other site has.
pub(super) const OWN: [&str; 1] = ["hide_state"];

/// As whom the jobs of a site on this machine run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAccounts {
    /// Words before what runs as a user's account, with `{user}` for the account; empty: all jobs run
    /// as the daemon's own account.
    pub user_command: Vec<String>,
    /// Who runs as whom.
    pub accounts: Accounts,
    /// Where jobs run that do not say where; `{user}` is the account, `~` its home.
    pub directory: String,
    /// Where scripts are kept while they run; as `directory`.
    pub spool: String,
    /// Jobs do not see the state folder; without `user_command` only.
    pub hide_state: bool,
}

impl Default for LocalAccounts {
    fn default() -> LocalAccounts {
        LocalAccounts {
            user_command: Vec::new(),
            accounts: Accounts::Of(Default::default()),
            directory: "~".to_owned(),
            spool: "~/.tradewind".to_owned(),
            hide_state: false,
        }
    }
}

pub(super) fn machine(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> LocalAccounts {
    let usual = LocalAccounts::default();
    let user_command = cluster::user_command(fields, notes);
    let given = |key: &&str| fields.get(key).is_some();
    if user_command.is_empty() {
        for key in KEYS[1..].iter().copied().filter(given) {
            let message = format!("without `user_command`, `{key}` means nothing at a local site");
            let hint = "such as `user_command = [\"sudo\", \"-n\", \"-u\", \"{user}\"]`";
            notes.error(fields.line_of(key), &fields.place(key), message, hint);
        }
    }
    let hide_state = cluster::flag(fields, "hide_state", notes).unwrap_or(false);
    if hide_state && !user_command.is_empty() {
        let message = "with `user_command` no job can read the state folder anyway".to_owned();
        notes.error(
            fields.line_of("hide_state"),
            &fields.place("hide_state"),
            message,
            "leave it out",
        );
    }
    LocalAccounts {
        user_command,
        hide_state,
        accounts: cluster::accounts(fields, notes),
        directory: cluster::path(fields, "directory", notes).unwrap_or(usual.directory),
        spool: cluster::path(fields, "spool", notes).unwrap_or(usual.spool),
    }
}
