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
use super::records::at;

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
    /// `None`: empty.
    pub input: Option<PathBuf>,
    pub append: bool,
    /// All of it.
    pub environment: BTreeMap<String, String>,
    /// What it does not see; `None`: it sees all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Hidden>,
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
            Some(path) => Stdio::from(self.open_with(path, OpenOptions::new().read(true))?),
            None => Stdio::null(),
        };
        // A path with a slash is meant from the task's directory, as a shell there would read it.
        let path = if program.contains('/') {
            self.directory.join(program)
        } else {
            Path::new(program).to_owned()
        };
        let mut command = match &self.hidden {
            None => {
                let mut command = Command::new(path);
                command.args(arguments).env_clear().envs(&self.environment);
                command.current_dir(&self.directory);
                command
            }
            Some(hidden) => self.covered(hidden, &path, arguments)?,
        };
        command.stdin(input).stdout(output).stderr(error).process_group(0);
        let started = unless_busy(|| command.spawn().map(|child| child.id()));
        started.map(u32::cast_signed).map_err(|error| at(Path::new(program), &error))
    }

    /// The program in namespaces of its own. Until those are there, nothing of the job counts, not
    /// even its variables: they could name libraries.
    fn covered(
        &self,
        hidden: &Hidden,
        program: &Path,
        arguments: &[String],
    ) -> io::Result<Command> {
        let program = program.to_string_lossy().into_owned();
        if program.contains('=') || !self.finds(&program) {
            return Err(at(Path::new(&program), &io::ErrorKind::NotFound.into()));
        }
        let prefix = hidden.prefix(&self.directory)?;
        let mut words = prefix.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).args(["env", "-i", "--"]);
        command.args(self.environment.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(program).args(arguments).env_clear().current_dir("/");
        Ok(command)
    }

    /// Whether there is such a program, as its environment looks for it.
    fn finds(&self, program: &str) -> bool {
        let path = self.environment.get("PATH").map_or(super::sheet::PATH, String::as_str);
        program.contains('/') && Path::new(program).exists()
            || path.split(':').any(|place| Path::new(place).join(program).exists())
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true);
        // Truncated first, then appended to: two tasks that share a file do not overwrite each other.
        // What is hidden is known once it is open, and is not to be harmed.
        if !self.append && self.hidden.is_none() {
            options.write(true).truncate(true).open(path).map_err(|error| at(path, &error))?;
        }
        let file = self.open_with(path, OpenOptions::new().create(true).append(true))?;
        if !self.append && self.hidden.is_some() && file.metadata()?.is_file() {
            file.set_len(0).map_err(|error| at(path, &error))?;
        }
        Ok(file)
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let opened = match &self.hidden {
            None => options.open(path),
            Some(hidden) => hidden.open(path, options),
        };
        opened.map_err(|error| at(path, &error))
    }
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
