//! Jobs as their users' own accounts.
//!
//! Where the site has a `user_command`, three things are run by it, each as the account of the
//! job's user and each this very program in a hidden role: the keeper of a task ([`super::keeper`]),
//! a read of its output, and the end of what is left of it. The records of a task, its script and its
//! environment stay in the site's folder, which no user's account can read.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use rustix::process::{Signal, geteuid};
use serde::{Deserialize, Serialize};

use crate::site::managed::accounts::{self, account_of};
use crate::site::{Excerpt, Order, SiteError, Written};

/// Stands for the account.
const USER: &str = "{user}";
/// What a read that is refused ends with; its reason is on standard error.
pub(super) const REFUSED: u8 = 3;
/// A read that takes longer is given up, and its process killed.
const LONGEST: Duration = Duration::from_secs(10);

/// How a site runs jobs as their users' accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAccounts {
    /// Words before what is run as an account; `{user}` in one of them stands for it.
    pub user_command: Vec<String>,
    /// Operating-system accounts of users.
    pub accounts: accounts::Accounts,
    /// Where tasks run that do not say where: absolute, or with `~` for the account's home at its
    /// beginning; `{user}` stands for the account.
    pub directory: String,
    /// Where scripts are kept while they run; as `directory`.
    pub spool: String,
}

/// The account of one task, as its sheet has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskAccount {
    /// Name of the operating-system account.
    pub name: String,
    /// All words that come before what is run as it, and the program in its hidden role.
    pub words: Vec<String>,
    /// Where its scripts are kept.
    pub spool: String,
}

impl UserAccounts {
    /// The account that runs the order, and where it runs if the order does not say.
    ///
    /// # Errors
    /// A text that says why the user's jobs cannot run here.
    pub(super) fn of(
        &self,
        order: &Order,
        program: &[PathBuf],
    ) -> Result<(TaskAccount, PathBuf), String> {
        let name = account_of(&self.accounts, "this site", &order.user)?;
        if name == "root" {
            return Err(format!("{:?} has the account root, which runs no jobs", order.user));
        }
        Ok((self.account(name, program), PathBuf::from(self.directory.replace(USER, name))))
    }

    /// The account of this name; `program` is this one in its hidden role.
    pub(super) fn account(&self, name: &str, program: &[PathBuf]) -> TaskAccount {
        let filled = |text: &String| text.replace(USER, name);
        let program = program.iter().map(|word| word.to_string_lossy().into_owned());
        let words = self.user_command.iter().map(filled).chain(program).collect();
        TaskAccount { name: name.to_owned(), words, spool: filled(&self.spool) }
    }
}

impl TaskAccount {
    /// This program in the role `role`, as the account.
    pub(super) fn command(&self, role: &str) -> Command {
        command(self.words.iter(), role)
    }

    /// A part of a file, read as the account.
    ///
    /// # Errors
    /// [`SiteError::Refused`] if the account may not read it or it is no regular file;
    /// [`SiteError::Unknown`] if nothing can be run as the account.
    pub(super) fn read(
        &self,
        path: &std::path::Path,
        wanted: &Excerpt,
    ) -> Result<Written, SiteError> {
        let failed = |why: &dyn std::fmt::Display| {
            SiteError::Unknown(format!("cannot read as account {}: {why}", self.name))
        };
        let mut command = self.command(super::READ);
        let from = wanted.from.map_or_else(|| "-".to_owned(), |it| it.to_string());
        command.arg(path).arg(from).arg(wanted.most.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(|wrong| failed(&wrong))?;
        let (answer, read) = sync_channel(1);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let max = u64::try_from(wanted.most.saturating_add(HEAD)).unwrap_or(u64::MAX);
        let hear = move || {
            let mut bytes = Vec::new();
            let done = out.map_or(Ok(0), |out| out.take(max).read_to_end(&mut bytes));
            drop(answer.send(done.map(|_| (bytes, said(err)))));
        };
        std::thread::Builder::new().spawn(hear).map_err(|wrong| failed(&wrong))?;
        let Ok(heard) = read.recv_timeout(LONGEST) else {
            super::processes::send_group(child.id().cast_signed(), Signal::KILL);
            let _ = child.try_wait();
            return Err(failed(&format!("no answer within {} s", LONGEST.as_secs())));
        };
        let (bytes, said) = heard.map_err(|wrong| failed(&wrong))?;
        match child.wait().map_err(|wrong| failed(&wrong))?.code() {
            Some(0) => headed(&bytes).ok_or_else(|| failed(&"the answer is not whole")),
            Some(code) if code == i32::from(REFUSED) => Err(SiteError::Refused(said)),
            _ => Err(failed(&said)),
        }
    }
}

/// The longest first line of an answer: two numbers.
const HEAD: usize = 48;

/// What was read: behind a line with the first byte's place and the file's length.
fn headed(answer: &[u8]) -> Option<Written> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let (head, bytes) = answer.split_at(end);
    let (from, size) = std::str::from_utf8(head).ok()?.split_once(' ')?;
    let bytes = bytes.get(1..)?.to_vec();
    Some(Written { from: from.parse().ok()?, size: size.parse().ok()?, bytes })
}

/// These words, the last of which are this program in a hidden role, with the role behind.
pub(super) fn command<'a>(mut words: impl Iterator<Item = &'a String>, role: &str) -> Command {
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words).arg(role).arg(geteuid().as_raw().to_string());
    command.env_clear().env("PATH", super::sheet::PATH).current_dir("/");
    command
}

/// The first words that a command has complained with.
pub(super) fn said(err: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(err) = err {
        let _ = err.take(2_048).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it said nothing").to_owned()
}
