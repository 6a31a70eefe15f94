//! `sacct` itself: with the columns that are needed, under a timeout, its rows read as they come.

use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tradewind_model::Span;

use crate::exit::Failure;

/// Columns of Slurm 22.05 to 26.05. The name of a job may contain the delimiter, so it comes last.
const COLUMNS: &str = "JobID,Submit,Eligible,Start,End,ElapsedRaw,Timelimit,NNodes,NCPUS,ReqCPUS,\
                       ReqMem,ReqTRES,AllocTRES,State,User,Account,Partition,QOS,NodeList,JobName";

/// What is kept of its messages.
const MOST_MESSAGES: u64 = 16 << 10;

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
    let mut child = start(query)?;
    let (Some(rows), Some(messages)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Failure::data("`sacct` has no output"));
    };
    let child = Mutex::new(child);
    let limit = Duration::from_secs(u64::try_from(timeout.0).unwrap_or(0));
    let (done, over) = mpsc::channel::<()>();
    let watched = &child;
    let (result, status, said, late) = std::thread::scope(|scope| {
        let watch = scope.spawn(move || watch(watched, &over, limit));
        let said = scope.spawn(move || messages_of(messages));
        let result = read(&mut BufReader::with_capacity(1 << 16, rows));
        let status = wait(&child);
        drop(done);
        let late = watch.join().unwrap_or(false);
        (result, status, said.join().unwrap_or_default(), late)
    });
    if late {
        let failure = Failure::data(format!("`sacct` did not end within {} s", timeout.0));
        return Err(failure.hint("give a shorter period, or a longer `--timeout`"));
    }
    match status {
        Ok(status) if status.success() => result,
        // What it says itself is nearer to the cause than that its rows are incomplete.
        Ok(status) => Err(refused(status, &said)),
        Err(error) => Err(Failure::data(format!("`sacct` cannot be waited for: {error}"))),
    }
}

fn start(query: &Query<'_>) -> Result<Child, Failure> {
    let mut command = Command::new("sacct");
    command.args(["--allusers", "--allocations", "--duplicates", "--parsable2"]);
    command.args(["--starttime", query.from, "--endtime", query.to, "--format", COLUMNS]);
    if let Some(cluster) = query.cluster {
        command.args(["--clusters", cluster]);
    }
    // Seconds since 1970 have no time zone and occur once. A user's own settings would change
    // which rows there are.
    command.env("SLURM_TIME_FORMAT", "%s").env_remove("SACCT_FEDERATION");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::data("there is no program `sacct` here")
            .hint("run `sacct -aXDP -o ALL` where Slurm is, and give the file"),
        _ => Failure::data(format!("`sacct` cannot be started: {error}")),
    })
}

/// Kills the child and its own children after `limit`, unless it was over before; whether it was
/// late.
fn watch(child: &Mutex<Child>, over: &mpsc::Receiver<()>, limit: Duration) -> bool {
    if over.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout) {
        return false;
    }
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    // While it is not waited for, its number is not used again.
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    }
    true
}

fn wait(child: &Mutex<Child>) -> io::Result<ExitStatus> {
    loop {
        let ended = child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?;
        match ended {
            Some(status) => return Ok(status),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The beginning of what it says; the rest is read, too, because a full pipe would stop it.
fn messages_of(mut messages: ChildStderr) -> String {
    let mut text = Vec::new();
    let read = messages.by_ref().take(MOST_MESSAGES).read_to_end(&mut text);
    let _ = read.and_then(|_| io::copy(&mut messages, &mut io::sink()));
    String::from_utf8_lossy(&text).into_owned()
}

fn refused(status: ExitStatus, said: &str) -> Failure {
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    let first: String = first.chars().filter(|c| !c.is_control()).take(300).collect();
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
