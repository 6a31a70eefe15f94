//! Journals of earlier releases, with generated jobs, are read and go on.

use std::path::Path;

use crate::stage::Stage;

/// By format: what `journal verify` of its own release said.
const KEPT: [(u32, u64, &str); 2] = [
    (1, 136, "8543e88c119ef5d54e09d4c8ea2fe13091d1f935e276a0a77a1fd620fe2b7775"),
    (3, 131, "5e015aed44d9bb622c3ec66b6220ba39c15a86fce4bd1f0d33c888b5c57a4318"),
];

#[test]
fn journals_of_earlier_releases_make_the_same_state_and_go_on() {
    for (format, rows, state) in KEPT {
        let folder = tempfile::tempdir().unwrap();
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
        let journal = folder.path().join("journal.db");
        std::fs::copy(kept.join(format!("journal-{format}.db")), journal).unwrap();
        let mut stage = Stage::new(folder.path());
        let said = stage.json(&["journal", "verify"]);
        assert_eq!(said["rows"], rows);
        assert_eq!((&said["snapshot"], said["state"].as_str()), (&said["rows"], Some(state)));
        stage.start();
        // Jobs leave the state a week after their end, postings stay.
        let first = &stage.json(&["ledger"])["postings"][0];
        assert_eq!((&first["to"], &first["note"]), (&"user:admin".into(), &"new user".into()));
        stage.text(&["submit", "--hold", "--time", "1", "--", "true"]);
        stage.kill();
        stage.start();
        assert_eq!(stage.stop(), Some(0));
        let said = stage.json(&["journal", "verify"]);
        assert_eq!((&said["proved"], &said["snapshot"]), (&true.into(), &said["rows"]));
        assert!(said["rows"].as_u64() > Some(rows));
    }
}
