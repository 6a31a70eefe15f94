//! The text of a configuration.

use std::fmt::Write as _;

use super::SiteKind;

/// A pool of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolText {
    /// Its name, which is that of the partition at a cluster.
    pub(super) name: String,
    pub(super) nodes: u32,
}

/// What was answered.
#[derive(Debug)]
pub(super) struct SiteAnswers {
    pub(super) kind: SiteKind,
    pub(super) name: String,
    /// Whom its income belongs to.
    pub(super) owner: String,
    /// Credits for a node and a second, as it was written.
    pub(super) price: String,
    pub(super) pools: Vec<PoolText>,
    /// The cluster's login, if it is reached by `ssh`.
    pub(super) ssh: Option<String>,
    /// The account under which the daemon runs, and whether it is root.
    pub(super) account: String,
    pub(super) is_root: bool,
}

/// A configuration with one site, with comments that say what may be changed.
pub(super) fn text(site: &SiteAnswers) -> String {
    let mut text = "\
# Made by `tradewind init`. All keys: docs/reference/tradewind-toml.md; `tradewind doctor --config`
# checks this file, `tradewind up --config` runs the market.

[market]
policy = \"easy\"

[[site]]
"
    .to_owned();
    let kind = if site.kind == SiteKind::Local { "local" } else { "slurm" };
    let mut line = |text_of: String| text.push_str(&(text_of + "\n"));
    line(format!("name = {}", quoted(&site.name)));
    line(format!("kind = \"{kind}\""));
    line(format!("owner = {:<24} # the user whom its income belongs to", quoted(&site.owner)));
    if site.kind != SiteKind::Local {
        cluster(site, &mut line);
    }
    for pool in &site.pools {
        line(String::new());
        line("  [[site.pool]]".to_owned());
        line(format!("  name = {}", quoted(&pool_name(site, pool))));
        line(format!("  nodes = {}", pool.nodes));
        if site.kind != SiteKind::Local {
            line(format!("  partition = {}", quoted(&pool.name)));
        }
        line(format!("  price = {:<23} # credits per node and second", site.price));
    }
    text
}

fn cluster(site: &SiteAnswers, line: &mut impl FnMut(String)) {
    if let Some(ssh) = &site.ssh {
        line(format!("ssh = {}", quoted(ssh)));
    }
    if site.kind == SiteKind::Shadow {
        line(format!("{:<32} # nothing is submitted there", "mode = \"observe\""));
        return;
    }
    if site.is_root && site.ssh.is_none() {
        line("# Each job runs as its user's own account.".to_owned());
        line(
            "user_command = [\"setpriv\", \"--reuid={user}\", \"--regid={user}\", \
             \"--init-groups\"]"
                .to_owned(),
        );
        line("accounts = \"same\"".to_owned());
        return;
    }
    let account = site.ssh.as_deref().and_then(|it| it.split_once('@')).map(|(user, _)| user);
    let account = quoted(account.unwrap_or(&site.account));
    line("# All jobs run as this account. For the users' own: docs/reference/slurm.md.".to_owned());
    line(format!("accounts = {{ \"*\" = {account} }}"));
}

/// Pools of different sites have different names.
fn pool_name(site: &SiteAnswers, pool: &PoolText) -> String {
    match site.kind {
        SiteKind::Local => pool.name.clone(),
        _ => format!("{}-{}", site.name, pool.name),
    }
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
