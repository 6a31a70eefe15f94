//! Commands of a cluster's manager: run here or behind a prefix such as `ssh login`, as ourselves
//! or as a user, and never for ever.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::gate::{self, Gate};
use super::requests::Requests;
use super::ssh::Connection;
use crate::site::SiteError;
use crate::site::exit::wait_until;
use crate::site::slurm::munge;

/// What commands see of the daemon's own environment; the rest may be secret, and what a
/// submission sees may end up in the job.
pub(super) const KEPT: [&str; 6] =
    ["PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KRB5CCNAME"];
/// More than this is no answer: bytes.
const MAX: u64 = 256 << 20;
/// What a killed command has said by then is waited for so long.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Stands for the account in the user's prefix.
const USER: &str = "{user}";

/// How commands are run.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The site's name, for errors.
    pub site: String,
    /// Comes before every command of ours.
    pub ours: Prefix,
    /// Comes before every command as a user; empty: users' commands are run as ours are.
    pub users: Prefix,
    /// Variables that every command gets.
    pub environment: BTreeMap<String, String>,
    /// A command that takes longer is killed.
    pub timeout: Duration,
    /// What must be there before any of them is run.
    pub connection: Option<Arc<Connection>>,
    /// Counts what asks the manager.
    pub requests: Arc<Requests>,
    /// What orders must pass; `None`: only one process can give them.
    pub gate: Option<Gate>,
}

/// Words before a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefix {
    /// Program and arguments; `{user}` in one of them stands for the account.
    pub words: Vec<String>,
    /// What comes behind them is read by a shell: it is quoted.
    pub remote_shell: bool,
}

impl Prefix {
    /// The prefix as it is usually meant: behind `ssh` there is a shell.
    pub fn new(words: Vec<String>) -> Prefix {
        let name = words.first().map(|word| word.rsplit('/').next().unwrap_or(word));
        let remote_shell = name.is_some_and(|name| ["ssh", "gsissh", "rsh"].contains(&name));
        Prefix { words, remote_shell }
    }
}

/// Who runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who<'a> {
    /// We.
    Ours,
    /// This Unix account.
    User(&'a str),
}

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It changes nothing that matters.
    Look,
    /// It does something for the market's owner: refused if that is another daemon by now.
    Order,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// As whom.
    pub who: Who<'a>,
    /// Program and arguments.
    pub words: Vec<String>,
    /// Its standard input.
    pub input: &'a [u8],
    /// What for.
    pub purpose: Purpose,
}

impl<'a> Call<'a> {
    /// A command of ours without input.
    pub fn ours(words: &[&str]) -> Call<'a> {
        Call::by(Who::Ours, words)
    }

    /// A command without input.
    pub fn by(who: Who<'a>, words: &[&str]) -> Call<'a> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Call { who, words, input: &[], purpose: Purpose::Look }
    }

    /// The same as an order.
    pub fn order(self) -> Call<'a> {
        Call { purpose: Purpose::Order, ..self }
    }

    /// The command as people would write it, shortened. A format is not for people: its separators are
    /// drawn again for each list.
    fn shown(&self) -> String {
        let is_format = |word: &String| word == "--format";
        let shown = self.words.iter().position(is_format).map_or(self.words.len(), |it| it + 1);
        let all = self.words[..shown].join(" ");
        match all.char_indices().nth(80) {
            Some((end, _)) => format!("{}…", all.get(..end).unwrap_or_default()),
            None if shown < self.words.len() => format!("{all} …"),
            None => all,
        }
    }
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// `None`: it died by a signal.
    pub code: Option<i32>,
    /// All of it.
    pub out: Vec<u8>,
    /// All of it.
    pub err: String,
}

impl CommandOutput {
    /// Whether it ended with 0.
    pub fn is_good(&self) -> bool {
        self.code == Some(0)
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// The first line of standard error that says something.
    pub fn complaint(&self) -> &str {
        complaint(&self.err).unwrap_or("it said nothing")
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandTrouble {
    /// It was not run at all.
    #[error("{0}")]
    NotRun(String),
    /// It was killed; what it was to do may have been done.
    #[error("{0}")]
    Killed(String),
}

/// For commands that change nothing.
impl From<CommandTrouble> for SiteError {
    fn from(trouble: CommandTrouble) -> SiteError {
        match trouble {
            CommandTrouble::NotRun(why) => SiteError::Away(why),
            CommandTrouble::Killed(why) => SiteError::Unknown(why),
        }
    }
}

impl Tool {
    /// Runs it to its end.
    ///
    /// # Errors
    /// If it cannot be started, takes too long or says too much: the error names the site and the
    /// command. That it failed is no error.
    pub fn run(&self, call: &Call<'_>) -> Result<CommandOutput, CommandTrouble> {
        if let Some(connection) = &self.connection {
            let named = |why: String| CommandTrouble::NotRun(format!("site {}: {why}", self.site));
            connection.ensure().map_err(named)?;
        }
        debug_assert!(call.purpose == Purpose::Order || !gate::changes(&call.words), "{call:?}");
        self.requests.count(&call.words);
        let mut command = self.command(call);
        let named = |what: &str| format!("site {}: `{}` {what}", self.site, call.shown());
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            CommandTrouble::NotRun(named(&format!("was not run: {program}: {error}")))
        })?;
        let deadline = Instant::now() + self.timeout;
        let (out, err) = attend(&mut child, call.input);
        let answer = hear(&out, deadline).and_then(|out| Some((out, hear(&err, deadline)?)));
        let ended = answer.and_then(|answer| Some((answer, wait_until(&mut child, deadline)?)));
        let Some(((out, err), status)) = ended else {
            kill(&mut child);
            let what = format!("did not answer within {} s and was killed", self.timeout.as_secs());
            // Its pipes are closed now, if nobody else holds them.
            let err = hear(&err, Instant::now() + LAST_WORDS).unwrap_or_default();
            let said = String::from_utf8_lossy(&err);
            let said = complaint(&said).map_or(String::new(), |said| format!("; it said: {said}"));
            return Err(CommandTrouble::Killed(named(&format!("{what}{said}"))));
        };
        if out.len() as u64 >= MAX {
            return Err(CommandTrouble::Killed(named("said more than can be true")));
        }
        let err = String::from_utf8_lossy(&err).into_owned();
        let answer = CommandOutput { code: status.code(), out, err };
        match gate::refusal(&answer).filter(|_| call.purpose == Purpose::Order) {
            Some(why) => Err(CommandTrouble::NotRun(named(&format!("was refused: {why}")))),
            None => Ok(answer),
        }
    }

    /// Runs a command that must end with 0.
    ///
    /// # Errors
    /// As [`Tool::run`], and if it ends otherwise: [`SiteError::Unknown`] with its first words.
    pub fn must(&self, call: &Call<'_>) -> Result<CommandOutput, SiteError> {
        let answer = self.run(call)?;
        match answer.is_good() {
            true => Ok(answer),
            false => Err(SiteError::Unknown(self.failure(call, &answer))),
        }
    }

    /// Starts a command that goes on beside us, with its input; its standard output is a pipe, and
    /// what it complains of is lost. It is in a process group of its own.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, call: &Call<'_>) -> std::io::Result<Child> {
        let mut child = self.command(call).stderr(Stdio::null()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let input = call.input.to_vec();
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        Ok(child)
    }

    /// An answer that is none.
    pub fn misread(&self, command: &str, wrong: &str) -> SiteError {
        SiteError::Unknown(format!("site {}: `{command}`: {wrong}", self.site))
    }

    /// Site, command, exit code and the first words of its complaint.
    pub fn failure(&self, call: &Call<'_>, answer: &CommandOutput) -> String {
        let how = match answer.code {
            Some(code) => format!("ended with {code}"),
            None => "died by a signal".to_owned(),
        };
        format!("site {}: `{}` {how}: {}", self.site, call.shown(), answer.complaint())
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let words = self.words(call);
        let mut all = words.iter();
        let mut command = Command::new(all.next().map_or("", String::as_str));
        command.args(all).env_clear();
        command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(self.variables());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        command
    }

    fn variables(&self) -> BTreeMap<&str, &str> {
        let mut all = BTreeMap::from([("TZ", "UTC"), ("LC_ALL", "C")]);
        all.extend(self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        all
    }

    /// All words that are run: prefix, variables (a prefix may lose them), command.
    fn words(&self, call: &Call<'_>) -> Vec<String> {
        let (prefix, account) = match call.who {
            Who::User(account) if !self.users.words.is_empty() => (&self.users, account),
            Who::User(account) => (&self.ours, account),
            Who::Ours => (&self.ours, ""),
        };
        let own = match (&self.gate, call.purpose) {
            (Some(gate), Purpose::Order) => gate.words(&call.words),
            (None, _) | (_, Purpose::Look) => call.words.clone(),
        };
        if prefix.words.is_empty() {
            return own;
        }
        let variables = self.variables();
        let set = variables.iter().map(|(name, value)| format!("{name}={value}"));
        let tail = std::iter::once("env".to_owned()).chain(set).chain(own);
        let tail = tail.map(|word| if prefix.remote_shell { quote(&word) } else { word });
        prefix.words.iter().map(|word| word.replace(USER, account)).chain(tail).collect()
    }
}

/// The first line that says something of the cause.
fn complaint(err: &str) -> Option<&str> {
    munge::telling(err.lines().map(str::trim).filter(|line| !line.is_empty()))
}

/// The word as any POSIX shell reads it back.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Feeds and drains the child beside us, since either may fill a pipe.
fn attend(child: &mut Child, input: &[u8]) -> (Receiver<Vec<u8>>, Receiver<Vec<u8>>) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // One that does not want its input is no failure of ours.
        match input.is_empty() {
            true => drop(stdin),
            false => drop(thread::spawn(move || drop(stdin.write_all(&input)))),
        }
    }
    (drain(child.stdout.take()), drain(child.stderr.take()))
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What was read before an error is told; the exit code tells the rest.
            let _ = pipe.take(MAX).read_to_end(&mut bytes);
        }
        drop(sender.send(bytes));
    });
    receiver
}

fn hear(receiver: &Receiver<Vec<u8>>, deadline: Instant) -> Option<Vec<u8>> {
    receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
}

/// Ends a command and what it has started.
pub fn kill(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool {
            site: "alpha".to_owned(),
            ours: Prefix::default(),
            users: Prefix::default(),
            environment: BTreeMap::from([("A".to_owned(), "it's".to_owned())]),
            timeout: Duration::from_secs(20),
            connection: None,
            requests: Arc::default(),
            gate: None,
        }
    }

    fn prefix(words: &[&str]) -> Prefix {
        Prefix::new(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn an_answer_has_all_that_was_said() {
        let mut call = Call::ours(&["sh", "-c", "cat; echo; echo oops >&2; echo $A $TZ; exit 3"]);
        let input = "x".repeat(1 << 20);
        call.input = input.as_bytes();
        let answer = tool().run(&call).unwrap();
        assert_eq!((answer.code, answer.complaint()), (Some(3), "oops"));
        assert_eq!(answer.text(), format!("{input}\nit's UTC\n"));
        let told = tool().must(&call).unwrap_err().to_string();
        assert!(told.starts_with("site alpha: `sh -c cat;") && told.ends_with("3: oops"), "{told}");
    }

    #[test]
    fn a_hung_command_is_killed_with_its_children() {
        let tool = Tool { timeout: Duration::from_secs(3), ..tool() };
        let began = Instant::now();
        let wrong =
            tool.run(&Call::ours(&["sh", "-c", "echo lost >&2; sleep 61 & sleep 61"])).unwrap_err();
        let told = wrong.to_string();
        assert!(
            matches!(wrong, CommandTrouble::Killed(_)) && told.ends_with("; it said: lost"),
            "{told}"
        );
        assert!(began.elapsed() < Duration::from_secs(60));
        let wrong = tool.run(&Call::ours(&["/no/such/program"])).unwrap_err();
        assert!(matches!(&wrong, CommandTrouble::NotRun(why) if why.contains("/no/such/program")));
    }

    #[test]
    fn words_arrive_as_they_are_behind_a_far_shell() {
        let odd = ["it's", "$(exit 9)", "a b", "", "*", "new\nline", "\\", "-n"];
        // A shell that joins its arguments and reads them again, as that behind `ssh` does.
        let shell = prefix(&["/bin/sh", "-c", "shift; eval \"$*\"", "sh", "{user}"]);
        let show = ["sh", "-c", "printf '%s|' \"$A\" \"$@\"", "sh"];
        let words: Vec<&str> = show.into_iter().chain(odd).collect();
        let users = Prefix { remote_shell: true, ..shell };
        let tool = Tool { users, ..tool() };
        let answer = tool.run(&Call::by(Who::User("ana"), &words)).unwrap();
        let wanted: String = ["it's"].iter().chain(&odd).map(|word| format!("{word}|")).collect();
        assert_eq!(answer.text(), wanted);
    }

    #[test]
    fn the_account_stands_in_the_users_prefix_only() {
        let users = prefix(&["echo", "--reuid={user}", "sh"]);
        let tool = Tool { users, ..tool() };
        let shown = |who| tool.run(&Call::by(who, &["echo", "{user}"])).unwrap().text();
        assert_eq!(
            shown(Who::User("ana")),
            "--reuid=ana sh env A=it's LC_ALL=C TZ=UTC echo {user}\n"
        );
        assert_eq!(shown(Who::Ours), "{user}\n");
        assert!(prefix(&["/usr/bin/ssh", "x"]).remote_shell && !tool.users.remote_shell);
    }

    #[test]
    fn an_order_passes_the_gate_with_its_words_and_its_input() {
        let folder = tempfile::tempdir().unwrap();
        let shell = prefix(&["/bin/sh", "-c", "shift; eval \"$*\"", "sh", "{user}"]);
        let users = Prefix { remote_shell: true, ..shell };
        let spool = folder.path().join("{user}").to_string_lossy().into_owned();
        let gate = Some(Gate::new("m", "alpha", &spool, 4));
        let tool = Tool { users, gate, ..tool() };
        let mut call =
            Call::by(Who::User("ana"), &["sh", "-c", "cat; printf '%s|' \"$@\"", "sh", "it's", ""]);
        call.input = b"in ";
        let answer = tool.run(&call.clone().order()).unwrap();
        assert_eq!(answer.text(), "in it's||");
        let ours = Command::new("id").arg("-un").output().unwrap().stdout;
        let home = folder.path().join(String::from_utf8(ours).unwrap().trim());
        assert!(home.join(".terms-m-alpha/4").is_dir(), "the spool is that of who runs it");
        std::fs::create_dir(home.join(".terms-m-alpha/5")).unwrap();
        let refused = tool.run(&call.clone().order()).unwrap_err();
        assert!(
            matches!(&refused, CommandTrouble::NotRun(why) if why.contains("epoch 5")),
            "{refused}"
        );
        assert!(tool.run(&call).is_ok(), "a look is no order");
    }
}
