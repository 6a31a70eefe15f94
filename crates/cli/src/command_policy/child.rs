//! A child process that answers each line with one line, within a time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tradewind_daemon::site::exit::wait_until;

/// The longest line that is read.
const LONGEST_LINE: u64 = 64 << 20;
/// How long a child may take to end once its input is closed.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long its exit status may follow after the end of its output.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// How often a wait for an answer looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It ended, or closed its output.
    Ended(Option<ExitStatus>),
    /// It took longer than allowed.
    Slow(Duration),
    /// The line is longer than [`LONGEST_LINE`].
    Long,
    /// What it wrote is not text, or the pipe failed.
    Broken(std::io::Error),
    /// No answer is wanted any more.
    Stopped,
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoAnswer::Ended(Some(status)) => write!(f, "it ended ({status}) without an answer"),
            NoAnswer::Ended(None) => write!(f, "it closed its output without an answer"),
            NoAnswer::Slow(limit) => write!(f, "no answer within {} s", limit.as_secs_f64()),
            NoAnswer::Long => write!(f, "its answer is longer than {} MiB", LONGEST_LINE >> 20),
            NoAnswer::Stopped => f.write_str("it is ended"),
            NoAnswer::Broken(error) => write!(f, "its answer cannot be read: {error}"),
        }
    }
}

/// A running command. When it is dropped the command's input is closed, and what does not end
/// then is killed with all that it started.
#[derive(Debug)]
pub(super) struct Dialogue {
    child: Child,
    /// To the thread that writes and reads; closed by dropping it.
    lines: Option<Sender<String>>,
    answers: Receiver<Result<String, NoAnswer>>,
    limit: Duration,
    /// Set from outside: answers are not waited for any more.
    stop: Arc<AtomicBool>,
    /// How long it may take to end once its input is closed.
    patience: Duration,
}

impl Dialogue {
    /// Starts `command` through `sh -c`. Its standard error stays ours.
    pub(super) fn start(
        command: &str,
        limit: Duration,
        stop: Arc<AtomicBool>,
    ) -> std::io::Result<Dialogue> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own: what the shell starts can be ended with it.
            .process_group(0)
            .spawn()?;
        let (lines, to_write) = channel();
        let (answered, answers) = channel();
        if let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) {
            thread::spawn(move || talk(input, output, &to_write, &answered));
        }
        Ok(Dialogue { child, lines: Some(lines), answers, limit, stop, patience: FAREWELL })
    }

    /// Sends a line and waits for the answer.
    pub(super) fn ask(&mut self, line: String) -> Result<String, NoAnswer> {
        if let Some(lines) = &self.lines {
            // A thread that is gone shows below.
            let _ = lines.send(line);
        }
        match self.received() {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(NoAnswer::Ended(_))) | Err(RecvTimeoutError::Disconnected) => {
                Err(NoAnswer::Ended(self.end_within(LAST_BREATH)))
            }
            Ok(Err(silence)) => Err(silence),
            Err(RecvTimeoutError::Timeout) => {
                self.patience = Duration::ZERO;
                match self.stop.load(Ordering::Relaxed) {
                    true => Err(NoAnswer::Stopped),
                    false => Err(NoAnswer::Slow(self.limit)),
                }
            }
        }
    }

    /// The answer, if there is one within the limit and before the wait is stopped.
    fn received(&self) -> Result<Result<String, NoAnswer>, RecvTimeoutError> {
        let until = Instant::now() + self.limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Err(RecvTimeoutError::Timeout)
                    if !left.is_zero() && !self.stop.load(Ordering::Relaxed) => {}
                received => return received,
            }
        }
    }

    /// How the child ended, if it does so in time.
    fn end_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        wait_until(&mut self.child, Instant::now() + patience)
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        self.lines = None;
        if self.end_within(self.patience).is_some() {
            return;
        }
        let group = format!("kill -s KILL -- -{}", self.child.id());
        let _ = Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes each line and reads its answer, until there are no more lines or something fails.
fn talk(
    mut input: ChildStdin,
    output: ChildStdout,
    lines: &Receiver<String>,
    answers: &Sender<Result<String, NoAnswer>>,
) {
    let mut output = BufReader::new(output);
    while let Ok(mut line) = lines.recv() {
        line.push('\n');
        // A child that is gone may have left last words: they say more than a failed write.
        let _ = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        let answer = read_line(&mut output);
        let last = answer.is_err();
        if answers.send(answer).is_err() || last {
            return;
        }
    }
}

fn read_line(output: &mut BufReader<ChildStdout>) -> Result<String, NoAnswer> {
    let mut line = String::new();
    match output.take(LONGEST_LINE).read_line(&mut line) {
        Ok(0) => Err(NoAnswer::Ended(None)),
        Ok(_) if line.ends_with('\n') => Ok(line),
        Ok(length) if length as u64 == LONGEST_LINE => Err(NoAnswer::Long),
        // The last words of a child that ended.
        Ok(_) => Ok(line),
        Err(error) => Err(NoAnswer::Broken(error)),
    }
}
