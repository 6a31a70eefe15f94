//! What replays with deadlines, values and trades leave behind, against sums made again from it.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");

/// Too small for the widest jobs of the log; `b` is twice as fast and twice as dear.
const GRID: &str = "[[site]]\nname = 'a'\n\
                    pool = [{ name = 'p', nodes = 40, price = 1, queues = '1:3' }]\n\
                    [[site]]\nname = 'b'\n\
                    pool = [{ name = 'q', nodes = 20, price = 2, performance = 2 }]\n";

/// A job of the log: submission, run time; its deadline and value.
#[derive(Debug, Clone, Copy)]
struct Job {
    submit: i64,
    run: i64,
    deadline: i64,
    value: i64,
}

/// Deadlines and values are made up: every class has some jobs.
fn jobs() -> BTreeMap<String, Job> {
    let text = std::fs::read_to_string(LOG).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(';'));
    let job = |line: &str| {
        let numbers: Vec<i64> =
            line.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
        let (number, submit, run, processors) = (numbers[0], numbers[1], numbers[3], numbers[4]);
        let deadline = submit + run + run * (number % 7) / 4;
        let value = processors * (number * 7_919 % 40_000 + 1);
        (number.to_string(), Job { submit, run, deadline, value })
    };
    lines.map(job).collect()
}

fn side(jobs: &BTreeMap<String, Job>) -> String {
    let row = |(number, job): (&String, &Job)| format!("{number},{},{}\n", job.deadline, job.value);
    "job,deadline,value\n".to_owned() + &jobs.iter().map(row).collect::<String>()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn simulate(&self, args: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.arg("simulate").args(args).arg("--out").arg(self.path("runs"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The rows of a table, by the heads of its columns. No cell of it has a comma.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells = heads.iter().zip(line.split(','));
        cells.map(|(head, cell)| ((*head).to_owned(), cell.to_owned())).collect()
    };
    lines.map(row).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn near(summary: &Value, name: &str, value: f64) {
    let found = summary[name].as_f64().unwrap_or(f64::NAN);
    assert!((found - value).abs() < 1e-6 * value.abs().max(1.0), "{name}: {found}, not {value}");
}

/// With every checker, also of prices by what is in use.
#[test]
fn every_policy_decides_where_prices_follow_load() {
    let folder = tempfile::tempdir().unwrap();
    let policies = [
        "fcfs",
        "easy",
        "conservative",
        "css",
        "batch-slicer",
        "whole-batch",
        "on-the-fly",
        "bsf",
        "multi-queue",
        "easy-sites",
        "conservative-sites",
        "auction",
        "meta-fcfs",
        "edf-fq",
    ];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    command.args(["simulate", "small.swf", "--grid", "load-prices.toml", "--side", "side.toml"]);
    command.args(["--check", "--policy", &policies.join(",")]).arg("--out").arg(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for policy in policies {
        let summary = std::fs::read_to_string(folder.path().join(policy).join("summary.json"));
        let summary: serde_json::Value = serde_json::from_str(&summary.unwrap()).unwrap();
        assert!(summary["total_cost"].as_f64().unwrap() > 0.0, "{policy}");
    }
}

#[test]
fn files_of_a_market_agree_with_each_other() {
    let (folder, jobs) = (Folder::new(), jobs());
    let grid = folder.file("grid.toml", GRID);
    let side = folder.file("side.csv", &side(&jobs));
    let files = ["--grid", grid.to_str().unwrap(), "--side", side.to_str().unwrap()];
    let args = [LOG, "--policy", "auction,meta-fcfs", "--outputs", "jobs,trades,refused,report"];
    folder.simulate(&[&args[..], &files, &["--check"]].concat());
    for policy in ["auction", "meta-fcfs"] {
        check(&folder.path("runs").join(policy), &jobs);
    }
    let page = std::fs::read_to_string(folder.path("runs/report.html")).unwrap();
    for name in ["success", "misses", "load-deviation"] {
        assert!(page.contains(&format!("./{name}.svg")), "{name}");
        assert!(folder.path("runs").join(format!("{name}.png")).exists(), "{name}");
    }
}

/// Sums up what happened to the jobs and compares it with the summary.
fn check(run: &Path, jobs: &BTreeMap<String, Job>) {
    let summary = json(&run.join("summary.json"));
    let ran: BTreeMap<String, BTreeMap<String, String>> =
        rows(&run.join("jobs.csv")).into_iter().map(|row| (row["job_id"].clone(), row)).collect();
    let (mut list, mut paid, mut trades) = (0.0, 0.0, 0);
    for trade in rows(&run.join("trades.csv")) {
        let row = &ran[&trade["job_id"]];
        let used = number(row, "execution_time") * number(row, "requested_number_of_resources");
        assert!(number(&trade, "struck_at") >= number(&trade, "submission_time"));
        assert_eq!(number(&trade, "starting_time"), number(row, "starting_time"));
        assert_eq!(trade["site"], if trade["queue"] == "q" { "b" } else { "a" });
        assert!((number(&trade, "paid") - number(&trade, "price") * used).abs() < 1e-3);
        let passed = trade["passed"].split_whitespace().count();
        assert_eq!(passed.to_string(), trade["passed_in_all"]);
        (list, paid) = (list + number(&trade, "list_price") * used, paid + number(&trade, "paid"));
        trades += 1;
    }
    near(&summary, "trades", f64::from(trades));
    near(&summary, "total_cost", paid);
    let kept = |(number_of, job): (&String, &Job)| {
        let row = &ran[number_of];
        row["success"] == "1" && number(row, "finish_time") <= job.deadline as f64
    };
    let made: i64 = jobs.iter().filter(|it| kept(*it)).map(|it| it.1.value).sum();
    near(&summary, "users_surplus", made as f64 - paid);
    near(&summary, "owners_surplus", paid - list);
    near(&summary, "welfare", made as f64 - list);
    let missed = jobs.iter().filter(|it| !kept(*it)).count();
    near(&summary, "deadlines", jobs.len() as f64);
    near(&summary, "deadlines_missed", missed as f64);
    let last =
        json(&run.join("report.json"))["misses"]["points"].as_array().unwrap().last().cloned();
    assert_eq!(last, Some(serde_json::json!([jobs.len(), missed as f64])));
    let in_class = |from: f64, to: f64| {
        let urgency = |job: &Job| (job.deadline - job.submit) as f64 / job.run as f64 - 1.0;
        let inside = move |it: &(&String, &Job)| (from..to).contains(&urgency(it.1));
        let (all, good) = (jobs.iter().filter(inside).count(), |it: &_| kept(*it));
        (all, jobs.iter().filter(inside).filter(good).count())
    };
    for (name, from, to) in
        [("50_75", 0.5, 0.75), ("75_100", 0.75, 1.0), ("100_up", 1.0, f64::INFINITY)]
    {
        let (all, good) = in_class(from, to);
        near(&summary, &format!("jobs_urgency_{name}"), all as f64);
        near(&summary, &format!("succeeded_urgency_{name}"), good as f64);
    }
    refused(run, &summary, &ran);
}

/// Every job that did not run has its reason.
fn refused(run: &Path, summary: &Value, ran: &BTreeMap<String, BTreeMap<String, String>>) {
    let text = std::fs::read_to_string(run.join("refused.csv")).unwrap();
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(ran[cells[0]]["final_state"], "REJECTED", "{line}");
        *codes.entry(cells[4]).or_default() += 1;
    }
    let rejected = ran.values().filter(|row| row["final_state"] == "REJECTED").count();
    assert_eq!(text.lines().count(), 1 + rejected);
    for (code, count) in summary["refusals"].as_object().unwrap() {
        assert_eq!(Some(codes[code.as_str()]), count.as_u64(), "{code}");
    }
}

#[test]
fn tables_have_the_measures_of_all_workloads() {
    let (folder, jobs) = (Folder::new(), jobs());
    folder.file("grid.toml", GRID);
    folder.file("side.csv", &side(&jobs));
    let campaign = format!(
        "policies = ['easy']\nseeds = '1..2'\noutputs = ['summary', 'report']\n\
         [[workload]]\nname = 'plain'\nlog = ['{LOG}']\n\
         [[workload]]\nname = 'market'\nlog = ['{LOG}']\ngrid = 'grid.toml'\nside = 'side.csv'\n"
    );
    let campaign = folder.file("campaign.toml", &campaign);
    folder.simulate(&[campaign.to_str().unwrap()]);
    for (table, rows_of_each) in [("summary.csv", 2), ("replications.csv", 1)] {
        let rows = rows(&folder.path("runs").join(table));
        for row in &rows {
            let is_market = row["log"] == "market";
            assert_eq!(row["deadlines_missed"].is_empty(), !is_market, "{table}");
            assert_eq!(row["load_deviation_mean"].is_empty(), !is_market, "{table}");
        }
        assert_eq!(rows.len(), 2 * rows_of_each);
    }
    let summary = json(&folder.path("runs/summary.json"));
    let metrics = |cell: usize| &summary["replications"][cell]["metrics"];
    assert!(metrics(0)["deadlines"].is_null());
    assert_eq!(metrics(1)["deadlines"]["mean"].as_f64(), Some(jobs.len() as f64));
    // Lines are of the workload that has them, and means of two equal runs.
    let picture = std::fs::read_to_string(folder.path("runs/misses.svg")).unwrap();
    assert!(picture.contains("easy log=market") && picture.contains("means over all seeds"));
    assert!(!picture.contains("easy log=plain"));
}
