//! A site that fails on a real cluster has a named state with a time and a reason, nothing is
//! planned there, and what ran there is found when it is back.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer};

/// Nodes are listed every two minutes, and a site that refuses jobs is tried again after one.
const SLOWLY: Duration = Duration::from_secs(240);

fn two() -> (Cluster, Cluster, Market) {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let offer = |cluster, name| Offer::new(cluster, name, 2, "1").with("timeout = \"4s\"");
    let market = Market::start("", &[offer(&alpha, "alpha"), offer(&beta, "beta")]);
    until_state(&market, "alpha", "up");
    until_state(&market, "beta", "up");
    (alpha, beta, market)
}

fn site(market: &Market, name: &str) -> Value {
    let all = market.json(&["sites"]);
    let mut sites = all["sites"].as_array().unwrap().iter();
    sites.find(|site| site["name"] == name).unwrap().clone()
}

/// Waits until the site is in this state; what is said of it then.
fn until_state(market: &Market, name: &str, state: &str) -> Value {
    market.until_within(SLOWLY, &format!("{name} is {state}"), || {
        site(market, name)["state"] == state
    });
    let site = site(market, name);
    assert!(site["since"].as_i64().unwrap() > 1_700_000_000, "{site:#}");
    assert!(site["requests_per_minute"].is_u64(), "{site:#}");
    site
}

fn says(site: &Value, words: &str) {
    let reason = site["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(words), "`{words}` is not in {site:#}");
}

/// That nothing is promised at alpha, and beta does its work.
fn is_not_counted_on(market: &Market) {
    let quote = ["quote", "--partition", "alpha-main", "--time", "0:30", "--wrap", "true"];
    let output = market.run(&[&quote[..], &["--format", "json"]].concat());
    let told: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let offers = told["quotes"].as_array().into_iter().flatten();
    let starts: Vec<&Value> = offers.map(|it| &it["start"]).filter(|it| it.is_i64()).collect();
    assert!(starts.is_empty(), "{told:#}");
    let waits = market.submit(&["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"]);
    let job = market.until_job(waits, "reason", |job| job["reason"] == "SiteNotAvailable");
    assert_eq!((&job["state"], &job["expected_start"]), (&"PENDING".into(), &Value::Null));
    let message = job["message"].as_str().unwrap();
    assert!(message.starts_with("it waits for alpha, "), "{message}");
    assert_eq!(job["failing_sites"][0]["site"], "alpha");
    let free = market.submit(&["--time", "0:30", "--wrap", "true"]);
    let done = market.until_state(free, "COMPLETED");
    assert_eq!(done["sites"], serde_json::json!(["beta"]), "{done:#}");
    market.text(&["cancel", &waits.to_string()]);
}

#[test]
fn a_controller_that_hangs_and_one_that_dies() {
    let (mut alpha, _beta, market) = two();
    let line = "echo begun >> marks; until test -e go; do sleep 0.2; done; echo ran >> marks";
    let place = ["--partition", "alpha-main", "--time", "5:00", "--wrap"];
    let runs = market.submit(&[&place[..], &[line]].concat());
    market.until("it has begun", || market.written("marks") == "begun\n");
    market.until_state(runs, "RUNNING");
    // A job of both sites, whose part at alpha is not there before the controller hangs.
    alpha.signal_controller(Signal::STOP);
    let across = market.submit(&["--nodes", "3", "--time", "1:00", "--wrap", "true"]);
    market.until_job(across, "two parts", |job| {
        job["parts"].as_array().is_some_and(|it| it.len() == 2)
    });
    says(&until_state(&market, "alpha", "hanging"), "");
    let job = market.until_job(across, "reason", |job| job["reason"] == "SiteNotAvailable");
    let message = job["message"].as_str().unwrap();
    assert!(message.starts_with("it waits for alpha, hanging since 20"), "{message}");
    market.text(&["cancel", &across.to_string()]);
    market.until("beta's nodes are free at once", || market.pool("beta")["free"] == 2);
    assert_eq!(market.job(across)["state"], "COMPLETING");
    is_not_counted_on(&market);
    let running = market.job(runs);
    let message = running["message"].as_str().unwrap();
    assert!(message.starts_with("it runs, as far as is known, at alpha, "), "{message}");
    alpha.signal_controller(Signal::CONT);
    until_state(&market, "alpha", "up");
    market.until_state(across, "CANCELLED");
    // It dies, and so does the daemon.
    alpha.stop_controller(Signal::KILL);
    // Slurm's commands may wait for a controller that is gone for longer than a request may take.
    let gone = |site: &Value| site["state"] == "lost" || site["state"] == "hanging";
    market.until_within(SLOWLY, "alpha is gone", || gone(&site(&market, "alpha")));
    let known = site(&market, "alpha");
    market.kill();
    std::fs::write(market.path("work/go"), "").unwrap();
    market.up();
    let now = site(&market, "alpha");
    assert!(gone(&now), "{now:#}");
    let same = now["state"] != known["state"] || now["since"] == known["since"];
    assert!(same, "a restart knows it: {known:#} {now:#}");
    is_not_counted_on(&market);
    let config = market.config().to_string_lossy().into_owned();
    let told = market.run(&["doctor", "--no-jobs", "--config", &config, "--format", "json"]);
    let told: Vec<Value> = serde_json::from_slice(&told.stdout).unwrap();
    let known = told.iter().find(|it| it["what"] == "the state of the site in the market");
    let known = known.unwrap_or_else(|| panic!("{told:#?}"));
    assert_eq!((&known["site"], &known["verdict"]), (&"alpha".into(), &"bad".into()));
    market.until("the work has ended", || market.written("marks") == "begun\nran\n");
    alpha.start_controller();
    until_state(&market, "alpha", "up");
    let done = market.until_state(runs, "COMPLETED");
    assert_eq!(done["failing_sites"], Value::Null);
    assert_eq!(market.written("marks"), "begun\nran\n", "once");
    market.check_money(&market.all_over());
}

#[test]
fn a_cluster_that_refuses_jobs_and_one_with_drained_nodes() {
    let (alpha, _beta, market) = two();
    // A partition that takes no jobs, and shows all its nodes.
    alpha.say(&["scontrol", "update", "PartitionName=main", "State=INACTIVE"]);
    let place = ["--partition", "alpha-main", "--time", "0:30", "--wrap", "true"];
    let jobs = [(); 3].map(|()| market.submit(&place));
    says(&until_state(&market, "alpha", "refusing"), "sbatch");
    is_not_counted_on(&market);
    alpha.say(&["scontrol", "update", "PartitionName=main", "State=UP"]);
    until_state(&market, "alpha", "up");
    for job in jobs {
        market.until_within(SLOWLY, "it has run", || market.job(job)["state"] == "COMPLETED");
    }
    let node = first_node(&alpha);
    let drain = ["scontrol", "update", &format!("NodeName={node}"), "State=DRAIN", "Reason=test"];
    alpha.say(&drain);
    says(&until_state(&market, "alpha", "partly-drained"), "1 of 2 nodes are down or drained");
    let job = market.submit(&place);
    market.until_state(job, "COMPLETED");
    alpha.say(&["scontrol", "update", &format!("NodeName={node}"), "State=RESUME"]);
    until_state(&market, "alpha", "up");
    market.check_money(&market.all_over());
}

fn first_node(cluster: &Cluster) -> String {
    let nodes = cluster.say(&["sinfo", "--noheader", "--Node", "--format=%N"]);
    nodes.lines().next().unwrap().trim().to_owned()
}
