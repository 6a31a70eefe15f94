//! Tasks that ran when the machine stopped, and those that find the disk full.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::{Exit, Seen};

use super::local_site::LocalBench;
use super::{kill, pid, record, seen, shell, soon, task_folder, until_ended, until_running};

#[test]
fn after_a_boot_what_ran_has_failed_with_its_node() {
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "exec sleep 300");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    let task = pid(&bench, "started.json", "pid");
    kill(pid(&bench, "begun.json", "supervisor"));
    kill(task);
    bench.local = None;
    let mut begun = record(&bench, "begun.json");
    begun["boot"] = "another".into();
    fs::write(task_folder(&bench).join("begun.json"), begun.to_string()).unwrap();
    // It began long ago, and the machine was off for most of the time since.
    let mut started = record(&bench, "started.json");
    let since = started["since"].as_i64().unwrap() - 5_000;
    started["since"] = since.into();
    fs::write(task_folder(&bench).join("started.json"), started.to_string()).unwrap();
    let lock = fs::File::options().write(true).open(task_folder(&bench).join("lock")).unwrap();
    let off = UNIX_EPOCH + Duration::from_secs((since + 1_000).cast_unsigned());
    let shown = lock.metadata().unwrap().modified().unwrap();
    assert!(shown > off, "a supervisor shows that it lives");
    lock.set_modified(off).unwrap();
    bench.restart();
    assert_eq!(until_ended(&mut bench), Exit::NodeFailed);
    match bench.site().survey().unwrap().tasks.remove(&order.tag).unwrap() {
        Seen::Ended { since: began, at, .. } => {
            assert_eq!((began.unwrap().0, at.0), (since, since + 1_000));
        }
        other => panic!("{other:?}"),
    }
}

/// Beyond its first moment, when a supervisor makes the lock.
#[test]
fn a_supervisor_shows_again_and_again_that_it_lives() {
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "exec sleep 300");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    let lock = fs::File::options().write(true).open(task_folder(&bench).join("lock")).unwrap();
    lock.set_modified(UNIX_EPOCH).unwrap();
    soon(|| (lock.metadata().unwrap().modified().unwrap() > UNIX_EPOCH).then_some(()));
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
}

/// Supervisors end at once where the disk is full: the task waits for room, and is not given up.
#[test]
fn a_task_whose_supervisor_finds_no_room_waits() {
    let mut bench = LocalBench::set(8, |_, settings| settings.supervisor = vec!["false".into()]);
    let order = shell(&mut bench, "true");
    bench.site().submit(&order).unwrap();
    let room = task_folder(&bench).join("room");
    for _ in 0..40 {
        let _ = std::os::unix::fs::symlink("/dev/full", &room);
        assert_eq!(seen(&mut bench), Some(Seen::Waiting));
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::remove_file(&room).unwrap_or_default();
    let exit = until_ended(&mut bench);
    assert!(matches!(&exit, Exit::NotStarted(why) if why.contains("does not start")), "{exit:?}");
}

/// As on a full disk, no file can be made any more when the work begins; there is room for the record of
/// it all the same.
#[test]
fn a_task_that_begins_when_the_disk_is_full_is_seen_running() {
    let mut bench = LocalBench::set(8, |_, settings| {
        let wrapped = "mkdir \"$1/.started.json.$$\" && exec \"$0\" \"$@\"";
        let mut all = vec!["sh".into(), "-c".into(), wrapped.into()];
        all.append(&mut settings.supervisor);
        settings.supervisor = all;
    });
    let order = shell(&mut bench, "exec sleep 300");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    assert!(record(&bench, "started.json")["pid"].as_i64().unwrap() > 0);
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
}
