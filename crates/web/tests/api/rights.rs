use serde_json::{Value, json};

use crate::stage::{Stage, job};

#[test]
fn no_caller_has_access_without_a_token_but_some_routes_are_public() {
    let stage = Stage::new();
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        assert_eq!(stage.get("nobody", path).0, 200, "{path}");
    }
    let wrong = format!("Bearer tw_{}", "a".repeat(40));
    for header in ["", "Bearer", "Bearer tw_", "Basic dXNlcjpwYXNz", &wrong] {
        let headers = [("Authorization", header)];
        let (status, text) = stage.send("nobody", "GET", "/v1/market", &headers, vec![]);
        assert_eq!(status, 401, "{header}");
        assert!(text.contains("\"unauthorized\""), "{text}");
    }
    assert_eq!(stage.get("nobody", "/v1/jobs").0, 401);
    assert_eq!(stage.get("ana", "/v1/nothing").0, 404);
    assert_eq!(stage.call("ana", "PATCH", "/v1/jobs", json!({})).0, 405);
    stage.stop();
}

#[test]
fn who_may_do_what() {
    let stage = Stage::new();
    let id = stage.submit("ana", 1);
    let mut held = job(1);
    held["held"] = json!(true);
    let (_, done) = stage.call("ana", "POST", "/v1/jobs", held);
    let waiting = done["jobs"][0].as_u64().unwrap();
    let transfer = json!({"from": "bank", "to": "user:zoe", "amount": 1, "create": true});
    let price = json!({"price": 2.5});
    let rows: Vec<(&str, String, Value, [u16; 5])> = vec![
        // method, path, body: root, olga (owns alpha), otto (owns beta), ana, bob
        ("GET", format!("/v1/jobs/{id}"), json!(null), [200, 404, 404, 200, 404]),
        ("GET", format!("/v1/jobs/{id}/wait?seconds=0"), json!(null), [200, 404, 404, 200, 404]),
        ("GET", format!("/v1/jobs/{waiting}/explain"), json!(null), [200, 404, 404, 200, 404]),
        ("POST", format!("/v1/jobs/{waiting}/hold"), json!(null), [200, 404, 404, 200, 404]),
        ("POST", format!("/v1/jobs/{waiting}/requeue"), json!(null), [409, 404, 404, 409, 404]),
        ("POST", "/v1/transfers".to_owned(), transfer, [201, 403, 403, 403, 403]),
        ("GET", "/v1/accounts/user:ana".to_owned(), json!(null), [200, 404, 404, 200, 404]),
        ("GET", "/v1/accounts/user:bob".to_owned(), json!(null), [404, 404, 404, 404, 200]),
        ("GET", "/v1/accounts/bank".to_owned(), json!(null), [200, 404, 404, 404, 404]),
        (
            "PUT",
            "/v1/sites/alpha/pools/x/price".to_owned(),
            price.clone(),
            [200, 200, 403, 403, 403],
        ),
        ("PUT", "/v1/sites/beta/pools/y/price".to_owned(), price, [200, 403, 200, 403, 403]),
        (
            "PUT",
            "/v1/market/policy".to_owned(),
            json!({"policy": "other"}),
            [200, 403, 403, 403, 403],
        ),
        ("DELETE", "/v1/tokens/99".to_owned(), json!(null), [404; 5]),
        ("GET", "/v1/sites".to_owned(), json!(null), [200; 5]),
        ("GET", "/v1/market".to_owned(), json!(null), [200; 5]),
        ("GET", "/v1/report".to_owned(), json!(null), [200; 5]),
        ("DELETE", format!("/v1/jobs/{waiting}"), json!(null), [409, 404, 404, 200, 404]),
    ];
    for (method, path, body, wanted) in rows {
        // From the minimum to the most powerful: who may changes what the next one finds.
        for (user, wanted) in ["root", "olga", "otto", "ana", "bob"].iter().zip(wanted).rev() {
            let (status, answer) = stage.call(user, method, &path, body.clone());
            assert_eq!(status, wanted, "{user} {method} {path}: {answer}");
        }
    }
    let seen = |user: &str| stage.get(user, "/v1/jobs").1["jobs"].as_array().unwrap().len();
    assert_eq!(["root", "olga", "ana", "bob"].map(seen), [2, 0, 2, 0]);
    let (_, report) = stage.get("bob", "/v1/report");
    assert_eq!((&report["users"], &report["sites"][0]["earned"]), (&json!([]), &json!(null)));
    let (_, report) = stage.get("olga", "/v1/report");
    assert!(report["sites"][0]["earned"].is_number() && report["sites"][1]["earned"].is_null());
    stage.stop();
}

#[test]
fn the_holder_of_a_token_may_revoke_it_and_no_other() {
    let stage = Stage::new();
    let token = |user: &str| stage.get(user, "/v1/me").1["token"].to_string();
    let (own, other) = (format!("/v1/tokens/{}", token("ana")), token("bob"));
    let other = format!("/v1/tokens/{other}");
    let (status, failure) = stage.call("ana", "DELETE", &other, json!(null));
    let (_, missing) = stage.call("ana", "DELETE", "/v1/tokens/99", json!(null));
    let without = |failure: &serde_json::Value, path: &str| {
        let number = path.rsplit('/').next().unwrap();
        failure["error"]["message"].as_str().unwrap().replace(number, "N")
    };
    assert_eq!(status, 404);
    assert_eq!(without(&failure, &other), without(&missing, "/v1/tokens/99"));
    assert_eq!(stage.get("bob", "/v1/me").0, 200);
    assert_eq!(stage.call("ana", "DELETE", &own, json!(null)).0, 204);
    assert_eq!(stage.get("ana", "/v1/me").0, 401);
    stage.stop();
}

#[test]
fn jobs_of_others_are_as_those_that_are_not_there() {
    let stage = Stage::new();
    let other = stage.submit("bob", 1);
    let after = |user: &str, number: u64| {
        let mut body = job(1);
        body["after"] = json!([{"when": "afterany", "job": number}]);
        let (status, answer) = stage.call(user, "POST", "/v1/jobs", body);
        (status, answer["error"]["message"].to_string().replace(&number.to_string(), "N"))
    };
    let (status, refusal) = after("ana", other);
    assert_eq!((status, refusal), after("ana", 99));
    assert_eq!(status, 422);
    assert_eq!([after("bob", other).0, after("root", other).0], [201, 201]);
    stage.stop();
}

#[test]
fn tokens_come_and_go() {
    let mut stage = Stage::new();
    let new = json!({"user": "zoe", "role": "user", "note": "laptop"});
    assert_eq!(stage.call("ana", "POST", "/v1/tokens", new.clone()).0, 403);
    let (status, issued) = stage.call("root", "POST", "/v1/tokens", new);
    assert_eq!(status, 201);
    stage.tokens.insert("zoe", issued["token"].as_str().unwrap().to_owned());
    let (status, me) = stage.get("zoe", "/v1/me");
    assert_eq!((status, &me["user"], &me["role"]), (200, &json!("zoe"), &json!("user")));
    let (_, list) = stage.get("zoe", "/v1/tokens");
    assert_eq!(list["tokens"].as_array().unwrap().len(), 1);
    assert!(!stage.get("root", "/v1/tokens").1.to_string().contains("tw_"));
    let path = format!("/v1/tokens/{}", issued["id"]);
    assert_eq!(stage.call("root", "DELETE", &path, json!(null)).0, 204);
    assert_eq!(stage.get("zoe", "/v1/me").0, 401);
    for (body, field) in [
        (json!({"user": "", "role": "user"}), "user"),
        (json!({"user": "a b", "role": "user"}), "user"),
        (json!({"user": "a", "role": "king"}), "role"),
        (json!({"role": "user"}), "user"),
        (json!({"user": "a", "role": "user", "hash": "00"}), "hash"),
    ] {
        let (status, failure) = stage.call("root", "POST", "/v1/tokens", body.clone());
        assert_eq!((status, &failure["error"]["field"]), (422, &json!(field)), "{body} {failure}");
    }
    stage.stop();
}

/// There are names and waits of users in it who have nothing to do with the market.
#[test]
fn only_administrators_see_what_was_observed() {
    let stage = Stage::new();
    for name in ["ana", "olga"] {
        assert_eq!(stage.get(name, "/v1/shadow").0, 403, "{name}");
    }
    let (status, shadow) = stage.get("root", "/v1/shadow");
    assert_eq!(
        (status, &shadow["jobs"], &shadow["sites"]),
        (200, &0.into(), &Value::Array(vec![]))
    );
    stage.stop();
}
