//! What is wrong with one site: the doctor and the log name it, the command and the remedy, and the
//! other site goes on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer};

/// Two sites on one pair of clusters.
struct Pair {
    alpha: Cluster,
    beta: Cluster,
}

impl Pair {
    fn new() -> Pair {
        let mut plan = Plan::of("alpha", 2);
        plan.more.push("PartitionName=extra Nodes=NODES MaxTime=INFINITE State=UP".to_owned());
        Pair { alpha: Cluster::start(&plan), beta: Cluster::start(&Plan::of("beta", 2)) }
    }

    /// Alpha, to be spoilt.
    fn alpha(&self) -> Offer {
        Offer::new(&self.alpha, "alpha", 2, "1")
    }

    /// A market of both: beta does its work.
    fn market(&self, alpha: Offer) -> Market {
        let market = Market::start("", &[alpha, Offer::new(&self.beta, "beta", 2, "2")]);
        works(&market);
        market
    }
}

fn works(market: &Market) {
    let job = market.submit(&["--partition", "beta-main", "--time", "0:30", "--wrap", "true"]);
    market.until_state(job, "COMPLETED");
}

/// What the doctor says of alpha that is not good; of beta there must be nothing bad.
fn doctor(market: &Market) -> Vec<Value> {
    let config = market.config().to_string_lossy().into_owned();
    let output = market.run(&["doctor", "--config", &config, "--format", "json"]);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let bad = |it: &&Value| it["verdict"] == "bad";
    assert!(!all.iter().filter(bad).any(|it| it["site"] == "beta"), "{all:#?}");
    let is_bad = all.iter().any(|it| bad(&it));
    assert_eq!(output.status.code(), Some(i32::from(is_bad)), "{all:#?}");
    all.into_iter().filter(|it| it["site"] == "alpha" && it["verdict"] != "good").collect()
}

/// That one of the findings has all of these words, and a remedy.
fn names(findings: &[Value], words: &[&str]) {
    let has_all = |it: &&Value| words.iter().all(|word| it.to_string().contains(word));
    let found = findings.iter().find(has_all);
    let found = found.unwrap_or_else(|| panic!("nothing of {words:?}: {findings:#?}"));
    assert!(!found["remedy"].as_str().unwrap().is_empty(), "{found}");
}

/// That one line of the log has all of these words.
fn logged(market: &Market, words: &[&str]) {
    let holds = || market.log().lines().any(|line| words.iter().all(|word| line.contains(word)));
    market.until(&format!("the log has {words:?}"), holds);
}

#[test]
fn a_wrong_cluster() {
    let pair = Pair::new();
    let mut nowhere = pair.alpha().with("timeout = \"5s\"");
    nowhere.environment.insert("SLURM_CONF".to_owned(), "/no/such/slurm.conf".to_owned());
    let market = pair.market(nowhere);
    let (file, remedy) = ("/no/such/slurm.conf", "set SLURM_CONF in `environment`");
    names(&doctor(&market), &["the controller is up", "`scontrol ping`", file, remedy]);
    logged(&market, &["alpha", "`scontrol", file, remedy, "tradewind doctor"]);
    // Another cluster than the one that was meant.
    let mut other = pair.alpha();
    let conf = pair.beta.conf().to_string_lossy().into_owned();
    other.environment.insert("SLURM_CONF".to_owned(), conf);
    other.pool = other.pool.replace("main", "extra");
    let market = pair.market(other);
    names(
        &doctor(&market),
        &["pool alpha-main", "no node is in partition", "extra", "there are: "],
    );
    logged(&market, &["alpha", "pool=\"alpha-main\"", "tradewind doctor"]);
}

#[test]
fn options_that_name_another_cluster() {
    let pair = Pair::new();
    let market = pair.market(pair.alpha().with("options = { clusters = \"other\" }"));
    let found = doctor(&market);
    let remedy = "take `clusters` out";
    names(&found, &["handed in to this cluster", "other", "`scontrol show config`", remedy]);
    names(&found, &["handed in to pool alpha-main", "`sbatch --test-only", remedy]);
    let job = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    logged(&market, &["alpha", "`sbatch", "tradewind doctor"]);
    let held = market.until_job(job, "hold", |job| job["reason"] == "JobLaunchFailedHeld");
    assert!(held.to_string().contains("`sbatch"), "{held:#}");
    works(&market);
}

/// Alpha in a partition that is about to vanish: a job runs there until it gets the signal to go
/// on, and one has been submitted and waits; beta has no room for a while.
fn with_jobs(pair: &Pair, on_lost: &str) -> (Market, u64, u64) {
    let mut alpha = pair.alpha();
    alpha.pool = alpha.pool.replace("main", "extra");
    let market = pair.market(alpha);
    // A busy machine may be slow to answer once.
    market.until("doctor finds nothing", || doctor(&market).is_empty());
    // A loop: were its one `sleep` killed a moment before the shell, the shell would still go on.
    let line = "echo begun >> marks; until test -e go; do sleep 0.2; done; echo ran >> marks";
    let place = ["--partition", "alpha-main", "--time", "3:00", "--on-lost", on_lost];
    let runs = market.submit(&[&place[..], &["--wrap", line]].concat());
    market.submit(&[
        "--partition",
        "beta-main",
        "--nodes",
        "2",
        "--time",
        "1:00",
        "--wrap",
        "sleep 4",
    ]);
    market.until("it has begun", || market.written("marks") == "begun\n");
    // Its nodes look free, and nothing begins on them any more.
    pair.alpha.say(&["scontrol", "update", "PartitionName=extra", "State=DOWN"]);
    let waits = market.submit(&["--time", "0:30", "--wrap", "echo waited >> marks"]);
    market.until("it waits at alpha", || {
        let waiting = pair.alpha.say(&["squeue", "-h", "-t", "PD", "-o", "%k"]);
        waiting.contains(&format!("-{waits}-"))
    });
    (market, runs, waits)
}

/// What doctor and log say of it; and that no job is promised its nodes.
fn is_known_to_be_gone(market: &Market) {
    // Nodes are listed every two minutes, unless a task of ours is late.
    let max = Duration::from_secs(240);
    market.until_within(max, "its nodes are gone", || market.pool("alpha")["down"] == 2);
    names(&doctor(market), &["pool alpha-main", "no node is in partition", "extra", "there are: "]);
    logged(
        market,
        &[
            "alpha",
            "pool=\"alpha-main\"",
            "no node of Slurm's belongs to it: there are: ",
            "tradewind doctor",
        ],
    );
    let job = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    let why = market.json(&["explain", &job.to_string()]);
    assert_eq!((&why["expected_start"], &why["reason"]), (&Value::Null, &"no-common-time".into()));
    let down = "; down: 2 of 2 nodes of alpha/alpha-main";
    assert!(why["message"].as_str().unwrap().ends_with(down), "{why:#}");
    let change = &why["relaxations"][0];
    assert_eq!((&change["limit"], &change["by"]), (&"pools".into(), &"naming none".into()));
    works(market);
    assert_eq!(market.job(job)["state"], "PENDING");
    market.text(&["cancel", &job.to_string()]);
}

fn ran_at(market: &Market, job: u64, site: &str) {
    let job = market.until_state(job, "COMPLETED");
    assert_eq!(job["sites"], serde_json::json!([site]), "{job:#}");
}

#[test]
fn a_partition_that_vanishes() {
    let pair = Pair::new();
    let (market, runs, waits) = with_jobs(&pair, "fail");
    pair.alpha.say(&["scontrol", "update", "PartitionName=extra", "Nodes="]);
    std::fs::write(market.path("work/go"), "").unwrap();
    is_known_to_be_gone(&market);
    ran_at(&market, waits, "beta");
    ran_at(&market, runs, "alpha");
    let marks = market.written("marks");
    assert!(marks.lines().count() == 3 && marks.contains("waited") && marks.contains("ran"));
    pair.alpha.say(&["scontrol", "delete", "PartitionName=extra"]);
    is_known_to_be_gone(&market);
    market.check_money(&market.all_over());
}

/// Slurm itself ends the jobs of a partition that is not in its configuration any more.
#[test]
fn a_partition_that_is_taken_out_of_the_configuration() {
    let pair = Pair::new();
    let (market, runs, waits) = with_jobs(&pair, "rerun");
    let text = std::fs::read_to_string(pair.alpha.conf()).unwrap();
    let is_kept = |line: &&str| !line.starts_with("PartitionName=extra");
    let lines: Vec<&str> = text.lines().filter(is_kept).collect();
    std::fs::write(pair.alpha.conf(), lines.join("\n") + "\n").unwrap();
    pair.alpha.say(&["scontrol", "reconfigure"]);
    is_known_to_be_gone(&market);
    ran_at(&market, waits, "beta");
    // It is for alpha alone, where it may be tried once more before its nodes are known to be gone.
    market.until_job(runs, "setback", |job| {
        job["restarts"].as_u64() >= Some(1) && job["state"] == "PENDING"
    });
    market.text(&["cancel", &runs.to_string()]);
    assert_eq!(market.written("marks"), "begun\nwaited\n");
    market.check_money(&market.all_over());
}

#[test]
fn no_right_to_reserve() {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    assert!(is_root, "another account can be used by root only: run this test as root");
    let pair = Pair::new();
    let games = r#"command = ["setpriv", "--reuid=games", "--regid=games", "--clear-groups"]"#;
    let mut alpha = pair.alpha().with(&format!("mode = \"reservation\"\n{games}"));
    alpha.account = "games".to_owned();
    let market = pair.market(alpha);
    for folder in ["", "work"] {
        let path = market.path(folder);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    names(&doctor(&market), &["nodes can be reserved", "operator", "hold-release"]);
    let job = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    logged(&market, &["alpha", "`scontrol create reservation", "Invalid user", "tradewind doctor"]);
    let held = market.until_job(job, "hold", |job| job["reason"] == "JobLaunchFailedHeld");
    assert!(held.to_string().contains("`scontrol create reservation"), "{held:#}");
    works(&market);
}

#[test]
fn clocks_that_differ() {
    let pair = Pair::new();
    let tools = tempfile::tempdir().unwrap();
    fake(tools.path(), "date", "exec /bin/date -d '+90 seconds' \"$@\"");
    let mut alpha = pair.alpha();
    alpha.environment.insert("PATH".to_owned(), before(tools.path()));
    let market = pair.market(alpha);
    // 90 s, or 89 if a second ends between two readings.
    names(&doctor(&market), &["clock", " s apart", "NTP"]);
    logged(&market, &["alpha", "`date +%s`", " s from ours", "NTP"]);
}

#[test]
fn an_answer_that_is_cut_off() {
    let pair = Pair::new();
    let tools = tempfile::tempdir().unwrap();
    let mut alpha = pair.alpha();
    alpha.environment.insert("PATH".to_owned(), before(tools.path()));
    let market = pair.market(alpha);
    let job = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    market.until_state(job, "COMPLETED");
    fake(tools.path(), "squeue", "/usr/bin/squeue \"$@\" | head -c 700");
    logged(&market, &["alpha", "`squeue --json`", "cut off", "tradewind doctor"]);
    names(&doctor(&market), &["`squeue --json --states=all` answers", "cut off"]);
    works(&market);
    let all = market.json(&["sites"]);
    assert!(all["sites"][0]["away_since"].is_i64(), "{all:#}");
    // It comes back by itself.
    std::fs::remove_file(tools.path().join("squeue")).unwrap();
    let job = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    market.until_state(job, "COMPLETED");
    logged(&market, &["alpha", "answers again"]);
}

/// A program that comes before the real one.
fn fake(folder: &Path, name: &str, line: &str) {
    let (new, path) = (folder.join(format!(".{name}")), folder.join(name));
    std::fs::write(&new, format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::rename(new, path).unwrap();
}

fn before(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}
