//! cgroups of version 2: every task in a cgroup of its own, with limits of memory and processors.
//!
//! What a daemon may use is the cgroup that was delegated to it, and what is below:
//!
//! | cgroup | what is in it |
//! |---|---|
//! | the delegated one | no process: else the kernel does not pass controllers on |
//! | `daemon` in it | the daemon and the supervisors |
//! | `SITE-NUMBER` in it | no process; one for each local site |
//! | `TAG` in that | a task |
//!
//! On a kernel that has given its controllers to version 1, tasks still have cgroups of their own:
//! without limits, but a task ends as a whole.

mod cell;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) use self::cell::{Cell, TaskLimits};
use crate::site::files::{at, folder_name};

/// The cgroup of the daemon itself and of the supervisors.
const LEAF: &str = "daemon";
/// Controllers that limit tasks.
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];
const PROCESSES: &str = "cgroup.procs";
const AVAILABLE: &str = "cgroup.controllers";
const PASSED_ON: &str = "cgroup.subtree_control";
/// Set by systemd on what it has delegated.
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// Whose word it takes that a cgroup was delegated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// A mark of systemd, the owner of the folder, or that there is nothing above it.
    Signs,
    /// The site's owner says so.
    Owner,
}

/// Where this process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnCgroup {
    /// Where cgroups of version 2 are mounted.
    pub mount: PathBuf,
    /// The cgroup of this process.
    pub own: PathBuf,
}

impl OwnCgroup {
    /// The place of this process.
    ///
    /// # Errors
    /// Why there are no cgroups here, for people.
    pub(super) fn of_this_process() -> Result<OwnCgroup, String> {
        let read =
            |path: &str| fs::read_to_string(path).map_err(|wrong| format!("{path}: {wrong}"));
        OwnCgroup::among(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)
    }

    /// The same from the text of `/proc/self/cgroup` and `/proc/self/mountinfo`.
    fn among(own: &str, mounts: &str) -> Result<OwnCgroup, String> {
        let own = own.lines().find_map(|line| line.strip_prefix("0::"));
        let own = own.ok_or("the kernel has no cgroups of version 2")?;
        let mounted = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let fields: Vec<&str> = before.split(' ').collect();
            let is_ours = after.starts_with("cgroup2 ");
            is_ours.then(|| Some((*fields.get(3)?, *fields.get(4)?))).flatten()
        });
        let (root, mount) = mounted.ok_or("no cgroups of version 2 are mounted")?;
        let inside = Path::new(own).strip_prefix(root).ok();
        let inside = inside.filter(|path| !path.starts_with(".."));
        let inside = inside.ok_or_else(|| format!("its cgroup {own} is not below {mount}"))?;
        let mount = PathBuf::from(mount);
        // Joining an empty path would end in a slash.
        let own = inside.iter().fold(mount.clone(), |path, name| path.join(name));
        Ok(OwnCgroup { mount, own })
    }
}

/// Which limits there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Controllers {
    /// Whether processors can be limited.
    pub cpu: bool,
    /// Whether memory can be limited.
    pub memory: bool,
}

/// The cgroup below which a site's tasks get theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// Where cgroups of version 2 are mounted.
    pub mount: PathBuf,
    /// The site's own.
    pub site: PathBuf,
    /// Limits that the kernel keeps there.
    pub has: Controllers,
    /// Why not all of them.
    pub lacks: Option<String>,
    /// Bytes that the delegated cgroup may use, if that is limited.
    pub memory: Option<u64>,
}

impl Tree {
    /// Makes the site's cgroup, and moves this process out of the way if necessary. Moves no other.
    ///
    /// # Errors
    /// Why tasks get no cgroups, for people.
    pub(super) fn open(place: &OwnCgroup, site: &Path, trust: Trust) -> Result<Tree, String> {
        let base = base(place);
        may_write(&base)?;
        if trust == Trust::Signs && !is_delegated(&base, place) {
            let base = base.display();
            return Err(format!(
                "{base} is not delegated to this daemon (`Delegate=` in its unit)"
            ));
        }
        let restarted = restarts_in(&base, place);
        let name = name(site).map_err(|wrong| wrong.to_string())?;
        let site = make(&base.join(name)).map_err(|wrong| wrong.to_string())?;
        let (has, lacks) = match restarted {
            true => (Controllers::default(), Some(OLD_SYSTEMD.to_owned())),
            false => {
                step_aside(&base, place).map_err(|wrong| wrong.to_string())?;
                pass_on(&base, &site)
            }
        };
        let memory = fs::read_to_string(base.join("memory.max")).ok();
        let memory = memory.and_then(|text| text.trim().parse().ok());
        let tree = Tree { mount: place.mount.clone(), site, has, lacks, memory };
        tree.probe()?;
        Ok(tree)
    }

    /// Tries whether a process gets into a cgroup below.
    fn probe(&self) -> Result<(), String> {
        let folder = make(&self.site.join(".probe")).map_err(|wrong| wrong.to_string())?;
        let words = cell::entering(&folder);
        let mut words = words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).arg("true").env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        let output = command.output();
        let _ = fs::remove_dir(&folder);
        let output = output.map_err(|wrong| wrong.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("no process can be put in: {said}"))
        }
    }

    /// The cgroups of tasks that are there, by the names of the tasks' folders.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.site).into_iter().flatten().flatten();
        let folders = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.filter_map(|it| it.file_name().into_string().ok()).collect()
    }

    /// Ends what is left in a task's cgroup, and removes it.
    pub(super) fn sweep(&self, name: &str) {
        const MAX: Duration = Duration::from_secs(1);
        Cell::new(self, name, TaskLimits { processors: 0, memory: 0 }).remove(MAX);
    }

    /// Removes the site's own cgroup, unless tasks run in it.
    pub(super) fn close(&self) {
        let _ = fs::remove_dir(&self.site);
    }
}

/// Before 254 systemd puts a service that it starts again into its cgroup itself, which the kernel
/// refuses while controllers are passed on from there: as long as jobs run, the daemon would not start.
const OLD_SYSTEMD: &str = "systemd started the daemon in the delegated cgroup itself: set \
                           `DelegateSubgroup=daemon` in its unit (systemd 254 or later)";

/// The delegated cgroup: the own one, or that around it if a daemon has moved into its leaf.
fn base(place: &OwnCgroup) -> PathBuf {
    let is_leaf = place.own.file_name().is_some_and(|name| name == LEAF);
    let around = place.own.parent().filter(|around| is_leaf && around.starts_with(&place.mount));
    around.unwrap_or(&place.own).to_owned()
}

fn may_write(base: &Path) -> Result<(), String> {
    for path in [base.to_owned(), base.join(PROCESSES)] {
        if let Err(wrong) = rustix::fs::access(&path, rustix::fs::Access::WRITE_OK) {
            return Err(format!("{}: {}", path.display(), io::Error::from(wrong)));
        }
    }
    Ok(())
}

fn is_delegated(base: &Path, place: &OwnCgroup) -> bool {
    let mark = |name: &&str| {
        let mut value = [0_u8; 8];
        let length = rustix::fs::getxattr(base, *name, &mut value);
        length.is_ok_and(|length| value.get(..length) == Some(b"1"))
    };
    let own = rustix::process::geteuid();
    let is_owned = fs::metadata(base).is_ok_and(|about| about.uid() == own.as_raw());
    *base == place.mount || (is_owned && !own.is_root()) || MARKS.iter().any(mark)
}

/// Whether systemd will put the next daemon into this very cgroup.
fn restarts_in(base: &Path, place: &OwnCgroup) -> bool {
    base == place.own && base.extension().is_some_and(|it| it == "service")
}

/// The kernel's own first cgroup may have processes and pass controllers on.
fn is_first(base: &Path) -> bool {
    !base.join("cgroup.type").exists()
}

/// Moves this process from the delegated cgroup into a leaf of it.
fn step_aside(base: &Path, place: &OwnCgroup) -> io::Result<()> {
    if base != place.own || is_first(base) {
        return Ok(());
    }
    let processes = make(&base.join(LEAF))?.join(PROCESSES);
    write(&processes, "0")
}

/// Has controllers passed on to the tasks' cgroups: which are, and why others are not.
fn pass_on(base: &Path, site: &Path) -> (Controllers, Option<String>) {
    let mut missing = Vec::new();
    let mut enable = |name: &str| {
        for folder in [base, site] {
            let text = fs::read_to_string(folder.join(AVAILABLE)).unwrap_or_default();
            if !text.split_whitespace().any(|it| it == name) {
                missing.push(format!("no controller `{name}` in {}", folder.display()));
                return false;
            }
            if let Err(wrong) = write(&folder.join(PASSED_ON), &format!("+{name}")) {
                missing.push(match wrong.kind() {
                    io::ErrorKind::ResourceBusy => {
                        format!("other processes are in {}", folder.display())
                    }
                    _ => wrong.to_string(),
                });
                return false;
            }
        }
        true
    };
    let [cpu, memory] = CONTROLLERS.map(&mut enable);
    let lacks = (!missing.is_empty()).then(|| missing.join("; "));
    (Controllers { cpu, memory }, lacks)
}

/// A name for the site's cgroup that no other site on this machine has.
fn name(site: &Path) -> io::Result<String> {
    let about = fs::metadata(site).map_err(|wrong| at(site, &wrong))?;
    let name = site.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name: String = folder_name(&name).chars().take(100).collect();
    Ok(format!("{name}-{:x}-{:x}", about.dev(), about.ino()))
}

fn make(folder: &Path) -> io::Result<PathBuf> {
    match fs::create_dir(folder) {
        Err(wrong) if wrong.kind() != io::ErrorKind::AlreadyExists => Err(at(folder, &wrong)),
        _ => Ok(folder.to_owned()),
    }
}

/// Writes to a file of the kernel's, which is there.
fn write(path: &Path, value: &str) -> io::Result<()> {
    use std::io::Write;
    let file = fs::OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|wrong| at(path, &wrong))
}
