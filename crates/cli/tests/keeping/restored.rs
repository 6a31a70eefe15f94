//! A market that is restored from a backup finds how its jobs ended.

use crate::stage::Stage;

#[test]
fn a_job_that_ended_after_the_backup_does_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut stage = Stage::new(&state);
    stage.start();
    let (marks, end) = (folder.path().join("marks"), folder.path().join("end"));
    let work = format!(
        "echo ran >>{}; while [ ! -e {} ]; do sleep 0.1; done; exit 3",
        marks.display(),
        end.display()
    );
    let words = ["submit", "--on-lost", "rerun", "--time", "5:00", "--wrap", &work];
    stage.text(&words);
    let state_of = |stage: &Stage| stage.json(&["job", "1"])["state"].clone();
    stage.until("it runs", |stage| state_of(stage) == "RUNNING" && marks.exists());
    let backup = folder.path().join("backup.db");
    stage.text(&["backup", backup.to_str().unwrap()]);
    std::fs::write(&end, "").unwrap();
    stage.until("it is over", |stage| state_of(stage) == "FAILED");
    let is_forgotten = |stage: &Stage| {
        let sites = std::fs::read_dir(stage.path("sites")).unwrap();
        sites.into_iter().any(|site| site.unwrap().path().join("ends").exists())
    };
    stage.until("its site has forgotten it", is_forgotten);
    stage.kill();
    for file in std::fs::read_dir(&state).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        if name.starts_with("journal.db") || name.starts_with("audit.db") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    stage.text(&["restore", backup.to_str().unwrap()]);
    stage.start();
    stage.until("it is known to be over", |stage| state_of(stage) == "FAILED");
    let job = stage.json(&["job", "1"]);
    assert_eq!((&job["restarts"], &job["exit"]["code"]), (&0.into(), &3.into()), "{job:#}");
    assert_eq!(std::fs::read_to_string(&marks).unwrap(), "ran\n");
}
