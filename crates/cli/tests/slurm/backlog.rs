//! Owners' jobs that wait at a site: the market's jobs leave them their nodes.

use std::time::{SystemTime, UNIX_EPOCH};

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks};

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

/// An owner's job that writes its name when it starts.
fn owners_job(cluster: &Cluster, market: &Market, name: &str, nodes: &str, seconds: u32) {
    let line = marks(&market.work(), name, &format!("sleep {seconds}"));
    let words = ["sbatch", "--exclusive", "--output=/dev/null", "--chdir=/", "--time=2"];
    cluster.say(&[&words[..], &["-N", nodes, "--wrap", &line]].concat());
}

/// Two of four nodes run an owner's job with a limit of two minutes, and one for all four nodes
/// waits. Two nodes are free now, and will not be in two minutes.
#[test]
fn a_market_job_delays_no_owners_job_that_waits() {
    let alpha = Cluster::start(&Plan::of("alpha", 4));
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 4, "1")]);
    owners_job(&alpha, &market, "first", "2", 25);
    market.until("it runs", || market.written("marks").contains("first"));
    owners_job(&alpha, &market, "wide", "4", 3);
    let begin = now();
    market.until("the market knows what waits", || {
        let sites = market.json(&["sites"]);
        let queue = &sites["sites"][0]["queue"];
        queue["jobs"] == 1 && queue["foreseen"] == 1
    });
    let long = ["--nodes", "2", "--time", "10:00", "--wrap", "true"];
    let quotes = market.json(&[&["quote"], &long[..]].concat());
    let offers = quotes["quotes"].as_array().unwrap().iter();
    let first = offers.filter_map(|offer| offer["start"].as_i64()).min().unwrap();
    // The wide job starts after 120 s at the latest, and may last as long.
    assert!(first >= begin + 200, "{} s: {quotes:#}", first - begin);
    let line = marks(&market.work(), "market", "true");
    let job = market.submit(&["--nodes", "2", "--time", "10:00", "--wrap", &line]);
    let waits = market.job(job);
    assert_eq!((&waits["state"], waits.get("started")), (&"PENDING".into(), None), "{waits:#}");
    let job = market.until_state(job, "COMPLETED");
    assert_eq!(job["restarts"], 0, "it was never in the way: {job:#}");
    let order: Vec<String> = market.written("marks").lines().map(str::to_owned).collect();
    assert_eq!(order, ["first", "wide", "market"]);
}

/// One job has all nodes, and two wait. The first that waits begins early, since the one before it
/// ends before its limit.
#[test]
fn an_observed_cluster_is_scored_and_gets_no_job() {
    let alpha = Cluster::start(&Plan::of("alpha", 4));
    let observed = Offer::new(&alpha, "alpha", 4, "1").with("mode = \"observe\"");
    let market = Market::start("", &[observed]);
    owners_job(&alpha, &market, "first", "4", 40);
    market.until("it runs", || market.written("marks").contains("first"));
    owners_job(&alpha, &market, "second", "4", 40);
    owners_job(&alpha, &market, "third", "4", 3);
    let seen = |field: &str| market.json(&["shadow"])["sites"][0][field].clone();
    market.until("both are seen", || seen("waiting") == 2);
    let sites = market.json(&["sites"]).to_string();
    assert!(!sites.contains("alpha-main"), "{sites}");
    let refused = market.run(&["quote", "--nodes", "4", "--site", "alpha", "--wrap", "true"]);
    assert!(!String::from_utf8_lossy(&refused.stdout).contains("alpha/"), "{refused:?}");
    market.until("a start is seen", || market.json(&["shadow"])["jobs"].as_u64() >= Some(1));
    let shadow = market.json(&["shadow"]);
    // The limit of the first is two minutes, and it ran for 40 seconds.
    let error = shadow["ours"]["median"].as_i64().unwrap();
    assert!((30..=130).contains(&error), "{shadow:#}");
    let jobs = alpha.say(&["squeue", "--noheader", "--states=all", "--format=%k"]);
    assert!(!jobs.contains("tw-"), "{jobs}");
}
