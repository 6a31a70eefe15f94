//! What the doctor looks at under any manager: the clock, and what users need.

use std::time::Instant;

use tradewind_io::settings::cluster::Accounts;

use super::{Base, USER};
use crate::site::managed::ssh;
use crate::site::managed::tool::{Call, CommandOutput, CommandTrouble, Who};
use crate::site::{Finding, Verdict};

/// More than this between two clocks is too much: seconds.
pub(in crate::site) const SKEW: i64 = 2;
/// What is to be done then.
pub(in crate::site) const SET_CLOCKS: &str =
    "set both clocks by NTP: parts of a job begin by their site's clock";

/// What was found; nothing is to be done if it is good.
pub(in crate::site) fn finding(
    what: &str,
    verdict: Verdict,
    found: String,
    remedy: &str,
) -> Finding {
    let remedy = match verdict {
        Verdict::Good => "",
        _ if ssh::is_no_connection(&found) && found.contains("sign in") => ssh::REMEDY,
        _ => remedy,
    };
    Finding { what: what.to_owned(), verdict, found, remedy: remedy.to_owned() }
}

/// It is as it should be.
pub(in crate::site) fn good(what: &str, found: String) -> Finding {
    finding(what, Verdict::Good, found, "")
}

/// Jobs run, and something could be better.
pub(in crate::site) fn warn(what: &str, found: String, remedy: &str) -> Finding {
    finding(what, Verdict::Warning, found, remedy)
}

/// Jobs cannot run.
pub(in crate::site) fn bad(what: &str, found: String, remedy: &str) -> Finding {
    finding(what, Verdict::Bad, found, remedy)
}

/// Runs it; what it said, and how long that took in milliseconds.
pub(in crate::site) fn timed(
    base: &Base,
    call: &Call<'_>,
) -> Result<(CommandOutput, u128), String> {
    let began = Instant::now();
    let answer = base.tool.must(call).map_err(|wrong| wrong.to_string())?;
    Ok((answer, began.elapsed().as_millis()))
}

/// The same; what it said may be a complaint.
pub(in crate::site) fn timed_run(
    base: &Base,
    call: &Call<'_>,
) -> (Result<CommandOutput, CommandTrouble>, u128) {
    let began = Instant::now();
    let answer = base.tool.run(call);
    (answer, began.elapsed().as_millis())
}

/// Whether the cluster's clock is right.
pub(in crate::site) fn clock(base: &Base) -> Finding {
    let what = "the site's clock agrees with ours";
    match base.clock_apart() {
        Ok(apart) => {
            let verdict = match apart.abs() {
                apart if apart > 300 => Verdict::Bad,
                apart if apart > SKEW => Verdict::Warning,
                _ => Verdict::Good,
            };
            finding(what, verdict, format!("{apart} s apart"), SET_CLOCKS)
        }
        Err(wrong) => finding(what, Verdict::Bad, wrong.to_string(), "`date +%s` must work there"),
    }
}

/// Whether commands run as users, and whether what they need is there.
pub(in crate::site) fn accounts(base: &Base) -> Vec<Finding> {
    let named: Vec<String> = match &base.cluster.accounts {
        Accounts::Same => Vec::new(),
        Accounts::Of(all) => all.values().cloned().collect(),
    };
    if base.cluster.accounts == Accounts::Same && base.cluster.user_command.is_empty() {
        return vec![same_without_command(base)];
    }
    if named.is_empty() {
        let found = match base.cluster.accounts {
            Accounts::Same => "each user's account is called as the user is",
            Accounts::Of(_) => "nobody has an account here: no job can run",
        };
        let verdict = match base.cluster.accounts {
            Accounts::Same => Verdict::Good,
            Accounts::Of(_) => Verdict::Bad,
        };
        let remedy = "set `accounts` of the site, such as { ana = \"ana01\" }, or \"same\"";
        return vec![finding("users have accounts", verdict, found.to_owned(), remedy)];
    }
    named.iter().map(|account| account_works(base, account)).collect()
}

/// Each user's account is to run the jobs, and nothing says how to become that account.
fn same_without_command(base: &Base) -> Finding {
    let what = "users have accounts";
    match base.own_account() {
        Ok(own) => {
            let found = format!(
                "there is no `user_command`, so commands run as {own:?}: jobs of all other users are \
                 refused"
            );
            let remedy = "set `user_command` of the site, such as [\"sudo\", \"-n\", \"-u\", \
                          \"{user}\", \"--\"]; or let one account run all jobs: `accounts = { \"*\" = \
                          \"NAME\" }`";
            finding(what, Verdict::Warning, found, remedy)
        }
        Err(wrong) => finding(what, Verdict::Bad, wrong.to_string(), "`id -un` must work there"),
    }
}

fn account_works(base: &Base, account: &str) -> Finding {
    let what = format!("jobs can be run as {account}");
    let directory = base.cluster.directory.replace(USER, account);
    let spool = base.cluster.spool.replace(USER, account);
    let mut call = Call::by(Who::User(account), &["/bin/sh", "-s", "--", &directory, &spool]);
    let program = format!("{HOME}{PROBE}");
    call.input = program.as_bytes();
    let remedy = "see `user_command`, `accounts`, `directory` and `spool` of the site; jobs \
                  need GNU coreutils and util-linux";
    match timed(base, &call) {
        Ok((answer, took)) => {
            let text = answer.text();
            let mut lines = text.lines();
            let who = lines.next().unwrap_or_default();
            let wrong: Vec<&str> = lines.filter(|line| *line != "done").collect();
            match (who == account, wrong.is_empty(), text.ends_with("done\n")) {
                (true, true, true) => finding(&what, Verdict::Good, format!("{took} ms"), ""),
                (false, ..) => {
                    let found = format!("the command ran as {who:?}");
                    finding(&what, Verdict::Bad, found, remedy)
                }
                _ => finding(&what, Verdict::Bad, wrong.join("; "), remedy),
            }
        }
        Err(wrong) => finding(&what, Verdict::Bad, wrong, remedy),
    }
}

const HOME: &str = include_str!("../home.sh");
const PROBE: &str = r#"
id -un
at_home "$1"
[ -d "$place" ] || echo "$1 is not there"
at_home "$2"
at=$place
while [ ! -d "$at" ]; do at=$(dirname "$at"); done
[ -w "$at" ] || echo "$2 cannot be written"
case $(date +%3N) in [0-9][0-9][0-9]) ;; *) echo "date knows no milliseconds" ;; esac
sleep 0.01 || echo "sleep knows no fractions"
command -v base64 >/dev/null || echo "there is no base64"
command -v setsid >/dev/null || echo "there is no setsid"
echo done
"#;
