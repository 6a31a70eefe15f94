//! Accepted offers while a site is cut off, at every step: what the market says of each, and what
//! Slurm really did.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks, micro, tally};

/// A shorter slack than the default, and long enough for a busy machine.
pub(crate) const HEAD: &str = "[market]\nslack = \"20s\"\ngather = \"60s\"\n";

pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

/// Alpha is cheap, beta costs five times as much.
fn two(alpha: &Cluster, beta: &Cluster) -> Market {
    let offer = |cluster, name, price| {
        Offer::new(cluster, name, 2, price).with("timeout = \"2s\"\nsurvey_every = \"1s\"")
    };
    Market::start(HEAD, &[offer(alpha, "alpha", "1"), offer(beta, "beta", "5")])
}

/// What a job asks for that runs so long, writes its mark, and begins so many seconds from now.
pub(crate) fn words(
    market: &Market,
    nodes: u32,
    mark: &str,
    (run, ahead): (u32, i64),
) -> Vec<String> {
    let line = marks(&market.work(), mark, &format!("sleep {run}"));
    let (nodes, begin) = (nodes.to_string(), format!("now+{ahead}"));
    let mut all = vec!["--nodes", &nodes, "--time", "0:30", "--wrap", &line];
    if ahead > 0 {
        all.extend(["--begin", &begin]);
    }
    all.into_iter().map(str::to_owned).collect()
}

/// The number and the start of the cheapest offer: it is of alpha, once alpha answers.
pub(crate) fn quote(market: &Market, words: &[String]) -> (String, i64) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ask = || {
        let quotes = market.json(&[&["quote"][..], &words].concat());
        let offers = quotes["quotes"].as_array().unwrap().iter();
        let best = offers.filter(|it| it["id"].is_u64()).min_by_key(|it| micro(&it["cost"]));
        best.cloned().unwrap_or_else(|| panic!("{quotes:#}"))
    };
    let best = RefCell::new(ask());
    market.until("the cheapest offer is of alpha", || {
        let is_of_alpha = best.borrow().to_string().contains("alpha/alpha-main");
        if !is_of_alpha {
            best.replace(ask());
        }
        is_of_alpha
    });
    let best = best.into_inner();
    assert_eq!(best["slack"].as_i64().map(|it| it >= 20), Some(true), "{best:#}");
    (best["id"].to_string(), best["start"].as_i64().unwrap())
}

pub(crate) fn accept(market: &Market, words: &[String], quote: &str) -> u64 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    market.submit(&[&["--quote", quote][..], &words].concat())
}

pub(crate) fn outcome(job: &Value) -> &str {
    job["promise"]["outcome"].as_str().unwrap()
}

/// That the job ran once, pays no more than it was promised, and has the reason of a breach.
pub(crate) fn check(market: &Market, number: u64, mark: &str, expected: &str) -> Value {
    market.until("it is over", || market.job(number).get("ended").is_some());
    let job = market.job(number);
    let (shown, written) = (|| format!("{job:#}\n{}", market.log()), market.written("marks"));
    assert_eq!(
        (outcome(&job), job["state"].as_str()),
        (expected, Some("COMPLETED")),
        "{}",
        shown()
    );
    // The script runs once in each part.
    let parts = job["parts"].as_array().map_or(1, Vec::len);
    assert_eq!(tally(&written).get(mark), Some(&parts), "{}", shown());
    assert!(micro(&job["paid"]) <= micro(&job["promise"]["cost"]), "{}", shown());
    let stated = job["history"].as_array().unwrap().iter().filter(|it| it["what"] == "breached");
    assert_eq!(stated.count(), usize::from(expected == "breached"), "{}", shown());
    assert_eq!(job["promise"].get("reason").is_some(), expected == "breached", "{}", shown());
    job
}

pub(crate) fn is_away(market: &Market, site: &str) -> bool {
    let all = market.json(&["sites"]);
    let site = all["sites"].as_array().unwrap().iter().find(|it| it["name"] == site).unwrap();
    site.get("away_since").is_some()
}

fn cut(market: &Market, alpha: &mut Cluster) {
    alpha.stop_controller(Signal::TERM);
    market.until("it is known to be away", || is_away(market, "alpha"));
}

fn back(market: &Market, alpha: &mut Cluster) {
    alpha.start_controller();
    market.until("it is back", || !is_away(market, "alpha"));
}

pub(crate) fn pause(seconds: i64) {
    thread::sleep(Duration::from_secs(seconds.max(0).unsigned_abs()));
}

#[test]
fn a_site_is_cut_off_at_every_step_of_an_accepted_offer() {
    let mut alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let market = two(&alpha, &beta);

    // Before the acceptance: it is refused.
    let asked = words(&market, 2, "before", (1, 0));
    let (id, _) = quote(&market, &asked);
    cut(&market, &mut alpha);
    let line: Vec<&str> = asked.iter().map(String::as_str).collect();
    let refused = market.run(&[&["submit", "--quote", &id][..], &line].concat());
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    back(&market, &mut alpha);

    // After the acceptance, and for too long: it runs at beta, for what was promised.
    let asked = words(&market, 2, "after", (4, 6));
    let (id, _) = quote(&market, &asked);
    let job = accept(&market, &asked, &id);
    cut(&market, &mut alpha);
    let told = check(&market, job, "after", "breached");
    let reason = told["promise"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("alpha does not answer since"), "{reason}");
    assert_eq!(told["parts"][0]["site"], "beta", "{told:#}");
    back(&market, &mut alpha);

    // After the acceptance, and back in time: it is kept.
    // A site that was lost is asked again within a minute.
    let asked = words(&market, 2, "short", (1, 100));
    let (id, _) = quote(&market, &asked);
    let job = accept(&market, &asked, &id);
    cut(&market, &mut alpha);
    back(&market, &mut alpha);
    let told = check(&market, job, "short", "kept");
    assert_eq!(told["parts"][0]["site"], "alpha", "{told:#}");

    // While it runs, and while it ends.
    for (mark, run) in [("runs", 12), ("ends", 4)] {
        let asked = words(&market, 2, mark, (run, 0));
        let (id, _) = quote(&market, &asked);
        let job = accept(&market, &asked, &id);
        market.until_state(job, "RUNNING");
        cut(&market, &mut alpha);
        pause(6);
        back(&market, &mut alpha);
        let told = check(&market, job, mark, "kept");
        assert_eq!((&told["restarts"], told["promise"].get("covered")), (&0.into(), None));
    }
    all_is_well(&market);
}

/// The controller hangs when the task is submitted, so that it is not known whether Slurm has it.
#[test]
fn a_controller_that_hangs_when_the_task_is_submitted() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let market = two(&alpha, &beta);
    for lead in [1, 0] {
        let mark = format!("hangs{lead}");
        let asked = words(&market, 2, &mark, (2, 8));
        let (id, start) = quote(&market, &asked);
        let job = accept(&market, &asked, &id);
        pause(start - lead - now());
        alpha.signal_controller(Signal::STOP);
        market.until("it is decided", || outcome(&market.job(job)) != "open");
        let told = market.job(job);
        alpha.signal_controller(Signal::CONT);
        // It may have begun in time, and the market may have learned of it before the silence.
        let word = outcome(&told).to_owned();
        let told = check(&market, job, &mark, &word);
        println!("{mark}: {word}, {}", told["parts"][0]["site"]);
        market.until("alpha answers", || !is_away(&market, "alpha"));
    }
    all_is_well(&market);
}

/// One part waits on its nodes for the other, whose site is cut off.
#[test]
fn a_site_that_is_cut_off_before_all_parts_are_there() {
    let mut alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let market = two(&alpha, &beta);
    let asked = words(&market, 4, "wide", (1, 10));
    let (id, start) = quote(&market, &asked);
    let job = accept(&market, &asked, &id);
    pause(start - 2 - now());
    alpha.stop_controller(Signal::TERM);
    market.until("the breach is stated", || outcome(&market.job(job)) == "breached");
    let told = market.job(job);
    assert!(told["promise"]["reason"].as_str().unwrap().contains("alpha"), "{told:#}");
    // The nodes of beta do not stay taken.
    market.until("beta is free", || market.pool("beta")["ours"] == 0);
    alpha.start_controller();
    check(&market, job, "wide", "breached");
    all_is_well(&market);
}

/// The market's money adds up: what users did not pay for windows that were not kept, it paid.
pub(crate) fn all_is_well(market: &Market) {
    let jobs = market.all_over();
    let covered: i64 = jobs.values().map(|job| micro(&covered_of(job))).sum();
    let balances = market.balances();
    assert_eq!(balances.values().sum::<i64>(), 0, "{balances:?}");
    let paid: i64 = jobs.values().map(|job| micro(&job["paid"])).sum();
    let owners = balances.iter().filter(|(name, _)| name.starts_with("owner:"));
    assert_eq!(owners.map(|(_, sum)| sum).sum::<i64>(), paid + covered, "{balances:?}");
    let proof = market.json(&["journal", "verify"]);
    assert_eq!(proof["proved"], Value::Bool(true), "{proof}");
}

fn covered_of(job: &Value) -> Value {
    job["promise"].get("covered").cloned().unwrap_or_else(|| 0.into())
}
