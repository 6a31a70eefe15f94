//! `[[site]]` of the kind `local`: as whom its jobs run on this machine.

use std::ops::RangeInclusive;

use super::cluster::{self, Accounts};
use crate::fields::{Fields, Notes};
use crate::value::ValueKind;

/// Keys of such a site beside those that all sites have.
pub(super) const KEYS: [&str; 4] = ["user_command", "accounts", "directory", "spool"];
/// Those that no other site has.
pub(super) const OWN: [&str; 4] = ["hide_state", "cgroups", "processors", "memory"];

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
    /// Jobs see neither the state folder nor each other's processes.
    pub hide_state: Wish,
    /// Jobs have cgroups of their own.
    pub cgroups: Wish,
    /// Processors that all slots of the site share; `None`: the machine's.
    pub processors: Option<u32>,
    /// Megabytes of memory that all slots of the site share; `None`: the machine's.
    pub memory: Option<u64>,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wish {
    /// Where the machine allows it.
    #[default]
    Auto,
    /// Or else the site does not open.
    Require,
    /// The feature is off.
    Off,
}

const CGROUPS: [(&str, Wish); 3] =
    [("auto", Wish::Auto), ("require", Wish::Require), ("off", Wish::Off)];
const PROCESSORS: RangeInclusive<i64> = 1..=1 << 20;
const MEGABYTES: RangeInclusive<i64> = 1..=1 << 40;

impl Default for LocalAccounts {
    fn default() -> LocalAccounts {
        LocalAccounts {
            user_command: Vec::new(),
            accounts: Accounts::Of(Default::default()),
            directory: "~".to_owned(),
            spool: "~/.tradewind".to_owned(),
            hide_state: Wish::Auto,
            cgroups: Wish::Auto,
            processors: None,
            memory: None,
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
    let hide_state = hide_state(fields, notes);
    if hide_state == Wish::Require && !user_command.is_empty() {
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
        cgroups: fields.word("cgroups", &CGROUPS, notes).unwrap_or_default(),
        processors: fields
            .whole("processors", PROCESSORS, notes)
            .and_then(|count| u32::try_from(count).ok()),
        memory: fields
            .whole("memory", MEGABYTES, notes)
            .and_then(|megabytes| u64::try_from(megabytes).ok()),
        accounts: cluster::accounts(fields, notes),
        directory: cluster::path(fields, "directory", notes).unwrap_or(usual.directory),
        spool: cluster::path(fields, "spool", notes).unwrap_or(usual.spool),
    }
}

/// `true`, `false` or `"auto"`.
fn hide_state(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Wish {
    match fields.get("hide_state").map(|value| &value.kind) {
        None => Wish::Auto,
        Some(ValueKind::Text(_)) => {
            fields.word("hide_state", &[("auto", Wish::Auto)], notes).unwrap_or_default()
        }
        Some(_) => match cluster::flag(fields, "hide_state", notes) {
            Some(true) => Wish::Require,
            Some(false) => Wish::Off,
            None => Wish::Auto,
        },
    }
}
