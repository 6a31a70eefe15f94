//! Nodes that differ in memory and in generic resources.

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer};

/// Two clusters; the cheap one has little memory, and the other has accelerators.
fn unlike() -> (Cluster, Cluster) {
    let node = "CPUs=4 RealMemory=2000 State=UNKNOWN";
    let small = Cluster::start(&Plan { node, ..Plan::of("alpha", 2) });
    let mut plan = Plan::of("beta", 2);
    plan.node = "CPUs=4 RealMemory=4000 Gres=gpu:2 State=UNKNOWN";
    plan.more.push("GresTypes=gpu".to_owned());
    (small, Cluster::start(&plan))
}

#[test]
fn jobs_go_where_their_memory_is() {
    let (alpha, beta) = unlike();
    let market = Market::start(
        "",
        &[Offer::new(&alpha, "alpha", 2, "1"), Offer::new(&beta, "beta", 2, "2")],
    );
    market.until("both were looked at", || {
        market.pool("alpha")["free"] == 2 && market.pool("beta")["free"] == 2
    });
    let submit = |options: &[&str]| {
        let fixed = ["--time", "0:30", "--minimize", "cost", "--wrap", "true"];
        market.submit(&[options, &fixed].concat())
    };
    let sites: Vec<(u64, &str)> = [
        (&["--mem", "2000"][..], "alpha"),
        (&["--mem", "3G"], "beta"),
        (&["--gres", "gpu:1"], "beta"),
        (&["--mem-per-cpu", "100M"], "alpha"),
    ]
    .map(|(options, site)| (submit(options), site))
    .into();
    for (job, site) in sites {
        let job = market.until_state(job, "COMPLETED");
        assert_eq!((&job["sites"], &job["restarts"]), (&serde_json::json!([site]), &0.into()));
    }
    let said = |words: &[&str]| {
        let output = market.run(&[words, &["--chdir", &market.work(), "--wrap", "true"]].concat());
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for command in ["submit", "quote"] {
        let told = said(&[command, "--time", "0:30", "--mem", "5000"]);
        assert!(told.contains("needs 1 nodes that have 5000 MB each, and 0 suit"), "{told}");
        assert!(
            told.contains("alpha/alpha-main: 2000 MB; beta/beta-main: 4000 MB, gpu 2"),
            "{told}"
        );
        let told = said(&[command, "--time", "0:30", "--mem", "3000", "--partition", "alpha-main"]);
        assert!(told.contains("3000 MB each, and 0 suit"), "{told}");
    }
    tells_why_not_there(&market);
    market.check_money(&market.all_over());
}

/// A job that waits for the dear cluster shows what speaks against the cheap one.
fn tells_why_not_there(market: &Market) {
    let long = ["--time", "1:00", "--nodes", "2", "--partition", "beta-main"];
    let first = market.submit(&[&long[..], &["--wrap", "sleep 20"]].concat());
    market.until_state(first, "RUNNING");
    let waits = market.submit(&["--mem", "3000", "--time", "0:30", "--wrap", "true"]);
    let why = market.json(&["explain", &waits.to_string()]);
    assert!(why["expected_start"].is_i64(), "{why:#}");
    market.text(&["cancel", &first.to_string()]);
    let job = market.until_state(waits, "COMPLETED");
    let others = job["choice"]["others"].as_array().unwrap();
    let verdict = |it: &&Value| it["pool"] == "alpha/alpha-main";
    let other = others.iter().find(verdict).unwrap_or_else(|| panic!("{job:#}"));
    let told = "no node of it has the memory or the generic resources that were asked for";
    assert_eq!(other["verdict"], told);
}
