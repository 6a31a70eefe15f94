//! What is old: archived, compacted, looked at again.

use std::path::{Path, PathBuf};

use crate::stage::Stage;

/// A market with jobs that are over, stopped.
fn stopped(stage: &mut Stage, jobs: u64) {
    stage.start();
    for _ in 0..jobs {
        stage.text(&["submit", "--hold", "--time", "1", "--", "true"]);
    }
    (1..=jobs).for_each(|job| drop(stage.text(&["cancel", &job.to_string()])));
    assert_eq!(stage.stop(), Some(0));
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let Ok(all) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> = all.map(|it| it.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn everything_reads_across_archives_and_backups_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(folder.path());
    stopped(&mut stage, 3);
    let before = stage.json(&["journal", "verify"]);
    let busy = Stage::new(folder.path());
    stage.start();
    let refused = busy.run(&["journal", "archive", "--before", "0s"]);
    assert_eq!(refused.status.code(), Some(2), "while the market runs");
    assert_eq!(stage.stop(), Some(0));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let made = stage.json(&["journal", "archive", "--before", "0s"]);
    assert!(made["archived_rows"].as_u64() > before["rows"].as_u64().map(|it| it - 5), "{made}");
    assert_eq!(archives(&stage.path("journal.db.archive")).len(), 1);
    let compact = stage.json(&["journal", "compact"]);
    assert!(compact["bytes"].as_u64() <= compact["bytes_before"].as_u64(), "{compact}");
    let after = stage.json(&["journal", "verify"]);
    assert_eq!((&after["proved"], &after["archive_files"]), (&true.into(), &1.into()));
    assert!(after["rows"].as_u64() > before["rows"].as_u64());
    let rows = stage.text(&["journal", "export"]).lines().count() as u64;
    assert_eq!(Some(rows - 1), after["rows"].as_u64());
    assert_eq!(stage.json(&["journal", "replay", "--to", "5"])["name"].as_str().unwrap().len(), 10);
    // The market goes on, is killed, and goes on.
    for _ in 0..2 {
        stage.start();
        assert!(stage.text(&["jobs", "--all"]).contains("  CA  "));
        stage.text(&["submit", "--hold", "--time", "1", "--", "true"]);
        stage.kill();
    }
    let copy = folder.path().join("copy.db");
    let made = stage.json(&["backup", copy.to_str().unwrap()]);
    assert_eq!(archives(&folder.path().join("copy.db.archive")).len(), 1);
    assert!(folder.path().join("copy.db.audit").exists());
    let other = tempfile::tempdir().unwrap();
    let place = other.path().join("market");
    let back = Stage::new(&place);
    std::fs::create_dir(&place).unwrap();
    back.text(&["restore", copy.to_str().unwrap()]);
    let proved = back.json(&["journal", "verify"]);
    assert_eq!((&proved["proved"], &proved["chain"]), (&true.into(), &made["chain"]));
    assert!(place.join("audit.db").exists());
}

#[test]
fn a_damaged_archive_is_noticed_while_the_market_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(folder.path());
    stopped(&mut stage, 2);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    stage.text(&["journal", "archive", "--before", "0s"]);
    let file = archives(&stage.path("journal.db.archive")).remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&file, &bytes).unwrap();
    stage.start();
    let metrics = |stage: &Stage| stage.get("/metrics");
    stage.until("the damage is counted", |stage| {
        metrics(stage).contains("tradewind_journal_damage 1")
    });
    let name = file.file_name().unwrap().to_str().unwrap();
    let doctor = stage.run(&["doctor", "--no-jobs"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    assert!(said.contains(name) && said.contains("row "), "{said}");
    // The market goes on all the same.
    stage.text(&["submit", "--hold", "--time", "1", "--", "true"]);
    assert_eq!(stage.stop(), Some(0));
    let verify = stage.run(&["journal", "verify"]);
    let said = String::from_utf8_lossy(&verify.stderr).into_owned();
    assert_eq!(verify.status.code(), Some(1), "{said}");
    assert!(said.contains(name) && said.contains("damaged at row"), "{said}");
}
