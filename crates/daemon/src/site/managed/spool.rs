//! Tasks' folders at the cluster, seen through a user's own commands.

use std::collections::BTreeMap;
use std::process::Child;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tradewind_model::Time;

use super::tool::{Call, CommandOutput, Purpose, Tool, Who, quote};
use crate::site::files::folder_name;
use crate::site::{Excerpt, Exit, Go, Reading, SiteError, Tag, Written};

const PROGRAM: &str = concat!(
    include_str!("home.sh"),
    "\n",
    include_str!("terms.sh"),
    "\n",
    include_str!("spool.sh")
);
/// The last line of every answer: without it the answer was cut off.
const LAST: &str = "done";
/// What the program says first, on both outputs: what comes before was said by the account's own
/// shell (`.bashrc` over ssh) or by ssh.
const FIRST: &str = "tradewind-begins";
/// Files of a task's folder that are read.
pub(super) const FILES: [&str; 3] = ["here", "began", "end"];
/// So many folders are named in one command.
const AT_ONCE: usize = 500;

/// What a task's folder says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// We have made the folder ([`Spool::claim`]): the task never begins.
    pub is_claimed: bool,
    /// The task has its nodes, or had.
    pub here: Option<Here>,
    /// When the work itself began, milliseconds since 1970.
    pub began: Option<i64>,
    /// It is over.
    pub end: Option<SpoolEnd>,
}

/// What became of an attempt to take a task back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecallOutcome {
    /// It never begins.
    Back,
    /// It has begun.
    TooLate,
    /// Its folder was there, and nothing is in it: the task has just begun and will write there in a
    /// moment, or an earlier claim of ours was cut off.
    Unclear,
}

/// A task has its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Here {
    /// Since when, milliseconds since 1970.
    pub at: i64,
    /// The manager's own number of the job.
    pub id: String,
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolEnd {
    /// Since when the work ran, milliseconds since 1970; `None`: it never did.
    pub since: Option<i64>,
    /// Until when.
    pub at: i64,
    /// How.
    pub exit: Exit,
}

impl SpoolEnd {
    /// When it ended, so that the time since its beginning, which is charged, is rounded up.
    pub fn until(&self) -> Time {
        let begin = self.since.unwrap_or(self.at);
        let took = self.at.saturating_sub(begin).max(0);
        Time(seconds(begin).0 + took.div_euclid(1_000) + i64::from(took % 1_000 > 0))
    }
}

/// Whole seconds of milliseconds since 1970.
pub fn seconds(ms: i64) -> Time {
    Time(ms.div_euclid(1_000))
}

/// The folder of all tasks' folders of one account.
#[derive(Debug, Clone, Copy)]
pub struct Spool<'a> {
    /// Runs commands.
    pub tool: &'a Tool,
    /// As whom.
    pub account: &'a str,
    /// Where it is, at the cluster; `~` at its beginning is the home.
    pub path: &'a str,
}

impl Spool<'_> {
    /// What the folders of these tasks say; of those without a folder, nothing.
    ///
    /// # Errors
    /// If the answer is not whole.
    pub fn look(&self, tags: &[Tag]) -> Result<BTreeMap<Tag, Trace>, SiteError> {
        let mut all = BTreeMap::new();
        for tags in tags.chunks(AT_ONCE) {
            let names: Vec<String> = tags.iter().map(|tag| folder_name(&tag.to_string())).collect();
            let answer = self.ask("look", &names)?;
            for (tag, name) in tags.iter().zip(&names) {
                if let Some(trace) = trace(&answer, name) {
                    all.insert(tag.clone(), trace);
                }
            }
        }
        Ok(all)
    }

    /// What tasks have written whose folders were emptied ([`Spool::clear`]), as far as that is
    /// kept: each with the time of its submission, microseconds since 1970. What is older was
    /// written by another task with the same tag.
    ///
    /// # Errors
    /// If the answer is not whole.
    pub fn past(&self, tasks: &[(Tag, i64)]) -> Result<BTreeMap<Tag, Trace>, SiteError> {
        let mut all = BTreeMap::new();
        for tasks in tasks.chunks(AT_ONCE) {
            let names: Vec<String> =
                tasks.iter().map(|(tag, _)| folder_name(&tag.to_string())).collect();
            let answer = self.ask("past", &names)?;
            for ((tag, submitted), name) in tasks.iter().zip(&names) {
                let is_own = |trace: &Trace| {
                    let ended = trace.end.as_ref().map(|end| end.at.saturating_mul(1_000));
                    ended.is_some_and(|at| at >= *submitted)
                };
                all.extend(trace(&answer, name).filter(is_own).map(|trace| (tag.clone(), trace)));
            }
        }
        Ok(all)
    }

    /// Makes the task's folder, so that the task never runs; `Some`: the task had made it before.
    /// What was claimed once can be claimed again.
    ///
    /// # Errors
    /// If the folder cannot be made, or the answer is not whole.
    pub fn claim(&self, tag: &Tag) -> Result<Option<Trace>, SiteError> {
        let name = folder_name(&tag.to_string());
        let answer = self.tell("claim", std::slice::from_ref(&name))?;
        let trace = trace(&answer, &name).ok_or_else(|| {
            let Spool { path, account, .. } = self;
            SiteError::Unknown(format!("{account} cannot make a folder in {path} at the site"))
        })?;
        Ok(Some(trace).filter(|trace| !trace.is_claimed))
    }

    /// Makes the task's folder, and says whether the task runs in spite of it.
    ///
    /// # Errors
    /// As [`Spool::claim`].
    pub fn take_back(&self, tag: &Tag) -> Result<RecallOutcome, SiteError> {
        Ok(match self.claim(tag)? {
            None => RecallOutcome::Back,
            Some(trace) if trace.here.is_some() || trace.end.is_some() => RecallOutcome::TooLate,
            Some(_) => RecallOutcome::Unclear,
        })
    }

    /// From now on no order of an earlier term is carried out here. Tasks that the manager has already
    /// may begin until [`Spool::keep`].
    ///
    /// # Errors
    /// If a later term has been here, or there is no answer.
    pub fn begin_term(&self) -> Result<(), SiteError> {
        self.tell("term", &[]).map(|_| ())
    }

    /// Of the tasks that were submitted in earlier terms, only these may begin from now on. They must be
    /// all that the manager has listed since [`Spool::begin_term`]: one that it gets later was under way
    /// when its owner was succeeded.
    ///
    /// # Errors
    /// As [`Spool::begin_term`].
    pub fn keep(&self, tags: &[Tag]) -> Result<(), SiteError> {
        let Some(gate) = &self.tool.gate else { return Ok(()) };
        let names: Vec<String> = tags.iter().map(|tag| folder_name(&tag.to_string())).collect();
        let parts: Vec<&[String]> = match names.is_empty() {
            true => vec![&[]],
            false => names.chunks(AT_ONCE).collect(),
        };
        for (place, part) in parts.iter().enumerate() {
            let first = if place == 0 { "first" } else { "more" };
            let last = if place + 1 == parts.len() { "last" } else { "on" };
            let epoch = gate.epoch.to_string();
            let mut words: Vec<String> =
                [&gate.folder, epoch.as_str(), first, last].map(str::to_owned).to_vec();
            words.extend_from_slice(part);
            self.tell("keep", &words)?;
        }
        Ok(())
    }

    /// Tells a task to stop, or to wait no longer. It hears of it within some seconds.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn stop(&self, tag: &Tag) -> Result<(), SiteError> {
        self.tell("stop", &[folder_name(&tag.to_string())]).map(|_| ())
    }

    /// Lets a task begin that gathers. The first word counts.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn go(&self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        let is_name = |name: &str| {
            let mut bytes = name.bytes();
            bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let told = go.variables.iter().filter(|(name, _)| is_name(name));
        let told: String =
            told.map(|(name, value)| format!("export {name}={}\n", quote(value))).collect();
        let name = folder_name(&tag.to_string());
        self.tell("go", &[name, go.at.0.to_string(), STANDARD.encode(told)]).map(|_| ())
    }

    /// Empties the folders of tasks that are forgotten. What they have written is kept in one file
    /// for [`Spool::past`], of at least the last 10,000.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn clear(&self, tags: &[Tag]) -> Result<(), SiteError> {
        let gate = self.tool.gate.as_ref();
        let [terms, own] = gate.map_or(["-".to_owned(), "-".to_owned()], |gate| {
            [gate.folder.clone(), gate.epoch.to_string()]
        });
        for tags in tags.chunks(AT_ONCE) {
            let names = tags.iter().map(|tag| folder_name(&tag.to_string()));
            let words: Vec<String> =
                [terms.clone(), own.clone()].into_iter().chain(names).collect();
            self.tell("clear", &words)?;
        }
        Ok(())
    }

    /// The last bytes of a file; none if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn tail(&self, file: &str, max: usize) -> Result<Vec<u8>, SiteError> {
        let mut out = self.run("tail", &[file.to_owned(), max.to_string()], Purpose::Look)?.out;
        out.truncate(out.len().saturating_sub(LAST.len() + 1));
        Ok(out)
    }

    /// A part of a file; nothing if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, or the answer is not whole.
    pub fn part(&self, file: &str, wanted: &Excerpt) -> Result<Written, SiteError> {
        let from = wanted.from.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let words = [file.to_owned(), from, wanted.most.to_string()];
        let mut out = self.run("part", &words, Purpose::Look)?.out;
        out.truncate(out.len().saturating_sub(LAST.len() + 1));
        let broken = || SiteError::Unknown(format!("{file}: the answer has no first line"));
        let end = out.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
        let head = String::from_utf8_lossy(out.get(..end).unwrap_or_default()).into_owned();
        let numbers = head.split_once(' ');
        let (from, size) = numbers
            .and_then(|(from, size)| Some((from.parse().ok()?, size.parse().ok()?)))
            .ok_or_else(broken)?;
        Ok(Written { from, size, bytes: out.split_off(end + 1) })
    }

    /// [`Spool::part`], to be done elsewhere: by the account's own command, which is killed if it takes
    /// longer than commands may.
    pub fn reading(&self, file: &str, wanted: &Excerpt) -> Reading {
        let (tool, account) = (self.tool.clone(), self.account.to_owned());
        let (path, file) = (self.path.to_owned(), file.to_owned());
        let wanted = *wanted;
        Reading::by(move || {
            Spool { tool: &tool, account: &account, path: &path }.part(&file, &wanted)
        })
    }

    /// Makes the folder `bells` of the spool, with `word` in its file `.here`; its whole path.
    ///
    /// # Errors
    /// If it cannot be made, or the answer is not whole.
    pub fn place(&self, bells: &str, word: &str) -> Result<String, SiteError> {
        let answer = self.ask("place", &[bells.to_owned(), word.to_owned()])?;
        let path = answer.iter().find_map(|line| line.strip_prefix("place /"));
        path.map(|path| format!("/{path}"))
            .ok_or_else(|| SiteError::Unknown(format!("{}: no place for bells", self.path)))
    }

    /// Starts a shell that says what tasks have written which ring in the folder `bells`: their
    /// lines, then the folder's name with a dot; a dot alone now and then. It ends once nobody
    /// reads, or the folder is gone.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn listen(&self, bells: &str) -> std::io::Result<Child> {
        let mut words = vec!["/bin/sh", "-s", "--", self.path, "listen", bells];
        let epoch = self.tool.gate.as_ref().map(|gate| (&gate.folder, gate.epoch.to_string()));
        words.extend(epoch.iter().flat_map(|(folder, epoch)| [folder.as_str(), epoch]));
        let mut call = Call::by(Who::User(self.account), &words);
        call.input = PROGRAM.as_bytes();
        self.tool.start(&call)
    }

    fn ask(&self, verb: &str, arguments: &[String]) -> Result<Vec<String>, SiteError> {
        let answer = self.run(verb, arguments, Purpose::Look)?;
        Ok(answer.text().lines().map(str::to_owned).collect())
    }

    /// The same as an order.
    fn tell(&self, verb: &str, arguments: &[String]) -> Result<Vec<String>, SiteError> {
        let answer = self.run(verb, arguments, Purpose::Order)?;
        Ok(answer.text().lines().map(str::to_owned).collect())
    }

    fn run(
        &self,
        verb: &str,
        arguments: &[String],
        purpose: Purpose,
    ) -> Result<CommandOutput, SiteError> {
        let mut words = vec!["/bin/sh", "-s", "--", self.path, verb];
        words.extend(arguments.iter().map(String::as_str));
        let mut call = Call { purpose, ..Call::by(Who::User(self.account), &words) };
        let program = format!("echo {FIRST}\necho {FIRST} >&2\n{PROGRAM}");
        call.input = program.as_bytes();
        let mut answer = self.tool.must(&call)?;
        let own = behind_first(&answer.out);
        answer.out.drain(..own.unwrap_or(0));
        answer.err.drain(..behind_first(answer.err.as_bytes()).unwrap_or(0));
        let is_whole = own.is_some() && answer.out.ends_with(format!("{LAST}\n").as_bytes());
        match is_whole && answer.err.is_empty() {
            true => Ok(answer),
            false => Err(SiteError::Unknown(self.tool.failure(&call, &answer))),
        }
    }
}

/// Where the program's own words begin, bytes; `None`: it has said none.
pub(super) fn behind_first(said: &[u8]) -> Option<usize> {
    let line = format!("{FIRST}\n");
    let at = said.windows(line.len()).position(|it| it == line.as_bytes());
    at.map(|at| at + line.len())
}

/// What the lines say of the folder `name`; `None`: it is not there.
pub(super) fn trace(lines: &[String], name: &str) -> Option<Trace> {
    let prefix = format!("{name} ");
    let mut own = lines.iter().filter_map(|line| line.strip_prefix(&prefix)).peekable();
    own.peek().filter(|first| **first != "absent")?;
    let mut trace = Trace::default();
    for line in own {
        let (file, text) = line.split_once(' ').unwrap_or((line, ""));
        match file {
            "claimed" => trace.is_claimed = true,
            "here" => trace.here = here(text),
            "began" => trace.began = text.trim().parse().ok(),
            "end" => trace.end = end(text),
            _ => {}
        }
    }
    Some(trace)
}

fn here(text: &str) -> Option<Here> {
    let mut words = text.split(' ');
    let at = words.next()?.parse().ok()?;
    let id = words.next()?.to_owned();
    let nodes = words.next().unwrap_or_default().split(',');
    let nodes = nodes.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(Here { at, id, nodes })
}

fn end(text: &str) -> Option<SpoolEnd> {
    let mut words = text.split(' ');
    let since = words.next()?;
    let at = words.next()?.parse().ok()?;
    let (cause, value) = (words.next()?, words.next().unwrap_or_default());
    let exit = match cause {
        "code" => Exit::Code(value.parse().ok()?),
        "signal" => Exit::Signal(value.parse().ok()?),
        "limit" => Exit::TimeLimit,
        "withdrawn" | "ungathered" => Exit::Withdrawn,
        "unfit" => {
            let why = STANDARD.decode(value).ok()?;
            Exit::NotStarted(String::from_utf8_lossy(&why).into_owned())
        }
        _ => return None,
    };
    Some(SpoolEnd { since: since.parse().ok(), at, exit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_login_shell_says_is_no_part_of_an_answer() {
        let own = |text: &'static str| behind_first(text.as_bytes()).map(|at| &text[at..]);
        assert_eq!(own("Welcome!\ntradewind-begins\nx\ndone\n"), Some("x\ndone\n"));
        assert_eq!(own("rm: no such file\ntradewind-begins\n"), Some(""));
        assert_eq!(own("tradewind-begin"), None);
    }

    /// A command of term 4 is frozen before it strikes a task off the list of tasks that may begin, and
    /// term 5 has lists of its own by then.
    #[test]
    fn a_command_of_an_earlier_term_does_not_change_the_list_of_a_later_one() {
        let folder = tempfile::tempdir().unwrap();
        let terms = folder.path().join(".terms-m-alpha");
        let clear = |own: &str, tag: &str| {
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-s", "--"]).arg(folder.path()).args(["clear", ".terms-m-alpha", own, tag]);
            shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            let mut child = shell.stderr(std::process::Stdio::null()).spawn().unwrap();
            use std::io::Write as _;
            child.stdin.take().unwrap().write_all(PROGRAM.as_bytes()).unwrap();
            child.wait_with_output().unwrap().stdout.ends_with(b"done\n")
        };
        let kept = || std::fs::read_to_string(terms.join("5/kept")).unwrap();
        std::fs::create_dir_all(terms.join("5")).unwrap();
        std::fs::write(terms.join("5/kept"), "tw-m-1-0-0\ntw-m-2-0-0\n").unwrap();
        assert!(!clear("4", "tw-m-1-0-0") && kept().lines().count() == 2, "{}", kept());
        assert!(clear("5", "tw-m-1-0-0"));
        assert_eq!(kept(), "tw-m-2-0-0\n");
        assert!(clear("5", "tw-m-2-0-0"));
        assert_eq!(kept(), "");
        assert!(clear("-", "tw-m-3-0-0"), "a list that is empty is left alone");
    }
}
