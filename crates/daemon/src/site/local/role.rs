//! This program's hidden roles at a local site.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Signal;

use super::accounts::REFUSED;
use super::home::Home;
use super::keeper::KeeperAccount;
use super::{INSIDE, KEEP, KILL, READ, keeper, processes, supervise};
use crate::site::reading::{Links, read};
use crate::site::{Excerpt, SiteError, Stream};

/// A read that takes longer ends: no caller waits for it any more.
const LONGEST: Duration = Duration::from_secs(30);

/// Does what the arguments say: `FOLDER` supervises the task of that folder; the others are run as a
/// user's account, and begin with the number of the daemon's account: `--keep OWNER`,
/// `--read OWNER PATH FROM BYTES` and `--kill OWNER FOLDER PROCESS…`; or as the daemon's own in namespaces
/// or a cgroup: `--inside OWNER`.
pub fn play(arguments: &[OsString]) -> ExitCode {
    let words: Vec<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (role, owner, rest) = match words.as_slice() {
        [role, owner, rest @ ..] if role.starts_with("--") => (*role, owner.parse().ok(), rest),
        _ => {
            return match arguments {
                [folder] => supervise(Path::new(folder)),
                _ => ExitCode::from(2),
            };
        }
    };
    let Some(owner) = owner else { return ExitCode::from(2) };
    match (role, rest) {
        (KEEP, []) => keeper::keep(KeeperAccount::User { owner }),
        (INSIDE, []) => keeper::keep(KeeperAccount::Daemon),
        (READ, [path, from, most]) => read_file(owner, path, (from, most)),
        (KILL, [folder, processes @ ..]) => kill(owner, folder, processes),
        _ => ExitCode::from(2),
    }
}

/// Writes where the bytes begin and how long the file is, on a line, and the bytes behind it.
fn read_file(owner: u32, path: &str, (from, most): (&str, &str)) -> ExitCode {
    use std::io::Write;
    if let Err(wrong) = keeper::check(owner) {
        complain(&wrong);
        return ExitCode::FAILURE;
    }
    let watch = std::thread::Builder::new().spawn(|| {
        std::thread::sleep(LONGEST);
        std::process::exit(1)
    });
    drop(watch);
    let place = Home::own().place(Path::new(path));
    let most = most.parse().unwrap_or(0);
    let wanted = Excerpt { stream: Stream::Output, from: from.parse().ok(), most };
    match read(&place, &wanted, Links::Followed, &|_| Ok(true)) {
        Ok(found) => {
            let mut all = format!("{} {}\n", found.from, found.size).into_bytes();
            all.extend(found.bytes);
            match std::io::stdout().write_all(&all) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Err(SiteError::Refused(why) | SiteError::Unknown(why)) => {
            complain(&why);
            ExitCode::from(REFUSED)
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(why: &dyn std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{why}");
}

/// Kills these processes and all that have the task's mark; only what is this account's own dies.
fn kill(owner: u32, folder: &str, numbers: &[&str]) -> ExitCode {
    if keeper::check(owner).is_err() {
        return ExitCode::FAILURE;
    }
    let numbers = numbers.iter().filter_map(|number| number.parse().ok());
    numbers.for_each(|pid| processes::send(pid, Signal::KILL));
    processes::kill_marked(Path::new(folder));
    ExitCode::SUCCESS
}
