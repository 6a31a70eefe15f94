//! Journals in files.

use super::*;

#[test]
fn a_journal_of_an_earlier_release_makes_the_same_market_and_goes_on() {
    let (older, today) = (Program::older(), Program::today());
    let folder = tempfile::tempdir().unwrap();
    let (config, state) = (folder.path().join("tradewind.toml"), folder.path().join("state"));
    configure(&config, "");
    let daemon = older.start(&config, &state);
    let place = ["--state", state.to_str().unwrap()];
    Market(&state).fill(&older, &place);
    let (jobs, postings) = Market(&state).books(&older);
    assert!(jobs.len() == 24 && postings.as_array().unwrap().len() > 40, "{postings}");
    daemon.stop();
    let proof = |program: &Program| program.json(&[&["journal", "verify"], &place[..]].concat());
    let (before, now) = (proof(&older), proof(&today));
    let kinds_before = kinds(&today, &place);
    for kind in ["rules", "forecast", "project", "joined", "ended", "moved"] {
        assert!(kinds_before.iter().any(|it| it == kind), "there is no row of `{kind}`");
    }
    // Rows and snapshot lead to the same state here, too; but for ranges of waits, which begin again.
    for fact in ["proved", "rows", "chain", "snapshot", "decisions"] {
        assert_eq!(now[fact], before[fact], "{fact}");
    }
    assert_eq!(now["proved"], true);
    let daemon = today.start(&config, &state);
    let (jobs_now, postings_now) = Market(&state).books(&today);
    assert!(
        says(&Value::Array(jobs_now.clone()), &Value::Array(jobs.clone())),
        "{jobs:?}\n{jobs_now:?}"
    );
    assert!(says(&postings_now, &postings), "{postings}\n{postings_now}");
    // It goes on: by other rules, with jobs of before and new ones.
    today.text(&["release", "23", "--state", place[1]]);
    today.text(&["submit", "--time", "1", "--state", place[1], "--", "true"]);
    Market(&state).settled(&today, 0);
    daemon.stop();
    let after = proof(&today);
    assert!(after["proved"] == true && after["rows"].as_u64() > now["rows"].as_u64(), "{after}");
    assert_eq!(kinds(&today, &place).iter().filter(|it| *it == "ruled-by").count(), 1);
}

#[test]
fn a_journal_of_today_is_refused_by_an_earlier_release_which_writes_nothing() {
    let (older, today) = (Program::older(), Program::today());
    let folder = tempfile::tempdir().unwrap();
    let (config, state) = (folder.path().join("tradewind.toml"), folder.path().join("state"));
    configure(&config, "");
    let daemon = today.start(&config, &state);
    let place = ["--state", state.to_str().unwrap()];
    today.text(&["submit", "--time", "1", "--wait", "--state", place[1], "--", "true"]);
    daemon.stop();
    let rows = || today.text(&[&["journal", "export"], &place[..]].concat());
    let before = rows();
    let number = before.lines().position(|line| line.contains(r#"{"ruled-by":"#)).unwrap();
    // The first line is no row.
    let said = older.refused(&config, &state);
    let why = format!("row {number} of the journal: ruled-by: it is not known here");
    assert!(said.contains(&why), "{why}: {said}");
    let verified = older.run(&[&["journal", "verify"], &place[..]].concat());
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.code() == Some(1) && said.contains(&why), "{said}");
    assert_eq!(rows(), before);
    let daemon = today.start(&config, &state);
    assert_eq!(Market(&state).books(&today).0.len(), 1);
    daemon.stop();
}
