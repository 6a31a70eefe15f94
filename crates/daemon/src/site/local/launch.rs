//! The first process of a task.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::hide::Hidden;
use crate::site::files::at;

/// What is started, and where it reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Launch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Absolute, as the others below.
    pub directory: PathBuf,
    pub output: PathBuf,
    /// `None`: with the output.
    pub error: Option<PathBuf>,
    /// Standard input; `None` is empty input.
    pub input: Option<PathBuf>,
    pub append: bool,
    /// All of it.
    pub environment: BTreeMap<String, String>,
}

impl Launch {
    /// Opens the files and starts the program in a process group of its own; its number.
    ///
    /// # Errors
    /// If a file or the program is not there, or this account may not use it.
    pub(super) fn start(&self) -> io::Result<i32> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(io::Error::other("nothing to run"));
        };
        match std::fs::metadata(&self.directory) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(io::Error::other(format!(
                    "{}: no directory",
                    self.directory.display()
                )));
            }
            Err(error) => return Err(at(&self.directory, &error)),
        }
        let output = self.open(&self.output)?;
        let error = match &self.error {
            Some(path) if *path != self.output => self.open(path)?,
            _ => output.try_clone()?,
        };
        let input = match &self.input {
            Some(path) => {
                let file = File::open(path).map_err(|error| at(path, &error))?;
                Stdio::from(file)
            }
            None => Stdio::null(),
        };
        // A path with a slash is meant from the task's directory, as a shell there would read it.
        let path = if program.contains('/') {
            self.directory.join(program)
        } else {
            Path::new(program).to_owned()
        };
        let said = error.try_clone()?;
        let mut command = Command::new(path);
        command.args(arguments).env_clear();
        // Scripts go to the folder from which they were submitted.
        command.env("SLURM_SUBMIT_DIR", &self.directory).envs(&self.environment);
        command.current_dir(&self.directory);
        command.stdin(input).stdout(output).stderr(error).process_group(0);
        let started = unless_busy(|| command.spawn().map(|child| child.id()));
        let started = started.or_else(|wrong| match code_of(&wrong) {
            Some(code) => failing(code, &at(Path::new(program), &wrong), said).map_err(|_| wrong),
            None => Err(wrong),
        });
        started.map(u32::cast_signed).map_err(|error| at(Path::new(program), &error))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // Truncated first, then appended to: two tasks that share a file do not overwrite each other.
        if !self.append {
            let made = options.create(true).write(true).truncate(true).open(path);
            made.map_err(|error| at(path, &error))?;
        }
        let opened = OpenOptions::new().create(true).append(true).open(path);
        opened.map_err(|error| at(path, &error))
    }

    /// Makes and empties its files before it is started where it does not see all of them.
    ///
    /// # Errors
    /// If one of them is hidden from it, or cannot be opened.
    pub(super) fn reserve(&mut self, hidden: &Hidden) -> io::Result<()> {
        for path in [Some(&self.output), self.error.as_ref()].into_iter().flatten() {
            let file = hidden.open(path, OpenOptions::new().create(true).append(true));
            let file = file.map_err(|error| at(path, &error))?;
            // Only now it is known that it is not hidden, and may be changed.
            if !self.append && file.metadata()?.is_file() {
                file.set_len(0).map_err(|error| at(path, &error))?;
            }
        }
        if let Some(path) = &self.input {
            let opened = hidden.open(path, OpenOptions::new().read(true));
            opened.map_err(|error| at(path, &error))?;
        }
        self.append = true;
        Ok(())
    }
}

/// The exit code of a shell for a program that it cannot run: such a job fails, since it would fail
/// each time. `None`: the machine may be able to run it later.
fn code_of(wrong: &io::Error) -> Option<u8> {
    use rustix::io::Errno;
    match Errno::from_io_error(wrong)? {
        Errno::NOENT | Errno::NOTDIR => Some(127),
        Errno::ACCESS | Errno::NOEXEC | Errno::ISDIR => Some(126),
        _ => None,
    }
}

/// A process that says why in the place of the program, and ends with this code; its number.
fn failing(code: u8, why: &io::Error, said: File) -> io::Result<u32> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "printf '%s\\n' \"$1\" >&2; exit \"$2\"", "sh"]);
    command.args([format!("tradewind: {why}"), code.to_string()]);
    command.env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    command.spawn().map(|child| child.id())
}

/// Runs what runs a script. One that was just written may still be open in a process that is being
/// made elsewhere: then it is tried again.
pub(super) fn unless_busy<T>(mut run: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..50 {
        match run() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
    run()
}
