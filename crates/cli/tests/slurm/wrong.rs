//! What is wrong with one site: the doctor and the log name it, the command and the remedy, and the
//! other site goes on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

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
    let mut nowhere = pair.alpha().with("timeout = \"1s\"");
    nowhere.environment.insert("SLURM_CONF".to_owned(), "/no/such/slurm.conf".to_owned());
    let market = pair.market(nowhere);
    names(&doctor(&market), &["the controller is up", "`scontrol ping`", "SLURM_CONF"]);
    logged(&market, &["alpha", "`scontrol", "tradewind doctor"]);
    // Another cluster than the one that was meant.
    let mut other = pair.alpha();
    let conf = pair.beta.conf().to_string_lossy().into_owned();
    other.environment.insert("SLURM_CONF".to_owned(), conf);
    other.pool = other.pool.replace("main", "extra");
    let market = pair.market(other);
    names(&doctor(&market), &["pool alpha-main", "`sinfo --json`", "no partition", "extra"]);
    logged(&market, &["alpha", "pool=\"alpha-main\"", "tradewind doctor"]);
}

#[test]
fn a_partition_that_vanishes() {
    let pair = Pair::new();
    let mut alpha = pair.alpha();
    alpha.pool = alpha.pool.replace("main", "extra");
    let market = pair.market(alpha);
    assert!(doctor(&market).is_empty(), "{:#?}", doctor(&market));
    let job = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    market.until_state(job, "COMPLETED");
    pair.alpha.say(&["scontrol", "delete", "PartitionName=extra"]);
    market.until("its nodes are gone", || market.pool("alpha")["down"] == 2);
    names(&doctor(&market), &["pool alpha-main", "no partition", "extra"]);
    logged(&market, &["alpha", "pool=\"alpha-main\"", "tradewind doctor"]);
    let waits = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    works(&market);
    assert_eq!(market.job(waits)["state"], "PENDING");
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
    names(&doctor(&market), &["clock", "90 s apart", "NTP"]);
    logged(&market, &["alpha", "`date +%s`", "is 90 s from ours", "NTP"]);
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
    names(&doctor(&market), &["`squeue --json` answers", "cut off"]);
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
