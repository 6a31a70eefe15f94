//! A batch from submission to the settled ledger.

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks, micro, tally};

const ALPHA: &str = "alpha-main";
const BETA: &str = "beta-main";
/// Small jobs of the batch.
const SMALL: u64 = 8;

#[test]
fn a_batch_under_backfilling() {
    from_submission_to_the_ledger("easy");
}

#[test]
fn a_batch_under_plans_in_cycles() {
    from_submission_to_the_ledger("css[period=2s]");
}

fn from_submission_to_the_ledger(policy: &str) {
    let alpha = Cluster::start(&Plan::of("alpha", 4));
    let beta = Cluster::start(&Plan::of("beta", 4));
    let market = Market::start(
        &format!("[market]\npolicy = \"{policy}\""),
        &[Offer::new(&alpha, "alpha", 4, "1"), Offer::new(&beta, "beta", 4, "3")],
    );
    // Of usual jobs of two hours, five minutes are soon over: small jobs may use what is spare.
    let owners = alpha.job(&["-N", "2", "--exclusive", "--time=120"]);
    market.until("the owner's job is seen", || market.pool("alpha")["local"] == 2);
    let theirs = alpha.say(&["squeue", "-h", "-o", "%N", "-j", &owners]);
    let theirs = alpha.say(&["scontrol", "show", "hostnames", theirs.trim()]);

    let wide = whole(&market, "ana", ALPHA, "0.2");
    let small = small_jobs(&market);
    let poor = {
        let options = ["--time", "0:30", "--budget", "5", "--wrap", "true"];
        market.submit(&options)
    };
    for job in &small {
        let job = market.until_state(*job, "COMPLETED");
        within_its_means(&job);
        assert!(!nodes(&job).is_empty(), "it is not said where it ran: {job:#}");
        for node in theirs.lines() {
            assert!(!nodes(&job).contains(&node.to_owned()), "{job:#}");
        }
    }
    let poor = market.job(poor);
    assert_eq!(poor["state"], "CANCELLED", "no owner sells so cheaply: {poor:#}");
    assert_eq!(poor["reason"], "AssocGrpBillingMinutes", "{poor:#}");

    // The owner's job ends minutes before its limit: the market plans again.
    let waits = market.until_job(wide, "forecast", |job| job["expected_start"].is_object());
    let forecast = waits["expected_start"]["at"].as_i64().unwrap();
    alpha.say(&["scancel", &owners]);
    let ran = market.until_state(wide, "COMPLETED");
    assert!(ran["started"].as_i64().unwrap() < forecast - 60, "{forecast} {ran:#}");
    // So does one of its own.
    let first = whole(&market, "bo", BETA, "2");
    market.until_state(first, "RUNNING");
    let second = whole(&market, "bo", BETA, "0.2");
    let (first, second) =
        (market.until_state(first, "COMPLETED"), market.until_state(second, "COMPLETED"));
    assert!(second["started"].as_i64() >= first["ended"].as_i64(), "{first:#} {second:#}");

    let jobs = market.all_over();
    assert_eq!(jobs.values().filter(|job| job["state"] == "COMPLETED").count() as u64, SMALL + 3);
    market.check_money(&jobs);
    let written = market.written("marks");
    let ran = tally(&written);
    assert_eq!((ran.len() as u64, ran.values().max()), (SMALL + 3, Some(&1)), "{ran:?}");
    let balances = market.balances();
    assert!(balances["owner:alpha"] > 0 && balances["owner:beta"] > 0, "{balances:?}");
}

/// A job on all nodes of a pool that is over after `seconds`, and asked for ten minutes.
fn whole(market: &Market, user: &str, pool: &str, seconds: &str) -> u64 {
    let token = market.user(user);
    let line =
        marks(&market.work(), "$TRADEWIND_JOB_ID.$TRADEWIND_PART", &format!("sleep {seconds}"));
    let words = ["--partition", pool, "--nodes", "4", "--time", "10:00", "--wrap", &line];
    market.submit(&[&token.each_ref().map(String::as_str), &words[..]].concat())
}

/// Of two users: half of them can pay for the cheap site only, half have to be over soon.
fn small_jobs(market: &Market) -> Vec<u64> {
    let tokens = ["ana", "bo"].map(|name| market.user(name));
    // A second at least, whenever it begins: what is over within one costs nothing.
    let line = marks(&market.work(), "$TRADEWIND_JOB_ID.$TRADEWIND_PART", "sleep 1.1");
    let each = (0..SMALL).map(|count| {
        let means = match count % 2 {
            0 => ["--budget", "30"],
            _ => ["--deadline", "now+90"],
        };
        let token = tokens[count as usize / 2 % 2].each_ref().map(String::as_str);
        let words = ["--time", "0:30", "--wrap", &line];
        market.submit(&[&token[..], &means, &words].concat())
    });
    each.collect()
}

/// The site's names of all of the job's nodes, also if it was over before a survey.
fn nodes(job: &Value) -> Vec<String> {
    let parts = job["parts"].as_array().unwrap().iter();
    let names = parts.filter_map(|part| part["node_names"].as_array()).flatten();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// That the job paid what its parts used, no more than its budget, and was over in time.
fn within_its_means(job: &Value) {
    let number = |value: &Value| value.as_i64().unwrap();
    let parts = job["parts"].as_array().unwrap().iter();
    let used = parts.map(|part| {
        let seconds = number(&part["ended"]) - number(&part["since"]);
        number(&part["nodes"]) * seconds * micro(&part["price"])
    });
    assert_eq!(used.sum::<i64>(), micro(&job["paid"]), "{job:#}");
    let asked = &job["submission"];
    let budget = asked.get("budget").map_or(i64::MAX, micro);
    assert!(micro(&job["paid"]) <= budget, "{job:#}");
    let deadline = asked.get("deadline").map_or(i64::MAX, number);
    assert!(number(&job["ended"]) <= deadline, "{job:#}");
}
