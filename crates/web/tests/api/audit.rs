//! The audit log: who was refused, and who changed or read what.

use serde_json::{Value, json};
use tradewind_daemon::store::{export, sqlite::Sqlite, verify};

use crate::stage::Stage;
use crate::streams::Stream;

/// The rows of the log, as the API gives them.
fn rows(stage: &Stage, query: &str) -> Vec<Value> {
    let (status, list) = stage.get("root", &format!("/v1/audit{query}"));
    assert_eq!(status, 200, "{list}");
    list["rows"].as_array().unwrap().clone()
}

fn has(rows: &[Value], kind: &str, user: &str, subject: &str) -> bool {
    let same = |it: &Value| it["kind"] == kind && it["user"] == user && it["subject"] == subject;
    rows.iter().any(same)
}

#[test]
fn changes_reads_and_refusals_are_written_down_and_no_secret_is() {
    let stage = Stage::new();
    let body = json!({"name": "t", "nodes": 1, "time": 60, "script": "#!/bin/sh\necho hunter2\n",
        "environment": {"PASSWORD": "hunter2"}});
    let (status, done) = stage.call("ana", "POST", "/v1/jobs", body);
    assert_eq!(status, 201, "{done}");
    let job = done["jobs"][0].as_u64().unwrap();
    stage.get("root", &format!("/v1/jobs/{job}"));
    stage.get("ana", &format!("/v1/jobs/{job}"));
    stage.get("root", "/v1/accounts/user:ana");
    let transfer = json!({"from": "bank", "to": "user:ana", "amount": 5, "note": "hunter2"});
    assert_eq!(stage.call("root", "POST", "/v1/transfers", transfer.clone()).0, 201);
    assert_eq!(stage.call("ana", "POST", "/v1/transfers", transfer).0, 403);
    let token = json!({"user": "eve", "role": "user", "note": "hunter2"});
    let (_, issued) = stage.call("root", "POST", "/v1/tokens", token);
    let revoked = format!("/v1/tokens/{}", issued["id"]);
    assert_eq!(stage.call("root", "DELETE", &revoked, Value::Null).0, 204);
    let policy = json!({"policy": "other"});
    assert_eq!(stage.call("root", "PUT", "/v1/market/policy", policy).0, 200);
    for _ in 0..100 {
        assert_eq!(stage.get("ana", "/v1/audit").0, 403);
    }
    let wrong = format!("Bearer tw_{}", "hunter2x".repeat(5));
    let headers = [("Authorization", wrong.as_str())];
    assert_eq!(stage.send("nobody", "GET", "/v1/me?tw_hunter2", &headers, vec![]).0, 401);
    stage.audit.stop();

    let all = rows(&stage, "?limit=1000");
    for (kind, user, subject) in [
        ("read", "root", format!("job {job} of ana")),
        ("read", "root", "statement of user:ana".to_owned()),
        ("money", "root", "5 from bank to user:ana".to_owned()),
        ("rights", "root", "a token for eve as user".to_owned()),
        ("rights", "root", format!("token {} revoked", issued["id"])),
        ("policy", "root", "other".to_owned()),
        ("refusal", "ana", "POST /v1/transfers".to_owned()),
        ("refusal", "@127.0.0.1", "GET /v1/me".to_owned()),
    ] {
        assert!(has(&all, kind, user, &subject), "{kind} {user} {subject}: {all:#?}");
    }
    assert!(!has(&all, "read", "ana", &format!("job {job} of ana")));
    let refused = rows(&stage, "?user=ana&kind=refusal");
    let times: u64 = refused.iter().map(|it| it["count"].as_u64().unwrap_or(1)).sum();
    assert!(refused.len() <= 4 && times == 101, "{refused:#?}");
    assert_eq!(rows(&stage, "?since=9000000000"), Vec::<Value>::new());
    let (_, page) = stage.get("root", "/v1/audit?limit=2");
    assert_eq!((page["rows"].as_array().unwrap().len(), page["next"].as_u64()), (2, Some(2)));

    let mut store = Sqlite::look(&stage.log.path().join("audit.db")).unwrap();
    assert!(verify(&mut store).unwrap().rows >= 8);
    let mut text = Vec::new();
    export(&mut store, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for secret in ["hunter2", "tw_", "PASSWORD"].into_iter().chain(issued["token"].as_str()) {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    stage.stop();
}

#[test]
fn what_administrators_do_with_jobs_of_others_is_written_down() {
    let stage = Stage::new();
    let body = json!({"name": "t", "nodes": 1, "time": 60, "command": ["true"],
        "earliest_start": 4_000_000_000_u64});
    let submit = |user: &str| {
        let (status, done) = stage.call(user, "POST", "/v1/jobs", body.clone());
        assert_eq!(status, 201, "{done}");
        done["jobs"][0].as_u64().unwrap()
    };
    let (others, own) = (submit("ana"), submit("root"));
    for job in [others, own] {
        let at = |what: &str| format!("/v1/jobs/{job}{what}");
        assert_eq!(stage.get("root", &at("/wait?seconds=0")).0, 200);
        assert_eq!(stage.call("root", "POST", &at("/hold"), Value::Null).0, 200);
        assert_eq!(stage.call("root", "POST", &at("/release"), Value::Null).0, 200);
        assert_eq!(stage.call("root", "DELETE", &at(""), Value::Null).0, 200);
        drop(Stream::open(&stage, "root", &format!("?job={job}")));
    }
    drop(Stream::open(&stage, "root", ""));
    let (status, refused) = stage.call("bob", "DELETE", &format!("/v1/jobs/{others}"), Value::Null);
    assert_eq!(status, 404, "{refused}");
    stage.audit.stop();
    let all = rows(&stage, "?limit=1000");
    for (kind, subject) in [
        ("read", format!("end of job {others} of ana")),
        ("job", format!("job {others} of ana released")),
        ("job", format!("job {others} of ana held")),
        ("job", format!("job {others} of ana cancelled")),
        ("read", format!("events of job {others} of ana")),
        ("read", "events of all users".to_owned()),
    ] {
        assert!(has(&all, kind, "root", &subject), "{kind} {subject}: {all:#?}");
    }
    let of_own = format!("job {own} of root");
    let is_own = |it: &Value| it["subject"].as_str().is_some_and(|it| it.contains(&of_own));
    assert!(!all.iter().any(is_own), "{all:#?}");
    assert_eq!(rows(&stage, "?kind=job").len(), 3);
    stage.stop();
}
