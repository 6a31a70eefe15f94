//! Journals of earlier releases, with generated jobs, are read and go on.

use std::path::Path;

use serde_json::Value;

use crate::stage::Stage;

/// By format, and rules of counting: what `journal verify` of its own release said. The last one has
/// lengths that were learned, and forecasts of starts: what was learned of these is left out.
const KEPT: [(&str, u64, &str); 3] = [
    ("1", 136, "8543e88c119ef5d54e09d4c8ea2fe13091d1f935e276a0a77a1fd620fe2b7775"),
    ("3", 131, "5e015aed44d9bb622c3ec66b6220ba39c15a86fce4bd1f0d33c888b5c57a4318"),
    ("3-rules-2", 200, "d6162083813b28860a416b5adbdc37f95ac18a5501a923924ac452cad46b539f"),
];

/// The configuration of the last one; the others had none.
const LEARNS: &str = "
[market]
estimates = 'learned'
[[site]]
name = 'alpha'
kind = 'local'
pool = [{ name = 'alpha', nodes = 2, price = 1 }]
";

#[test]
fn journals_of_earlier_releases_make_the_same_state_and_go_on() {
    for (name, rows, state) in KEPT {
        let folder = tempfile::tempdir().unwrap();
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
        let journal = folder.path().join("journal.db");
        std::fs::copy(kept.join(format!("journal-{name}.db")), journal).unwrap();
        let mut stage = Stage::new(folder.path());
        let said = stage.json(&["journal", "verify"]);
        assert_eq!(said["rows"], rows);
        assert_eq!((&said["snapshot"], said["state"].as_str()), (&said["rows"], Some(state)));
        if name == "3-rules-2" {
            let config = folder.path().join("tradewind.toml");
            std::fs::write(&config, LEARNS).unwrap();
            stage.words = vec!["--config".to_owned(), config.to_str().unwrap().to_owned()];
        }
        stage.start();
        // Jobs leave the state a week after their end, postings stay.
        let ledger = stage.json(&["ledger"]);
        let is_first = |it: &Value| it["to"] == "user:admin" && it["note"] == "new user";
        assert!(ledger["postings"].as_array().unwrap().iter().any(is_first), "{ledger}");
        stage.text(&["submit", "--hold", "--time", "1", "--", "true"]);
        stage.kill();
        stage.start();
        assert_eq!(stage.stop(), Some(0));
        let said = stage.json(&["journal", "verify"]);
        assert_eq!((&said["proved"], &said["snapshot"]), (&true.into(), &said["rows"]));
        assert!(said["rows"].as_u64() > Some(rows));
    }
}
