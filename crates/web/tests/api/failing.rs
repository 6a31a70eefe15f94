//! A site that fails: its state, since when and why, on every page, in lists, jobs, events and
//! metrics.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tradewind_daemon::site::SiteError;

use crate::stage::Stage;
use crate::streams::Stream;

/// What the site's commands say: it is for those who manage the site.
const SAID: &str = "`ssh -l secret beta squeue`: ssh: connect to host: Connection timed out";
const PAGES: [&str; 6] = ["/", "/jobs", "/quote", "/market", "/ledger", "/access"];

fn site(stage: &Stage, user: &str) -> Value {
    stage.get(user, "/v1/sites").1["sites"][1].clone()
}

fn until_state(stage: &Stage, state: &str) -> Value {
    let begun = Instant::now();
    loop {
        let site = site(stage, "root");
        if site["state"] == state {
            return site;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{site:#}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn page(stage: &Stage, user: &str, path: &str) -> String {
    let (status, text) = stage.send(user, "GET", path, &[], vec![]);
    assert_eq!(status, 200, "{user} {path}: {text}");
    text
}

fn lose_beta(stage: &Stage) {
    stage.hands[1].fail(Some(SiteError::Away(SAID.to_owned())));
    until_state(stage, "lost");
}

/// A job of both sites' nodes.
fn wide(stage: &Stage, user: &str) -> u64 {
    stage.submit(user, 3)
}

#[test]
fn a_lost_site_is_named_on_every_page_with_its_reason() {
    let stage = Stage::new();
    let up = until_state(&stage, "up");
    assert!(up["since"].is_i64() && up["reason"].is_null(), "{up:#}");
    assert!(!page(&stage, "ana", "/").contains("Sites that fail"));
    let mut stream = Stream::open(&stage, "ana", "");
    lose_beta(&stage);
    let anas = site(&stage, "ana");
    assert_eq!((&anas["state"], &anas["reason"]), (&json!("lost"), &json!("Connection timed out")));
    assert!(anas["since"].as_i64() > up["since"].as_i64().map(|at| at - 1));
    assert_eq!(site(&stage, "otto")["reason"], SAID, "the owner");
    for path in PAGES {
        let text = page(&stage, "ana", path);
        for part in ["<strong>beta</strong>: lost since", "Connection timed out"] {
            assert!(text.contains(part), "`{part}` is not on {path}: {text}");
        }
        assert!(!text.contains("secret"), "{path}");
    }
    assert!(page(&stage, "root", "/").contains("-l secret"));
    let (_, text) = stage.send("nobody", "GET", "/metrics", &[], vec![]);
    for line in [
        "site_state{site=\"beta\",state=\"lost\"} 1",
        "site_state{site=\"beta\",state=\"up\"} 0",
        "site_state{site=\"alpha\",state=\"up\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let (event, _) = stream.until("site_state").pop().unwrap();
    assert_eq!((event.site.as_deref(), event.state.as_deref()), (Some("beta"), Some("lost")));
    let message = event.message.unwrap();
    assert!(message.starts_with("beta, lost since 20"), "{message}");
    assert!(message.ends_with(": Connection timed out"), "{message}");
    stage.hands[1].fail(None);
    until_state(&stage, "up");
    let (event, _) = stream.until("site_state").pop().unwrap();
    assert_eq!(event.state.as_deref(), Some("up"));
    assert!(!page(&stage, "ana", "/").contains("Sites that fail"));
    stage.stop();
}

/// No pool of a lost site is shown as free, or as free soon.
#[test]
fn nodes_of_a_lost_site_are_not_free_nodes() {
    let stage = Stage::new();
    lose_beta(&stage);
    let pool = site(&stage, "ana")["pools"][0].clone();
    assert_eq!((&pool["free"], &pool["down"]), (&json!(0), &json!(2)));
    let text = page(&stage, "ana", "/");
    let row = text.split_once("beta/y").unwrap().1.split_once("</tr>").unwrap().0;
    assert!(row.contains("▲ lost since") && row.contains(">0 of 2<"), "{row}");
    assert!(row.ends_with("<td>–</td>"), "{row}");
    assert!(text.contains("2 down"), "the card of free nodes");
    stage.stop();
}

/// A job that needs the site says which site, since when, why and what that means; no offer and no
/// pool that is considered counts on it.
#[test]
fn a_job_that_waits_for_a_lost_site_says_so() {
    let stage = Stage::new();
    lose_beta(&stage);
    let job = wide(&stage, "ana");
    let told = stage.until(job, "PENDING");
    assert_eq!(told["reason"], "SiteNotAvailable");
    let message = told["message"].as_str().unwrap();
    assert!(message.starts_with("it waits for beta, lost since 20"), "{message}");
    assert!(message.ends_with(": Connection timed out"), "{message}");
    let failing = &told["failing_sites"][0];
    assert_eq!((&failing["site"], &failing["state"]), (&json!("beta"), &json!("lost")));
    assert!(failing["since"].is_i64() && told["expected_start"].is_null(), "{told:#}");
    let text = page(&stage, "ana", &format!("/jobs/{job}"));
    assert!(text.contains("▲ It waits for beta, lost since"), "{text}");
    assert!(text.contains(&format!("Your jobs that it touches: <a href=\"/jobs/{job}\">")));
    let there = json!({
        "name": "t", "command": ["true"], "nodes": 1, "time": 60, "sites": ["beta"]
    });
    let only = stage.call("ana", "POST", "/v1/jobs", there).1["jobs"][0].as_u64().unwrap();
    stage.until(only, "PENDING");
    let text = page(&stage, "ana", &format!("/jobs/{only}"));
    let row = text.split_once("<th scope=\"row\">beta/y</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    assert!(row.contains("data-label=\"Start, at the earliest\">–<"), "{row}");
    assert!(!page(&stage, "bob", "/").contains("Your jobs that it touches"));
    // A job for which there are nodes elsewhere does not wait for the site.
    let small = stage.submit("ana", 1);
    assert!(stage.until(small, "RUNNING")["failing_sites"].is_null());
    stage.hands[1].fail(None);
    stage.end(small, tradewind_daemon::site::Exit::Code(0));
    assert!(stage.until(job, "RUNNING")["failing_sites"].is_null());
    stage.stop();
}

/// A window that is booked at a lost site is no start to expect: when it begins is not known.
#[test]
fn a_window_at_a_lost_site_is_not_expected_to_begin() {
    let stage = Stage::new();
    // All offers here are for a window at alpha.
    let quotes = stage.call("ana", "POST", "/v1/quotes", crate::stage::job(1)).1;
    let path = format!("/v1/jobs?quote={}", quotes["quotes"][0]["id"]);
    let job = stage.call("ana", "POST", &path, crate::stage::job(1)).1["jobs"][0].clone();
    let until = |reason: &str| {
        let begun = Instant::now();
        loop {
            let told = stage.get("ana", &format!("/v1/jobs/{job}")).1;
            if told["reason"] == reason {
                return told;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{told:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let booked = until("Reservation");
    let start = &booked["booking"]["start"];
    assert_eq!(&booked["expected_start"]["at"], start, "{booked:#}");
    stage.hands[0].fail(Some(SiteError::Away(SAID.to_owned())));
    let lost = until("SiteNotAvailable");
    assert_eq!(&lost["booking"]["start"], start);
    assert!(start.is_i64() && lost["expected_start"].is_null(), "{lost:#}");
    stage.hands[0].fail(None);
    assert_eq!(&until("Reservation")["expected_start"]["at"], start);
    stage.stop();
}

/// What runs at a site that is lost is not said to be over, nor to run for sure.
#[test]
fn a_job_at_a_lost_site_says_what_is_known() {
    let stage = Stage::new();
    let job = wide(&stage, "ana");
    stage.until(job, "RUNNING");
    lose_beta(&stage);
    let told = stage.get("ana", &format!("/v1/jobs/{job}")).1;
    let message = told["message"].as_str().unwrap();
    assert!(message.starts_with("it runs, as far as is known, at beta, lost since"), "{message}");
    assert!(message.ends_with("; how it ended is known once the site answers"), "{message}");
    let text = page(&stage, "ana", &format!("/jobs/{job}"));
    assert!(text.contains(" It runs, as far as is known, at beta"), "{text}");
    stage.stop();
}

/// A way to fail: its name in documents, its words before `since`, and how it comes about.
type FailureKind = (&'static str, &'static str, fn() -> Stage);

const KINDS: [FailureKind; 6] = [
    ("never-reached", "never reached, tried", || {
        Stage::without_beta(SiteError::Away("ssh: Connection refused".to_owned()))
    }),
    ("lost", "lost", || fails(SiteError::Away(SAID.to_owned()))),
    ("hanging", "hanging", || fails(SiteError::Hanging("no answer for 4 s".to_owned()))),
    ("refusing", "refusing jobs", || {
        let stage = Stage::new();
        stage.hands[1].refuse();
        let there =
            || json!({"name": "t", "command": ["true"], "nodes": 1, "time": 60, "sites": ["beta"]});
        (0..2).for_each(|_| drop(stage.call("bob", "POST", "/v1/jobs", there())));
        stage
    }),
    ("partly-drained", "partly drained", || drains(1)),
    ("drained", "drained", || drains(2)),
];

fn fails(error: SiteError) -> Stage {
    let stage = Stage::new();
    stage.hands[1].fail(Some(error));
    stage
}

fn drains(nodes: u32) -> Stage {
    let stage = Stage::new();
    stage.hands[1].drain(nodes);
    stage
}

/// Whatever is wrong, it has one name, one moment and one reason: in the list of sites, on top of
/// pages, in a job that waits for the site's nodes, and as an event.
#[test]
fn every_kind_of_failure_is_shown_everywhere() {
    for (name, words, begin) in KINDS {
        let stage = begin();
        let told = until_state(&stage, name);
        let since = told["since"].as_i64().unwrap();
        assert!(since > 1_700_000_000 && told["reason"].is_string(), "{told:#}");
        let reason = site(&stage, "ana")["reason"].as_str().unwrap().to_owned();
        for (user, path) in PAGES.into_iter().flat_map(|path| [("root", path), ("ana", path)]) {
            // Some nodes are always down somewhere: that is for those who manage the site.
            let is_shown =
                page(&stage, user, path).contains(&format!("beta</strong>: {words} since"));
            assert_eq!(
                is_shown,
                name != "partly-drained" || user == "root",
                "{name} {user} {path}"
            );
        }
        let job = stage.submit("ana", 4);
        let begun = Instant::now();
        let waits = loop {
            let waits = stage.get("ana", &format!("/v1/jobs/{job}")).1;
            if waits["reason"] == "SiteNotAvailable" {
                break waits;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{name}: {waits:#}");
            std::thread::sleep(Duration::from_millis(20));
        };
        let message = waits["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("it waits for beta, {words} since 20")), "{message}");
        assert!(message.ends_with(&reason), "{message} does not say {reason}");
        let failing = &waits["failing_sites"][0];
        assert_eq!((&failing["state"], &failing["since"]), (&json!(name), &told["since"]));
        let listed = page(&stage, "ana", &format!("/jobs/{job}"));
        assert!(listed.contains(&format!("It waits for beta, {words} since")), "{name}: {listed}");
        // Her job waits for it.
        let now = page(&stage, "ana", "/");
        assert!(now.contains(&format!("<strong>beta</strong>: {words} since")), "{name}: {now}");
        let others = page(&stage, "olga", "/").contains("Sites that fail");
        assert_eq!(others, name != "partly-drained", "{name}");
        // What was so before the server began is no event.
        if name != "never-reached" {
            is_an_event(&stage, name, words);
        }
        stage.stop();
    }
}

fn is_an_event(stage: &Stage, name: &str, words: &str) {
    let mut stream = Stream::open(stage, "root", "?after=0");
    loop {
        let (event, _) = stream.until("site_state").pop().unwrap();
        if event.state.as_deref() == Some(name) {
            let message = event.message.unwrap();
            assert!(message.starts_with(&format!("beta, {words} since 20")), "{message}");
            return;
        }
    }
}
