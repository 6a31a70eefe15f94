//! A program that is called, with a limit on its time and on what is kept of its messages.

use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// What is kept of its messages: bytes.
const MOST_MESSAGES: u64 = 16 << 10;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallError {
    /// There is no such program.
    Absent,
    /// It could not be started or waited for.
    Broken(io::Error),
    /// It did not end in time, and was killed with its own children.
    Late,
    /// How it ended, and the beginning of its messages.
    Refused(ExitStatus, String),
}

impl CallError {
    /// The first line of its messages, without controls.
    pub(crate) fn first_line(said: &str) -> String {
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        first.chars().filter(|c| !c.is_control()).take(300).collect()
    }
}

/// Runs `command`, and `read` with its output as it comes.
///
/// # Errors
/// [`CallError`]. What the program says itself is nearer to the cause than that its output is
/// incomplete, so that the result of `read` counts only if the program succeeds.
pub(crate) fn call<T>(
    mut command: Command,
    limit: Duration,
    read: impl FnOnce(&mut dyn BufRead) -> T,
) -> Result<T, CallError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CallError::Absent,
        _ => CallError::Broken(error),
    })?;
    let (Some(rows), Some(messages)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(CallError::Broken(io::Error::other("it has no output")));
    };
    let child = Mutex::new(child);
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
        return Err(CallError::Late);
    }
    match status.map_err(CallError::Broken)? {
        status if status.success() => Ok(result),
        status => Err(CallError::Refused(status, said)),
    }
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
