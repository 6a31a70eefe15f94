//! What is written into a task's folder, and how: whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tradewind_io::submission::signal::{Receiver, Warning};
use tradewind_model::Time;

use super::accounts::TaskAccount;
use super::cgroups::Cell;
use super::rlimits::ProcessLimits;
use crate::site::Exit;
use crate::site::files::{at, lock, sync_folder, write_synced};

/// What the supervisor must know; written once, before the task is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sheet {
    /// As [`Tag`](crate::site::Tag) writes itself.
    pub tag: String,
    /// Counts submissions: who came first.
    pub number: u64,
    pub pool: String,
    pub nodes: u32,
    /// Seconds since 1970.
    pub start: i64,
    /// When it was submitted: seconds since 1970.
    #[serde(default)]
    pub handed_in: Option<i64>,
    /// Time limit in seconds.
    pub limit: i64,
    /// So many seconds it waits for others at most, if it does.
    #[serde(default)]
    pub gather: Option<i64>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it runs; absolute, as the others below.
    pub directory: PathBuf,
    pub output: PathBuf,
    /// `None`: with the output.
    pub error: Option<PathBuf>,
    /// Standard input; `None` is empty input.
    pub input: Option<PathBuf>,
    pub append: bool,
    /// All of it, but for the names of the nodes.
    pub environment: BTreeMap<String, String>,
    /// Variables that get the names of the nodes, with commas.
    pub node_variables: Vec<String>,
    /// Milliseconds from `SIGTERM` to `SIGKILL`.
    pub grace: u64,
    /// A signal before the limit, if one is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warned>,
    /// The account that runs it, if that is not the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<TaskAccount>,
    /// What the task does not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Hiding>,
    /// It sees no processes but its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_processes: bool,
    /// The control group of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
    /// Limits that no control group keeps.
    #[serde(default, skip_serializing_if = "ProcessLimits::is_none")]
    pub limits: ProcessLimits,
}

/// What the tasks of a site do not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hiding {
    /// The state folder.
    pub state: PathBuf,
    /// What they see of it.
    pub shown: PathBuf,
}

/// A signal before the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Warned {
    /// Number of the signal.
    pub signal: i32,
    /// Seconds before the limit.
    pub before: i64,
    /// To the first process; else to all others of its group.
    pub to_first: bool,
}

impl From<Warning> for Warned {
    fn from(it: Warning) -> Warned {
        let to_first = it.to == Receiver::Script;
        Warned { signal: it.number, before: it.before.0, to_first }
    }
}

/// A clock that shows so many seconds less than before was set back.
const SET_BACK: i64 = 5;

/// The start that still counts at `now`: one that was meant by a clock that has been set back
/// since lies in a future that never was, and holds nothing up.
pub(super) fn start_at(start: i64, handed_in: Option<i64>, now: Time) -> i64 {
    match handed_in.is_some_and(|then| then > now.0 + SET_BACK) {
        true => now.0,
        false => start,
    }
}

impl Sheet {
    /// See [`start_at`].
    pub(super) fn start_at(&self, now: Time) -> i64 {
        start_at(self.start, self.handed_in, now)
    }
}

/// Which of the pool's slots it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Placed {
    pub slots: Vec<u32>,
}

/// The supervisor is about to start the task. Made once and never again: from here on the task
/// may have run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The machine's boot, as the kernel numbers it.
    pub boot: String,
    /// Its process; [`Begun::NEVER`]: the task was taken back, and no supervisor begins it.
    pub supervisor: i32,
}

impl Begun {
    /// No process has this number.
    pub(super) const NEVER: i32 = 0;

    /// Whether the machine has not been started again since.
    pub(super) fn is_of_this_boot(&self) -> bool {
        self.boot == super::processes::boot()
    }
}

/// The task runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    /// Of the first process, which leads the task's group.
    pub pid: i32,
    /// When that process was born, in the kernel's ticks since boot: a process with the same
    /// number and another birth is a stranger.
    pub born: u64,
    pub since: i64,
    /// The same in milliseconds.
    #[serde(default)]
    pub began: Option<i64>,
}

/// It has its slots and waits for others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gathering {
    /// Milliseconds since 1970.
    pub since: i64,
}

/// It need not wait for others any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GoRecord {
    /// When it begins.
    pub at: i64,
    pub variables: BTreeMap<String, String>,
}

/// It is over, and none of its processes is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndRecord {
    pub since: Option<i64>,
    pub at: i64,
    pub exit: Exit,
}

/// Bytes that are reserved for a record.
const ROOM: usize = 256;

/// A task's folder: names of what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder(pub PathBuf);

impl Folder {
    /// [`Sheet`].
    pub(super) const SHEET: &'static str = "sheet.json";
    /// [`Placed`].
    pub(super) const PLACED: &'static str = "placed.json";
    /// [`Begun`].
    pub(super) const BEGUN: &'static str = "begun.json";
    /// [`Gathering`].
    pub(super) const GATHERING: &'static str = "gathering.json";
    /// [`GoRecord`].
    pub(super) const GO: &'static str = "go.json";
    /// [`Started`].
    pub(super) const STARTED: &'static str = "started.json";
    /// [`EndRecord`].
    pub(super) const ENDED: &'static str = "ended.json";
    /// The script, if it is one.
    pub(super) const SCRIPT: &'static str = "script";
    /// Empty; it is there when the task is to hear that its nodes are taken back.
    pub(super) const NOTIFIED: &'static str = "notified";
    /// Empty; it is there when the task is withdrawn.
    pub(super) const WITHDRAWN: &'static str = "withdrawn";
    /// A pipe on which the supervisor listens.
    pub(super) const WAKE: &'static str = "wake";
    /// Locked as long as the supervisor lives, by the kernel.
    pub(super) const LOCK: &'static str = "lock";
    /// What the supervisor had to say, if it failed.
    pub(super) const LOG: &'static str = "supervisor.log";

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Whether the disk takes as much as a task writes down.
    ///
    /// # Errors
    /// If it does not.
    pub(super) fn try_room(&self) -> io::Result<()> {
        let path = self.path("room");
        let tried = fs::write(&path, [0; 4096]);
        let _ = fs::remove_file(&path);
        tried
    }

    /// The record, if it is there.
    ///
    /// # Errors
    /// If it cannot be read or is no such record.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let path = self.path(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(&path, &error)),
        };
        let wrong = |error: serde_json::Error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
        };
        serde_json::from_slice(&bytes).map(Some).map_err(wrong)
    }

    /// The record, if it is there and whole: for those that [`Folder::note`] has written.
    pub(super) fn read_note<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        match self.read(name) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            other => other,
        }
    }

    /// Records that may be lost when the machine dies: then no task runs any more, and what is left
    /// is enough. All others are needed afterwards, to know what ran and for how long.
    const SPARED: [&'static str; 2] = [Self::PLACED, Self::GATHERING];

    /// Writes a record that may be lost when the machine dies. Every process sees it whole or not at
    /// all.
    ///
    /// # Errors
    /// If it cannot be written, or must not be lost.
    pub(super) fn note<T: Serialize>(&self, name: &str, record: &T) -> io::Result<()> {
        self.note_from(&self.0, name, record)
    }

    /// The same by a draft in another folder: where that is gone, nothing is written.
    pub(super) fn note_from<T: Serialize>(
        &self,
        drafts: &Path,
        name: &str,
        record: &T,
    ) -> io::Result<()> {
        if !Self::SPARED.contains(&name) {
            return Err(io::Error::other(format!("{name} must be on disk before it is seen")));
        }
        let draft = drafts.join(format!(".{name}.{}", std::process::id()));
        fs::write(&draft, serde_json::to_vec(record)?)?;
        fs::rename(draft, self.path(name))
    }

    /// Writes the record in the place of what was there, on disk when this returns.
    pub(super) fn write<T: Serialize>(&self, name: &str, record: &T) -> io::Result<()> {
        let draft = self.draft(name, record)?;
        fs::rename(draft, self.path(name))?;
        sync_folder(&self.0)
    }

    /// Room for a record that will be needed, though the disk may be full by then. Until it is
    /// [filled](Folder::fill) there is no record, as [`Folder::read_note`] sees it.
    pub(super) fn reserve(&self, name: &str) -> io::Result<()> {
        write_synced(&self.path(name), &[b' '; ROOM], 0o600)?;
        sync_folder(&self.0)
    }

    /// Writes a record into the room that was [reserved](Folder::reserve) for it, on disk when this
    /// returns. File systems that write in place need no space for it.
    pub(super) fn fill<T: Serialize>(&self, name: &str, record: &T) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(record)?;
        if bytes.len() > ROOM {
            return Err(io::Error::other(format!("{name} is longer than its room")));
        }
        bytes.resize(ROOM, b' ');
        let file = OpenOptions::new().write(true).open(self.path(name))?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()
    }

    /// Writes the record if there is none; `false`: there is one.
    pub(super) fn write_once<T: Serialize>(&self, name: &str, record: &T) -> io::Result<bool> {
        let draft = self.draft(name, record)?;
        let made = fs::hard_link(&draft, self.path(name));
        fs::remove_file(draft)?;
        match made {
            Ok(()) => sync_folder(&self.0).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A draft beside the record, by a name that no other process uses.
    fn draft<T: Serialize>(&self, name: &str, record: &T) -> io::Result<PathBuf> {
        let draft = self.path(&format!(".{name}.{}", std::process::id()));
        write_synced(&draft, &serde_json::to_vec(record)?, 0o600)?;
        Ok(draft)
    }

    /// Takes the supervisor's lock; `None`: another process has it.
    ///
    /// # Errors
    /// If the folder is gone, or cannot be locked.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        lock(&self.path(Self::LOCK))
    }

    /// When a supervisor last showed that it lives, seconds since 1970; `None`: that cannot be read.
    pub(super) fn last_life(&self) -> Option<i64> {
        let changed = fs::metadata(self.path(Self::LOCK)).and_then(|it| it.modified()).ok()?;
        let since = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_is_charged_by_cannot_be_written_without_the_disk() {
        let folder = tempfile::TempDir::new().unwrap();
        let folder = Folder(folder.path().to_owned());
        for name in [Folder::SHEET, Folder::BEGUN, Folder::STARTED, Folder::ENDED, Folder::GO] {
            assert!(folder.note(name, &7).is_err() && !folder.has(name), "{name}");
        }
        folder.note(Folder::PLACED, &7).unwrap();
        folder.write(Folder::STARTED, &8).unwrap();
        assert_eq!(folder.read::<i32>(Folder::STARTED).unwrap(), Some(8));
    }

    #[test]
    fn a_reserved_record_is_filled_where_no_file_can_be_made() {
        let folder = tempfile::TempDir::new().unwrap();
        let folder = Folder(folder.path().to_owned());
        folder.reserve(Folder::STARTED).unwrap();
        assert_eq!(folder.read_note::<i32>(Folder::STARTED).unwrap(), None);
        let draft = format!(".{}.{}", Folder::STARTED, std::process::id());
        fs::create_dir(folder.path(&draft)).unwrap();
        assert!(folder.write(Folder::STARTED, &8).is_err());
        folder.fill(Folder::STARTED, &8).unwrap();
        assert_eq!(folder.read::<i32>(Folder::STARTED).unwrap(), Some(8));
        assert!(folder.fill(Folder::STARTED, &"long".repeat(ROOM)).is_err());
        assert!(folder.fill(Folder::ENDED, &8).is_err(), "nothing is reserved");
    }

    #[test]
    fn a_start_that_a_clock_set_back_will_not_show_soon_holds_nothing_up() {
        assert_eq!(start_at(7_310, Some(100), Time(110)), 7_310, "it was meant so");
        assert_eq!(start_at(7_310, Some(7_300), Time(110)), 110);
        assert_eq!(start_at(7_310, Some(7_300), Time(7_295)), 7_310, "a small step");
        assert_eq!(start_at(7_310, None, Time(110)), 7_310, "an older release wrote it");
    }
}
