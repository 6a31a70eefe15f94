//! Terms of ownership: what a daemon does that was frozen after its order was admitted.

use std::fs;
use std::time::Duration;

use tradewind_daemon::site::fence::Fence;
use tradewind_daemon::site::local::{ConfineMode, Confinement, Local};
use tradewind_daemon::site::{Exit, Site as _, SiteError};

use super::cells::{cell, has_cgroups};
use super::local_site::LocalBench;
use super::{SiteBench as _, shell, sleep, tag, until_ended, until_running};

/// A site with one slot in term 3.
fn third() -> LocalBench {
    confined(ConfineMode::Off)
}

fn confined(cgroups: ConfineMode) -> LocalBench {
    let mut bench = LocalBench::set(1, |_, settings| {
        let namespaces = ConfineMode::Off;
        settings.confinement = Confinement { namespaces, cgroups, ..Confinement::default() };
        drop(Fence::raise(&settings.folder, 3).unwrap());
    });
    bench.local = None;
    bench.local = Some(Local::open_for(bench.settings.clone(), 3).unwrap());
    bench
}

/// Another daemon owns the market in term 4; the adapter of the first one.
fn succeed(bench: &mut LocalBench) -> Local {
    let first = bench.local.take().unwrap();
    Fence::raise(&bench.settings.folder, 4).unwrap();
    bench.local = Some(Local::open_for(bench.settings.clone(), 4).unwrap());
    first
}

/// It was frozen before a task was in its place. The next one runs the task and forgets it.
#[test]
fn a_daemon_that_was_succeeded_does_not_run_a_task_again() {
    let mut bench = third();
    let order = shell(&mut bench, "echo once >> count");
    let mut first = succeed(&mut bench);
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    bench.site().forget(&tag(1)).unwrap();
    let late = first.submit(&order);
    let laid = fs::read_dir(bench.settings.folder.join("tasks")).unwrap().count();
    assert!(matches!(late, Err(SiteError::Unknown(_))) && laid == 0, "{late:?}, {laid} tasks");
    assert_eq!(fs::read_to_string(bench.settings.directory.join("count")).unwrap(), "once\n");
}

/// It was frozen before it gave a task its slots, which are another task's in the next term.
#[test]
fn a_daemon_that_was_succeeded_gives_no_slots() {
    let mut bench = third();
    bench.take(1);
    let order = shell(&mut bench, "echo once >> count");
    bench.site().submit(&order).unwrap();
    let mut first = succeed(&mut bench);
    bench.take(0);
    assert!(first.survey().is_err());
    sleep(Duration::from_millis(300));
    let task = bench.settings.folder.join("tasks").join(tag(1).to_string());
    assert!(!task.join("placed.json").exists() && !task.join("begun.json").exists());
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let count = bench.settings.directory.join("count");
    assert_eq!(fs::read_to_string(count).unwrap(), "once\n");
}

/// It was frozen before it forgot a task.
#[test]
fn a_daemon_that_was_succeeded_forgets_nothing() {
    let mut bench = third();
    let order = shell(&mut bench, "true");
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let mut first = succeed(&mut bench);
    assert!(first.forget(&tag(1)).is_err());
    drop(first);
    bench.local = None;
    bench.local = Some(Local::open_for(bench.settings.clone(), 4).unwrap());
    let task = bench.settings.folder.join("tasks").join(tag(1).to_string());
    assert!(task.is_dir(), "no owner was told to forget it");
    bench.site().forget(&tag(1)).unwrap();
    assert!(!task.exists());
}

/// It was frozen between the beginning of its term and the opening of the site.
#[test]
fn a_daemon_that_was_succeeded_opens_nothing() {
    let mut bench = third();
    drop(succeed(&mut bench));
    let opened = Local::open_for(bench.settings.clone(), 3);
    assert!(opened.unwrap_err().to_string().contains("incoming-3"));
    let order = shell(&mut bench, "echo once >> count");
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
}

/// It closes its sites when the next one has opened them.
#[test]
fn a_daemon_that_was_succeeded_leaves_the_cgroup_of_the_site() {
    if !has_cgroups("terms::a_daemon_that_was_succeeded_leaves_the_cgroup_of_the_site") {
        return;
    }
    let mut bench = confined(ConfineMode::Auto);
    drop(succeed(&mut bench));
    let order = shell(&mut bench, "sleep 61");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    assert!(cell(&bench).is_dir());
}
