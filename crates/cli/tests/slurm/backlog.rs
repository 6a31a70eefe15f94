//! Owners' jobs that wait at a site: the market's jobs leave them their nodes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// Two of four nodes run an owner's job with a limit of five minutes, and one for all four nodes
/// waits. Two nodes are free now, and will not be in five minutes.
#[test]
fn a_market_job_delays_no_owners_job_that_waits() {
    let alpha = Cluster::start(&Plan::of("alpha", 4));
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 4, "1")]);
    // A busy machine may need long for what follows.
    let end = market.path("end");
    let until_told = format!("until test -e {}; do sleep 0.2; done", end.display());
    let line = marks(&market.work(), "first", &until_told);
    let words = ["sbatch", "--exclusive", "--output=/dev/null", "--chdir=/", "--time=5", "-N2"];
    alpha.say(&[&words[..], &["--wrap", &line]].concat());
    market.until("it runs", || market.written("marks").contains("first"));
    owners_job(&alpha, &market, "wide", "4", 3);
    let begin = now();
    // The first one runs: an older survey may have seen it as the one that waits.
    market.until("the market knows what waits", || {
        let sites = market.json(&["sites"]);
        let (queue, pool) = (&sites["sites"][0]["queue"], &sites["sites"][0]["pools"][0]);
        queue["jobs"] == 1 && queue["foreseen"] == 1 && pool["local"] == 2
    });
    let long = ["--nodes", "2", "--time", "10:00", "--wrap", "true"];
    let quotes = market.json(&[&["quote"], &long[..]].concat());
    let offers = quotes["quotes"].as_array().unwrap().iter();
    let first = offers.filter_map(|offer| offer["start"].as_i64()).min().unwrap();
    // The wide job starts after 300 s at the latest, and may last for 120 s.
    assert!(first >= begin + 200, "{} s: {quotes:#}", first - begin);
    let line = marks(&market.work(), "market", "true");
    let job = market.submit(&["--nodes", "2", "--time", "10:00", "--wrap", &line]);
    let waits = market.job(job);
    assert_eq!((&waits["state"], waits.get("started")), (&"PENDING".into(), None), "{waits:#}");
    assert_eq!(waits["reason"], "OwnersFirst", "{waits:#}");
    std::fs::write(&end, "").unwrap();
    let job = market.until_state(job, "COMPLETED");
    assert_eq!(job["restarts"], 0, "it was never in the way: {job:#}");
    let order: Vec<String> = market.written("marks").lines().map(str::to_owned).collect();
    assert_eq!(order, ["first", "wide", "market"]);
}

/// An owner's job that waits is between one of higher and one of lower priority: so is a job of the
/// market, which is submitted before its turn and starts in its turn, at about the time that a quote
/// had said.
#[test]
fn an_in_line_job_gets_its_turn_in_the_middle_of_the_queue() {
    let mut plan = Plan::of("alpha", 4);
    // From 23.11 on, all jobs have priority 1 if nothing is said.
    plan.more.push("PriorityType=priority/basic".to_owned());
    let alpha = Cluster::start(&plan);
    let in_line = "owners_queue = \"in-line\"\nqueue_priority = 1000";
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 4, "1").with(in_line)]);
    let owners = |name: &str, more: &[&str], seconds: u32| {
        let line = marks(&market.work(), name, &format!("sleep {seconds}"));
        let words = ["sbatch", "--exclusive", "--output=/dev/null", "--chdir=/", "-N", "4"];
        alpha.say(&[&words[..], more, &["--wrap", &line]].concat());
    };
    // Limits are in minutes, and the jobs need nearly all of them.
    owners("first", &["--time=1"], 50);
    market.until("it runs", || market.written("marks").contains("first"));
    let begin = now();
    owners("high", &["--time=1"], 50);
    owners("low", &["--time=1", "--priority=1"], 3);
    market.until("the market knows what waits", || {
        market.json(&["sites"])["sites"][0]["queue"]["foreseen"] == 2
    });
    let asked = ["--nodes", "4", "--time", "1:00"];
    let quotes = market.json(&[&["quote"], &asked[..], &["--wrap", "true"]].concat());
    let offer = &quotes["quotes"][0];
    assert_eq!((&offer["basis"], offer.get("id")), (&"site-queue".into(), None), "{quotes:#}");
    let quoted = offer["start"].as_i64().unwrap();
    assert!((60..=150).contains(&(quoted - begin)), "{} s: {quotes:#}", quoted - begin);
    let line = marks(&market.work(), "market", "true");
    let job = market.submit(&[&asked[..], &["--wrap", &line]].concat());
    let waits = market.until_job(job, "it waits there", |job| job["reason"] == "SiteQueue");
    assert_eq!((&waits["state"], waits.get("started")), (&"PENDING".into(), None), "{waits:#}");
    market.until("the site has it", || {
        alpha.say(&["squeue", "--noheader", "--states=PD", "--format=%k"]).contains("tw-")
    });
    let waits =
        market.until_job(job, "its turn is known", |it| it["expected_start"]["at"].is_i64());
    let turn = waits["expected_start"]["at"].as_i64().unwrap();
    market.until_within(Duration::from_secs(300), "it has run", || {
        market.job(job)["state"] == "COMPLETED"
    });
    let done = market.job(job);
    let came = done["started"].as_i64().unwrap();
    println!("quoted {} s, turn {} s, came {} s", quoted - begin, turn - begin, came - begin);
    // The jobs before it end some 10 s early each.
    assert!((came - quoted).abs() <= 60 && (came - turn).abs() <= 60, "{done:#}");
    assert_eq!(done["restarts"], 0, "{done:#}");
    market.until("all have run", || market.written("marks").contains("low"));
    let order: Vec<String> = market.written("marks").lines().map(str::to_owned).collect();
    assert_eq!(order, ["first", "high", "market", "low"]);
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
    // The first one's start may have been seen, too.
    market.until("starts are seen", || market.json(&["shadow"])["jobs"].as_u64() >= Some(2));
    let shadow = market.json(&["shadow"]);
    // Limits are two minutes, and the first two run for 40 seconds each.
    let error = shadow["ours"]["p90"].as_i64().unwrap();
    assert!((30..=200).contains(&error), "{shadow:#}");
    let jobs = alpha.say(&["squeue", "--noheader", "--states=all", "--format=%k"]);
    assert!(!jobs.contains("tw-"), "{jobs}");
}
