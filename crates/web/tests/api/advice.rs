use std::time::{Duration, Instant};

use serde_json::json;
use tradewind_daemon::site::queued::{Blocked, QueuedJob};
use tradewind_model::Span;

use crate::stage::{Stage, job};

#[test]
fn a_quote_is_kept_and_can_be_accepted_once() {
    let stage = Stage::new();
    let (status, quotes) = stage.call("ana", "POST", "/v1/quotes", job(1));
    assert_eq!(status, 200, "{quotes}");
    let all = quotes["quotes"].as_array().unwrap();
    let id = all[0]["id"].as_u64().unwrap();
    assert_eq!(all[1]["id"].as_u64(), Some(id), "equal windows have one id");
    assert!(all[2]["id"].is_null() && all[2]["reason"].is_string());
    assert_eq!(all[0]["nodes"][0]["pool"], "alpha/x");
    let accept =
        |user: &str, nodes| stage.call(user, "POST", &format!("/v1/jobs?quote={id}"), job(nodes));
    assert_eq!(accept("bob", 1).0, 404);
    assert_eq!(accept("ana", 2).0, 409);
    let (status, done) = accept("ana", 1);
    assert_eq!(status, 201, "{done}");
    assert_eq!(accept("ana", 1).0, 404);
    let (_, seen) = stage.get("ana", &format!("/v1/jobs/{}", done["jobs"][0]));
    assert_eq!((&seen["state"], &seen["reason"]), (&json!("PENDING"), &json!("Reservation")));
    assert_eq!(seen["expected_start"]["at"], seen["booking"]["start"]);
    stage.stop();
}

/// Jobs of owners without a limit, and in a circle: the quote says how much is not known.
#[test]
fn a_quote_says_what_is_not_known_of_the_owners_queue() {
    let stage = Stage::new();
    let endless = QueuedJob::of("7", 0, 9, Span::MAX);
    let [one, other] = [("8", "9"), ("9", "8")].map(|(name, after)| QueuedJob {
        blocked: Blocked::Dependency(vec![after.to_owned()]),
        ..QueuedJob::of(name, 0, 1, Span(60))
    });
    assert!(stage.call("ana", "POST", "/v1/quotes", job(1)).1["unknown"].is_null());
    stage.hands[0].queue(vec![endless, one, other]);
    let begun = Instant::now();
    let said = loop {
        let (_, quotes) = stage.call("ana", "POST", "/v1/quotes", job(1));
        match quotes["unknown"].as_array() {
            Some(said) => break said.clone(),
            None => assert!(begun.elapsed() < Duration::from_secs(60), "{quotes:#}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said: Vec<&str> = said.iter().filter_map(|it| it.as_str()).collect();
    let beginnings = [
        "alpha: 1 waiting jobs have no time limit",
        "alpha: 2 waiting jobs wait for each other",
        "alpha: no start is foreseen for 3 waiting jobs",
    ];
    assert_eq!(said.len(), beginnings.len(), "{said:?}");
    for (said, beginning) in said.iter().zip(beginnings) {
        assert!(said.starts_with(beginning), "{said}");
    }
    let (_, text) =
        stage.send("ana", "GET", "/quote?script=hostname&nodes=1&time=10m", &[], vec![]);
    assert!(text.contains("Not known at alpha: 2 waiting jobs wait for each other"), "{text}");
    stage.stop();
}

#[test]
fn a_quote_says_what_there_is_to_pay_for_it() {
    let stage = Stage::new();
    let ask = |work: serde_json::Value| stage.call("ana", "POST", "/v1/quotes", work).1;
    let whole = ask(job(1));
    assert_eq!((&whole["payer"], &whole["funds"]), (&json!("user:ana"), &json!(1_000_000)));
    let id = whole["quotes"][0]["id"].to_string();
    let cost = whole["quotes"][0]["cost"].as_f64().unwrap();
    stage.call("ana", "POST", &format!("/v1/jobs?quote={id}"), job(1));
    assert_eq!(ask(job(1))["funds"].as_f64(), Some(1_000_000.0 - cost), "it is promised");
    // What a project has is for its members.
    let grant = json!({"from": "bank", "to": "project:flow", "amount": 2, "create": true});
    stage.call("root", "POST", "/v1/transfers", grant);
    let mut flow = job(1);
    flow["project"] = json!("flow");
    assert_eq!(ask(flow.clone())["error"]["kind"], "forbidden");
    stage.call("root", "PUT", "/v1/projects/flow/members/ana", json!({"role": "member"}));
    assert_eq!(ask(flow.clone())["funds"], 2);
    stage.call("root", "PUT", "/v1/projects/flow/limits", json!({"user": "ana", "month": 1.5}));
    assert_eq!(ask(flow)["funds"], 1.5);
    stage.stop();
}

#[test]
fn whatif_shows_only_what_the_caller_may_see() {
    let stage = Stage::new();
    let (anas, bobs) = (stage.submit("ana", 1), stage.submit("bob", 1));
    let jobs = |user: &str| {
        let (status, found) = stage.call(user, "POST", "/v1/whatif", json!({"policy": "css"}));
        assert_eq!((status, &found["before"]), (200, &json!("easy")));
        let changes = found["changes"].as_array().unwrap().iter();
        changes.map(|it| it["job"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(["ana", "bob", "root"].map(jobs), [vec![anas], vec![bobs], vec![anas, bobs]]);
    let without = json!({"without_job": bobs});
    assert_eq!(stage.call("ana", "POST", "/v1/whatif", without).0, 404);
    let (status, failure) = stage.call("ana", "POST", "/v1/whatif", json!({"horizon": 0}));
    assert_eq!((status, &failure["error"]["field"]), (422, &json!("horizon")));
    stage.stop();
}

#[test]
fn a_mistake_of_ours_is_caught_and_has_an_id() {
    let stage = Stage::new();
    for _ in 0..2 {
        stage.submit("ana", 2);
    }
    let third = stage.submit("ana", 1);
    let (status, found) = stage.get("ana", &format!("/v1/jobs/{third}/explain"));
    assert_eq!((status, &found["job"]), (200, &json!(third)), "{found}");
    let fourth = stage.submit("ana", 2);
    let (status, failure) = stage.get("ana", &format!("/v1/jobs/{fourth}/explain"));
    assert_eq!((status, &failure["error"]["kind"]), (500, &json!("internal")), "{failure}");
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    stage.stop();
}
