//! Namespaces of tasks: the state folder is not there, and other tasks' processes are not.
//!
//! A user namespace lets any account make a mount namespace; there an empty file system covers the
//! state folder, and in it are only the folder where jobs run and the job's own script. The job then
//! runs in a user namespace below that one, which has no rights over those mounts, nor over processes
//! outside. Where the kernel allows that, too, it gets a PID namespace with a `/proc` of its own: its
//! keeper is the first process there, and when that ends, the kernel kills all others.
//!
//! Jobs that run as their users' accounts cannot read the state folder anyway. They get a PID
//! namespace from a daemon that may make one without a user namespace, so nothing else changes for
//! them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::site::files::at;

/// Where the program is looked for that makes the namespaces.
const PLACES: [&str; 3] = ["/usr/bin/unshare", "/bin/unshare", "/usr/local/bin/unshare"];
/// A PID namespace with a `/proc` of its own; its first process ends with `unshare`.
const PROCESSES: [&str; 4] = ["--pid", "--fork", "--kill-child", "--mount-proc"];
/// Arguments: `unshare`, user, group, state folder, what is shown of it, the job's folder, where
/// cgroups are mounted or nothing, the job. Cgroups can be read, or else a job of the daemon's account
/// could lift its own limits.
const COVER: &str = r#"
set -e
unshare=$1 user=$2 group=$3 state=$4 shown=$5 folder=$6 cgroups=$7
shift 7
view=$folder/view
command -p mount -t tmpfs -o mode=0700,size=16m tradewind "$view"
command -p mkdir -p "$view${shown#"$state"}" "$view${folder#"$state"}"
[ ! -e "$folder/script" ] || command -p cp -p "$folder/script" "$view${folder#"$state"}/script"
command -p mount --bind "$shown" "$view${shown#"$state"}"
command -p mount --rbind "$view" "$state"
if [ -n "$cgroups" ]; then
    command -p mount --rbind "$cgroups" "$cgroups"
    command -p mount -o remount,bind,ro "$cgroups"
fi
cd /
exec "$unshare" --user --map-user="$user" --map-group="$group" -- "$@"
"#;

/// How much of the daemon's account's other things a task does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The state folder.
    Files,
    /// Also other tasks' processes.
    Processes,
}

/// What jobs do not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hidden {
    /// The state folder.
    pub state: PathBuf,
    /// What they see of it.
    pub shown: PathBuf,
    /// The job's own folder, which is below the state folder.
    pub folder: PathBuf,
    /// How much is hidden.
    pub reach: Reach,
    /// Where cgroups are mounted, if the job is in one of its own.
    pub cgroups: Option<PathBuf>,
}

/// What stands before the words that run as a user's account in a PID namespace of its own; the
/// daemon needs `CAP_SYS_ADMIN`.
///
/// # Errors
/// If this machine has no `unshare`.
pub(super) fn apart() -> io::Result<Vec<String>> {
    let mut words = vec![unshare()?.to_owned()];
    // What the machine mounts later is there, too.
    words.extend(["--mount", "--propagation", "slave"].map(str::to_owned));
    words.extend(PROCESSES.into_iter().chain(["--"]).map(str::to_owned));
    Ok(words)
}

/// Tries whether this daemon may do that.
///
/// # Errors
/// What went wrong, for people.
pub(super) fn probe_apart() -> io::Result<()> {
    run(&apart()?, &["/bin/sh", "-c", "[ $$ = 1 ]"])
}

fn unshare() -> io::Result<&'static str> {
    let place = PLACES.into_iter().find(|place| Path::new(place).exists());
    place.ok_or_else(|| io::Error::other("there is no program `unshare`"))
}

impl Hidden {
    /// What stands before a job's words. Makes a folder for the cover.
    ///
    /// # Errors
    /// If that folder cannot be made, or this machine has no `unshare`.
    pub(super) fn prefix(&self) -> io::Result<Vec<String>> {
        let unshare = unshare()?;
        match std::fs::create_dir(self.folder.join("view")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(at(&self.folder, &error));
            }
            _ => {}
        }
        let user = rustix::process::geteuid().as_raw().to_string();
        let group = rustix::process::getegid().as_raw().to_string();
        let none = PathBuf::new();
        let cgroups = self.cgroups.as_ref().unwrap_or(&none);
        let paths =
            [&self.state, &self.shown, &self.folder, cgroups].map(|it| it.to_string_lossy());
        let first = [unshare, "--user", "--map-root-user", "--mount", "--propagation", "private"];
        let processes = if self.reach == Reach::Processes { &PROCESSES[..] } else { &[] };
        let shell = ["--", "/bin/sh", "-c", COVER, "tradewind", unshare, &user, &group];
        let words = first.into_iter().chain(processes.iter().copied()).chain(shell);
        Ok(words.chain(paths.iter().map(AsRef::as_ref)).map(str::to_owned).collect())
    }

    /// Opens a file of the job, if it is none of those that the job may not see.
    ///
    /// # Errors
    /// If it is hidden, or cannot be opened.
    pub(super) fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let denied =
            || io::Error::new(io::ErrorKind::PermissionDenied, "jobs do not see this file");
        if let Some(parent) = path.parent()
            && !self.shows(&parent.canonicalize()?)
        {
            return Err(denied());
        }
        let file = options.open(path)?;
        match self.shows(&whereabouts(&file)?) {
            true => Ok(file),
            false => Err(denied()),
        }
    }

    /// Whether jobs see what is at this path, which has no links in it.
    fn shows(&self, path: &Path) -> bool {
        !path.starts_with(&self.state) || path.starts_with(&self.shown)
    }
}

/// Whether a file that is open lies in the state folder, but not in what jobs see of it.
pub(super) fn is_secret(file: &File, state: &Path, shown: &Path) -> io::Result<bool> {
    let path = whereabouts(file)?;
    Ok(path.starts_with(state) && !path.starts_with(shown))
}

fn whereabouts(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Tries whether this kernel lets this account make such namespaces.
///
/// # Errors
/// What went wrong, for people.
pub(super) fn probe(state: &Path, shown: &Path, folder: &Path, reach: Reach) -> io::Result<()> {
    let path = Path::to_owned;
    let (state, shown, cgroups) = (path(state), path(shown), None);
    let hidden = Hidden { state, shown, folder: path(folder), reach, cgroups };
    std::fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    let mark = folder.join("mark");
    std::fs::write(&mark, "")?;
    let mark = mark.to_string_lossy();
    let tried = hidden
        .prefix()
        .and_then(|prefix| run(&prefix, &["/bin/sh", "-c", "[ ! -e \"$0\" ]", &mark]));
    std::fs::remove_dir_all(folder)?;
    tried
}

/// Runs a test behind these words.
fn run(prefix: &[String], test: &[&str]) -> io::Result<()> {
    let mut command = Command::new(prefix.first().map_or("", String::as_str));
    command.args(prefix.get(1..).unwrap_or_default()).args(test);
    let output = command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(said)),
    }
}
