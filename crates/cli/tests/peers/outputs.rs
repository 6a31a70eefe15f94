//! What a job writes at a peer is read at home: all of it, as it is written, in pieces.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::Market;
use super::faces::pair;

impl Market {
    /// `tradewind output 1` with these words; it has not ended yet.
    fn output_command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.args(["output", "1"]).args(words).arg("--state").arg(self.folder.join("state"));
        command
    }

    fn output(&self, words: &[&str]) -> Vec<u8> {
        let done = self.output_command(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        done.stdout
    }

    /// The bytes at this path, and the headers of their place: from and size.
    fn part(&self, path: &str) -> (Vec<u8>, [String; 2]) {
        let token = fs::read_to_string(self.folder.join("state/admin.token")).unwrap();
        let request = ureq::get(format!("http://127.0.0.1:{}{path}", self.port))
            .header("Authorization", format!("Bearer {}", token.trim()));
        let mut answer = request.call().unwrap();
        let places = ["tradewind-output-from", "tradewind-output-size"].map(|name| {
            let value = answer.headers().get(name).and_then(|it| it.to_str().ok());
            value.unwrap_or_default().to_owned()
        });
        let body = answer.body_mut().with_config().limit(64 << 20).read_to_vec().unwrap();
        (body, places)
    }
}

/// Lines of a number each: 20 megabytes, and how many of them are written before the job waits.
const LINES: u32 = 2_650_000;
const FIRST: u32 = 1_000_000;

#[test]
fn all_that_a_job_writes_at_a_peer_is_read_at_home() {
    let folder = tempfile::tempdir().unwrap();
    let [mut a, mut b] = pair(&folder);
    let script = format!(
        "echo wrong >&2; seq {FIRST}; while [ ! -e go ]; do sleep 0.1; done; seq {} {LINES}",
        FIRST + 1
    );
    let job = json!({
        "name": "far", "command": ["sh", "-c", script], "nodes": 2, "time": 300,
        "directory": folder.path(), "output": "far.out", "error": "far.err"
    });
    let told = a.must("POST", "/v1/jobs", "far", Some(&job));
    assert_eq!(told["jobs"][0], 1, "{told}");
    // It may not have begun: what follows waits for that.
    let mut follow = a.output_command(&["--all", "--follow"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut followed = Vec::new();
    let first: String = (1..=FIRST).map(|number| format!("{number}\n")).collect();
    let mut from = follow.stdout.take().unwrap();
    std::io::Read::by_ref(&mut from).take(first.len() as u64).read_to_end(&mut followed).unwrap();
    assert!(followed == first.as_bytes(), "{} bytes while it runs", followed.len());
    let state = a.must("GET", "/v1/jobs/1", "", None);
    assert!(state["state"] == "RUNNING" && state["peer"] == "b", "{state}");
    fs::write(folder.path().join("go"), "").unwrap();
    from.read_to_end(&mut followed).unwrap();
    assert!(follow.wait().unwrap().success());
    let whole = fs::read(folder.path().join("far.out")).unwrap();
    assert!(whole.len() > 20_000_000 && followed == whole, "{} bytes", followed.len());
    assert_eq!(a.must("GET", "/v1/jobs/1", "", None)["state"], "COMPLETED");
    all_ways_lead_to_it(&a, &whole);
    a.kill();
    b.kill();
}

/// Commands, the API and the page's download.
fn all_ways_lead_to_it(a: &Market, whole: &[u8]) {
    assert!(a.output(&["--all"]) == whole);
    assert!(a.part("/jobs/1/output/file").0 == whole, "the page's download");
    let end = |count: usize| &whole[whole.len() - count..];
    assert_eq!(a.output(&[]), end(65_536));
    assert_eq!(a.output(&["--bytes", "1000"]), end(1_000));
    let (from, size) = (17_000_000, whole.len());
    for (asked, found) in [
        (format!("bytes=1048576&from={from}"), from..from + (1 << 20)),
        ("bytes=10".to_owned(), size - 10..size),
        (format!("from={size}"), size..size),
        (format!("from={}", size + 1), size..size),
    ] {
        let (bytes, place) = a.part(&format!("/v1/jobs/1/output?{asked}"));
        assert!(bytes == whole[found.clone()], "{asked}: {} bytes", bytes.len());
        assert_eq!(place, [found.start.to_string(), size.to_string()], "{asked}");
    }
    assert_eq!(a.part("/v1/jobs/1/output?stream=error").0, b"wrong\n");
    assert!(a.page("/jobs/1/output").contains("of 20,"), "the page says how long it is");
    assert!(a.page("/jobs/1/output?stream=error").contains(">wrong\n</pre>"));
}
