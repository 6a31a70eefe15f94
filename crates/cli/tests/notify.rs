//! The real daemon tells a receiver and a user of a job, though another receiver hangs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

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

fn submit(state: &Path) -> u64 {
    let job = json!({
        "name": "wave", "command": ["sh", "-c", "sleep 5; exit 3"], "nodes": 1, "time": 60,
        "output": "/dev/null",
        "mail": {"to": "ana@site.example", "begin": true, "end": true, "fail": true}
    });
    let (url, token) = (patiently(&state.join("url")), patiently(&state.join("admin.token")));
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let request = agent
        .post(format!("{}/v1/jobs", url.trim()))
        .header("Authorization", format!("Bearer {}", token.trim()))
        .header("Content-Type", "application/json");
    let mut answer = request.send(job.to_string()).unwrap();
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
    answer["jobs"][0].as_u64().unwrap()
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
    let job = submit(&path("state"));
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "over") {
        let event = heard.recv_timeout(Duration::from_secs(60)).unwrap();
        if event["job"] == json!(job) {
            kinds.push(event["kind"].as_str().unwrap().to_owned());
        }
    }
    let at = |kind: &str| kinds.iter().position(|it| it == kind).unwrap();
    assert!(at("submitted") < at("planned") && at("planned") < at("running"), "{kinds:?}");
    let begun = Instant::now();
    let mut mails = String::new();
    while !mails.contains(&format!("Subject: Tradewind: job {job} (wave): FAILED")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{mails}");
        std::thread::sleep(Duration::from_millis(20));
        mails = fs::read_to_string(path("mails")).unwrap_or_default();
    }
    assert!(mails.contains(&format!("Subject: Tradewind: job {job} (wave): RUNNING")), "{mails}");
    assert_eq!(mails.matches("To: ana@site.example\n").count(), 2, "{mails}");
    let begun = Instant::now();
    Command::new("kill").arg(daemon.id().to_string()).status().unwrap();
    assert!(daemon.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
