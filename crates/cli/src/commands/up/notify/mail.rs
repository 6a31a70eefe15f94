//! Mails, and the command that takes them.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::process::{Pid, Signal, kill_process_group};

use tradewind_daemon::site::exit::wait_until;
use tradewind_io::submission::is_address;

use super::queue::Queue;

/// How long the command may take for one mail.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Characters of what users have written.
const LONGEST: usize = 200;

/// A mail; what users have written may be in any of its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) to: String,
    pub(super) subject: String,
    /// Seconds since 1970.
    pub(super) at: i64,
    /// Names and values.
    pub(super) lines: Vec<(&'static str, String)>,
}

impl Mail {
    /// As a mail command takes it: headers, an empty line, lines. A few thousand bytes, so
    /// that it fits into a pipe without a reader.
    pub(super) fn text(&self, zone: &TimeZone) -> String {
        let mut text = format!(
            "To: {}\nSubject: {}\nDate: {}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n\
             Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n",
            header(&self.to),
            header(&self.subject),
            date(self.at, zone),
        );
        for (name, value) in &self.lines {
            let name = format!("{name}:");
            text.push_str(&format!("{name:<10} {}\n", one_line(value)));
        }
        text
    }
}

/// A line cannot become two: no user can add headers or recipients by a job's name.
fn one_line(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(LONGEST).collect()
}

/// Headers are plain ASCII; the text below has everything.
fn header(text: &str) -> String {
    one_line(text).chars().map(|it| if it.is_ascii() { it } else { '?' }).collect()
}

/// As RFC 2822 has it.
pub(super) fn date(at: i64, zone: &TimeZone) -> String {
    let time = Timestamp::from_second(at).unwrap_or_default().to_zoned(zone.clone());
    jiff::fmt::rfc2822::to_string(&time).unwrap_or_default()
}

/// A program and its arguments that take a mail on standard input.
#[derive(Debug)]
pub(super) struct Mailer {
    pub(super) command: Vec<String>,
    pub(super) patience: Duration,
    pub(super) zone: TimeZone,
}

impl Mailer {
    /// Sends one after another, until the queue is closed and empty.
    pub(super) fn run(&self, queue: &Queue<Mail>) {
        while let Some(mail) = queue.pop() {
            let dropped = queue.dropped();
            if dropped > 0 {
                tracing::warn!(dropped, "the mail command is too slow: mails dropped");
            }
            let outcome = self.send(&mail);
            queue.note(&outcome);
            if let Err(why) = outcome {
                tracing::warn!(subject = mail.subject, why, "a mail was not sent");
            }
        }
    }

    /// Has the command send a mail.
    ///
    /// # Errors
    /// Why it did not, for people.
    pub(super) fn send(&self, mail: &Mail) -> Result<(), String> {
        // Also of jobs that an older release took in.
        if !is_address(&mail.to) {
            return Err(format!("`{}` is not one plain address", mail.to.escape_default()));
        }
        let (program, arguments) = self.command.split_first().ok_or("there is no command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Stopping us from a terminal does not stop it; and it is ended with all its own.
            .process_group(0)
            .spawn()
            .map_err(|wrong| format!("`{program}`: {wrong}"))?;
        if let Some(mut input) = child.stdin.take() {
            // A command that does not want to read says by its exit code whether that was well.
            drop(input.write_all(mail.text(&self.zone).as_bytes()));
        }
        self.wait(&mut child)
    }

    fn wait(&self, child: &mut Child) -> Result<(), String> {
        match wait_until(child, Instant::now() + self.patience) {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("the mail command ended with {status}")),
            None => {}
        }
        // It may have ended just now; its number is its own until it is waited for.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        drop(child.wait());
        Err(format!("the mail command took more than {} s", self.patience.as_secs_f32()))
    }
}
