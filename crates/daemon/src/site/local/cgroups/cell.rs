//! The cgroup of one task.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::{PROCESSES, Tree, make, write};

const KILL: &str = "cgroup.kill";
/// The kernel counts processors over this time: microseconds.
const PERIOD: u64 = 100_000;
/// It takes no less than this of it.
const LEAST_QUOTA: u64 = 1_000;
/// Limits that older kernels, or those without swap, do not have.
const OPTIONAL: [&str; 2] = ["memory.swap.max", "memory.oom.group"];
/// A cgroup may be removed some moments after its last process is gone.
const LINGER: Duration = Duration::from_secs(1);

/// What a task may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::site::local) struct TaskLimits {
    /// Thousandths of a processor.
    pub processors: u64,
    /// Memory in bytes.
    pub memory: u64,
}

/// A task's cgroup, as its sheet has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::site::local) struct Cell {
    /// Its folder; made by the supervisor.
    pub folder: PathBuf,
    /// Where cgroups are mounted.
    pub mount: PathBuf,
    /// Files in it, and what is written to them, in this order.
    pub limits: Vec<(String, String)>,
    /// Without it the task does not start.
    pub is_required: bool,
}

impl Cell {
    /// The cgroup with those of the limits that the kernel keeps.
    pub(in crate::site::local) fn new(tree: &Tree, name: &str, limits: TaskLimits) -> Cell {
        let has = tree.has;
        let mut all = Vec::new();
        if has.cpu {
            let quota = limits.processors.saturating_mul(PERIOD / 1_000).max(LEAST_QUOTA);
            all.push(("cpu.max", format!("{quota} {PERIOD}")));
        }
        if has.memory {
            // What is swapped out is not counted: without this a task could go on beyond its limit.
            all.push(("memory.swap.max", "0".to_owned()));
            all.push(("memory.max", limits.memory.to_string()));
            all.push(("memory.oom.group", "1".to_owned()));
        }
        let limits = all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (folder, mount) = (tree.site.join(name), tree.mount.clone());
        Cell { folder, mount, limits, is_required: false }
    }

    /// Makes it, and sets its limits.
    ///
    /// # Errors
    /// If the kernel refuses one of them.
    pub(in crate::site::local) fn make(&self) -> io::Result<()> {
        let folder = make(&self.folder)?;
        for (name, value) in &self.limits {
            match write(&folder.join(name), value) {
                Err(wrong)
                    if wrong.kind() == io::ErrorKind::NotFound
                        && OPTIONAL.contains(&name.as_str()) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// What stands before a command that is to run in it.
    pub(in crate::site::local) fn entering(&self) -> Vec<String> {
        entering(&self.folder)
    }

    /// Kills every process in it, whosever it is; also those that left group and session.
    pub(in crate::site::local) fn kill(&self) {
        for folder in below(&self.folder) {
            if write(&folder.join(KILL), "1").is_ok() {
                continue;
            }
            // Before Linux 5.14.
            let text = fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default();
            let numbers = text.lines().filter_map(|line| line.trim().parse().ok());
            for pid in numbers.filter_map(Pid::from_raw) {
                // That it is gone already is no error.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Whether a process is in it, or in a cgroup that the task has made below.
    pub(in crate::site::local) fn is_populated(&self) -> bool {
        let text = fs::read_to_string(self.folder.join("cgroup.events")).unwrap_or_default();
        text.lines().any(|line| line == "populated 1")
    }

    /// Whether the kernel has killed something in it for want of memory.
    pub(in crate::site::local) fn was_out_of_memory(&self) -> bool {
        let text = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.is_some_and(|count| count.trim() != "0")
    }

    /// Kills what is left in it until nothing is, for so long at most, and removes it.
    pub(in crate::site::local) fn remove(&self, max: Duration) {
        let end = Instant::now() + max;
        while self.is_populated() && Instant::now() < end {
            self.kill();
            thread::sleep(Duration::from_millis(2));
        }
        let end = Instant::now() + LINGER;
        while self.folder.exists() && Instant::now() < end {
            // Those that the task has made come first.
            let mut folders = below(&self.folder);
            folders.reverse();
            if folders.iter().all(|folder| fs::remove_dir(folder).is_ok()) {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A shell that moves itself into the cgroup, and then becomes what is said behind.
pub(super) fn entering(folder: &Path) -> Vec<String> {
    let enter = "echo 0 >\"$0\" && exec \"$@\"";
    let file = folder.join(PROCESSES).to_string_lossy().into_owned();
    ["/bin/sh", "-c", enter, &file].map(str::to_owned).to_vec()
}

/// The folder and all below, outer ones first.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        found.extend(folders.map(|it| it.path()));
        next += 1;
    }
    found
}
