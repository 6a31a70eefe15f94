//! Jobs that run as the daemon's account, in namespaces in which the state folder is not there.
//!
//! A user namespace lets any account make a mount namespace; there an empty file system covers the
//! state folder, and in it are only the folder where jobs run and the job's own script. The job then
//! runs in a user namespace below that one, which has no rights over those mounts, nor over processes
//! outside. What the supervisor opens for the job is opened outside, so it is looked at first.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::records::at;

/// Where a job's programs are looked for that makes the namespaces.
const PLACES: [&str; 3] = ["/usr/bin/unshare", "/bin/unshare", "/usr/local/bin/unshare"];
/// Arguments: `unshare`, user, group, state folder, what is shown of it, the job's folder, the job's
/// directory, the job. The directory is entered again, since the old one leads below the cover.
const COVER: &str = r#"
set -e
unshare=$1 user=$2 group=$3 state=$4 shown=$5 folder=$6 directory=$7
shift 7
view=$folder/view
command -p mount -t tmpfs -o mode=0700,size=16m tradewind "$view"
command -p mkdir -p "$view${shown#"$state"}" "$view${folder#"$state"}"
[ ! -e "$folder/script" ] || command -p cp -p "$folder/script" "$view${folder#"$state"}/script"
command -p mount --bind "$shown" "$view${shown#"$state"}"
command -p mount --rbind "$view" "$state"
cd "$directory"
exec "$unshare" --user --map-user="$user" --map-group="$group" -- "$@"
"#;

/// What jobs do not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hidden {
    /// The state folder.
    pub state: PathBuf,
    /// What they see of it.
    pub shown: PathBuf,
    /// The job's own folder, which is below the state folder.
    pub folder: PathBuf,
}

impl Hidden {
    /// What stands before a job's words. Makes a folder for the cover.
    ///
    /// # Errors
    /// If that folder cannot be made, or this machine has no `unshare`.
    pub(super) fn prefix(&self, directory: &Path) -> io::Result<Vec<String>> {
        let place = PLACES.into_iter().find(|place| Path::new(place).exists());
        let unshare = place.ok_or_else(|| io::Error::other("there is no program `unshare`"))?;
        match std::fs::create_dir(self.folder.join("view")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(at(&self.folder, &error));
            }
            _ => {}
        }
        let user = rustix::process::geteuid().as_raw().to_string();
        let group = rustix::process::getegid().as_raw().to_string();
        let paths = [&self.state, &self.shown, &self.folder].map(|it| it.to_string_lossy());
        let first = [unshare, "--user", "--map-root-user", "--mount", "--propagation", "private"];
        let shell = ["--", "/bin/sh", "-c", COVER, "tradewind", unshare, &user, &group];
        let words = first.into_iter().chain(shell).chain(paths.iter().map(AsRef::as_ref));
        Ok(words.map(str::to_owned).chain([directory.to_string_lossy().into_owned()]).collect())
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
pub(super) fn probe(state: &Path, shown: &Path, folder: &Path) -> io::Result<()> {
    let hidden =
        Hidden { state: state.to_owned(), shown: shown.to_owned(), folder: folder.to_owned() };
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| at(folder, &error))?;
    let prefix = hidden.prefix(Path::new("/"))?;
    let mark = folder.join("mark");
    std::fs::write(&mark, "")?;
    let mut test = Command::new(prefix.first().map_or("", String::as_str));
    test.args(prefix.get(1..).unwrap_or_default()).args(["/bin/sh", "-c", "[ ! -e \"$0\" ]"]);
    test.arg(&mark).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    let output = test.output();
    std::fs::remove_dir_all(folder)?;
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("no namespaces that hide the state folder: {said}"))),
    }
}
