use serde_json::{Value, json};
use tradewind_daemon::site::Exit;

use crate::stage::{Stage, job};

fn project(stage: &Stage, credits: u64) {
    let transfer =
        json!({"from": "bank", "to": "project:apollo", "amount": credits, "create": true});
    assert_eq!(stage.call("root", "POST", "/v1/transfers", transfer).0, 201);
}

fn join(stage: &Stage, by: &str, user: &str, role: &str) -> u16 {
    let path = format!("/v1/projects/apollo/members/{user}");
    stage.call(by, "PUT", &path, json!({"role": role})).0
}

fn of_project() -> Value {
    let mut work = job(1);
    work["project"] = json!("apollo");
    work
}

/// Only a member spends, is quoted for or sees what a project has.
#[test]
fn strangers_neither_spend_nor_see() {
    let stage = Stage::new();
    project(&stage, 500);
    assert_eq!(join(&stage, "root", "ana", "member"), 200);
    for path in ["/v1/jobs", "/v1/quotes"] {
        let (status, refusal) = stage.call("bob", "POST", path, of_project());
        assert_eq!((status, &refusal["error"]["kind"]), (403, &json!("forbidden")), "{path}");
        let error = &refusal["error"];
        assert_eq!(error["message"], "bob is not a member of project apollo");
        assert!(error["hint"].as_str().unwrap().contains("project add apollo bob"), "{error}");
        let mut unknown = job(1);
        unknown["project"] = json!("apolo");
        assert_eq!(stage.call("bob", "POST", path, unknown).0, 422, "{path}");
    }
    for path in ["/v1/accounts/project:apollo", "/v1/projects/apollo"] {
        assert_eq!([stage.get("bob", path).0, stage.get("ana", path).0], [404, 200], "{path}");
    }
    assert_eq!(stage.get("bob", "/v1/projects").1["projects"], json!([]));
    assert_eq!(stage.call("ana", "POST", "/v1/jobs", of_project()).0, 201);
    let (_, seen) = stage.get("ana", "/v1/projects/apollo");
    assert_eq!((&seen["role"], &seen["balance"]), (&json!("member"), &json!(470)), "{seen}");
    stage.stop();
}

/// A member sees sums and own rows; a manager sees all.
#[test]
fn members_see_own_rows_and_managers_all() {
    let stage = Stage::new();
    project(&stage, 500);
    for (user, role) in [("ana", "member"), ("bob", "member"), ("olga", "manager")] {
        assert_eq!(join(&stage, "root", user, role), 200);
    }
    for user in ["ana", "bob"] {
        let (status, done) = stage.call(user, "POST", "/v1/jobs", of_project());
        assert_eq!(status, 201, "{done}");
        let id = done["jobs"][0].as_u64().unwrap();
        stage.end(id, Exit::Code(0));
        stage.until(id, "COMPLETED");
    }
    let jobs = |user: &str| {
        let (_, statement) = stage.get(user, "/v1/accounts/project:apollo");
        let mut jobs: Vec<Value> =
            statement["postings"].as_array().unwrap().iter().map(|it| it["job"].clone()).collect();
        jobs.dedup();
        jobs
    };
    assert_eq!([jobs("ana"), jobs("bob")], [vec![json!(1)], vec![json!(2)]]);
    assert_eq!([jobs("olga").len(), jobs("root").len()], [3, 3], "the grant as well");
    let spent = |user: &str| {
        let (_, project) = stage.get(user, "/v1/projects/apollo");
        let members = project["members"].as_array().unwrap().iter();
        members.filter(|it| it["spent"].is_number()).count()
    };
    assert_eq!(["ana", "olga", "root"].map(spent), [1, 3, 3]);
    let csv =
        |user: &str| stage.send(user, "GET", "/ledger.csv?account=project:apollo", &[], vec![]).1;
    assert!(csv("olga").contains("held:2") && csv("olga").contains("grant"), "{}", csv("olga"));
    assert!(csv("ana").contains("held:1") && !csv("ana").contains("held:2"), "{}", csv("ana"));
    stage.stop();
}

#[test]
fn managers_manage_and_administrators_limit() {
    let stage = Stage::new();
    assert_eq!(stage.call("ana", "POST", "/v1/projects", json!({"project": "apollo"})).0, 403);
    let (status, made) = stage.call("root", "POST", "/v1/projects", json!({"project": "apollo"}));
    assert_eq!((status, &made["balance"]), (201, &json!(0)));
    assert_eq!(stage.call("root", "POST", "/v1/projects", json!({"project": "apollo"})).0, 409);
    assert_eq!(stage.call("root", "POST", "/v1/projects", json!({"project": "a b"})).0, 422);
    assert_eq!(join(&stage, "root", "ana", "manager"), 200);
    assert_eq!(join(&stage, "ana", "bob", "member"), 200);
    assert_eq!(
        [join(&stage, "ana", "bob", "manager"), join(&stage, "bob", "otto", "member")],
        [403, 403]
    );
    let limit = |by: &str, body: Value| stage.call(by, "PUT", "/v1/projects/apollo/limits", body);
    assert_eq!(limit("ana", json!({"user": "bob", "total": 20})).0, 200);
    assert_eq!(limit("ana", json!({"total": 30})).0, 403);
    let (status, failure) = limit("root", json!({"total": -1}));
    assert_eq!((status, &failure["error"]["field"]), (422, &json!("total")));
    project(&stage, 500);
    let (_, done) = stage.call("bob", "POST", "/v1/jobs", of_project());
    let (_, job) = stage.get("bob", &format!("/v1/jobs/{}", done["jobs"][0]));
    assert_eq!(job["reason"], "AssocGrpBillingMinutes", "{job}");
    assert_eq!(
        job["message"],
        "the limit of bob in project apollo, 20 credits in all, leaves 20, and it needs 30"
    );
    assert_eq!(stage.call("ana", "DELETE", "/v1/projects/apollo/members/bob", Value::Null).0, 204);
    assert_eq!(stage.call("ana", "DELETE", "/v1/projects/apollo/members/bob", Value::Null).0, 404);
    let (status, page) = stage.send("ana", "GET", "/projects", &[], vec![]);
    assert!(status == 200 && page.contains("apollo") && page.contains("manager"), "{page}");
    stage.stop();
}

#[test]
fn money_goes_to_names_that_are_known() {
    let stage = Stage::new();
    let grant = |to: &str, create: bool| {
        let body = json!({"from": "bank", "to": to, "amount": 1, "create": create});
        let (status, answer) = stage.call("root", "POST", "/v1/transfers", body);
        (status, answer["error"]["hint"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(grant("user: ana", false), (422, "did you mean `ana`?".to_owned()));
    assert_eq!(grant("owner:alhpa", true), (422, "did you mean `alpha`?".to_owned()));
    assert_eq!(grant("user:cleo", false).0, 422);
    assert_eq!(grant("user:cleo", true).0, 201);
    assert_eq!([grant("user:cleo", false).0, grant("owner:alpha", false).0], [201, 201]);
    stage.stop();
}

#[test]
fn a_table_is_so_afterwards_and_changes_nothing_twice() {
    let stage = Stage::new();
    let import = |user: &str, dry: bool, rows: Value| {
        let path = format!("/v1/import?dry_run={dry}");
        stage.call(user, "POST", &path, json!({"rows": rows}))
    };
    let rows = || {
        json!([
            {"kind": "user", "user": "cleo", "credits": 25},
            {"kind": "project", "project": "apollo", "credits": 100, "total": 80, "note": "moon"},
            {"kind": "member", "project": "apollo", "user": "ana", "role": "manager"},
            {"kind": "member", "project": "apollo", "user": "bob", "month": 60},
        ])
    };
    assert_eq!(import("ana", false, rows()).0, 403);
    let (status, would) = import("root", true, rows());
    assert_eq!((status, would["changes"].as_array().unwrap().len()), (200, 7), "{would}");
    assert_eq!(stage.get("root", "/v1/projects/apollo").0, 404, "it was only tried");
    let (_, done) = import("root", false, rows());
    assert_eq!((&done["changes"], &done["dry_run"]), (&would["changes"], &json!(false)));
    let (_, again) = import("root", false, rows());
    assert_eq!(again["changes"], json!([]));
    let (_, project) = stage.get("root", "/v1/projects/apollo");
    assert_eq!((&project["balance"], &project["limits"]), (&json!(100), &json!({"total": 80})));
    assert_eq!(project["members"][1]["limits"], json!({"month": 60}));
    // What is spent counts as given; too much cannot be taken back.
    let (_, table) = stage.get("root", "/v1/export");
    assert_eq!(import("root", false, table["rows"].clone()).1["changes"], json!([]), "{table}");
    let less = json!([{"kind": "project", "project": "apollo", "credits": 90, "lift": ["total"]}]);
    assert_eq!(import("root", false, less).1["changes"].as_array().unwrap().len(), 2);
    let gone = json!([{"kind": "member", "project": "apollo", "user": "bob", "role": "none"}]);
    assert_eq!(
        import("root", false, gone).1["changes"],
        json!(["project apollo: bob is no member any more"])
    );
    for (rows, field) in [
        (json!([{"kind": "user", "user": "a b"}]), "rows[0].user"),
        (
            json!([{"kind": "user", "user": "x"}, {"kind": "member", "project": "nix", "user": "x"}]),
            "rows[1].project",
        ),
        (json!([{"kind": "user", "user": "x", "role": "member"}]), "rows[0].role"),
        (json!([{"kind": "member", "project": "apollo"}]), "rows[0].user"),
        (
            json!([{"kind": "project", "project": "apollo", "total": 1, "lift": ["total"]}]),
            "rows[0].total",
        ),
        (json!([{"kind": "project", "project": "apollo", "total": -1}]), "rows[0].total"),
    ] {
        let (status, failure) = import("root", false, rows);
        assert_eq!((status, &failure["error"]["field"]), (422, &json!(field)), "{failure}");
    }
    // A mistake in a later row: nothing of the earlier ones is done.
    let half = json!([
        {"kind": "project", "project": "new"},
        {"kind": "member", "project": "new", "user": "a b"},
    ]);
    assert_eq!(import("root", false, half).0, 422);
    assert_eq!(stage.get("root", "/v1/projects/new").0, 404);
    let (_, accounts) = stage.get("root", "/v1/accounts");
    let sum: f64 = accounts["accounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["balance"].as_f64().unwrap())
        .sum();
    assert_eq!(sum, 0.0);
    stage.stop();
}

#[test]
fn what_was_used_is_summed() {
    let stage = Stage::new();
    project(&stage, 500);
    for (user, role) in [("ana", "member"), ("olga", "manager")] {
        assert_eq!(join(&stage, "root", user, role), 200);
    }
    for (user, work) in [("ana", of_project()), ("ana", job(1)), ("bob", job(2))] {
        let (status, done) = stage.call(user, "POST", "/v1/jobs", work);
        assert_eq!(status, 201, "{done}");
        let id = done["jobs"][0].as_u64().unwrap();
        stage.end(id, Exit::Code(0));
        stage.until(id, "COMPLETED");
    }
    let rows = |user: &str, query: &str| {
        let (status, found) = stage.get(user, &format!("/v1/usage{query}"));
        assert_eq!(status, 200, "{found}");
        found["usage"].as_array().unwrap().clone()
    };
    assert_eq!(
        ["root", "olga", "ana", "bob", "otto"].map(|user| rows(user, "?by=user,project").len()),
        [3, 1, 2, 1, 0]
    );
    assert_eq!(rows("root", "?by=user&project=apollo").len(), 1);
    let all = rows("root", "?by=month");
    assert_eq!((all.len(), &all[0]["parts"]), (1, &json!(3)), "{all:?}");
    let paid: f64 = (1..=3)
        .map(|id| stage.get("root", &format!("/v1/jobs/{id}")).1["paid"].as_f64().unwrap())
        .sum();
    assert_eq!(all[0]["charged"].as_f64(), Some(paid));
    assert!(paid >= 4.0, "each node pays for a second at least: {paid}");
    assert_eq!(rows("root", "?from=1999-01&to=1999-12"), Vec::<Value>::new());
    for query in ["?by=colour", "?from=1999", "?to=1999-13"] {
        assert_eq!(stage.get("root", &format!("/v1/usage{query}")).0, 422, "{query}");
    }
    stage.stop();
}
