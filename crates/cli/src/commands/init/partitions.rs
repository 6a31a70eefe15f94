//! The partitions of a Slurm cluster, as `sinfo` lists them.

use std::process::Command;
use std::time::Duration;

use super::file::PoolText;
use super::sinfo::rows;
use crate::bounded_call::{CallError, call};
use crate::exit::Failure;

/// A cluster that has not answered by then is not reached: also over a slow connection.
const LIMIT: Duration = Duration::from_secs(30);

/// A pool for each partition, with its nodes; `ssh`: where the cluster is, if not here.
///
/// # Errors
/// If the cluster does not answer, or has no partitions.
pub(super) fn read(ssh: Option<&str>) -> Result<Vec<PoolText>, Failure> {
    let found = call(command(ssh), LIMIT, rows).map_err(|error| {
        let at = ssh.map_or(String::new(), |ssh| format!(" at `{ssh}`"));
        let hint = match ssh {
            Some(ssh) => format!("`ssh {ssh} sinfo` must work without a password"),
            None => "for a cluster that is reached by ssh: `--kind ssh --ssh USER@HOST`".to_owned(),
        };
        let what = match error {
            CallError::Absent if ssh.is_some() => "there is no program `ssh` here".to_owned(),
            CallError::Absent => "there is no program `sinfo` here".to_owned(),
            CallError::Broken(error) => format!("`sinfo`{at} cannot be run: {error}"),
            CallError::Late => {
                format!("`sinfo`{at} did not answer within {} s", LIMIT.as_secs())
            }
            CallError::Refused(_, said) => {
                format!("`sinfo`{at} failed: {}", CallError::first_line(&said))
            }
        };
        Failure::data(what).hint(hint)
    })?;
    match found.is_empty() {
        true => Err(Failure::data("`sinfo` lists no partitions")
            .hint("a cluster needs a partition with nodes before it can be a site")),
        false => Ok(found),
    }
}

fn command(ssh: Option<&str>) -> Command {
    let ask = ["sinfo", "--noheader", "--format=%R|%D"];
    let Some(ssh) = ssh else {
        let mut command = Command::new(ask[0]);
        command.args(&ask[1..]);
        return command;
    };
    let mut command = Command::new("ssh");
    // A shell there reads the words.
    command.args(["-o", "BatchMode=yes", "--", ssh, "sinfo --noheader '--format=%R|%D'"]);
    command
}
