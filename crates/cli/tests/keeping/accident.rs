//! A market never begins by accident.

use crate::stage::Stage;

/// A market with a job, killed; the contents of its administrator's token.
fn killed(stage: &mut Stage) -> String {
    stage.start();
    stage.text(&["submit", "--hold", "--time", "1", "--", "true"]);
    stage.kill();
    std::fs::read_to_string(stage.path("admin.token")).unwrap()
}

#[test]
fn an_empty_journal_is_no_new_market() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(folder.path());
    let token = killed(&mut stage);
    std::fs::write(stage.path("journal.db"), "").unwrap();
    let (code, said) = stage.refused();
    assert_eq!(code, Some(3), "{said}");
    for word in ["`journal.db` (empty)", "`journal.db-wal`", "`admin.token`", "sites/alpha"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(said.contains("tradewind restore") && said.contains("--new"), "{said}");
    assert_eq!(std::fs::read_to_string(stage.path("admin.token")).unwrap(), token);
    assert_ne!(std::fs::metadata(stage.path("journal.db-wal")).unwrap().len(), 0);
    // On purpose: another market, with another token, and the log is kept.
    stage.words = vec!["--new".to_owned()];
    stage.start();
    assert_ne!(std::fs::read_to_string(stage.path("admin.token")).unwrap(), token);
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> = names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|it| it.contains(".lost-") && it.ends_with("-wal")), "{names:?}");
    stage.kill();
    let (code, said) = stage.refused();
    assert_eq!((code, said.contains("without `--new`")), (Some(2), true), "{said}");
}

#[test]
fn a_journal_without_its_log_is_no_new_market() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(folder.path());
    killed(&mut stage);
    let market = stage.json(&["journal", "replay"])["name"].clone();
    std::fs::remove_file(stage.path("journal.db-wal")).unwrap();
    let (code, said) = stage.refused();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("journal.db-wal` is missing"), "{said}");
    // An administrator who accepts the loss continues with the same market.
    std::fs::remove_file(stage.path("journal.db.lock")).unwrap();
    stage.start();
    stage.kill();
    assert_eq!(stage.json(&["journal", "replay"])["name"], market);
}

#[test]
fn a_journal_that_is_gone_is_no_new_market() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(folder.path());
    stage.start();
    assert_eq!(stage.stop(), Some(0));
    assert!(!stage.path("journal.db-wal").exists(), "the log is moved into the file at the end");
    std::fs::remove_file(stage.path("journal.db")).unwrap();
    let (code, said) = stage.refused();
    assert_eq!((code, said.contains("`admin.token`")), (Some(3), true), "{said}");
}

#[test]
fn the_file_alone_is_the_same_market_right_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(folder.path());
    killed(&mut stage);
    let alone = tempfile::tempdir().unwrap();
    std::fs::copy(stage.path("journal.db"), alone.path().join("journal.db")).unwrap();
    let mut copied = Stage::new(alone.path());
    assert_eq!(copied.json(&["journal", "verify"])["proved"], true);
    copied.start();
    copied.kill();
    let name = |stage: &Stage| stage.json(&["journal", "replay"])["name"].clone();
    assert_eq!(name(&copied), name(&stage));
}
