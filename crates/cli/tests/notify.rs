//! The real daemon tells a receiver and a user of jobs what the API says of them, though another
//! receiver hangs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A receiver that says 200 to everything; the bodies that it gets.
fn receiver() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/all", listener.local_addr().unwrap());
    let (said, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut text, mut bytes) = (Vec::new(), [0; 4_096]);
            let body = loop {
                let read = stream.read(&mut bytes).unwrap();
                text.extend_from_slice(&bytes[..read]);
                let whole = String::from_utf8_lossy(&text);
                let body = whole.split_once("\r\n\r\n").map(|(_, body)| body);
                if let Some(Ok(body)) = body.map(serde_json::from_str) {
                    break body;
                }
                assert!(read > 0, "{whole}");
            };
            let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer).unwrap();
            if said.send(body).is_err() {
                return;
            }
        }
    });
    (url, heard)
}

/// What is in the file, once something is.
fn patiently(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => return text,
            _ => assert!(begun.elapsed() < Duration::from_secs(60), "{}", path.display()),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A request with the token of the administrator: it asks, or sends a body.
fn ask(state: &Path, method: &str, path: &str, body: Option<&Value>) -> Value {
    let (url, token) = (patiently(&state.join("url")), patiently(&state.join("admin.token")));
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let (url, bearer) = (format!("{}{path}", url.trim()), format!("Bearer {}", token.trim()));
    let sent = match (method, body) {
        ("DELETE", _) => agent.delete(url).header("Authorization", bearer).call(),
        (_, None) => agent.get(url).header("Authorization", bearer).call(),
        (_, Some(body)) => {
            let request = agent.post(url).header("Authorization", bearer);
            request.header("Content-Type", "application/json").send(body.to_string())
        }
    };
    serde_json::from_str(&sent.unwrap().body_mut().read_to_string().unwrap()).unwrap()
}

/// The number of a job with this name, which runs the line.
fn submit(state: &Path, name: &str, line: &str) -> u64 {
    let job = json!({
        "name": name, "command": ["sh", "-c", line], "nodes": 1, "time": 60,
        "output": "/dev/null",
        "mail": {"to": "ana@site.example", "begin": true, "end": true, "fail": true}
    });
    ask(state, "POST", "/v1/jobs", Some(&job))["jobs"][0].as_u64().unwrap()
}

/// The lines of each mail by its subject.
fn read_mails(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mails = text.split("To: ana@site.example\n").skip(1);
    let line = |it: &str| it.split_once(": ").map(|(name, it)| (name.into(), it.trim().into()));
    mails
        .filter_map(|mail| {
            let subject = mail.lines().next()?.strip_prefix("Subject: Tradewind: ")?;
            let lines = mail.split_once("\n\n")?.1.lines().filter_map(line).collect();
            Some((subject.to_owned(), lines))
        })
        .collect()
}

/// A moment as mails have it.
fn moment(text: &str) -> Value {
    let at = jiff::fmt::rfc2822::parse(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
    json!(at.timestamp().as_second())
}

/// What events and mails say of a job that is over is what its document says.
fn says_the_same(
    job: &Value,
    events: &[Value],
    mails: &BTreeMap<String, BTreeMap<String, String>>,
) {
    let (id, name, state) =
        (&job["id"], job["name"].as_str().unwrap(), job["state"].as_str().unwrap());
    let of = |kind: &str| events.iter().rfind(|it| it["job"] == *id && it["kind"] == kind).unwrap();
    let over = of("over");
    assert_eq!(over["state"], job["state"], "{over} {job}");
    assert!(over["at"].as_i64() >= job["ended"].as_i64(), "{over} {job}");
    assert_eq!(of("running")["time"], job["started"], "{job}");
    for state in ["RUNNING", state] {
        let lines = &mails[&format!("job {id} ({name}): {state}")];
        let has = |name: &str| lines.get(name).map(String::as_str);
        assert_eq!((has("Job"), has("State")), (Some(&*id.to_string()), Some(state)));
        assert_eq!((has("User"), has("Name")), (job["user"].as_str(), Some(name)));
        assert_eq!(has("Where"), job["parts"][0]["pool"].as_str(), "{job}");
        assert_eq!(moment(&lines["Submitted"]), job["submitted"]);
        assert_eq!(moment(&lines["Started"]), job["started"], "{lines:?} {job}");
        let ended = has("Ended").map(moment);
        assert_eq!(ended.as_ref(), job.get("ended").filter(|_| state != "RUNNING"), "{lines:?}");
        if let Some(paid) = has("Paid") {
            let cost = |text: &str| text.trim_end_matches(" credits").parse::<f64>().unwrap();
            assert!(
                (cost(paid) - cost(&job["cost_so_far"].to_string())).abs() < 1e-9,
                "{paid} {job}"
            );
            assert!(state != "RUNNING" && cost(paid) > 0.0, "{lines:?}");
        }
    }
}

#[test]
fn receivers_and_users_are_notified_and_none_waits_for_those_that_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Connections are taken by the system, and never answered.
    let dead = TcpListener::bind("127.0.0.1:0").unwrap();
    let (url, heard) = receiver();
    let config = format!(
        "[notify]\nwebhooks = ['http://{}', '{url}']\nmail_command = ['tee', '-a', '{}']\n",
        dead.local_addr().unwrap(),
        path("mails").display(),
    );
    fs::write(path("tradewind.toml"), config).unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_tradewind"))
        .args(["up", "--quiet", "--listen", "127.0.0.1:0", "--config"])
        .args([path("tradewind.toml"), "--state".into(), path("state")])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let state = path("state");
    let jobs = [
        submit(&state, "wave", "sleep 5; exit 3"),
        submit(&state, "calm", "sleep 2"),
        submit(&state, "long", "sleep 600"),
    ];
    let mut events: Vec<Value> = Vec::new();
    let of = |events: &[Value], job: u64, kind: &str| {
        events.iter().position(|it| it["job"] == json!(job) && it["kind"] == kind)
    };
    while !jobs.iter().all(|job| of(&events, *job, "over").is_some()) {
        events.push(heard.recv_timeout(Duration::from_secs(60)).unwrap());
        let event = events.last().unwrap();
        if event["job"] == json!(jobs[2]) && event["kind"] == "running" {
            ask(&state, "DELETE", &format!("/v1/jobs/{}", jobs[2]), None);
        }
    }
    for job in jobs {
        let at = |kind: &str| of(&events, job, kind).unwrap();
        assert!(at("submitted") < at("planned") && at("planned") < at("running"), "{events:?}");
    }
    let begun = Instant::now();
    let mut mails = String::new();
    while mails.matches("To: ana@site.example\n").count() < 6 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{mails}");
        std::thread::sleep(Duration::from_millis(20));
        mails = fs::read_to_string(path("mails")).unwrap_or_default();
    }
    let read = read_mails(&mails);
    assert_eq!(read.len(), 6, "{mails}");
    for (job, wanted) in jobs.iter().zip(["FAILED", "COMPLETED", "CANCELLED"]) {
        let job = ask(&state, "GET", &format!("/v1/jobs/{job}"), None);
        assert_eq!(job["state"], wanted, "{job}");
        says_the_same(&job, &events, &read);
    }
    let begun = Instant::now();
    Command::new("kill").arg(daemon.id().to_string()).status().unwrap();
    assert!(daemon.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
