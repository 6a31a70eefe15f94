//! A task that runs as its user's account, or in namespaces and a cgroup of its own, from its
//! supervisor's side: through a keeper.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::accounts::{TaskAccount, said};
use super::cgroups::Cell;
use super::hide::Hidden;
use super::keeper::{KeeperCommand, KeeperOrder, Said, To};
use super::processes;
use super::records::Folder;
use super::supervise::Event;
use crate::site::Exit;
use crate::site::exit::wait_until;

/// So long `user_command` may take to become the account and start the task.
const PATIENCE: Duration = Duration::from_secs(60);
/// A keeper says nothing longer.
const LINE: u64 = 64 << 10;
/// So often what is left of a task is killed again.
const AGAIN: Duration = Duration::from_millis(500);

/// How a keeper is started.
#[derive(Debug)]
pub(super) struct Way {
    /// Words before all others.
    pub before: Vec<String>,
    /// As whom; `None`: as this account.
    pub account: Option<TaskAccount>,
    /// This program in its hidden role.
    pub program: Vec<String>,
    /// The cgroup in which it is, and with it the task.
    pub cell: Option<Cell>,
    /// What it does not see.
    pub hidden: Option<Hidden>,
}

impl Way {
    fn command(&self) -> Command {
        let (program, role) = match &self.account {
            Some(account) => (&account.words, super::KEEP),
            None => (&self.program, super::INSIDE),
        };
        super::accounts::command(self.before.iter().chain(program), role)
    }

    /// As what it runs, for people.
    fn describe(&self) -> String {
        match &self.account {
            Some(account) => format!("as account {}", account.name),
            None => "in namespaces, a cgroup or limits of its own".to_owned(),
        }
    }
}

/// A keeper that runs its task.
#[derive(Debug)]
pub(super) struct RunningKeeper {
    /// Of the first process of `user_command`; the keeper may be a child of it.
    pub pid: i32,
    orders: Option<ChildStdin>,
    account: Option<TaskAccount>,
    cell: Option<Cell>,
    folder: Folder,
    /// None of its processes is left: that event has come, and comes once.
    pub(super) is_gone: bool,
}

impl RunningKeeper {
    /// Starts the keeper and, through it, the task. Its end comes as an event.
    ///
    /// # Errors
    /// Why the task does not run, for people.
    pub(super) fn start(
        folder: &Folder,
        way: Way,
        job: KeeperCommand,
        events: Sender<Event>,
    ) -> io::Result<RunningKeeper> {
        let mut command = way.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.process_group(0).spawn();
        let mut child = child.map_err(|error| io::Error::other(format!("{program}: {error}")))?;
        let pid = child.id().cast_signed();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let orders = child.stdin.take();
        let (how, folder) = (way.describe(), folder.clone());
        let (account, cell) = (way.account, way.cell);
        let mut kept = RunningKeeper { pid, orders, account, cell, folder, is_gone: false };
        kept.say(&KeeperOrder::Run(Box::new(job)));
        let (first, started) = sync_channel(3);
        thread::Builder::new().spawn(move || {
            let mut lines = lines(out);
            // All that it says of the start.
            loop {
                let said = lines.next();
                let is_last = said != Some(Said::Starting);
                drop(first.send(said));
                if is_last {
                    break;
                }
            }
            let ended = lines.find_map(|said| match said {
                Said::Ended(ended) => Some(ended),
                _ => None,
            });
            drop(events.send(Event::Over(ended.unwrap_or(Exit::Lost))));
        })?;
        match until_started(&started, processes::is_child_stopped) {
            KeeperStart::Runs => Ok(kept),
            KeeperStart::Failed(why) => Err(io::Error::other(why)),
            KeeperStart::Never => Err(io::Error::other(format!("{how}: {}", said(err)))),
            KeeperStart::Silent => {
                kept.kill(None);
                let within = PATIENCE.as_secs();
                Err(io::Error::other(format!("`{program}` did not start it within {within} s")))
            }
        }
    }

    /// Whether the kernel has ended it for want of memory.
    pub(super) fn was_out_of_memory(&self) -> bool {
        self.cell.as_ref().is_some_and(Cell::was_out_of_memory)
    }

    /// Has a signal sent.
    pub(super) fn send(&mut self, number: i32, to: To) {
        self.say(&KeeperOrder::Signal(number, to));
    }

    fn say(&mut self, order: &KeeperOrder) {
        let Ok(line) = serde_json::to_string(order) else { return };
        if let Some(orders) = &mut self.orders {
            // A keeper that is gone: its output reports its end.
            let _ = writeln!(orders, "{line}").and_then(|()| orders.flush());
        }
    }

    /// Kills the keeper and all that is left of the task; the number of the process that does it, if
    /// we may not ourselves. `killer` is the last of those.
    pub(super) fn kill(&mut self, killer: Option<i32>) -> Option<i32> {
        // A keeper that is well ends by this.
        self.orders = None;
        if let Some(cell) = &self.cell {
            cell.kill();
        }
        let left = processes::descendants(killer);
        let denied: Vec<String> = left
            .into_iter()
            .filter(|pid| !processes::is_killed(*pid))
            .map(|pid| pid.to_string())
            .collect();
        let Some(account) = self.account.as_ref().filter(|_| !denied.is_empty()) else {
            return killer;
        };
        let mut command = account.command(super::KILL);
        command.arg(&self.folder.0).args(denied);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().ok().map(|child| child.id().cast_signed())
    }

    /// Until none of the task's processes is left, or `max` has passed.
    pub(super) fn clear_away(mut self, events: &Receiver<Event>, max: Duration) {
        self.orders = None;
        let cell = self.cell.take();
        if let Some(cell) = &cell {
            cell.kill();
        }
        self.until_gone(events, max);
        if let Some(cell) = cell {
            cell.remove(max);
        }
    }

    fn until_gone(&mut self, events: &Receiver<Event>, max: Duration) {
        if self.is_gone {
            return;
        }
        let end = Instant::now() + max;
        let mut killer = None;
        // A keeper that has cleared away by itself needs a moment to end.
        let mut next = Instant::now() + AGAIN;
        while Instant::now() < end {
            match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    killer = self.kill(killer);
                    next = Instant::now() + AGAIN;
                }
            }
        }
    }
}

/// How the start of a task went.
#[derive(Debug, PartialEq, Eq)]
enum KeeperStart {
    /// It runs, or may have run.
    Runs,
    /// It was not started; the keeper's words.
    Failed(String),
    /// There is no keeper: it ended before it began to start the task.
    Never,
    /// Nothing was said in time.
    Silent,
}

/// Waits for the start. A task that stops or kills its keeper before the keeper could report the start
/// runs all the same: from [`Said::Starting`] on, only [`Said::Failed`] says that it does not.
fn until_started(said: &Receiver<Option<Said>>, is_stopped: impl Fn() -> bool) -> KeeperStart {
    let end = Instant::now() + PATIENCE;
    let mut is_starting = false;
    loop {
        match said.recv_timeout(AGAIN.min(end.saturating_duration_since(Instant::now()))) {
            Ok(Some(Said::Starting)) => is_starting = true,
            Ok(Some(Said::Started)) => return KeeperStart::Runs,
            Ok(Some(Said::Failed(why))) => return KeeperStart::Failed(why),
            Err(RecvTimeoutError::Timeout) if is_starting && is_stopped() => {
                return KeeperStart::Runs;
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
            Err(RecvTimeoutError::Timeout) => return KeeperStart::Silent,
            Ok(_) | Err(RecvTimeoutError::Disconnected) if is_starting => return KeeperStart::Runs,
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return KeeperStart::Never,
        }
    }
}

/// What the keeper says; ends with the first line that makes no sense.
fn lines(out: Option<impl Read>) -> impl Iterator<Item = Said> {
    let mut out = out.map(BufReader::new);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = out.as_mut()?.by_ref().take(LINE).read_until(b'\n', &mut line);
        read.ok().filter(|length| *length > 0)?;
        serde_json::from_slice(&line).ok()
    })
}

/// Kills what is left of the task of this folder, whose supervisor is dead: its keeper does so by
/// itself, unless it was stopped or killed, too.
pub(super) fn kill_rest(folder: &Folder, account: &TaskAccount, keeper: Option<(i32, u64)>) {
    const OWN_END: Duration = Duration::from_secs(2);
    const LAST_END: Duration = Duration::from_secs(10);
    let lives = || keeper.is_some_and(|(pid, born)| processes::born(pid) == Some(born));
    let end = Instant::now() + OWN_END;
    while lives() && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }
    let mut command = account.command(super::KILL);
    command.arg(&folder.0);
    if let Some((pid, _)) = keeper.filter(|_| lives()) {
        processes::send_group(pid, Signal::KILL);
        command.arg(pid.to_string());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    let _ = wait_until(&mut child, Instant::now() + LAST_END);
}

#[cfg(test)]
mod tests {
    use super::*;

    impl RunningKeeper {
        /// A keeper that has ended, of a task without anything.
        pub(in crate::site::local) fn ended() -> RunningKeeper {
            let (folder, orders) = (Folder(std::path::PathBuf::from("/nowhere")), None);
            RunningKeeper { pid: 0, orders, account: None, cell: None, folder, is_gone: false }
        }
    }

    /// What follows if the keeper says this and then nothing, or ends.
    fn begin(said: &[Said], ends: bool, is_stopped: bool) -> KeeperStart {
        let (sender, receiver) = sync_channel(3);
        said.iter().for_each(|said| sender.send(Some(said.clone())).unwrap());
        if ends {
            sender.send(None).unwrap();
        }
        until_started(&receiver, || is_stopped)
    }

    #[test]
    fn a_task_that_stops_or_kills_its_keeper_at_once_has_begun() {
        use Said::{Failed, Started, Starting};
        assert_eq!(begin(&[Starting], false, true), KeeperStart::Runs, "it has stopped its keeper");
        assert_eq!(begin(&[Starting], true, false), KeeperStart::Runs, "it has killed its keeper");
        assert_eq!(begin(&[Starting, Started], false, false), KeeperStart::Runs);
        let why = "no such file".to_owned();
        let failed = [Starting, Failed(why.clone())];
        assert_eq!(begin(&failed, true, false), KeeperStart::Failed(why.clone()));
        assert_eq!(begin(&[Failed(why.clone())], true, false), KeeperStart::Failed(why));
        assert_eq!(begin(&[], true, false), KeeperStart::Never, "`user_command` ended");
    }
}
