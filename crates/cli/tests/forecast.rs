//! `tradewind forecast` on a small log that the program makes itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn tradewind(folder: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    Command::new(env!("CARGO_BIN_EXE_tradewind")).current_dir(folder).args(args).assert()
}

/// A folder with `log.swf`: 1,200 jobs on 64 processors, many of which wait.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = ["generate", "lublin", "--jobs", "1200", "--procs", "64", "--offered", "0.9"];
    let seed = ["--seed", "1", "-o", "log.swf"];
    tradewind(folder.path(), &[&model[..], &seed].concat()).success();
    folder
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let output = tradewind(folder, &[args, &["--format", "json"]].concat()).success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn the_document_has_jobs_correlation_and_three_levels() {
    let folder = folder();
    let document = json(folder.path(), &["forecast", "log.swf"]);
    assert_eq!(document["jobs"], 1_200);
    let count = |name: &str| document[name].as_u64().unwrap();
    assert_eq!(count("at_once") + count("waited"), 1_200);
    let correlation = document["correlation"].as_f64().unwrap();
    assert!(correlation > 0.3 && correlation <= 1.0, "{correlation}");
    let levels = document["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 3);
    let mut narrower = 0;
    for (held, level) in levels.iter().zip([50, 80, 95]) {
        assert_eq!(held["level"], level);
        let covered = held["covered"].as_f64().unwrap();
        assert!((covered - f64::from(level)).abs() < 6.0, "{level}: {covered}");
        let width = held["width"].as_i64().unwrap();
        assert!(width > narrower);
        narrower = width;
    }
    let months = document["months"].as_array().unwrap();
    let jobs: u64 = months.iter().map(|month| month["jobs"].as_u64().unwrap()).sum();
    assert_eq!(jobs, count("waited"));
    assert_eq!(document["baselines"][0]["name"], "binomial");
    assert_eq!(document["baselines"][1]["name"], "requested");
    assert_eq!(document, json(folder.path(), &["forecast", "log.swf"]), "the same again");
}

#[test]
fn a_report_is_a_page_with_pictures_and_a_line_for_each_job() {
    let folder = folder();
    let args = ["forecast", "log.swf", "--lengths", "published-linear", "--report", "out"];
    let printed = json(folder.path(), &args);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let page = read("report.html");
    assert!(page.contains("Forecasts of starts: log") && page.contains("--lengths"));
    for name in ["reliability", "months", "widths"] {
        assert!(read(&format!("{name}.svg")).starts_with("<svg"), "{name}");
        assert!(folder.path().join(format!("out/{name}.png")).exists());
    }
    let summary: Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(summary, printed);
    let table = read("forecasts.csv");
    assert_eq!(table.lines().count(), 1_201);
    let columns = table.lines().next().unwrap().split(',').count();
    assert!(table.lines().all(|line| line.split(',').count() == columns));
    // The columns say what the score says.
    let (mut ranged, mut within) = (0_u64, 0_u64);
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (wait, low, high) = (cells[4], cells[8], cells[9]);
        if let (Ok(low), Ok(high)) = (low.parse::<i64>(), high.parse::<i64>()) {
            ranged += 1;
            within += u64::from((low..=high).contains(&wait.parse().unwrap()));
        }
    }
    assert_eq!(Value::from(ranged), printed["waited"]);
    let covered = 100.0 * within as f64 / ranged as f64;
    assert!((covered - printed["levels"][1]["covered"].as_f64().unwrap()).abs() < 0.01);
}

#[test]
fn other_policies_tables_and_mistakes() {
    let folder = folder();
    for policy in ["fcfs", "conservative", "easy[backfill=shortest]", "sjf"] {
        let document = json(folder.path(), &["forecast", "log.swf", "--policy", policy]);
        assert_eq!(document["jobs"], 1_200, "{policy}");
    }
    let csv = ["forecast", "log.swf", "--format", "csv", "--semantics", "pyss"];
    let printed = tradewind(folder.path(), &csv).success().get_output().stdout.clone();
    assert_eq!(String::from_utf8(printed).unwrap().lines().count(), 6);
    tradewind(folder.path(), &["forecast", "log.swf"]).success();
    tradewind(folder.path(), &["forecast", "log.swf", "--policy", "none"]).code(2);
    tradewind(folder.path(), &["forecast", "missing.swf"]).code(3);
    tradewind(folder.path(), &["forecast"]).code(2);
}
