//! The process beside each task: starts it once, stops it in time, writes down how it ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, WaitStatus};

use super::accounts::TaskAccount;
use super::confine;
use super::gather::{BarrierOutcome, wait};
use super::keeper::{KeeperCommand, To};
use super::kept::RunningKeeper;
use super::launch::Launch;
use super::processes::{self, MARK};
use super::records::{Begun, EndRecord, Folder, GoRecord, Placed, Sheet, Started, Warned};
use crate::site::Exit;
use crate::site::clock::{now, now_ms};
use crate::site::files::at;

/// How long processes may take to vanish after `SIGKILL`; more means that the kernel is stuck.
const LAST_WAIT: Duration = Duration::from_secs(30);
/// How long a keeper may take to kill its task before it is killed itself.
const KEEPER_WAIT: Duration = Duration::from_secs(2);

/// Runs the task of this folder, and returns when it is over. If it was begun before, or another
/// supervisor has it, nothing happens. Puts itself into a session of its own: it lives on when
/// the daemon dies or a terminal closes.
pub fn supervise(folder: &Path) -> ExitCode {
    // Fails only if we lead a session already.
    let _ = rustix::process::setsid();
    let folder = Folder(folder.to_owned());
    match run(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If even this fails, the adapter finds a task without an end.
            let _ = std::fs::write(folder.path(Folder::LOG), format!("{error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// What the supervisor waits for.
pub(super) enum Event {
    /// A byte came through the pipe: look whether the task is withdrawn, or may begin.
    Woken,
    /// A child is over.
    Gone(i32, WaitStatus),
    /// None is left.
    AllGone,
    /// Its keeper says that the task is over; to a keeper: its supervisor is gone.
    Over(Exit),
}

/// Why a task is stopped before its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Limit,
    Withdrawn,
}

/// How often a supervisor shows that it lives.
const LIFE: Duration = Duration::from_secs(10);
/// Of so many such signs, one is on disk at once: file systems may keep the others for half a minute.
const SYNCED: u32 = 6;

fn run(folder: &Folder) -> io::Result<()> {
    // Orphans of the task become our children, so none escapes.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let Some(lock) = take_lock(folder)? else { return Ok(()) };
    if folder.has(Folder::ENDED) || folder.has(Folder::BEGUN) {
        return Ok(());
    }
    let (Some(sheet), Some(placed)) =
        (folder.read::<Sheet>(Folder::SHEET)?, folder.read_note::<Placed>(Folder::PLACED)?)
    else {
        return Err(io::Error::other("no sheet, or no slots"));
    };
    let (sender, events) = channel();
    listen(folder, sender.clone())?;
    let never = || EndRecord { since: None, at: now().0, exit: Exit::Withdrawn };
    if is_withdrawn_before(folder, sheet.start_at(now()), &events) {
        finish(folder, &never());
        return Ok(());
    }
    let BarrierOutcome::Go(go) = wait(folder, &sheet, &events)? else {
        finish(folder, &never());
        return Ok(());
    };
    // Without room for what is needed once it runs, it does not begin.
    folder.reserve(Folder::STARTED)?;
    let supervisor = rustix::process::getpid().as_raw_nonzero().get();
    if !folder.write_once(Folder::BEGUN, &Begun { boot: processes::boot(), supervisor })? {
        return Ok(());
    }
    show_life(lock)?;
    // Only now, since writing takes its time: those who begin together do so on the second.
    if is_withdrawn_before(folder, go.at, &events) {
        finish(folder, &never());
        return Ok(());
    }
    let ended = match SupervisedTask::start(folder, &sheet, &placed, &go, &sender) {
        Ok(task) => watch(folder, &sheet, task, sender, &events),
        Err(error) => {
            EndRecord { since: None, at: now().0, exit: Exit::NotStarted(error.to_string()) }
        }
    };
    finish(folder, &ended);
    Ok(())
}

/// The lock; the adapter has it for moments, another supervisor for good.
fn take_lock(folder: &Folder) -> io::Result<Option<File>> {
    for _ in 0..100 {
        if let Some(lock) = folder.lock()? {
            return Ok(Some(lock));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(None)
}

/// A thread that keeps the lock, and sets the moment of its last change again and again: if the machine
/// stops, this is how long the task has run for certain ([`Folder::last_life`]).
fn show_life(lock: File) -> io::Result<()> {
    let show = move || {
        loop {
            // On a disk that takes no change the task is only charged for less.
            let _ = lock.set_modified(std::time::SystemTime::now());
            let _ = lock.sync_all();
            for _ in 1..SYNCED {
                thread::sleep(LIFE);
                let _ = lock.set_modified(std::time::SystemTime::now());
            }
            thread::sleep(LIFE);
        }
    };
    thread::Builder::new().spawn(show).map(|_| ())
}

/// A thread that reads the pipe.
fn listen(folder: &Folder, sender: Sender<Event>) -> io::Result<()> {
    // For writing too, so that there is always a writer and reading waits.
    let mut pipe = OpenOptions::new().read(true).write(true).open(folder.path(Folder::WAKE))?;
    let hear = move || {
        let mut byte = [0];
        while pipe.read(&mut byte).is_ok() && sender.send(Event::Woken).is_ok() {}
    };
    thread::Builder::new().spawn(hear).map(|_| ())
}

/// Waits for the start; `true`: it was withdrawn before.
fn is_withdrawn_before(folder: &Folder, start: i64, events: &Receiver<Event>) -> bool {
    let begin = Instant::now();
    let longest = until(start).unwrap_or_default();
    loop {
        if folder.has(Folder::WITHDRAWN) {
            return true;
        }
        let Some(left) = until(start) else { return false };
        // It was set back meanwhile: the moment is over that was meant.
        let Some(left) = longest.checked_sub(begin.elapsed()).map(|it| it.min(left)) else {
            return false;
        };
        // In small pieces, since the clock may be set meanwhile.
        let _ = events.recv_timeout(left.min(Duration::from_millis(500)));
    }
}

/// How long it is until then, by the clock.
fn until(start: i64) -> Option<Duration> {
    let start = Duration::from_secs(u64::try_from(start).ok()?);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    start.checked_sub(since).filter(|left| !left.is_zero())
}

/// A task that runs.
enum SupervisedTask {
    /// Its first process is our child.
    Own(i32),
    /// It runs as its user's account, or in namespaces or a cgroup of its own.
    Kept(RunningKeeper),
}

impl SupervisedTask {
    /// Starts it; its result arrives as events.
    fn start(
        folder: &Folder,
        sheet: &Sheet,
        placed: &Placed,
        go: &GoRecord,
        events: &Sender<Event>,
    ) -> io::Result<SupervisedTask> {
        let mut launch = launch(folder, sheet, placed, go);
        let Some(way) = confine::way(folder, sheet, placed)? else {
            return launch.start().map(SupervisedTask::Own);
        };
        let cell = way.cell.clone();
        let started = || {
            if let Some(hidden) = &way.hidden {
                launch.reserve(hidden)?;
            }
            let job = match &way.account {
                Some(account) => job(folder, account, launch)?,
                None => KeeperCommand { launch, script: None, spool: PathBuf::new() },
            };
            RunningKeeper::start(folder, way, job, events.clone()).map(SupervisedTask::Kept)
        };
        let started = started();
        if let Some(cell) = cell.filter(|_| started.is_err()) {
            cell.remove(LAST_WAIT);
        }
        started
    }

    /// Whether the kernel has ended it for want of memory.
    fn was_out_of_memory(&self) -> bool {
        match self {
            SupervisedTask::Own(_) => false,
            SupervisedTask::Kept(kept) => kept.was_out_of_memory(),
        }
    }

    /// The process whose group ends with the task.
    fn pid(&self) -> i32 {
        match self {
            SupervisedTask::Own(pid) => *pid,
            SupervisedTask::Kept(kept) => kept.pid,
        }
    }

    fn send(&mut self, number: i32, to: To) {
        match self {
            SupervisedTask::Own(pid) => processes::send_to(*pid, number, to),
            SupervisedTask::Kept(kept) => kept.send(number, to),
        }
    }

    /// It was killed and is not over after a while: a keeper may have been stopped by its user.
    fn kill_again(&mut self, killer: Option<i32>) -> Option<i32> {
        match self {
            SupervisedTask::Own(pid) => {
                processes::send_group(*pid, Signal::KILL);
                None
            }
            SupervisedTask::Kept(kept) => kept.kill(killer),
        }
    }

    /// None of a keeper's processes is left.
    fn note_gone(&mut self) {
        if let SupervisedTask::Kept(kept) = self {
            kept.is_gone = true;
        }
    }

    /// Kills what exceeded the first process, until nothing is left.
    fn clear_away(self, events: &Receiver<Event>) {
        match self {
            SupervisedTask::Own(pid) => clear_away(pid, events),
            SupervisedTask::Kept(kept) => kept.clear_away(events, LAST_WAIT),
        }
    }
}

/// The order for a keeper of an account.
fn job(folder: &Folder, account: &TaskAccount, launch: Launch) -> io::Result<KeeperCommand> {
    let script = folder.path(Folder::SCRIPT);
    let script = match script.exists() {
        true => Some(std::fs::read_to_string(&script).map_err(|error| at(&script, &error))?),
        false => None,
    };
    let name = folder.0.file_name().unwrap_or_default();
    Ok(KeeperCommand { launch, script, spool: Path::new(&account.spool).join(name) })
}

/// What is started: the sheet, and what is known only now.
fn launch(folder: &Folder, sheet: &Sheet, placed: &Placed, go: &GoRecord) -> Launch {
    let names: Vec<String> =
        placed.slots.iter().map(|slot| format!("{}/{slot}", sheet.pool)).collect();
    let mut environment = sheet.environment.clone();
    environment.extend(go.variables.clone());
    environment.insert(MARK.to_owned(), folder.0.to_string_lossy().into_owned());
    environment.extend(sheet.node_variables.iter().map(|name| (name.clone(), names.join(","))));
    Launch {
        argv: sheet.argv.clone(),
        directory: sheet.directory.clone(),
        output: sheet.output.clone(),
        error: sheet.error.clone(),
        input: sheet.input.clone(),
        append: sheet.append,
        environment,
    }
}

/// Watches the running task to its end, and until all its processes are gone.
fn watch(
    folder: &Folder,
    sheet: &Sheet,
    mut task: SupervisedTask,
    sender: Sender<Event>,
    events: &Receiver<Event>,
) -> EndRecord {
    // In this order: the time between the two shortens no limit.
    let since_ms = now_ms();
    let began = Instant::now();
    let pid = task.pid();
    let born = processes::born(pid).unwrap_or(0);
    let started = Started { pid, born, since: since_ms.div_euclid(1_000), began: Some(since_ms) };
    // Without this record the task is seen as waiting; its end is reported all the same. It is on disk
    // before the task is reported: after a power failure, what ran must not look as if it never began.
    // A disk that is full by now has room for it, unless it is one that never writes in place.
    let _ =
        folder.fill(Folder::STARTED, &started).or_else(|_| folder.write(Folder::STARTED, &started));
    let reaper = thread::Builder::new().spawn(move || reap(&sender));
    let limit = began + Duration::from_secs(sheet.limit.try_into().unwrap_or(0));
    let due = Due {
        limit,
        grace: Duration::from_millis(sheet.grace),
        warning: sheet.warning.map(|it| (warned_at(limit, began, it.before), it)),
        notice: Some(sheet.warning.map_or((Signal::TERM.as_raw(), To::Group), signal_of)),
    };
    let (ending, cause) = match reaper {
        Ok(_) => wait_for(folder, &mut task, events, due),
        Err(_) => (None, None),
    };
    // What is charged is the time between both moments: it is rounded up. A clock that was set back
    // does not make it less.
    let at = now().0.max(started.since + whole_seconds(began.elapsed()));
    let was_out_of_memory = task.was_out_of_memory();
    task.clear_away(events);
    let exit = match (cause, ending) {
        (Some(Cause::Limit), _) => Exit::TimeLimit,
        (Some(Cause::Withdrawn), _) => Exit::Withdrawn,
        (None, _) if was_out_of_memory => Exit::OutOfMemory,
        (None, Some(ending)) => ending,
        (None, None) => Exit::Lost,
    };
    EndRecord { since: Some(started.since), at, exit }
}

/// Seconds, a part of one counted as a whole one.
fn whole_seconds(took: Duration) -> i64 {
    i64::try_from(took.as_millis().div_ceil(1_000)).unwrap_or(i64::MAX / 2)
}

/// Reports each child that is over, and of the end of all.
pub(super) fn reap(sender: &Sender<Event>) {
    loop {
        let event = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Gone(pid.as_raw_nonzero().get(), status),
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Event::AllGone,
        };
        let last = matches!(event, Event::AllGone);
        if sender.send(event).is_err() || last {
            return;
        }
    }
}

/// When a running task gets which signal.
struct Due {
    limit: Instant,
    /// From `SIGTERM` to `SIGKILL`.
    grace: Duration,
    /// The signal before the limit.
    warning: Option<(Instant, Warned)>,
    /// The signal when its nodes are taken back, until it was sent.
    notice: Option<(i32, To)>,
}

/// What a warning sends, and to whom.
fn signal_of(it: Warned) -> (i32, To) {
    (it.signal, if it.to_first { To::First } else { To::Others })
}

impl Due {
    /// Sends the signal before the limit, once its time has come; until when there is nothing to do.
    fn warn(&mut self, task: &mut SupervisedTask) -> Instant {
        if let Some((_, it)) = self.warning.take_if(|(at, _)| *at <= Instant::now()) {
            let (signal, to) = signal_of(it);
            task.send(signal, to);
        }
        self.warning.map_or(self.limit, |(at, _)| at.min(self.limit))
    }
}

impl Due {
    /// Sends the signal of the notice once, if it was given.
    fn notify(&mut self, folder: &Folder, task: &mut SupervisedTask) {
        if folder.has(Folder::NOTIFIED)
            && let Some((signal, to)) = self.notice.take()
        {
            task.send(signal, to);
            // A stopped process would not get it.
            task.send(Signal::CONT.as_raw(), To::Group);
        }
    }
}

/// So many seconds before the limit; at the beginning, if that is later.
fn warned_at(limit: Instant, began: Instant, before: i64) -> Instant {
    let before = Duration::from_secs(before.try_into().unwrap_or(0));
    limit.checked_sub(before).map_or(began, |at| at.max(began))
}

/// Until the first process is over; stops it at its limit or when it is withdrawn.
fn wait_for(
    folder: &Folder,
    task: &mut SupervisedTask,
    events: &Receiver<Event>,
    mut due: Due,
) -> (Option<Exit>, Option<Cause>) {
    let (limit, grace) = (due.limit, due.grace);
    let mut cause = None;
    let mut next = limit;
    let mut is_woken = true;
    let (mut killed, mut killer) = (0, None);
    let own = if let SupervisedTask::Own(pid) = task { Some(*pid) } else { None };
    loop {
        if cause.is_none() {
            next = due.warn(task);
            if is_woken {
                due.notify(folder, task);
            }
            if is_woken && folder.has(Folder::WITHDRAWN) {
                cause = Some(Cause::Withdrawn);
            } else if Instant::now() >= limit {
                cause = Some(Cause::Limit);
            }
            if cause.is_some() {
                task.send(Signal::TERM.as_raw(), To::Group);
                // A stopped process would not get it.
                task.send(Signal::CONT.as_raw(), To::Group);
                next = Instant::now() + grace;
            }
        }
        is_woken = false;
        match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Event::Gone(gone, status)) if Some(gone) == own => {
                return (Some(how(status)), cause);
            }
            Ok(Event::Over(ending)) => return (Some(ending), cause),
            Ok(Event::Gone(..)) => {}
            Ok(Event::Woken) => is_woken = true,
            // What a keeper has said last may still be on its way.
            Ok(Event::AllGone) if own.is_none() => task.note_gone(),
            Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return (None, cause),
            Err(RecvTimeoutError::Timeout) if cause.is_some() && killed == 0 => {
                task.send(Signal::KILL.as_raw(), To::Group);
                (killed, next) = (1, Instant::now() + KEEPER_WAIT);
            }
            Err(RecvTimeoutError::Timeout) if cause.is_some() => {
                killer = task.kill_again(killer);
                next = Instant::now() + KEEPER_WAIT;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Kills what exceeded the first process, until nothing is left.
pub(super) fn clear_away(pid: i32, events: &Receiver<Event>) {
    let end = Instant::now() + LAST_WAIT;
    processes::send_group(pid, Signal::KILL);
    while Instant::now() < end {
        match events.recv_timeout(Duration::from_millis(2)) {
            Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Event::Woken | Event::Over(_)) => {}
            // Whose parent just died is our child now.
            Ok(Event::Gone(..)) | Err(RecvTimeoutError::Timeout) => processes::kill_children(),
        }
    }
}

pub(super) fn how(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Lost,
    }
}

/// Writes the end down, however long the disk stays full: no other process knows it.
fn finish(folder: &Folder, ended: &EndRecord) {
    while folder.write(Folder::ENDED, ended).is_err() && folder.0.exists() {
        thread::sleep(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reaper was faster than the thread that reads what the keeper says.
    #[test]
    fn a_keeper_that_is_gone_before_its_last_word_comes_is_not_waited_for() {
        let (sender, events) = channel();
        assert!(sender.send(Event::AllGone).and(sender.send(Event::Over(Exit::Code(3)))).is_ok());
        let begun = Instant::now();
        let (limit, grace) = (begun + LAST_WAIT, Duration::from_secs(1));
        let due = Due { limit, grace, warning: None, notice: None };
        let mut task = SupervisedTask::Kept(RunningKeeper::ended());
        let folder = Folder(PathBuf::from("/nowhere"));
        let (ending, _) = wait_for(&folder, &mut task, &events, due);
        assert_eq!(ending, Some(Exit::Code(3)));
        task.clear_away(&events);
        assert!(begun.elapsed() < LAST_WAIT / 2, "its last word came, and no process is left");
    }
}
