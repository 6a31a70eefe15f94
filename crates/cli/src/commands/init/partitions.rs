//! The partitions of a Slurm cluster, as `sinfo` lists them.

use std::io::BufRead;
use std::process::Command;
use std::time::Duration;

use super::file::PoolText;
use crate::bounded_call::{CallError, call};
use crate::exit::Failure;

/// A cluster that has not answered by then is not reached: also over a slow connection.
const LIMIT: Duration = Duration::from_secs(30);
/// So many are listed at most.
const MOST: usize = 1_000;

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

/// Lines `PARTITION|NODES`; one partition may have several, for nodes that differ. What else is
/// printed, such as a greeting, is left out.
fn rows(lines: &mut dyn BufRead) -> Vec<PoolText> {
    let mut pools: Vec<PoolText> = Vec::new();
    for line in lines.lines().map_while(Result::ok) {
        let Some((partition, nodes)) = line.trim().split_once('|') else { continue };
        let Ok(nodes) = nodes.parse::<u32>() else { continue };
        let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if nodes == 0 || partition.is_empty() || !partition.chars().all(sound) {
            continue;
        }
        match pools.iter().position(|pool| pool.name == partition) {
            Some(at) => pools[at].nodes = pools[at].nodes.saturating_add(nodes),
            None if pools.len() < MOST => {
                pools.push(PoolText { name: partition.to_owned(), nodes });
            }
            None => {}
        }
    }
    pools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_have_all_their_nodes() {
        let mut text: &[u8] =
            b"Welcome | to alpha\nmain|4\ndebug|1\nmain|2\nempty|0\nodd name|3\n$(x)|4\n";
        let pool = |name: &str, nodes| PoolText { name: name.to_owned(), nodes };
        assert_eq!(rows(&mut text), [pool("main", 6), pool("debug", 1)]);
    }
}
