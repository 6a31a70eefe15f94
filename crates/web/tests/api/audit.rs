//! The audit log: who was refused, and who changed or read what.

use serde_json::{Value, json};
use tradewind_daemon::store::{export, sqlite::Sqlite, verify};

use crate::contract::description;
use crate::signin::Browser;
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
    let table = json!({"rows": [{"kind": "project", "project": "apollo", "credits": 7},
        {"kind": "member", "project": "apollo", "user": "ana"}]});
    assert_eq!(stage.call("root", "POST", "/v1/import", table).0, 200);
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
        ("rights", "root", "a table of 2 rows".to_owned()),
        ("money", "root", "credits in 1 of 2 rows of a table".to_owned()),
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

/// What an administrator reads on each path of the API, and on each page: `""` where nothing is
/// another user's.
const READS: [(&str, &str); 27] = [
    ("/healthz", ""),
    ("/metrics", ""),
    ("/openapi.json", ""),
    ("/readyz", ""),
    ("/v1/accounts", "balances of all accounts"),
    ("/v1/accounts/{account}", "statement of user:ana"),
    ("/v1/accounts/{account}/budget", "budget of user:ana"),
    ("/v1/audit", ""),
    ("/v1/export", "users, projects and budgets"),
    ("/v1/jobs", "jobs of all users"),
    ("/v1/jobs/{id}", "job 1 of ana"),
    ("/v1/jobs/{id}/explain", "job 1 of ana"),
    ("/v1/jobs/{id}/output", "output of job 1 of ana"),
    ("/v1/jobs/{id}/wait", "end of job 1 of ana"),
    ("/v1/market", ""),
    ("/v1/me", ""),
    ("/v1/peers", ""),
    ("/v1/projects", "projects and their members"),
    ("/v1/projects/{project}", "project apollo"),
    ("/v1/report", "usage of all users"),
    ("/v1/sessions", "tokens and sessions of all users"),
    ("/v1/shadow", ""),
    ("/v1/sign-in", ""),
    ("/v1/sites", ""),
    ("/v1/tokens", "tokens and sessions of all users"),
    ("/v1/usage", "usage of all users"),
    // Of the stream there is a test of its own.
    ("/v1/events", ""),
];

const PAGES: [(&str, &str); 12] = [
    ("/", "jobs of all users"),
    ("/jobs", "jobs of all users"),
    ("/jobs/1", "job 1 of ana"),
    ("/jobs/1/output", "output of job 1 of ana"),
    ("/page/board", "jobs of all users"),
    (
        "/page/board/digest?from=1800000000&until=1800003600&first=0&rows=9&most=9",
        "jobs of all users",
    ),
    ("/spending", "usage of all users"),
    ("/spending.csv", "usage of all users"),
    ("/projects", "projects and their members"),
    ("/ledger", "balances of all accounts"),
    ("/ledger.csv?account=user:ana", "statement of user:ana"),
    ("/access", "tokens and sessions of all users"),
];

/// The subjects of all reads of the administrator, after these requests.
fn reads_after(ask: impl FnOnce(&Stage)) -> Vec<String> {
    let stage = Stage::new();
    let (status, made) = stage.call("root", "POST", "/v1/projects", json!({"project": "apollo"}));
    assert!(status < 300, "{made}");
    let held = json!({"name": "t", "nodes": 1, "time": 60, "command": ["true"], "held": true});
    assert_eq!(stage.call("ana", "POST", "/v1/jobs", held).1["jobs"][0], 1);
    ask(&stage);
    stage.audit.stop();
    let all = rows(&stage, "?kind=read&limit=1000");
    stage.stop();
    let of_root = all.iter().filter(|it| it["user"] == "root");
    of_root.map(|it| it["subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_path_that_shows_an_administrator_what_is_others_is_written_down() {
    let paths = description()["paths"].as_object().unwrap();
    for (path, operations) in paths {
        let is_known = READS.iter().any(|(known, _)| known == path);
        assert!(operations["get"].is_null() || is_known, "whose data does `{path}` show?");
    }
    for (path, subject) in READS.into_iter().filter(|(_, subject)| !subject.is_empty()) {
        let real = path.replace("{id}", "1").replace("{account}", "user:ana");
        let real = real.replace("{project}", "apollo").replace("/wait", "/wait?seconds=0");
        let all = reads_after(|stage| {
            stage.get("ana", &real);
            stage.get("root", &real);
        });
        assert_eq!(all, [subject], "{path}");
    }
    let asked = |stage: &Stage| drop(stage.call("root", "POST", "/v1/whatif", json!({})));
    assert_eq!(reads_after(asked), ["jobs of all users"]);
}

#[test]
fn so_is_each_page_and_not_what_users_read_of_their_own() {
    for (path, subject) in PAGES {
        let all = reads_after(|stage| {
            stage.send("ana", "GET", path, &[], vec![]);
            stage.send("root", "GET", path, &[], vec![]);
        });
        assert!(!all.is_empty() && all.iter().all(|it| it == subject), "{path}: {all:?}");
    }
}

#[test]
fn a_session_that_an_administrator_ends_is_written_down() {
    let stage = Stage::new();
    for (user, by) in [("ana", "root"), ("bob", "bob")] {
        let mut browser = Browser::new(&stage);
        browser.sign_in(&stage.tokens[user].clone());
        let (_, list) = stage.get(user, "/v1/sessions");
        let path = format!("/v1/sessions/{}", list["sessions"][0]["id"]);
        assert_eq!(stage.call(by, "DELETE", &path, Value::Null).0, 204);
        assert_eq!(browser.get("/jobs").0, 303);
    }
    stage.audit.stop();
    let all = rows(&stage, "?kind=rights");
    let ended = |it: &&Value| it["subject"].as_str().is_some_and(|it| it.starts_with("session "));
    let ended: Vec<&Value> = all.iter().filter(ended).collect();
    assert_eq!((ended.len(), &ended[0]["user"]), (1, &json!("root")), "{all:#?}");
    assert!(ended[0]["subject"].as_str().unwrap().ends_with(" of ana ended"));
    stage.stop();
}
