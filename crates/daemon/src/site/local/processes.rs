//! What the kernel reports processes under `/proc`.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::keeper::To;
use super::records::{Begun, Started};

/// A variable in every task's environment whose value is the task's folder: by it the children
/// of a task are known when the process that started them has ended.
pub(super) const MARK: &str = "TRADEWIND_TASK_FOLDER";

/// The machine's boot: another one after every start.
pub(super) fn boot() -> String {
    let read = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Content of `/proc/PID/stat`.
struct Stat {
    zombie: bool,
    stopped: bool,
    parent: i32,
    group: i32,
    born: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, even parentheses and spaces.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(text.get(end + 1..)?).into_owned();
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let (zombie, stopped) = (state == "Z", state == "T");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let born = fields.nth(16)?.parse().ok()?;
    Some(Stat { zombie, stopped, parent, group, born })
}

/// When the process was born, in ticks since boot; `None`: there is no such process, or it is
/// dead and only its parent has not noticed.
pub(super) fn born(pid: i32) -> Option<u64> {
    stat(pid).filter(|stat| !stat.zombie).map(|stat| stat.born)
}

/// Numbers of all processes that can be seen.
fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Kills every child of this process, but not their children: those become ours next.
pub(super) fn kill_children() {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    for pid in all().filter(|pid| stat(*pid).is_some_and(|stat| stat.parent == own)) {
        send(pid, Signal::KILL);
    }
}

/// All processes that descend from this one, without those that descend from `but`.
pub(super) fn descendants(but: Option<i32>) -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let parents: Vec<(i32, i32)> =
        all().filter_map(|pid| Some((pid, stat(pid).filter(|it| !it.zombie)?.parent))).collect();
    let mut found = Vec::new();
    let mut roots = vec![own];
    while let Some(root) = roots.pop() {
        let children = parents.iter().filter(|(pid, parent)| *parent == root && Some(*pid) != but);
        for (pid, _) in children {
            found.push(*pid);
            roots.push(*pid);
        }
    }
    found
}

/// Whether a signal has stopped a process that descends from this one.
pub(super) fn is_child_stopped() -> bool {
    descendants(None).into_iter().any(|pid| stat(pid).is_some_and(|stat| stat.stopped))
}

/// Kills a process; `false`: we may not.
pub(super) fn is_killed(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return true };
    kill_process(pid, Signal::KILL) != Err(rustix::io::Errno::PERM)
}

/// Kills what is left of a task whose supervisor is dead; what only has the number of one of its
/// processes is left alone.
pub(super) fn kill_rest(folder: &Path, begun: &Begun, started: Option<&Started>) {
    if begun.boot != boot() {
        return;
    }
    if let Some(started) = started.filter(|started| born(started.pid) == Some(started.born)) {
        send_group(started.pid, Signal::KILL);
    }
    kill_marked(folder);
}

/// Kills all processes that have the mark of the task of this folder, as far as we may.
pub(super) fn kill_marked(folder: &Path) {
    let mark = [MARK.as_bytes(), b"=", folder.as_os_str().as_encoded_bytes()].concat();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // A process that forks while we look is found in the second or third round.
    for _ in 0..3 {
        let marked: Vec<i32> =
            all().filter(|pid| *pid != own && is_marked(*pid, &mark).unwrap_or(false)).collect();
        if marked.is_empty() {
            break;
        }
        for pid in marked {
            send(pid, Signal::KILL);
        }
    }
}

fn is_marked(pid: i32, mark: &[u8]) -> io::Result<bool> {
    let environment = fs::read(format!("/proc/{pid}/environ"))?;
    Ok(environment.split(|byte| *byte == 0).any(|variable| variable == mark))
}

/// A signal to one process. That it is gone already is no error.
pub(super) fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// A signal to a process group. That it is gone already is no error.
pub(super) fn send_group(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process_group(pid, signal);
    }
}

/// The signal of this number to one process.
fn send_number(pid: i32, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        send(pid, signal);
    }
}

/// The signal of this number to some of the processes of a task whose first process is `pid`.
pub(super) fn send_to(pid: i32, number: i32, to: To) {
    match (to, Signal::from_named_raw(number)) {
        (To::First, _) => send_number(pid, number),
        (To::Others, _) => send_others(pid, number),
        (To::Group, Some(signal)) => send_group(pid, signal),
        (To::Group, None) => {}
    }
}

/// The signal of this number to all processes of a group but its first.
fn send_others(group: i32, number: i32) {
    let others = all().filter(|pid| *pid != group);
    for pid in others.filter(|pid| stat(*pid).is_some_and(|stat| stat.group == group)) {
        send_number(pid, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_birth() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(born(own).unwrap() > 0);
        assert_eq!(born(own), born(own));
        assert_eq!(born(i32::MAX), None);
        assert_eq!(boot().len(), 36);
    }
}
