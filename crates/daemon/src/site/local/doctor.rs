//! Whether this machine can run tasks.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Resource, getrlimit};

use super::accounts::UserAccounts;
use super::confine::{ConfineMode, Confined};
use super::hide::Reach;
use super::launch::unless_busy;
use super::owner::Load;
use super::{LocalSettings, processes};
use crate::site::clock::now;
use crate::site::files::write_synced;
use crate::site::managed::accounts::Accounts as Known;
use crate::site::{Excerpt, Finding, Verdict};

/// Below this a full disk is near: bytes.
const LITTLE_DISK: u64 = 1 << 30;
/// A task needs its supervisor and at least one process of its own.
const PROCESSES_PER_SLOT: u64 = 4;
/// The beginning of 2024: a clock before that was never set.
const BEFORE: i64 = 1_704_067_200;

/// Looks at everything; a probe is written, run and removed.
pub(super) fn look(
    settings: &LocalSettings,
    confined: &Confined,
    incoming: &Path,
    owner: &Path,
) -> Vec<Finding> {
    let mut all = vec![
        probe(settings, incoming),
        supervisor(settings),
        directory(settings),
        disk(settings),
        clock(),
        process_limit(settings),
        kernel(),
        owners(settings, owner),
    ];
    all.extend(accounts(settings));
    all.extend(apart(settings, confined));
    all.extend(limits(settings, confined));
    all
}

fn finding(what: &str, verdict: Verdict, found: String, remedy: &str) -> Finding {
    let remedy = if verdict == Verdict::Good { "" } else { remedy };
    Finding { what: what.to_owned(), verdict, found, remedy: remedy.to_owned() }
}

fn probe(settings: &LocalSettings, incoming: &Path) -> Finding {
    let what = "the site's folder can be written, and scripts in it run";
    let path = incoming.join(".doctor");
    let began = Instant::now();
    let run = || -> io::Result<Option<i32>> {
        write_synced(&path, b"#!/bin/sh\nexit 7\n", 0o700)?;
        let mut command = Command::new(&path);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(unless_busy(|| command.status())?.code())
    };
    let ran = run();
    let took = began.elapsed().as_millis();
    let _ = std::fs::remove_file(&path);
    let remedy = "give the daemon a state folder that it may write to, on a disk that is not \
                  mounted noexec";
    let folder = settings.folder.display();
    match ran {
        Ok(Some(7)) => finding(what, Verdict::Good, format!("{folder}: {took} ms"), remedy),
        Ok(code) => finding(what, Verdict::Bad, format!("{folder}: exit {code:?}, not 7"), remedy),
        Err(error) => finding(what, Verdict::Bad, format!("{}: {error}", path.display()), remedy),
    }
}

fn supervisor(settings: &LocalSettings) -> Finding {
    let what = "the supervisor's program is there";
    let Some(program) = settings.supervisor.first() else {
        return finding(what, Verdict::Bad, "none is set".to_owned(), "set one");
    };
    let found = program.display().to_string();
    match rustix::fs::access(program, rustix::fs::Access::EXEC_OK) {
        Ok(()) => finding(what, Verdict::Good, found, ""),
        Err(error) => {
            let remedy = "it was moved or replaced: restart the daemon";
            finding(what, Verdict::Bad, format!("{found}: {error}"), remedy)
        }
    }
}

fn directory(settings: &LocalSettings) -> Finding {
    let what = "the directory where tasks run can be written";
    let found = settings.directory.display().to_string();
    match rustix::fs::access(&settings.directory, rustix::fs::Access::WRITE_OK) {
        Ok(()) => finding(what, Verdict::Good, found, ""),
        Err(error) => {
            let remedy = "make it, or set another in the site's configuration";
            finding(what, Verdict::Bad, format!("{found}: {error}"), remedy)
        }
    }
}

fn disk(settings: &LocalSettings) -> Finding {
    let what = "room on the disk";
    let remedy = "make room: without it no task can be taken in, and no end written down";
    match rustix::fs::statvfs(&settings.folder) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let verdict = match free {
                free if free < LITTLE_DISK / 16 => Verdict::Bad,
                free if free < LITTLE_DISK || disk.f_favail < 10_000 => Verdict::Warning,
                _ => Verdict::Good,
            };
            let found = format!("{} MB and {} files free", free >> 20, disk.f_favail);
            finding(what, verdict, found, remedy)
        }
        Err(error) => finding(what, Verdict::Bad, error.to_string(), remedy),
    }
}

fn clock() -> Finding {
    let now = now();
    let verdict = if now.0 < BEFORE { Verdict::Bad } else { Verdict::Good };
    finding("the clock", verdict, format!("{} seconds since 1970", now.0), "set the clock")
}

fn process_limit(settings: &LocalSettings) -> Finding {
    let what = "the account may have enough processes";
    let slots: u64 = settings.pools.iter().map(|pool| u64::from(pool.nodes)).sum();
    let wanted = slots.saturating_mul(PROCESSES_PER_SLOT);
    match getrlimit(Resource::Nproc).current {
        None => finding(what, Verdict::Good, "no limit".to_owned(), ""),
        Some(limit) => {
            let verdict = if limit < wanted { Verdict::Warning } else { Verdict::Good };
            let found = format!("{limit}; {slots} slots want {wanted}");
            finding(what, verdict, found, "raise it (ulimit -u, TasksMax=), or have fewer slots")
        }
    }
}

fn kernel() -> Finding {
    let what = "the kernel shows processes under /proc";
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_there = !processes::boot().is_empty() && processes::born(own).is_some();
    let verdict = if is_there { Verdict::Good } else { Verdict::Bad };
    let found = format!("boot {}", processes::boot());
    finding(what, verdict, found, "mount /proc: without it tasks of dead supervisors live on")
}

fn owners(settings: &LocalSettings, folder: &Path) -> Finding {
    let what = "what the owner takes can be read";
    let remedy = "mend or remove it: until then the owner counts as taking every slot";
    match Load::read(folder, &settings.pools, now()) {
        Ok(load) if load.bad.is_empty() => {
            let tasks: usize = load.pools.iter().map(std::collections::BTreeMap::len).sum();
            finding(what, Verdict::Good, format!("{tasks} files in {}", folder.display()), "")
        }
        Ok(load) => finding(what, Verdict::Warning, load.bad.join("; "), remedy),
        Err(error) => finding(what, Verdict::Bad, error.to_string(), remedy),
    }
}

/// As whom jobs run: the daemon's own account, or each as its user's.
fn accounts(settings: &LocalSettings) -> Vec<Finding> {
    let Some(accounts) = &settings.accounts else { return vec![account()] };
    let Known::Of(known) = &accounts.accounts else {
        let what = "jobs run as the accounts that are called as their users";
        return vec![finding(what, Verdict::Good, accounts.user_command.join(" "), "")];
    };
    let names: BTreeSet<&String> = known.values().collect();
    names.into_iter().map(|name| one(settings, accounts, name)).collect()
}

/// Whether jobs are kept from the state folder and from each other's processes; `None`: not
/// wanted.
fn apart(settings: &LocalSettings, confined: &Confined) -> Option<Finding> {
    let is_wanted = settings.hidden.is_some() || settings.accounts.is_some();
    if settings.confinement.namespaces == ConfineMode::Off || !is_wanted {
        return None;
    }
    let what = "jobs see neither the state folder nor each other's processes";
    let (verdict, found) = match confined.reach {
        Some(Reach::Processes) => (Verdict::Good, "by namespaces".to_owned()),
        _ => (Verdict::Warning, confined.seen.clone().unwrap_or_default()),
    };
    let remedy = "allow user namespaces (`user.max_user_namespaces`, the unit's drop-in), or write \
                  `hide_state = false`";
    Some(finding(what, verdict, found, remedy))
}

/// Which limits the kernel keeps for each job.
fn limits(settings: &LocalSettings, confined: &Confined) -> Option<Finding> {
    if settings.confinement.cgroups == ConfineMode::Off {
        return None;
    }
    let what = "jobs are kept to their processors and memory";
    let has = confined.has();
    let names = [("cpu", has.cpu), ("memory", has.memory)];
    let names: Vec<&str> = names.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (verdict, found) = match &confined.tree {
        Some(tree) if tree.lacks.is_none() => {
            (Verdict::Good, format!("controllers: {names}, in {}", tree.site.display()))
        }
        _ => {
            let why = confined.unlimited.clone().unwrap_or_default();
            (Verdict::Warning, format!("controllers: {names}; {why}"))
        }
    };
    let remedy = "have cgroups of version 2 delegated to the daemon (`Delegate=` in its unit), or \
                  write `cgroups = \"off\"`";
    Some(finding(what, verdict, found, remedy))
}

/// Whether something can be run as the account, and is run as it and no other.
fn one(settings: &LocalSettings, accounts: &UserAccounts, name: &str) -> Finding {
    let what = format!("jobs run as account {name}");
    let remedy = "`user_command` must run a program as the account, without a password and without \
                  the daemon's rights; the account must be able to run this program";
    let account = accounts.account(name, &settings.supervisor);
    let tried = account.read(Path::new("/dev/null"), &Excerpt::last(1));
    let (verdict, found) = match tried {
        Ok(_) => (Verdict::Good, account.words.join(" ")),
        Err(wrong) => (Verdict::Bad, wrong.to_string()),
    };
    finding(&what, verdict, found, remedy)
}

fn account() -> Finding {
    let what = "the account under which all tasks run";
    let is_root = rustix::process::geteuid().is_root();
    let verdict = if is_root { Verdict::Warning } else { Verdict::Good };
    let found = format!("user {}", rustix::process::geteuid().as_raw());
    finding(
        what,
        verdict,
        found,
        "set `user_command`, or run the daemon under an account of its own: jobs run as root",
    )
}
