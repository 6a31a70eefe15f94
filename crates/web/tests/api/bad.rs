use serde_json::{Value, json};

use crate::stage::{Stage, job};

/// Every wrong submission, and the field that is wrong.
fn wrong_submissions() -> Vec<(Value, &'static str)> {
    let with = |key: &str, value: Value| {
        let mut it = job(1);
        it[key] = value;
        it
    };
    vec![
        (with("nodes", json!(0)), "nodes"),
        (with("nodes", json!("many")), "nodes"),
        (with("nodes", json!(1.5)), "nodes"),
        (with("nodes", json!(1e30)), "nodes"),
        (with("time", json!(-5)), "time"),
        (with("time", json!({})), "time"),
        (with("budget", json!(-1)), "budget"),
        (with("budget", json!(0.000_000_1)), "budget"),
        (with("minimize", json!("pain")), "minimize"),
        (with("command", json!([])), "command"),
        (with("command", json!(["a\0b"])), "command[0]"),
        (with("script", json!("#!/bin/sh\n")), "command"),
        (with("array", json!("9-1")), "array"),
        (with("after", json!([{"when": "afterok"}])), "after[0]"),
        (with("attributes", json!({"a": null})), "attributes.a"),
        (with("environment", json!({"1x": "y"})), "environment.1x"),
        (with("bugdet", json!(5)), "bugdet"),
        (with("name", json!("x".repeat(129))), "name"),
        (with("quote", json!("seven")), "quote"),
    ]
}

#[test]
fn wrong_submissions_are_refused_with_their_field_and_change_nothing() {
    let stage = Stage::new();
    let (_, before) = stage.get("root", "/v1/market");
    for (body, field) in wrong_submissions() {
        for path in ["/v1/jobs", "/v1/quotes"] {
            let (status, failure) = stage.call("ana", "POST", path, body.clone());
            assert_eq!(status, 422, "{body} {failure}");
            let error = &failure["error"];
            let all = std::iter::once(error).chain(error["also"].as_array().into_iter().flatten());
            let fields: Vec<&str> = all.filter_map(|it| it["field"].as_str()).collect();
            assert!(fields.iter().any(|it| it.starts_with(field)), "{body} {failure}");
        }
    }
    let (_, market) = stage.get("root", "/v1/market");
    assert_eq!(
        market["jobs"],
        json!({"held": 0, "waiting": 0, "running": 0, "unknown": 0, "over": 0})
    );
    assert_eq!(market["money"], before["money"]);
    stage.stop();
}

#[test]
fn a_deadline_that_has_passed_is_refused_and_a_pool_may_be_called_as_lists_show_it() {
    let stage = Stage::new();
    let mut late = job(1);
    late["deadline"] = json!(1);
    let (status, failure) = stage.call("ana", "POST", "/v1/jobs", late);
    assert_eq!(status, 422, "{failure}");
    assert!(failure["error"]["message"].as_str().unwrap().contains("deadline has passed"));
    for (pools, status) in [
        (json!(["x"]), 201),
        (json!(["alpha/x"]), 201),
        (json!(["alpha/x", "y"]), 201),
        (json!(["alpha/y"]), 422),
        (json!(["gamma/x"]), 422),
    ] {
        let mut body = job(1);
        body["partitions"] = pools.clone();
        // Others may have what is not here.
        body["stay_home"] = json!(true);
        let (found, answer) = stage.call("ana", "POST", "/v1/jobs", body);
        assert_eq!(found, status, "{pools} {answer}");
    }
    stage.stop();
}

#[test]
fn what_is_not_json_is_refused() {
    let stage = Stage::new();
    let deep = "[".repeat(100_000);
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"7",
        b"\xff\xfe",
        b"{\"name\": 1} {}",
        deep.as_bytes(),
        b"name = \"toml\"\ncommand = [\"true\"]\nnodes = 1\ntime = 60\n",
    ];
    for path in ["/v1/jobs", "/v1/quotes", "/v1/transfers", "/v1/tokens", "/v1/whatif"] {
        for body in bodies {
            let (status, text) = stage.send("root", "POST", path, &[], body.to_vec());
            let name = String::from_utf8_lossy(&body[..body.len().min(20)]).into_owned();
            assert!([400, 422].contains(&status), "{path} {name}: {status} {text}");
            let failure: Value = serde_json::from_str(&text).unwrap();
            assert!(failure["error"]["message"].is_string(), "{text}");
        }
        let headers = [("Content-Type", "text/plain")];
        let (status, _) = stage.send("root", "POST", path, &headers, b"{}".to_vec());
        assert_eq!(status, 415);
    }
    stage.stop();
}

#[test]
fn wrong_paths_and_queries() {
    let stage = Stage::new();
    for (path, status, field) in [
        ("/v1/jobs/x", 400, "path"),
        ("/v1/jobs/-1", 400, "path"),
        ("/v1/jobs/18446744073709551616", 400, "path"),
        ("/v1/jobs/%ff", 400, "path"),
        ("/v1/jobs?limit=0", 400, "limit"),
        ("/v1/jobs?limit=x", 400, "limit"),
        ("/v1/jobs?limit=100000", 400, "limit"),
        ("/v1/jobs?state=DONE", 400, "state"),
        ("/v1/jobs?colour=red", 400, "colour"),
        ("/v1/jobs/1/wait?seconds=61", 400, "seconds"),
        ("/v1/jobs/1/output?bytes=0", 400, "bytes"),
        ("/v1/accounts/thief", 422, "account"),
        ("/v1/accounts?after=thief", 422, "after"),
        ("/v1/events?after=x", 400, "after"),
    ] {
        let (found, failure) = stage.get("root", path);
        assert_eq!(
            (found, &failure["error"]["field"]),
            (status, &json!(field)),
            "{path} {failure}"
        );
    }
    for path in ["/v1/jobs/7", "/v1/jobs/7/wait", "/v1/jobs/7/output", "/v1/jobs/7/explain"] {
        assert_eq!(stage.get("root", path).0, 404, "{path}");
    }
    let last = [("Last-Event-ID", "x")];
    assert_eq!(stage.send("root", "GET", "/v1/events", &last, vec![]).0, 400);
    for (path, body, status) in [
        ("/v1/sites/alpha/pools/zz/price", json!({"price": 1}), 404),
        ("/v1/sites/zz/pools/x/price", json!({"price": 1}), 404),
        ("/v1/sites/alpha/pools/x/price", json!({"price": -1}), 422),
        ("/v1/sites/alpha/pools/x/price", json!({"price": 1, "tariff": ""}), 422),
        ("/v1/sites/alpha/pools/x/price", json!({"tariff": "nonsense"}), 422),
        ("/v1/market/policy", json!({"policy": "nonsense"}), 422),
        ("/v1/market/policy", json!({"policy": ""}), 422),
    ] {
        let (found, failure) = stage.call("root", "PUT", path, body);
        assert_eq!(found, status, "{path} {failure}");
    }
    stage.stop();
}
