//! What the timeline asks for: who sees what of it, and which rows.

use serde_json::{Value, json};
use tradewind_daemon::site::Exit;

use crate::stage::{Stage, now};

fn ask(stage: &Stage, user: &str, path: &str) -> (u16, Value) {
    let (status, text) = stage.send(user, "GET", path, &[], vec![]);
    (status, serde_json::from_str(text.trim_end()).unwrap_or(Value::String(text)))
}

/// The tasks that are in view: kind, job, label and price of each.
fn tasks(stage: &Stage, user: &str, more: &str) -> Vec<(u64, u64, String, i64)> {
    let (from, until) = (now().0 - 1_000, now().0 + 100_000);
    let path = format!("/page/board/digest?from={from}&until={until}&first=0&rows=9&most=9{more}");
    let (status, told) = ask(stage, user, &path);
    assert_eq!(status, 200, "{told}");
    let table = &told["table"];
    let all = table["kind"].as_array().unwrap().len();
    let label = |at: usize| &table["texts"][table["label"][at].as_u64().unwrap() as usize];
    let task = |at: usize| {
        let number = |name: &str| table[name][at].as_u64().unwrap();
        let text = label(at).as_str().unwrap().to_owned();
        (number("kind"), number("job"), text, table["price"][at].as_i64().unwrap())
    };
    (0..all).map(task).collect()
}

#[test]
fn all_users_see_that_nodes_are_taken_and_by_which_of_their_own_jobs() {
    let stage = Stage::new();
    let job = stage.submit("ana", 2);
    stage.until(job, "RUNNING");
    let running = 6;
    let own = (running + 16, job, format!("{job} t"), 1_000_000);
    assert_eq!(tasks(&stage, "ana", ""), std::slice::from_ref(&own));
    assert_eq!(tasks(&stage, "root", ""), [(running, job, own.2, 1_000_000)]);
    assert_eq!(tasks(&stage, "bob", ""), [(running, 0, String::new(), -1)]);
    assert_eq!(tasks(&stage, "bob", "&whose=mine"), []);
    let (from, until) = (now().0 - 1_000, now().0 + 1_000);
    let path = format!(
        "/page/board/picture?from={from}&until={until}&first=0&rows=4&columns=100&lines=100"
    );
    let (status, part) = ask(&stage, "bob", &path);
    assert_eq!(status, 200);
    assert_eq!(part["rectangles"]["table"]["texts"], json!([""]), "{part}");
    stage.stop();
}

#[test]
fn nodes_that_a_job_lost_are_shown_beside_its_next_run() {
    let stage = Stage::new();
    let again =
        json!({"name": "t", "command": ["true"], "nodes": 1, "time": 60, "on_lost": "rerun"});
    let (_, done) = stage.call("ana", "POST", "/v1/jobs", again);
    let job = done["jobs"][0].as_u64().unwrap();
    stage.end(job, Exit::NodeFailed);
    let begun = std::time::Instant::now();
    loop {
        let kinds: Vec<u64> = tasks(&stage, "root", "").iter().map(|it| it.0).collect();
        if kinds.starts_with(&[11]) && kinds.contains(&6) {
            break;
        }
        assert!(begun.elapsed().as_secs() < 20, "{kinds:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    stage.stop();
}

#[test]
fn rows_are_chosen_and_put_in_order() {
    let stage = Stage::new();
    let pools = |query: &str| {
        let (status, frame) = ask(&stage, "ana", &format!("/page/board?{query}"));
        assert_eq!(status, 200, "{frame}");
        assert_eq!(frame["all"][0], 4, "of the whole market");
        let names = frame["pools"].as_array().unwrap().iter().map(|it| it["name"].to_string());
        (frame["rows"].as_u64().unwrap(), names.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(pools(""), (4, "\"alpha/x\" \"beta/y\"".to_owned()));
    assert_eq!(pools("find=BETA"), (2, "\"beta/y\"".to_owned()));
    assert_eq!(pools("find=nothing"), (0, String::new()));
    assert_eq!(pools("pools=beta/y"), (2, "\"beta/y\"".to_owned()));
    assert_eq!(pools("order=name"), pools("order=price"));
    let job = stage.submit("ana", 2);
    let seen = stage.until(job, "RUNNING");
    let busy = seen["parts"][0]["pool"].to_string();
    let (_, names) = pools("order=busy");
    assert!(names.starts_with(&busy), "{names}, not {busy} first");
    assert_eq!(ask(&stage, "ana", "/page/board?order=colour").0, 400);
    stage.stop();
}

#[test]
fn windows_get_rows_that_are_free() {
    let stage = Stage::new();
    let (from, until) = (now().0 + 1_000, now().0 + 2_000);
    let windows = format!("0:1:{from}:{until},1:2:{from}:{until},7:1:{from}:{until}");
    let (status, told) = ask(&stage, "bob", &format!("/page/board/places?windows={windows}"));
    assert_eq!((status, &told), (200, &json!({"places": [[[0, 1]], [[2, 2]], []]})));
    for wrong in ["x", "0:1:2", "0:1:2:3:4", "0:-1:2:3"] {
        let (status, told) = ask(&stage, "bob", &format!("/page/board/places?windows={wrong}"));
        assert_eq!(status, 400, "{wrong}: {told}");
    }
    stage.stop();
}
