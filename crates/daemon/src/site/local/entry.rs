//! One task as the adapter knows it, and how it finds out more.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tradewind_model::Time;

use super::accounts::TaskAccount;
use super::cgroups::Cell;
use super::records::{
    Begun, EndRecord, Folder, Gathering, GoRecord, Placed, Sheet, Started, start_at,
};
use super::{kept, processes};
use crate::site::clock::now;
use crate::site::files::{at, sync_folder};
use crate::site::{Exit, Seen};

/// So often a supervisor is started that never comes to begin its task.
const LAUNCHES: u32 = 3;
/// What is left of a task in its cgroup may take so long to end.
const CLEARING: Duration = Duration::from_secs(5);

/// A task that was submitted and not forgotten.
#[derive(Debug)]
pub(super) struct Entry {
    pub folder: Folder,
    /// Index of its pool.
    pub pool: usize,
    pub nodes: u32,
    /// When it is to start, and when it was submitted.
    start: (i64, Option<i64>),
    /// Number of the submission at this site.
    pub number: u64,
    pub output: Output,
    pub state: TaskState,
    /// Slots that it had, once it is over.
    had: Vec<u32>,
    /// It waits on its slots for others, at first.
    gathers: bool,
    /// When its work itself began, milliseconds since 1970, once that is known.
    pub began: Option<i64>,
    /// The supervisor, if this process has started it.
    supervisor: Option<Child>,
    launches: u32,
}

/// Where a task writes, and as which account, if not the daemon's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    pub path: PathBuf,
    /// Standard error, if it has a file of its own.
    pub error: Option<PathBuf>,
    pub account: Option<TaskAccount>,
}

/// State of the task.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    /// The task waits for slots.
    Waiting,
    /// It has slots and, unless that failed, a supervisor.
    Placed(Vec<u32>),
    /// The job runs.
    Running { slots: Vec<u32>, since: Time },
    /// The job has ended.
    Ended(EndRecord),
}

impl Entry {
    /// The start that still counts at `now`.
    pub(super) fn start_at(&self, now: Time) -> Time {
        let (start, handed_in) = self.start;
        Time(start_at(start, handed_in, now))
    }

    /// A task that was just laid down.
    pub(super) fn new(folder: Folder, pool: usize, sheet: &Sheet) -> Entry {
        Entry {
            folder,
            pool,
            nodes: sheet.nodes,
            start: (sheet.start, sheet.handed_in),
            number: sheet.number,
            output: Output {
                path: sheet.output.clone(),
                error: sheet.error.clone(),
                account: sheet.account.clone(),
            },
            state: TaskState::Waiting,
            had: Vec::new(),
            gathers: sheet.gather.is_some(),
            began: None,
            supervisor: None,
            launches: 0,
        }
    }

    /// A task that was there when the adapter began.
    pub(super) fn found(folder: Folder, pool: usize, sheet: &Sheet) -> io::Result<Entry> {
        let mut entry = Entry::new(folder, pool, sheet);
        if let Some(ended) = entry.folder.read(Folder::ENDED)? {
            entry.close(ended)?;
        } else if let Some(placed) = entry.folder.read_note::<Placed>(Folder::PLACED)? {
            entry.state = TaskState::Placed(placed.slots);
        } else if entry.folder.has(Folder::BEGUN) {
            // The machine died, and with it the note of its slots.
            entry.state = TaskState::Placed(Vec::new());
        }
        Ok(entry)
    }

    /// Slots that it has.
    pub(super) fn slots(&self) -> &[u32] {
        match &self.state {
            TaskState::Placed(slots) | TaskState::Running { slots, .. } => slots,
            TaskState::Waiting | TaskState::Ended(_) => &[],
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        matches!(self.state, TaskState::Ended(_))
    }

    /// Gives it slots and a supervisor. A term that is over has no `drafts`, and gives none: its slots
    /// may be another task's by now.
    pub(super) fn place(
        &mut self,
        slots: Vec<u32>,
        drafts: &Path,
        program: &[PathBuf],
    ) -> io::Result<()> {
        self.folder.note_from(drafts, Folder::PLACED, &Placed { slots: slots.clone() })?;
        self.state = TaskState::Placed(slots);
        self.launch(program)
    }

    /// Finds out what has happened to it. Reads one or two small files; starts a supervisor again
    /// if one died before it began the task.
    pub(super) fn refresh(&mut self, program: &[PathBuf]) -> io::Result<()> {
        if matches!(self.state, TaskState::Ended(_) | TaskState::Waiting) || self.has_ended()? {
            return Ok(());
        }
        self.look_whether_it_runs()?;
        if self.is_supervised()? {
            return Ok(());
        }
        // It died; what it wrote last may have come after we looked.
        let Some(lock) = self.folder.lock()? else { return Ok(()) };
        if self.has_ended()? || self.settle()? {
            return Ok(());
        }
        drop(lock);
        self.launch(program)
    }

    /// One that waits for others runs as soon as it has its slots.
    fn look_whether_it_runs(&mut self) -> io::Result<()> {
        self.learn_beginning()?;
        let TaskState::Placed(slots) = &mut self.state else { return Ok(()) };
        let since = match self.gathers {
            true => {
                let gathering = self.folder.read_note::<Gathering>(Folder::GATHERING)?;
                gathering.map(|it| it.since.div_euclid(1_000))
            }
            false => self.folder.read_note::<Started>(Folder::STARTED)?.map(|it| it.since),
        };
        if let Some(since) = since {
            let slots = std::mem::take(slots);
            self.state = TaskState::Running { slots, since: Time(since) };
        }
        Ok(())
    }

    fn learn_beginning(&mut self) -> io::Result<()> {
        if self.began.is_none() {
            let started = self.folder.read_note::<Started>(Folder::STARTED)?;
            self.began = started.and_then(|started| started.began);
        }
        Ok(())
    }

    /// Lets it begin, if it waits for others and was not released before.
    pub(super) fn go(&mut self, go: &GoRecord) -> io::Result<()> {
        if !self.gathers || self.is_ended() {
            return Ok(());
        }
        if self.folder.write_once(Folder::GO, go)? {
            self.wake();
        }
        Ok(())
    }

    /// With the lock in hand: a task without supervisor that was begun or withdrawn is over.
    /// `false`: it was neither.
    fn settle(&mut self) -> io::Result<bool> {
        let begun = match self.folder.read::<Begun>(Folder::BEGUN) {
            Ok(Some(begun)) => begun,
            Ok(None) if self.folder.has(Folder::WITHDRAWN) => {
                self.end(None, Exit::Withdrawn)?;
                return Ok(true);
            }
            Ok(None) => return Ok(false),
            Err(error) => return Err(error),
        };
        if begun.supervisor == Begun::NEVER {
            self.end(None, Exit::Withdrawn)?;
            return Ok(true);
        }
        let started = self.folder.read_note::<Started>(Folder::STARTED)?;
        let sheet = self.folder.read::<Sheet>(Folder::SHEET)?;
        let cell = sheet.and_then(|sheet| sheet.cell).filter(|_| begun.is_of_this_boot());
        let was_out_of_memory = cell.as_ref().is_some_and(Cell::was_out_of_memory);
        if let Some(cell) = &cell {
            cell.remove(CLEARING);
        }
        if let Some(account) = self.output.account.as_ref().filter(|_| begun.is_of_this_boot()) {
            let keeper = started.as_ref().map(|it| (it.pid, it.born));
            kept::kill_rest(&self.folder, account, keeper);
        }
        processes::kill_rest(&self.folder.0, &begun, started.as_ref());
        let since = started.map(|started| started.since);
        match begun.is_of_this_boot() {
            true if was_out_of_memory => self.end(since, Exit::OutOfMemory)?,
            true => self.end(since, Exit::Lost)?,
            // The machine may have been off for long, for which its user must not pay.
            false => {
                let at = self.folder.last_life().map_or(now(), |at| Time(at).min(now()));
                self.end_at(since, at, Exit::NodeFailed)?;
            }
        }
        Ok(true)
    }

    /// Stops it, or sees to it that it never starts.
    pub(super) fn withdraw(&mut self) -> io::Result<()> {
        if self.is_ended() || self.has_ended()? {
            return Ok(());
        }
        std::fs::write(self.folder.path(Folder::WITHDRAWN), b"")?;
        if !self.folder.has(Folder::BEGUN) {
            // Or else the machine might forget it with a power failure, and run the task after.
            sync_folder(&self.folder.0)?;
        }
        if let Some(_lock) = self.folder.lock()? {
            if !self.has_ended()? {
                self.settle()?;
            }
            return Ok(());
        }
        self.wake();
        Ok(())
    }

    /// Has its work told that its nodes are taken back.
    pub(super) fn notify(&mut self) -> io::Result<()> {
        if self.is_ended() || self.has_ended()? {
            return Ok(());
        }
        std::fs::write(self.folder.path(Folder::NOTIFIED), b"")?;
        self.wake();
        Ok(())
    }

    /// Sees to it that it never starts; `false`: it has begun, and runs on. The record of its
    /// beginning can be made once only, by its supervisor or here.
    pub(super) fn recall(&mut self) -> io::Result<bool> {
        if self.is_ended() || self.has_ended()? {
            return Ok(true);
        }
        let never = Begun { boot: processes::boot(), supervisor: Begun::NEVER };
        if !self.folder.write_once(Folder::BEGUN, &never)? {
            // By an earlier recall of ours, perhaps.
            let begun = self.folder.read::<Begun>(Folder::BEGUN)?;
            if begun.is_none_or(|begun| begun.supervisor != Begun::NEVER) {
                return Ok(false);
            }
        }
        self.withdraw().map(|()| true)
    }

    /// Wakes the supervisor. If it does not listen yet, it looks by itself before it begins.
    fn wake(&self) {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = std::fs::OpenOptions::new();
        if let Ok(mut pipe) =
            options.write(true).custom_flags(no_wait).open(self.folder.path(Folder::WAKE))
        {
            let _ = pipe.write_all(b"!");
        }
    }

    fn has_ended(&mut self) -> io::Result<bool> {
        let Some(ended) = self.folder.read(Folder::ENDED)? else { return Ok(false) };
        self.close(ended).map(|()| true)
    }

    fn end(&mut self, since: Option<i64>, exit: Exit) -> io::Result<()> {
        self.end_at(since, now(), exit)
    }

    fn end_at(&mut self, since: Option<i64>, at: Time, exit: Exit) -> io::Result<()> {
        let at = at.0.max(since.unwrap_or(i64::MIN));
        let ended = EndRecord { since, at, exit };
        self.folder.write(Folder::ENDED, &ended)?;
        self.close(ended)
    }

    fn close(&mut self, ended: EndRecord) -> io::Result<()> {
        self.learn_beginning()?;
        self.had = match self.slots() {
            [] => {
                self.folder.read_note::<Placed>(Folder::PLACED)?.map_or(Vec::new(), |it| it.slots)
            }
            slots => slots.to_vec(),
        };
        self.state = TaskState::Ended(ended);
        Ok(())
    }

    /// The supervisor, to be waited for when its task is over.
    pub(super) fn take_supervisor(&mut self) -> Option<Child> {
        if self.is_ended() { self.supervisor.take() } else { None }
    }

    /// Whether the supervisor lives. If it was not started here, the lock shows it.
    fn is_supervised(&mut self) -> io::Result<bool> {
        if let Some(child) = &mut self.supervisor {
            if child.try_wait()?.is_none() {
                return Ok(true);
            }
            self.supervisor = None;
        }
        Ok(self.folder.lock()?.is_none())
    }

    /// Starts a supervisor. After some that came to nothing the task counts as not started.
    fn launch(&mut self, program: &[PathBuf]) -> io::Result<()> {
        if self.launches >= LAUNCHES {
            let said = std::fs::read_to_string(self.folder.path(Folder::LOG)).unwrap_or_default();
            return self.give_up(&format!("its supervisor does not start: {}", said.trim()));
        }
        if self.launches > 0 {
            // A supervisor that has no room for its records ends at once: that says nothing of the
            // task, which waits until there is room.
            self.folder.try_room()?;
        }
        self.launches += 1;
        match spawn(program, &self.folder.0) {
            Ok(child) => {
                self.supervisor = Some(child);
                Ok(())
            }
            // The machine may have no room for a process just now: the next look tries again.
            Err(_) if self.launches < LAUNCHES => Ok(()),
            Err(error) => self.give_up(&format!("its supervisor does not start: {error}")),
        }
    }

    fn give_up(&mut self, why: &str) -> io::Result<()> {
        let Some(_lock) = self.folder.lock()? else { return Ok(()) };
        if self.has_ended()? || self.folder.has(Folder::BEGUN) {
            return Ok(());
        }
        self.end(None, Exit::NotStarted(why.to_owned()))
    }

    /// As the trait defines it; `pool` is the pool's name.
    pub(super) fn seen(&self, pool: &str) -> Seen {
        match &self.state {
            TaskState::Waiting | TaskState::Placed(_) => Seen::Waiting,
            TaskState::Running { slots, since } => {
                Seen::Running { since: *since, nodes: named(pool, slots) }
            }
            TaskState::Ended(ended) => Seen::Ended {
                since: ended.since.map(Time),
                at: Time(ended.at),
                exit: ended.exit.clone(),
            },
        }
    }

    /// Where it ran, if it is over.
    pub(super) fn placed(&self, pool: &str) -> Option<Vec<String>> {
        self.is_ended().then(|| named(pool, &self.had))
    }
}

fn named(pool: &str, slots: &[u32]) -> Vec<String> {
    slots.iter().map(|slot| format!("{pool}/{slot}")).collect()
}

/// A supervisor without terminal, without anything of our environment, and nowhere in particular.
fn spawn(program: &[PathBuf], folder: &Path) -> io::Result<Child> {
    let Some((program, arguments)) = program.split_first() else {
        return Err(io::Error::other("no program is set"));
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(folder).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| at(program, &error))
}
