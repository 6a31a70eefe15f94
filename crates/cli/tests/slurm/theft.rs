//! An owner's job that comes late, and takes what a job of the market was to have.

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks};
use super::together::just_looked_at;

#[test]
fn a_job_whose_node_is_taken_is_planned_again_and_runs_once() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let rare = Offer::new(&alpha, "alpha", 2, "1").with("survey_every = \"15s\"");
    let market = Market::start("", &[rare, Offer::new(&beta, "beta", 2, "2")]);
    just_looked_at(&market, &alpha, "alpha");
    let thief = alpha.job(&["-N", "2", "--exclusive", "--time=5"]);
    alpha.until_state(&thief, "RUNNING");
    let line = marks(&market.work(), "$TRADEWIND_SITE", "sleep 0.2");
    let words = ["--nodes", "2", "--time", "1:00", "--minimize", "cost", "--wrap", &line];
    let number = market.submit(&words);
    let job = market.until_state(number, "COMPLETED");
    let history = job["history"].to_string();
    assert!(
        history.contains("the owner's own jobs took its nodes"),
        "it was not displaced: {job:#}"
    );
    assert_eq!(job["sites"].to_string(), "[\"beta\"]", "{job:#}");
    assert_eq!(market.written("marks"), "beta\n");
    assert_eq!(alpha.say(&["squeue", "-h", "-o", "%i"]).trim(), thief, "nothing of ours is left");
    let jobs = market.all_over();
    market.check_money(&jobs);
    let balances = market.balances();
    assert_eq!(balances.get("owner:alpha").copied().unwrap_or(0), 0, "{balances:?}");
}
