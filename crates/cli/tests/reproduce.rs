//! `tradewind reproduce`: documents, files, going on, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn tradewind(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tradewind")).arg("reproduce").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A study, quickly, as JSON.
fn json(args: &[&str]) -> Value {
    let ran = tradewind(&[args, &["--quick", "--format", "json"]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("seed:"), "the seed is always said");
    serde_json::from_slice(&ran.stdout).unwrap()
}

#[test]
fn the_document_has_what_it_promises() {
    let document = json(&["001-example", "001-fig4", "--seed", "3"]);
    assert_eq!(document["seed"], 3);
    let studies = document["studies"].as_array().unwrap();
    assert_eq!(studies.iter().map(|s| &s["id"]).collect::<Vec<_>>(), ["001-example", "001-fig4"]);
    for study in studies {
        for number in study["numbers"].as_array().unwrap() {
            for field in ["published", "measured", "low", "high", "ratio"] {
                assert!(number[field].is_number(), "{number}");
            }
            let reproduced = number["verdict"] == "reproduced";
            assert_eq!(number.get("why").is_none(), reproduced, "{number}");
        }
        assert!(study["claims"].is_array());
    }
}

#[test]
fn threads_and_parts_that_were_kept_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let one = json(&["001", "--threads", "1"]);
    assert_eq!(one, json(&["001", "--threads", "4", "--out", out]));
    let first = std::fs::read(folder.path().join("reproduction.html")).unwrap();
    let kept = kept_parts(folder.path());
    std::fs::remove_file(&kept[0]).unwrap();
    std::fs::write(&kept[1], "half a li").unwrap();
    let again = tradewind(&["001", "--quick", "--format", "json", "--out", out]);
    let said = text(&again.stderr);
    assert!(said.contains(&format!("{} of {} parts", kept.len() - 2, kept.len())), "{said}");
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), one);
    assert_eq!(std::fs::read(folder.path().join("reproduction.html")).unwrap(), first);
    // Another seed takes nothing from there.
    let other = tradewind(&["001", "--quick", "--seed", "2", "--out", out]);
    assert!(!text(&other.stderr).contains("already"));
}

fn kept_parts(out: &Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(out.join("parts")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_file_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let ran = tradewind(&["001-example", "--quick", "--sweep", "--out", out]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let page = text(&read("reproduction.html"));
    assert!(page.contains("001-example") && page.contains("data:image/svg+xml"));
    for outside in ["src=\"http", "href=\"http", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let markdown = text(&read("reproduction.md"));
    assert!(
        markdown.contains("(reproduction/001-example.svg)") && markdown.contains("cost-limits")
    );
    assert!(read("reproduction/001-example.png").starts_with(b"\x89PNG"));
    assert!(text(&read("reproduction/001-example.svg")).starts_with("<svg"));
    let csv = text(&read("sensitivity.csv"));
    assert!(csv.contains("worked-example,cost-limits,0.4,"), "{csv}");
    let document: Value = serde_json::from_slice(&read("reproduction.json")).unwrap();
    assert_eq!(document["sensitivity"].as_array().unwrap().len(), 1);
    assert!(text(&read("reproduction.csv")).lines().count() > 10);
}

#[test]
fn a_parameter_moves_the_numbers() {
    let measured = |document: &Value| document["studies"][0]["numbers"][0]["measured"].clone();
    let ours = json(&["001-example"]);
    let other = json(&["001-example", "--set", "cost-limits=0.9"]);
    assert_ne!(measured(&ours), measured(&other));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    for (args, error) in [
        (vec!["001-fig3"], "there is no study `001-fig3`\n  hint: did you mean `001-fig4`?"),
        (vec!["all", "--set", "roh=1"], "no parameter `roh`\n  hint: did you mean `rho`?"),
        (vec!["001", "--set", "rho=7"], "`rho` takes a number from 0.01 to 1"),
        (vec!["001", "--set", "counts=open"], "`counts` takes one of: half-open, closed"),
        (vec!["001", "--set", "rho"], "`--set rho` is not NAME=VALUE"),
    ] {
        let ran = tradewind(&args);
        assert_eq!(ran.status.code(), Some(2), "{args:?}");
        assert!(text(&ran.stderr).contains(error), "{}", text(&ran.stderr));
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn the_list_has_studies_and_parameters() {
    let ran = tradewind(&["list"]);
    let list = text(&ran.stdout);
    assert!(list.contains("001-fig4") && list.contains("price-cap"), "{list}");
    let ran = tradewind(&["list", "--format", "json"]);
    let list: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(list["studies"].as_array().unwrap().len() >= 12);
}
