//! A full disk stops writes only.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::stage::Stage;

/// Set where this test runs again with the right to mount.
const AGAIN: &str = "TRADEWIND_TEST_MAY_MOUNT";

/// Runs the test again with the right to mount: in a user namespace, or as root by `sudo`. Where
/// neither is possible, it fails.
fn again(name: &str) {
    assert!(std::env::var_os(AGAIN).is_none(), "no file system can be mounted even so");
    let namespaces = ["unshare", "--user", "--map-root-user", "--mount", "--"];
    let root = ["sudo", "-n", "--"];
    let command = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("env").arg(format!("{AGAIN}=1"));
        command
    };
    let may =
        |words: &&&[&str]| command(words).arg("true").status().is_ok_and(|status| status.success());
    let ways: [&[&str]; 2] = [&namespaces, &root];
    let way = ways.iter().find(may);
    assert!(
        way.is_some(),
        "a full disk cannot be tried: run the test as root, allow user namespaces \
         (`user.max_user_namespaces`), or allow `sudo -n`"
    );
    let mut test = command(way.unwrap());
    test.arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    assert!(test.status().unwrap().success());
}

/// A small disk of its own.
struct Disk(tempfile::TempDir);

impl Disk {
    /// `None`: this account may not mount.
    fn mount() -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(folder.path());
        let is_mounted = mount.status().is_ok_and(|status| status.success());
        is_mounted.then_some(Disk(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no byte free.
    fn fill(&self) {
        let mut file = File::create(self.path().join("filler")).unwrap();
        for size in [1 << 16, 1 << 10, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(self.path()).status());
    }
}

fn phase(stage: &Stage, job: &str) -> String {
    stage.json(&["job", job])["state"].as_str().unwrap().to_owned()
}

fn is_read_only(stage: &Stage) -> bool {
    stage.ready() == "read-only"
}

/// Submissions until one is refused, since the disk is full.
fn write_until_full(stage: &Stage) {
    let submit = || stage.run(&["submit", "--hold", "--time", "1", "--", "true"]);
    let is_refused = (0..100).any(|_| !submit().status.success());
    assert!(is_refused, "the disk is full, and 100 jobs were written");
}

#[test]
fn a_full_disk_stops_writes_only() {
    let Some(disk) = Disk::mount() else { return again("full::a_full_disk_stops_writes_only") };
    let mut stage = Stage::new(&disk.path().join("state"));
    stage.start();
    let submit = |stage: &Stage, words: &[&str]| {
        stage.text(&[&["submit", "--parsable"], words].concat()).trim().to_owned()
    };
    let waiting = submit(&stage, &["--hold", "--time", "1", "--", "true"]);
    let sleep = ["--time", "60", "--output", "/dev/null", "--", "sleep", "3000"];
    let running = submit(&stage, &sleep);
    stage.until("the job runs", |stage| phase(stage, &running) == "RUNNING");
    disk.fill();
    write_until_full(&stage);
    assert!(stage.text(&["jobs"]).contains("sleep"));
    stage.text(&["ledger"]);
    assert!(is_read_only(&stage));
    stage.text(&["cancel", &waiting]);
    stage.text(&["cancel", &running]);
    assert_eq!(phase(&stage, &waiting), "CANCELLED");

    // A start on the full disk: what was not written is not known.
    stage.kill();
    // The end of a process may have made some room.
    disk.fill();
    stage.start();
    write_until_full(&stage);
    assert!(is_read_only(&stage));
    assert_eq!(phase(&stage, &waiting), "PENDING");
    assert!(!stage.run(&["submit", "--time", "1", "--", "true"]).status.success());
    stage.text(&["cancel", &waiting]);

    disk.make_room();
    stage.until("the market writes again", |stage| {
        stage.run(&["submit", "--time", "1", "--", "true"]).status.success()
    });
    assert!(!is_read_only(&stage));
    assert_eq!(phase(&stage, &waiting), "CANCELLED");
    stage.until("the stopped job is over", |stage| phase(stage, &running) == "CANCELLED");
    assert_eq!(stage.stop(), Some(0));
    assert_eq!(stage.json(&["journal", "verify"])["proved"], true);
}
