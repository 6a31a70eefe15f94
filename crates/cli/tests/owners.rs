//! Replays on grids whose sites have owners that queue.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn simulate(grid: &Path, out: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.arg("simulate").arg(Path::new(EXAMPLES).join("small.swf"));
    command.arg("--grid").arg(grid).arg("--out").arg(out).args(["--check"]).args(args);
    command.output().unwrap()
}

fn example() -> PathBuf {
    Path::new(EXAMPLES).join("owners.toml")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn owners_have_a_table_and_measures_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy", "easy,conservative,css,easy-sites", "--homes", "nodes"];
    let output = simulate(&example(), folder.path(), &args);
    assert!(output.status.success(), "{}", stderr(&output));
    for policy in ["easy", "conservative", "css", "easy-sites"] {
        let run = folder.path().join(policy);
        let summary: Value = serde_json::from_str(&read(&run.join("summary.json"))).unwrap();
        assert_eq!((&summary["jobs"], &summary["owners_jobs"]), (&200.into(), &400.into()));
        assert!(summary["owners_mean_wait_s"].as_f64().unwrap() > 0.0);
        let table = read(&run.join("owners.csv"));
        let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        assert_eq!(
            (header[0], header[6], header[10]),
            ("log", "foreseen_starting_time", "final_state")
        );
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 400);
        let number = |cell: &str| cell.parse::<i64>().unwrap();
        assert_eq!((rows[0][0], rows[0][2], number(rows[0][3])), ("small", "north", 0));
        assert!(rows[200..].iter().all(|row| row[2] == "south-batch"));
        // Conservative backfilling keeps what it foresaw.
        assert!(rows[200..].iter().all(|row| number(row[7]) <= number(row[6])));
    }
}

/// Whatever the policy: each job of the market that goes to the queue of a site is started by it.
#[test]
fn jobs_in_line_run_under_all_policies() {
    let folder = tempfile::tempdir().unwrap();
    let text = read(&example()).replace("policy = ", "market = \"in-line\"\npolicy = ");
    let text = text.replace("log = \"", &format!("log = \"{EXAMPLES}/"));
    let grid = folder.path().join("in-line.toml");
    std::fs::write(&grid, text).unwrap();
    let policies = ["fcfs", "easy", "conservative", "css", "easy-sites"];
    let args = ["--policy", &policies.join(","), "--homes", "nodes"];
    let output = simulate(&grid, folder.path(), &args);
    assert!(output.status.success(), "{}", stderr(&output));
    for policy in policies {
        let summary = read(&folder.path().join(policy).join("summary.json"));
        let summary: Value = serde_json::from_str(&summary).unwrap();
        assert_eq!((&summary["jobs"], &summary["owners_jobs"]), (&200.into(), &400.into()));
    }
}

#[test]
fn a_campaign_knows_when_an_owners_log_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (grid, log, out) =
        (folder.path().join("g.toml"), folder.path().join("own.swf"), folder.path().join("out"));
    std::fs::write(
        &grid,
        "[[site]]\nname = 'a'\npool = [{ name = 'p', nodes = 64 }]\n\
        owners = [{ log = 'own.swf', policy = 'fcfs' }]\n",
    )
    .unwrap();
    let job =
        |run: u32| format!("; MaxProcs: 64\n1 0 0 {run} 8 -1 -1 8 3600 -1 1 3 1 -1 1 1 -1 -1\n");
    std::fs::write(&log, job(100)).unwrap();
    let args = ["--policy", "easy"];
    assert!(simulate(&grid, &out, &args).status.success());
    assert!(stderr(&simulate(&grid, &out, &args)).contains("1 of 1 runs were there already"));
    std::fs::write(&log, job(101)).unwrap();
    let again = simulate(&grid, &out, &args);
    assert!(
        again.status.code() == Some(2) && stderr(&again).contains("`own.swf` has changed"),
        "{again:?}"
    );
}

#[test]
fn mistakes_name_file_line_field_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let said = |owners: &str| {
        let grid = folder.path().join("grid.toml");
        let site = "[[site]]\nname = 'a'\npool = [{ name = 'p', nodes = 4 }]\n[[site.owners]]\n";
        std::fs::write(&grid, format!("{site}{owners}")).unwrap();
        let output = simulate(&grid, &folder.path().join("out"), &["--policy", "easy"]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        stderr(&output)
    };
    let log = format!("log = '{EXAMPLES}/small.swf'\n");
    let missing = said("log = 'none.swf'\npolicy = 'easy'\n");
    assert!(missing.contains("grid.toml:5: site[0].owners[0].log: "), "{missing}");
    assert!(missing.contains("none.swf`: no such file"), "{missing}");
    let unknown = said(&format!("{log}policy = 'esy'\nwider = 'drop'\n"));
    assert!(unknown.contains("grid.toml:6: site[0].owners[0].policy: "), "{unknown}");
    assert!(unknown.contains("there is no policy `esy`"), "{unknown}");
    let other = said(&format!("{log}policy = 'auction'\nwider = 'drop'\n"));
    assert!(other.contains("a site's own scheduler cannot work by `auction`"), "{other}");
    let wide = said(&format!("{log}policy = 'easy'\n"));
    assert!(wide.contains("wider than the widest pool, 4 nodes"), "{wide}");
    assert!(wide.contains("grid.toml:5: ") && wide.contains("`wider = \"drop\"`"), "{wide}");
}

/// The values of a measure without and with preemptible jobs, by policy.
#[test]
fn owners_take_nodes_back_from_preemptible_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Path::new(EXAMPLES).join("preemptible.toml");
    let policies = ["easy", "conservative", "css", "fcfs"];
    let all = policies.join(",");
    let summary = |name: &str, which: &str, policy: &str| -> Value {
        let out = folder.path().join(name);
        if !out.exists() {
            let args = ["--policy", &all, "--preemptible", which, "--seed", "1"];
            let output = simulate(&grid, &out, &args);
            assert!(output.status.success(), "{}", stderr(&output));
        }
        serde_json::from_str(&read(&out.join(policy).join("summary.json"))).unwrap()
    };
    for policy in policies {
        let none = summary("none", "drawn[share=0]", policy);
        let kept = summary("kept", "all[checkpoint=10m,restart=30s]", policy);
        let lost = summary("lost", "all", policy);
        let of = |summary: &Value, name: &str| summary[name].as_f64().unwrap();
        assert!(none["preemptions"].is_null(), "{none}");
        assert!(of(&kept, "preemptions") > 0.0, "{policy}: {kept}");
        let wait = |summary: &Value| of(summary, "owners_mean_wait_s");
        assert!(wait(&kept) < wait(&none) && wait(&lost) < wait(&none), "{policy}");
        let useful = |summary: &Value| of(summary, "preemptible_useful_share");
        assert!(useful(&lost) < useful(&kept) && useful(&kept) <= 1.0, "{policy}");
        assert!(of(&kept, "total_cost") < of(&none, "total_cost"), "{policy}: a discount");
    }
    for (which, wrong) in [
        ("some", "there are no preemptible jobs `some`"),
        ("drawn", "`drawn` needs `share`"),
        ("all[checkpoint=often]", "`checkpoint=often` is no span"),
    ] {
        let args = ["--policy", "easy", "--preemptible", which];
        let output = simulate(&grid, &folder.path().join("wrong"), &args);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(wrong), "{}", stderr(&output));
    }
    let line = folder.path().join("line.toml");
    let small = Path::new(EXAMPLES).join("small.swf");
    let text = read(&grid).replace("small.swf", small.to_str().unwrap());
    std::fs::write(&line, text.replace("start = 0", "market = \"in-line\"")).unwrap();
    let args = ["--policy", "easy", "--preemptible", "all"];
    let output = simulate(&line, &folder.path().join("wrong"), &args);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("do not stand in line"), "{}", stderr(&output));
}
