//! Tasks in cgroups of their own, on this kernel; and in namespaces, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tradewind_daemon::site::conformance::{CHECKS, SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::local::{ConfineMode, Confinement};
use tradewind_daemon::site::{Exit, Order, Site};
use tradewind_io::submission::Work;

use super::accounts::{is_root, prepare};
use super::local_site::LocalBench;
use super::{kill, lives, pid, shell, soon, task_folder, until_ended, until_running, written};

/// Where this kernel has cgroups of version 2, if it has.
fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    Some(PathBuf::from(line.split(' ').nth(4).unwrap()))
}

fn bench() -> LocalBench {
    LocalBench::set(8, |_, settings| {
        settings.confinement =
            Confinement { namespaces: ConfineMode::Off, ..Confinement::default() };
    })
}

/// Only root may make cgroups without anything having been delegated. Where there are none to be
/// made, a site must say so.
#[expect(clippy::print_stderr, reason = "what is not tried is said")]
pub(super) fn has_cgroups(name: &str) -> bool {
    if !is_root(name) {
        return false;
    }
    let may = mount().is_some_and(|mount| {
        let probe = mount.join(format!("tradewind-test-{}", std::process::id()));
        fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).is_ok()
    });
    if !may {
        let said = bench().local.as_ref().unwrap().remarks();
        assert!(said.iter().any(|line| line.contains("not kept to the memory")), "{said:?}");
        eprintln!("no cgroups of version 2 here: tried only that a site says so");
    }
    may
}

/// The cgroup of the task whose job is 1, as its sheet has it.
pub(super) fn cell(bench: &LocalBench) -> PathBuf {
    let sheet = fs::read(task_folder(bench).join("sheet.json")).unwrap();
    let sheet: serde_json::Value = serde_json::from_slice(&sheet).unwrap();
    PathBuf::from(sheet["cell"]["folder"].as_str().unwrap())
}

fn processes(cell: &Path) -> Vec<i64> {
    let text = fs::read_to_string(cell.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn it_keeps_the_promises() {
    if has_cgroups("cells::it_keeps_the_promises") {
        for (name, check) in CHECKS {
            check(&mut bench()).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

#[test]
fn a_task_is_in_a_cgroup_and_ends_with_it() {
    if !has_cgroups("cells::a_task_is_in_a_cgroup_and_ends_with_it") {
        return;
    }
    let mut bench = bench();
    // A process of a session of its own, whose parent is gone and whose environment says nothing.
    let order = shell(
        &mut bench,
        "grep ^0:: /proc/self/cgroup > where\n\
         (env -i setsid sh -c 'echo $$ > a; exec sleep 300' &)\nsleep 300",
    );
    bench.site().submit(&order).unwrap();
    let daemon = written(&bench, &["a"])[0];
    let cell = cell(&bench);
    let where_it_is = fs::read_to_string(bench.settings.directory.join("where")).unwrap();
    let name = cell.file_name().unwrap().to_str().unwrap();
    assert!(where_it_is.trim().ends_with(name), "{where_it_is}");
    assert!(processes(&cell).contains(&daemon), "{:?}", processes(&cell));
    let supervisor = pid(&bench, "begun.json", "supervisor");
    assert!(!processes(&cell).contains(&supervisor), "it must survive the task's end");
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
    assert!(!lives(daemon) && !cell.exists(), "{daemon} in {}", cell.display());
}

#[test]
fn what_a_dead_supervisor_leaves_ends_by_its_cgroup() {
    if !has_cgroups("cells::what_a_dead_supervisor_leaves_ends_by_its_cgroup") {
        return;
    }
    let mut bench = bench();
    // Neither mark, nor group, nor session, nor parent show whose process this is.
    let order = shell(
        &mut bench,
        "(env -i setsid sh -c 'echo $$ > a; exec sleep 300' &)\nkill -STOP $PPID\nsleep 300",
    );
    bench.site().submit(&order).unwrap();
    let daemon = written(&bench, &["a"])[0];
    until_running(&mut bench);
    let cell = cell(&bench);
    kill(pid(&bench, "begun.json", "supervisor"));
    assert_eq!(until_ended(&mut bench), Exit::Lost);
    assert!(!lives(daemon) && !cell.exists());
}

#[test]
fn jobs_of_accounts_are_in_cgroups_and_pid_namespaces() {
    const NAME: &str = "cells::jobs_of_accounts_are_in_cgroups_and_pid_namespaces";
    if !has_cgroups(NAME) {
        return;
    }
    for words in [&super::accounts::SETPRIV, &super::accounts::SUDO] {
        let bench = || {
            LocalBench::set(4, |folder, settings| {
                prepare(folder, settings, words);
                settings.confinement.namespaces = ConfineMode::Require;
                settings.confinement.cgroups = ConfineMode::Auto;
            })
        };
        for (name, check) in CHECKS {
            check(&mut bench()).unwrap_or_else(|why| panic!("{words:?}: {name}: {why}"));
        }
        // Another job of the same account, and the keeper of this one: neither seen nor hit.
        let run = |bench: &mut LocalBench, job: u64, text: &str| -> Order {
            let mut order = order(bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
            order.work = Work::Script { text: format!("#!/bin/sh\n{text}\n"), arguments: vec![] };
            order.user = "ana".to_owned();
            bench.site().submit(&order).unwrap();
            order
        };
        let mut bench = bench();
        let victim = run(&mut bench, 1, "exec sleep 7304");
        soon(|| sleeps("7304").then_some(()));
        let text = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done\n\
                    kill -9 -1; kill -9 $PPID; exit 3";
        let attack = run(&mut bench, 2, text);
        let exit = soon(|| match bench.site().survey().unwrap().tasks.remove(&attack.tag) {
            Some(tradewind_daemon::site::Seen::Ended { exit, .. }) => Some(exit),
            _ => None,
        });
        // Behind `sudo` the keeper is not the first process of the namespace, and is the user's: a
        // user who kills it loses the own job.
        let is_first = words[0] == "setpriv";
        assert_eq!(exit, if is_first { Exit::Code(3) } else { Exit::Lost }, "{words:?}");
        let said = bench.site().output(&attack.tag, 1 << 16).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("--keep") && !said.contains("sleep 7304"), "{said}");
        assert!(sleeps("7304"), "the other job runs on");
        bench.site().withdraw(&victim.tag).unwrap();
        soon(|| (!sleeps("7304")).then_some(()));
    }
}

fn sleeps(seconds: &str) -> bool {
    let args = ["-f", &format!("^sleep {seconds}$")];
    Command::new("pgrep").args(args).output().unwrap().status.success()
}

/// The daemon is in a cgroup that was given to it, moves itself into a leaf of it, and leaves the
/// others alone.
#[test]
fn a_daemon_moves_only_itself() {
    if !has_cgroups("cells::a_daemon_moves_only_itself") {
        return;
    }
    let name = format!("tradewind-test-unit-{}", std::process::id());
    let unit = mount().unwrap().join(name);
    fs::create_dir(&unit).unwrap();
    let script = "echo 0 > \"$0/cgroup.procs\"; sleep 7305 >/dev/null 2>&1 & \"$@\"; code=$?; kill $!; \
                  exit $code";
    let mut again = Command::new("/bin/sh");
    again.args(["-c", script]).arg(&unit).arg(std::env::current_exe().unwrap());
    let test = "cells::inside_a_cgroup_of_its_own";
    let output = again.args(["--exact", test, "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    soon(|| fs::remove_dir(unit.join("daemon")).is_ok().then_some(()));
    soon(|| fs::remove_dir(&unit).is_ok().then_some(()));
    assert!(output.status.success(), "{said}");
}

#[test]
#[ignore = "run by `a_daemon_moves_only_itself`, in a cgroup of its own"]
fn inside_a_cgroup_of_its_own() {
    let own = || {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap();
        text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned)).unwrap()
    };
    let unit = own();
    let root = mount().unwrap();
    let folder = root.join(unit.trim_start_matches('/'));
    let before = processes(&folder);
    let mut bench = LocalBench::set(8, |_, settings| {
        settings.confinement =
            Confinement { namespaces: ConfineMode::Off, ..Confinement::default() };
    });
    // Root without anything that says that the cgroup was delegated.
    assert_eq!(own(), unit);
    let said = bench.local.as_ref().unwrap().remarks();
    assert!(said[0].contains("is not delegated"), "{said:?}");
    let marked =
        rustix::fs::setxattr(&folder, "trusted.delegate", b"1", rustix::fs::XattrFlags::empty());
    marked.unwrap();
    bench.restart();
    assert_eq!(own(), format!("{unit}/daemon"));
    let left: Vec<i64> =
        before.into_iter().filter(|pid| *pid != i64::from(std::process::id())).collect();
    assert_eq!(processes(&folder), left, "the others are where they were");
    let order = shell(&mut bench, "exec sleep 300");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    let cell = cell(&bench);
    assert!(cell.starts_with(&folder) && processes(&cell).len() > 1, "{}", cell.display());
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
}

/// How long a task takes that does nothing, from its submission to its end; run by hand.
#[test]
#[ignore = "a measurement"]
fn what_one_task_costs() {
    use std::time::{Duration, Instant};
    for (what, namespaces, cgroups) in [
        ("neither", ConfineMode::Off, ConfineMode::Off),
        ("a cgroup", ConfineMode::Off, ConfineMode::Auto),
        ("namespaces", ConfineMode::Require, ConfineMode::Off),
        ("both", ConfineMode::Require, ConfineMode::Auto),
    ] {
        let mut bench = LocalBench::set(4, |folder, settings| {
            settings.folder = folder.join("state/site");
            settings.directory = folder.join("state/work");
            fs::create_dir_all(&settings.directory).unwrap();
            settings.hidden = Some(folder.join("state").canonicalize().unwrap());
            settings.confinement = Confinement { namespaces, cgroups, ..Confinement::default() };
        });
        let mut times: Vec<Duration> = (1..=100)
            .map(|job| {
                let order = order(&mut bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
                let began = Instant::now();
                bench.site().submit(&order).unwrap();
                let is_over = |bench: &mut LocalBench| {
                    let tasks = bench.site().survey().unwrap().tasks;
                    matches!(tasks[&order.tag], tradewind_daemon::site::Seen::Ended { .. })
                };
                while !is_over(&mut bench) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let took = began.elapsed();
                bench.site().forget(&order.tag).unwrap();
                took
            })
            .collect();
        times.sort();
        println!("{what}: {:?} (median of 100), {:?} (fastest)", times[50], times[0]);
    }
}
