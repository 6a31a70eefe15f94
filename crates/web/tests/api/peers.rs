use serde_json::{Value, json};

use crate::stage::{Stage, job};

fn letters(market: &str, letters: Value) -> Value {
    json!({"protocol": 1, "market": market, "sent": 1_800_000_000, "letters": letters})
}

fn questions(market: &str, jobs: Value) -> Value {
    json!({"protocol": 1, "market": market, "jobs": jobs})
}

#[test]
fn peers_exchange_jobs_and_do_nothing_else() {
    let stage = Stage::new();
    let post = |user: &str, path: &str, body: Value| stage.call(user, "POST", path, body).0;
    assert_eq!(post("root", "/v1/peers/letters", letters("m0", json!([]))), 403);
    assert_eq!(post("far", "/v1/peers/letters", letters("m0", json!([]))), 204);
    assert_eq!(post("far", "/v1/peers/letters", letters("m1", json!([]))), 409);
    let asked = json!([{"job": 7, "transfer": [1, 0], "cancel": true}]);
    let (status, told) =
        stage.call("far", "POST", "/v1/peers/jobs", questions("m0", asked.clone()));
    assert_eq!((status, &told["jobs"][0]["fate"]), (200, &json!("unknown")));
    assert_eq!(post("ana", "/v1/peers/jobs", questions("m0", asked)), 403);
    let glance = json!({"protocol": 1, "market": "m0", "job": 7, "transfer": [1, 0], "bytes": 10});
    assert_eq!(post("far", "/v1/peers/output", glance.clone()), 404);
    assert_eq!(post("ana", "/v1/peers/output", glance), 403);
    assert_eq!(post("far", "/v1/jobs", job(1)), 403);
    let (status, all) = stage.get("ana", "/v1/peers");
    assert_eq!((status, &all["peers"][0]["market"]), (200, &json!("m0")));
    assert!(all["peers"][0]["balance"].is_null());
    assert_eq!(stage.get("root", "/v1/peers").1["peers"][0]["in_doubt"], json!(0));
    stage.stop();
}

#[test]
fn what_makes_no_sense_is_named_and_changes_nothing() {
    let stage = Stage::new();
    let post = |body: Vec<u8>| {
        let (status, text) = stage.send("far", "POST", "/v1/peers/letters", &[], body);
        let error: Value = serde_json::from_str(&text).unwrap();
        (status, error["error"]["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(post(b"{".to_vec()).0, 400);
    for (body, said) in [
        (json!([]), "expected an object"),
        (letters("Not A Name", json!([])), "market: expected a market's name"),
        (letters("m0", json!([7])), "letters.0: expected an object"),
        (
            letters("m0", json!([{"settled": [1, 0], "word": {"hello": 1}}])),
            "letters.0.word.hello: it is not known here",
        ),
    ] {
        assert_eq!(post(body.to_string().into_bytes()), (422, said.to_owned()));
    }
    let other = json!({"protocol": 9, "market": "m0", "sent": 1, "letters": []});
    assert!(post(other.to_string().into_bytes()).1.contains("another release"));
    assert!(stage.get("root", "/v1/peers").1["peers"][0]["market"].is_null());
    stage.stop();
}

#[test]
fn only_administrators_settle_and_only_what_is_at_a_peer() {
    let stage = Stage::new();
    let number = stage.submit("ana", 1);
    let settle = |user: &str, job: u64, outcome: &str| {
        let body = json!({"outcome": outcome, "confirmed": true});
        stage.call(user, "POST", &format!("/v1/jobs/{job}/settle"), body)
    };
    assert_eq!(settle("ana", number, "lost").0, 403);
    assert_eq!(settle("root", number, "gone").0, 400);
    assert_eq!(settle("root", 99, "lost").0, 404);
    let (status, told) = settle("root", number, "lost");
    let message = told["error"]["message"].as_str().unwrap_or_default();
    assert_eq!((status, message), (409, "job 1 is not at a peer"));
    let (_, all) = stage.get("root", "/v1/peers");
    let far = &all["peers"][0];
    assert_eq!(
        (&far["standing"], &far["kept"], &far["held"]),
        (&json!(1_000), &json!(0), &json!(0))
    );
    let (status, jobs) = stage.get("ana", "/v1/jobs?site=@far&state=UNKNOWN");
    assert_eq!((status, &jobs["jobs"]), (200, &json!([])));
    stage.stop();
}

/// A name that is not right would let a job go to the peer that it is to stay away from.
#[test]
fn names_of_peers_that_are_not_there_are_said_at_the_submission() {
    let stage = Stage::new();
    for (field, name, warns) in
        [("peers", "far", false), ("peers", "fra", true), ("exclude_peers", "fra", true)]
    {
        let mut wanted = job(1);
        wanted[field] = json!([name]);
        let (status, told) = stage.call("ana", "POST", "/v1/jobs", wanted);
        let warning = told["warnings"].to_string();
        assert_eq!(status, 201, "{told}");
        assert_eq!(warning.contains("no peer here is called fra"), warns, "{field}: {warning}");
    }
    stage.stop();
}
