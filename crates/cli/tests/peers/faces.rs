//! What is said of a peer and of the jobs that are there: by commands, the API and the pages.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{Market, Wire};

impl Market {
    /// What a command about this market prints, and whether it was successful.
    fn command(&self, words: &[&str]) -> (bool, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.args(words).arg("--state").arg(self.folder.join("state")).env("TZ", "UTC");
        let done = command.output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8(said).unwrap())
    }

    /// What a page says to the administrator.
    pub(super) fn page(&self, path: &str) -> String {
        let token = fs::read_to_string(self.folder.join("state/admin.token")).unwrap();
        let request = ureq::get(format!("http://127.0.0.1:{}{path}", self.port))
            .header("Authorization", format!("Bearer {}", token.trim()));
        request.call().unwrap().body_mut().read_to_string().unwrap()
    }

    fn peer(&self) -> Value {
        self.must("GET", "/v1/peers", "", None)["peers"][0].clone()
    }

    /// What `doctor` finds of the peer.
    fn doctor(&self) -> (bool, Value) {
        let config = self.folder.join("tradewind.toml");
        let words = [
            "doctor",
            "--quiet",
            "--no-jobs",
            "--format",
            "json",
            "--config",
            config.to_str().unwrap(),
        ];
        let (is_good, text) = self.command(&words);
        let all: Vec<Value> = serde_json::from_str(&text).unwrap();
        (is_good, all.into_iter().find(|it| it["site"] == "b").unwrap())
    }
}

/// A market whose peer has a node more, and the peer.
pub(super) fn pair(folder: &tempfile::TempDir) -> [Market; 2] {
    let [mut a, mut b] = ["a", "b"].map(|name| Market::new(folder.path(), name));
    a.configure(1, &[("b", b.port)]);
    b.configure(2, &[("a", a.port)]);
    [&mut a, &mut b].into_iter().for_each(Market::start);
    a.admit(&b);
    b.admit(&a);
    [a, b]
}

#[test]
fn the_doctor_asks_each_peer_and_a_new_one_is_asked_before_any_job() {
    let folder = tempfile::tempdir().unwrap();
    let [mut a, mut b] = pair(&folder);
    let (is_good, found) = a.doctor();
    assert!(is_good && found["verdict"] == "good", "{found}");
    // It asks at its start, though no job wants to go anywhere.
    a.kill();
    a.start();
    a.until("its peer was asked", |a| a.peer()["reachable"] == true);
    assert_eq!(a.peer()["jobs_there"], 0);
    fs::write(a.folder.join("b.token"), "tw_0000000000000000000000").unwrap();
    let (is_good, found) = a.doctor();
    assert!(!is_good && found["verdict"] == "bad", "{found}");
    let (said, remedy) = (found["found"].to_string(), found["remedy"].to_string());
    assert!(said.contains("401") && remedy.contains("token_file"), "{found}");
    b.kill();
    let (is_good, found) = a.doctor();
    assert!(!is_good && found["verdict"] == "bad", "{found}");
    a.kill();
}

#[test]
fn that_a_peer_does_not_answer_is_said_at_every_place_with_since_when() {
    let folder = tempfile::tempdir().unwrap();
    let [mut a, mut b] = pair(&folder);
    let job = serde_json::json!({
        "name": "far", "command": ["sleep", "60"], "nodes": 2, "time": 60, "output": "/dev/null"
    });
    let told = a.must("POST", "/v1/jobs", "far", Some(&job));
    assert_eq!(told["jobs"][0], 1, "{told}");
    let job = |a: &Market| a.must("GET", "/v1/jobs/1", "", None);
    a.until("it runs there", |a| job(a)["state"] == "RUNNING");
    let (runs, known) = (job(&a), a.peer());
    assert!(runs["sentence"].as_str().unwrap().contains(" on 2 nodes at b."), "{runs}");
    assert!(known["held"].as_f64() > Some(0.0) && known["jobs_there"] == 1, "{known}");
    assert!(a.page("/peers").contains("answers"));
    assert!(a.page("/jobs").contains("at b"), "the row names the peer");
    b.kill();
    a.until("that is noticed", |a| job(a)["reason"] == "PeerNotAvailable");
    every_place_says_so(&a, &job(&a));
    a.kill();
    the_doubt_is_ended(&mut a);
}

#[test]
fn a_job_in_doubt_at_a_silent_peer_is_shown_once_and_cancelled_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let [mut a, mut b] = ["a", "b"].map(|name| Market::new(folder.path(), name));
    let wire = Wire::to(b.port);
    a.configure(1, &[("b", wire.port)]);
    b.configure(2, &[("a", a.port)]);
    [&mut a, &mut b].into_iter().for_each(Market::start);
    a.admit(&b);
    b.admit(&a);
    wire.lose(Some("\"migrate\""));
    a.submit("far", 2, &folder.path().join("log"));
    a.until("the job is in doubt", |a| a.in_doubt("b") == 1);
    b.kill();
    let job = |a: &Market| a.must("GET", "/v1/jobs/1", "", None);
    a.until("the silence is noticed", |a| job(a)["reason"] == "PeerNotAvailable");
    let page = a.page("/jobs/1");
    let said = page.matches("it is not known whether the job has arrived there").count();
    assert_eq!(said, 1, "{page}");
    assert!(!page.contains("value=\"hold\""), "it cannot be held: {page}");
    let mut cancel = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    let done =
        cancel.args(["cancel", "1", "--state"]).arg(a.folder.join("state")).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.contains("as soon as the peer answers"), "{said}");
    a.kill();
    // It will not answer any more.
    a.configure(1, &[]);
    a.start();
    let (_, said) = a.command(&["explain", "1"]);
    let told = "whether the job has arrived there; an administrator can end the doubt";
    assert!(said.contains(told) && said.contains("Its state is not known"), "{said}");
    a.kill();
}

/// Of a job at a peer that does not answer.
fn every_place_says_so(a: &Market, silent: &Value) {
    let since = silent["peer_silent_since"].as_i64().unwrap();
    let since = jiff::Timestamp::from_second(since).unwrap().strftime("%FT%T").to_string();
    let sentence = silent["sentence"].as_str().unwrap();
    // The cost grows meanwhile.
    let (sentence, _) = sentence.split_once(" Cost so far").unwrap();
    let (says, short) = ("does not answer since 20", format!("PeerNotAvailable since {since}"));
    assert!(sentence.contains(says) && sentence.starts_with("Runs since"), "{silent}");
    // What it has cost is known by the price that was offered.
    let [so_far, most] = ["cost_so_far", "cost_at_most"].map(|name| silent[name].as_f64().unwrap());
    assert!(0.0 < so_far && so_far <= most, "{silent}");
    for (words, said) in [
        (&["jobs"][..], &*short),
        (&["job", "1"], sentence),
        (&["explain", "1"], sentence),
        (&["peers"], "down"),
    ] {
        let (_, text) = a.command(words);
        assert!(text.contains(said), "{words:?}: {said}: {text}");
    }
    let lost = "<span class=\"chip bad\">▲ does not answer</span>";
    for (path, said) in [
        ("/peers", lost),
        ("/peers", "data-label=\"Standing\">1000<"),
        ("/peers", "Jobs of which nothing is heard"),
        ("/peers", "<a href=\"/jobs/1\">1 far</a>"),
        ("/jobs?show=running", "<a href=\"/jobs/1\">"),
        ("/jobs?show=away", "<a href=\"/jobs/1\">"),
        ("/jobs/1", "b does not answer since"),
        ("/", "<span class=\"away\">▲ b does not answer since"),
    ] {
        assert!(a.page(path).contains(said), "{path}: {said}");
    }
}

/// The peer is taken out of the configuration: its job is settled, once what follows was told.
fn the_doubt_is_ended(a: &mut Market) {
    a.configure(1, &[]);
    a.start();
    let job = |a: &Market| a.must("GET", "/v1/jobs/1", "", None);
    let unknown = job(a);
    let sentence = unknown["sentence"].as_str().unwrap();
    assert!(
        unknown["state"] == "UNKNOWN" && sentence.contains("is not in the configuration since 20")
    );
    assert!(a.page("/jobs?show=unknown").contains("<a href=\"/jobs/1\">"));
    assert!(a.page("/peers").contains("not in the configuration"));
    let removed = a.peer()["since"].as_i64();
    assert_eq!(removed, unknown["peer_silent_since"].as_i64(), "{unknown}");
    let (is_done, told) = a.command(&["peers", "settle", "@b", "lost"]);
    let says = "it ends as NODE_FAIL; b is not paid";
    assert!(!is_done && told.contains(says) && job(a)["state"] == "UNKNOWN", "{told}");
    let (is_done, told) = a.command(&["peers", "settle", "@b", "lost", "--yes"]);
    assert!(is_done && told.contains(says), "{told}");
    let lost = job(a);
    assert!(lost["state"] == "NODE_FAIL" && lost["paid"] == 0, "{lost}");
    assert!(lost["history"].to_string().contains("lost at its peer, says admin"), "{lost}");
    let (_, why) = a.command(&["explain", "1"]);
    assert!(why.contains("admin has settled it as lost at b"), "{why}");
    let (is_done, why) = a.command(&["peers", "settle", "@b", "lost", "--yes"]);
    assert!(!is_done && why.contains("no job is at a peer `b`"), "{why}");
    // Rows are written after the answer.
    a.until("that is in the audit log", |a| {
        a.command(&["audit"]).1.contains("job 1 at a peer settled as lost")
    });
    a.kill();
    a.verify();
}
