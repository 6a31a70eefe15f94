//! The process that has a task in hand as the account of its user, or in namespaces and a cgroup of
//! its own.
//!
//! Its supervisor, which is the daemon's account and writes the records, cannot open the user's files,
//! nor always send signals to the user's processes, nor see those of a PID namespace as the task
//! does. So it starts this one, by the site's `user_command` if there is one, says on its standard input what is to run and which signals are to be sent, and
//! reads its progress from its standard output. When the supervisor is gone the input ends, and the
//! task with it.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

use super::home::Home;
use super::launch::Launch;
use super::processes;
use super::supervise::{Event, clear_away, how, reap};
use crate::site::Exit;
use crate::site::files::{at, write_synced};

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeeperCommand {
    /// Its paths may begin with `~`.
    pub launch: Launch,
    /// The text of the script that is its program.
    pub script: Option<String>,
    /// A folder for the script, made and removed here.
    pub spool: PathBuf,
}

/// To which processes of the task a signal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum To {
    /// The first process of the task.
    First,
    /// All others of its group.
    Others,
    /// The whole group.
    Group,
}

/// What a supervisor says, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum KeeperOrder {
    /// Starts the job; the first order of a keeper.
    Run(Box<KeeperCommand>),
    /// A signal by its number.
    Signal(i32, To),
}

/// What a keeper says, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Said {
    /// The task is about to be started: it may run, and do anything to its keeper, before the keeper
    /// can say so.
    Starting,
    /// The task runs.
    Started,
    /// It does not, and why.
    Failed(String),
    /// It is over, and none of its processes is left.
    Ended(Exit),
}

/// Which account this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeeperAccount {
    /// That of the job's user; `owner` is the number of the daemon's, which this must not be.
    User {
        /// As in the type of the same name.
        owner: u32,
    },
    /// The daemon's own.
    Daemon,
}

/// Runs the task that standard input describes.
pub(super) fn keep(whose: KeeperAccount) -> ExitCode {
    match run(whose) {
        Ok(said) => say(&said),
        Err(error) => say(&Said::Failed(error.to_string())),
    }
    ExitCode::SUCCESS
}

fn run(whose: KeeperAccount) -> io::Result<Said> {
    if let KeeperAccount::User { owner } = whose {
        check(owner)?;
        // `sudo` may take the account's own, which may let its group write.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let KeeperOrder::Run(job) = serde_json::from_str(&line)? else {
        return Err(io::Error::other("nothing to run"));
    };
    let (launch, spool) = match whose {
        KeeperAccount::Daemon => (job.launch, None),
        KeeperAccount::User { .. } => {
            let home = Home::own();
            let spool = home.place(&job.spool);
            (prepared(*job, &home, &spool)?, Some(spool))
        }
    };
    say(&Said::Starting);
    let pid = launch.start()?;
    say(&Said::Started);
    let ended = watch(pid, input);
    if let Some(spool) = spool {
        let _ = std::fs::remove_dir_all(spool);
    }
    Ok(Said::Ended(ended))
}

/// That `user_command` has made this an account other than the daemon's, without any
/// right that the daemon may have.
pub(super) fn check(owner: u32) -> io::Result<()> {
    let own = rustix::process::geteuid();
    if own.is_root() || own.as_raw() == owner {
        let why =
            "the site's `user_command` leaves the daemon's account as it is: it must change it";
        return Err(io::Error::other(why));
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let holds = |line: &str| {
        let (name, set) = line.split_once(':')?;
        let is_held = ["CapPrm", "CapEff", "CapAmb"].contains(&name);
        (is_held && set.trim().chars().any(|digit| digit != '0')).then(|| name.to_owned())
    };
    match status.lines().find_map(holds) {
        None => Ok(()),
        Some(name) => Err(io::Error::other(format!(
            "the site's `user_command` leaves capabilities of the daemon ({name}): with `setpriv` add \
             `--inh-caps=-all --ambient-caps=-all`"
        ))),
    }
}

/// The launch with all its paths, and its script in place.
fn prepared(job: KeeperCommand, home: &Home, spool: &Path) -> io::Result<Launch> {
    use std::os::unix::fs::DirBuilderExt;
    let mut launch = job.launch;
    for path in [Some(&mut launch.directory), Some(&mut launch.output), launch.error.as_mut()]
        .into_iter()
        .chain([launch.input.as_mut()])
        .flatten()
    {
        *path = home.place(path);
    }
    let own = [
        ("HOME", home.home.to_string_lossy().into_owned()),
        ("USER", home.name.clone()),
        ("LOGNAME", home.name.clone()),
        ("SHELL", home.shell.clone()),
    ];
    for (name, value) in own {
        launch.environment.entry(name.to_owned()).or_insert(value);
    }
    if let Some(text) = &job.script {
        let _ = std::fs::remove_dir_all(spool);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(spool);
        made.map_err(|error| at(spool, &error))?;
        let script = spool.join("script");
        write_synced(&script, text.as_bytes(), 0o700)?;
        if let Some(first) = launch.argv.first_mut() {
            *first = script.to_string_lossy().into_owned();
        }
    }
    Ok(launch)
}

/// Until the first process is over and all others with it, or the supervisor is gone.
fn watch(pid: i32, input: BufReader<io::Stdin>) -> Exit {
    let (sender, events) = channel();
    let reaper = sender.clone();
    let reaping = thread::Builder::new().spawn(move || reap(&reaper));
    let hearing = thread::Builder::new().spawn(move || hear(pid, input, &sender));
    let status = match (reaping, hearing) {
        (Ok(_), Ok(_)) => until_over(pid, &events),
        _ => None,
    };
    clear_away(pid, &events);
    status.map_or(Exit::Lost, how)
}

fn until_over(pid: i32, events: &Receiver<Event>) -> Option<WaitStatus> {
    loop {
        match events.recv() {
            Ok(Event::Gone(gone, status)) if gone == pid => return Some(status),
            Ok(Event::Gone(..) | Event::Woken) => {}
            // The supervisor is gone, or nothing is left to wait for.
            Ok(Event::AllGone | Event::Over(_)) | Err(_) => return None,
        }
    }
}

/// Sends signals as ordered.
fn hear(pid: i32, input: BufReader<io::Stdin>, sender: &Sender<Event>) {
    for line in input.lines().map_while(Result::ok) {
        if let Ok(KeeperOrder::Signal(number, to)) = serde_json::from_str(&line) {
            processes::send_to(pid, number, to);
        }
    }
    drop(sender.send(Event::Over(Exit::Lost)));
}

fn say(said: &Said) {
    let mut out = io::stdout();
    if let Ok(line) = serde_json::to_string(said) {
        // A supervisor that is gone needs no message.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}
