//! Where a job stands (its state, what it has cost, what it can cost at most, and when it is expected
//! to start) is the same on every page, list, chart, CSV and document, in every command, in Slurm's, and
//! in the stream of events: compared for all jobs of drawn markets that stand still.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![expect(dead_code, reason = "the drawn worlds can do more than is looked at here")]

#[path = "../../../daemon/tests/trial/checks.rs"]
mod checks;
#[path = "../../../daemon/tests/trial/codec.rs"]
mod codec;
#[path = "../../../daemon/tests/trial/counts.rs"]
mod counts;
#[path = "../../../daemon/tests/trial/mutants.rs"]
mod mutants;
#[path = "../../../daemon/tests/trial/notices.rs"]
mod notices;
#[path = "../../../daemon/tests/trial/offers.rs"]
mod offers;
#[path = "../../../daemon/tests/trial/people.rs"]
mod people;
#[path = "../../../daemon/tests/trial/put_off.rs"]
mod put_off;
#[path = "../../../daemon/tests/trial/rates.rs"]
mod rates;
#[path = "../../../daemon/tests/trial/world.rs"]
mod world;

mod board;
mod commands;
mod events;
mod pages;
mod shims;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use stage::Stage;
use world::World;

/// Worlds that are compared.
const WORLDS: u64 = 120;

/// Steps that a world has lived: from a few to many.
fn steps(seed: u64) -> u32 {
    30 + (seed * 97 % 370) as u32
}

/// Where a job stands, as one place says it. Credits in millionths.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    state: String,
    so_far: i64,
    at_most: Option<i64>,
    expected: Option<i64>,
    /// The median, and the ends of the ranges for 50, 80 and 95 of 100.
    ranges: Option<[i64; 7]>,
}

/// Micro-credits of a number as people and JSON have it.
fn micro(text: &str) -> i64 {
    let text = text.trim().replace(',', "").replace('−', "-");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let all = format!("{whole}{rest:0<6}");
    all.parse().unwrap_or_else(|_| panic!("`{text}` is no amount"))
}

impl Status {
    fn of(job: &Value) -> Status {
        let credits = |name: &str| job.get(name).map(|it| micro(&it.to_string()));
        Status {
            state: job["state"].as_str().unwrap().to_owned(),
            so_far: credits("cost_so_far").unwrap(),
            at_most: credits("cost_at_most"),
            expected: job.get("expected_start").map(|it| it["at"].as_i64().unwrap()),
            ranges: job.get("expected_start").and_then(ranges),
        }
    }
}

/// The ranges of an expected start.
fn ranges(expected: &Value) -> Option<[i64; 7]> {
    let ranges = expected.get("ranges")?;
    let ends = ranges["within"].as_array().unwrap().iter().flat_map(|it| [&it["from"], &it["to"]]);
    let all: Vec<i64> =
        [&ranges["median"]].into_iter().chain(ends).map(|it| it.as_i64().unwrap()).collect();
    Some(all.try_into().unwrap())
}

/// What has to hold for a job by itself.
fn sane(job: &Value, status: &Status) {
    let paid = micro(&job["paid"].to_string());
    let held = micro(&job["held"].to_string());
    assert!(status.so_far >= paid && paid >= 0, "{job}");
    assert!(status.at_most.is_none_or(|most| most >= status.so_far), "{job}");
    if let Some([median, a, b, c, d, e, f]) = status.ranges {
        assert!([e, c, a, median, b, d, f].is_sorted(), "{job}");
        let is_promised = job.get("promise").is_some_and(|it| it["outcome"] == "open");
        assert!(status.expected.is_some() && !is_promised, "{job}");
    }
    let fails = job.get("failing_sites").is_some();
    assert!(!fails || status.expected.is_none(), "its site fails: {job}");
    match status.state.as_str() {
        "PENDING" => assert!(job.get("started").is_none(), "{job}"),
        "CONFIGURING" | "RUNNING" | "COMPLETING" => {
            assert!(status.at_most.unwrap() <= paid + held, "{job}");
            assert_eq!(status.expected, None, "{job}");
        }
        _ => assert_eq!((status.so_far, status.at_most), (paid, Some(paid)), "{job}"),
    }
}

/// Whether its offer was not kept: then the market pays what is beyond it.
fn is_breached(job: &Value) -> bool {
    job.get("promise").is_some_and(|it| it["outcome"] == "breached")
}

/// All places, of one market. Adds to `seen` what kinds of jobs there were.
fn compare(stage: &Stage, seen: &mut BTreeMap<String, u32>) {
    let jobs = stage.jobs();
    let all: BTreeMap<u64, (Value, Status)> = jobs
        .into_iter()
        .map(|job| {
            let status = Status::of(&job);
            sane(&job, &status);
            (job["id"].as_u64().unwrap(), (job, status))
        })
        .collect();
    for (job, status) in all.values() {
        let reason = job.get("reason").and_then(Value::as_str).unwrap_or_default();
        *seen.entry(status.state.clone()).or_default() += 1;
        *seen.entry(format!("{} {reason}", status.state)).or_default() += 1;
        for (what, is_so) in [
            ("expected", status.expected.is_some()),
            // What the board has to draw of jobs that stand in the queue of a site.
            ("expected in line", reason == "SiteQueue" && status.expected.is_some()),
            ("expected with ranges", status.ranges.is_some()),
            ("expected without ranges", status.expected.is_some() && status.ranges.is_none()),
            ("in line with ranges", reason == "SiteQueue" && status.ranges.is_some()),
            ("planned after a breach", status.expected.is_some() && is_breached(job)),
            ("partly paid", status.so_far > 0 && status.state == "RUNNING"),
            ("array", job.get("array").is_some()),
            ("restarted", job["restarts"].as_u64() > Some(0)),
            ("two pools", job.get("together").is_some()),
        ] {
            *seen.entry(what.to_owned()).or_default() += u32::from(is_so);
        }
    }
    let sites = stage.get("/v1/sites");
    let mut sites = sites["sites"].as_array().unwrap().iter();
    *seen.entry("site away".to_owned()).or_default() +=
        u32::from(sites.any(|site| site.get("away_since").is_some()));
    pages::compare(stage, &all);
    board::compare(stage, &all);
    commands::compare(stage, &all);
    shims::compare(stage, &all);
}

#[test]
fn every_place_says_the_same_of_every_job() {
    let mut seen = BTreeMap::new();
    for seed in 0..WORLDS {
        let mut world = World::new(seed, None);
        // Otherwise hardly any task is held at its site in the end.
        if seed.is_multiple_of(10) {
            world.rates.hold = 200;
        }
        if let Err(broken) = world.live_through(steps(seed)) {
            panic!("world {seed}: {broken}");
        }
        while world.live().is_none() {
            world.live_through(1).unwrap_or_else(|broken| panic!("world {seed}: {broken}"));
        }
        let rows = events::rows(&mut world);
        let last = rows.len() as u64;
        let stage = Stage::new(world.live().unwrap(), rows);
        compare(&stage, &mut seen);
        events::compare(&stage, last, &mut seen);
        stage.stop();
    }
    let wanted = [
        "PENDING JobHeldUser",
        "PENDING Reservation",
        "CONFIGURING JobHeldAdmin",
        "PENDING Dependency",
        "PENDING AssocGrpBillingMinutes",
        "PENDING Priority",
        "PENDING SiteQueue",
        "CONFIGURING",
        "RUNNING",
        "COMPLETING",
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "expected",
        "expected in line",
        "expected with ranges",
        "expected without ranges",
        "in line with ranges",
        "planned after a breach",
        "partly paid",
        "array",
        "restarted",
        "two pools",
        "site away",
        "event over",
        "event running",
        "event kept",
        "event breached",
    ];
    let wanted: BTreeSet<&str> = wanted.into();
    let missing: Vec<&&str> =
        wanted.iter().filter(|what| seen.get(**what).is_none_or(|count| *count == 0)).collect();
    assert!(missing.is_empty(), "no job of the worlds is {missing:?}: {seen:#?}");
}
