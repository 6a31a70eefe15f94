//! `sacct` itself: with the columns that are needed, under a timeout, its rows read as they come.

use std::io::BufRead;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tradewind_model::Span;

use crate::bounded_call::{CallError, call};
use crate::exit::Failure;

/// Columns of Slurm 22.05 to 26.05. The name of a job may contain the delimiter, so it comes last.
const COLUMNS: &str = "JobID,Submit,Eligible,Start,End,ElapsedRaw,Timelimit,NNodes,NCPUS,ReqCPUS,\
                       ReqMem,ReqTRES,AllocTRES,State,User,Account,Partition,QOS,NodeList,JobName";

/// Which jobs.
pub(super) struct Query<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) cluster: Option<&'a str>,
}

/// A date as `sacct` reads it: nothing that it could take for an option.
pub(super) fn date(text: &str) -> Result<String, String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-:/+.".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let good = begins && text.len() <= 40 && text.chars().all(sound);
    let hint = "write `2026-03-01`, `2026-03-01T12:00:00` or `now-30days`";
    if good { Ok(text.to_owned()) } else { Err(hint.to_owned()) }
}

/// The name of a cluster.
pub(super) fn cluster(text: &str) -> Result<String, String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && text.chars().all(sound) {
        Ok(text.to_owned())
    } else {
        Err("write the name of one cluster".to_owned())
    }
}

/// Runs `sacct`, and `read` with its output. Kills it after `timeout`.
pub(super) fn run<T>(
    query: &Query<'_>,
    timeout: Span,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let limit = Duration::from_secs(u64::try_from(timeout.0).unwrap_or(0));
    call(command(query), limit, read).map_err(|error| match error {
        CallError::Absent => Failure::data("there is no program `sacct` here")
            .hint("run `sacct -aXDP -o ALL` where Slurm is, and give the file"),
        CallError::Broken(error) => Failure::data(format!("`sacct` cannot be run: {error}")),
        CallError::Late => Failure::data(format!("`sacct` did not end within {} s", timeout.0))
            .hint("give a shorter period, or a longer `--timeout`"),
        CallError::Refused(status, said) => refused(status, &said),
    })?
}

fn command(query: &Query<'_>) -> Command {
    let mut command = Command::new("sacct");
    command.args(["--allusers", "--allocations", "--duplicates", "--parsable2"]);
    command.args(["--starttime", query.from, "--endtime", query.to, "--format", COLUMNS]);
    if let Some(cluster) = query.cluster {
        command.args(["--clusters", cluster]);
    }
    // Seconds since 1970 have no time zone and occur once. A user's own settings would change
    // which rows there are.
    command.env("SLURM_TIME_FORMAT", "%s").env_remove("SACCT_FEDERATION");
    command
}

fn refused(status: ExitStatus, said: &str) -> Failure {
    let first = CallError::first_line(said);
    let failure = Failure::data(format!("`sacct` failed ({status}): {first}"));
    if said.contains("storage is disabled") {
        let hint = "this cluster keeps no accounts: Slurm's accounting needs slurmdbd \
                    (AccountingStorageType in slurm.conf)";
        return failure.hint(hint);
    }
    failure.hint("try the same with `sacct -aXDP`; the accounting daemon may be away")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_clusters_are_no_options() {
        for good in ["2026-03-01", "2026-03-01T12:00:00", "now-30days", "03/01/26"] {
            assert!(date(good).is_ok(), "{good}");
        }
        for bad in ["", "-1", "--help", "a b", "x;y", "$(x)"] {
            assert!(date(bad).is_err() && cluster(bad).is_err(), "{bad}");
        }
        assert!(cluster("alpha").is_ok() && cluster("a,b").is_err());
    }
}
