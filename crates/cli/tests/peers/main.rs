//! Three real daemons that pass jobs to each other, one of them killed in the middle of a
//! hand-over, again and again: every job runs exactly once, and every ledger sums to zero.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use tradewind_daemon::live::peers::MessageBody;

mod checks;
mod faces;
#[path = "../../../daemon/tests/paper/mod.rs"]
mod grid;
mod outputs;
mod paper;
#[path = "../../../daemon/tests/ports/mod.rs"]
mod ports;
mod receipts;
mod sniffer;

/// A way between two daemons on which messages with a certain word can be lost.
struct Wire {
    port: u16,
    lost: Arc<Mutex<Option<&'static str>>>,
}

impl Wire {
    fn to(target: u16) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let lost = Arc::new(Mutex::new(None));
        let word = Arc::clone(&lost);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let word = Arc::clone(&word);
                thread::spawn(move || carry(up, server, &word));
                thread::spawn(move || carry(down, client, &Mutex::new(None)));
            }
        });
        Wire { port, lost }
    }

    fn lose(&self, word: Option<&'static str>) {
        *self.lost.lock().unwrap() = word;
    }
}

/// Everything that comes, up to the word; then the connection breaks off.
fn carry(mut from: TcpStream, mut to: TcpStream, word: &Mutex<Option<&'static str>>) {
    let mut chunk = vec![0; 1 << 16];
    let mut before = String::new();
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        before.push_str(&String::from_utf8_lossy(&chunk[..read]));
        if word.lock().unwrap().is_some_and(|word| before.contains(word)) {
            break;
        }
        if to.write_all(&chunk[..read]).is_err() {
            break;
        }
        let keep = before.char_indices().rev().nth(32).map_or(0, |(at, _)| at);
        before.drain(..keep);
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A market of the grid.
struct Market {
    name: &'static str,
    folder: PathBuf,
    port: u16,
    daemon: Option<Child>,
}

impl Market {
    fn new(root: &Path, name: &'static str) -> Market {
        let folder = root.join(name);
        fs::create_dir(&folder).unwrap();
        Market { name, folder, port: ports::free(), daemon: None }
    }

    fn configure(&self, nodes: u32, peers: &[(&str, u16)]) {
        self.configure_as("easy", (nodes, "0.001"), peers);
    }

    fn configure_as(&self, policy: &str, (nodes, price): (u32, &str), peers: &[(&str, u16)]) {
        let mut text = format!(
            "[market]\npolicy = '{policy}'\n\n[listen]\naddress = '127.0.0.1:{}'\n\n[[site]]\nname = 'site-{}'\nkind = 'local'\n\n\
             [[site.pool]]\nname = 'main'\nnodes = {nodes}\nprice = {price}\n",
            self.port, self.name
        );
        for (peer, port) in peers {
            let token = self.folder.join(format!("{peer}.token"));
            text += &format!(
                "\n[[peers]]\nname = '{peer}'\nurl = 'http://127.0.0.1:{port}'\ntoken_file = '{}'\n",
                token.display()
            );
        }
        fs::write(self.folder.join("tradewind.toml"), text).unwrap();
    }

    fn start(&mut self) {
        let child = Command::new(env!("CARGO_BIN_EXE_tradewind"))
            .args(["up", "--quiet", "--shared-account", "--log", "error", "--config"])
            .arg(self.folder.join("tradewind.toml"))
            .arg("--state")
            .arg(self.folder.join("state"))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        self.daemon = Some(child);
        self.until("it answers", |market| market.send("GET", "/v1/market", "", None).is_some());
    }

    fn kill(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// The journal makes the state, and the simulator the same decisions.
    fn verify(&self) {
        let mut verify = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        verify.args(["journal", "verify", "--quiet", "--state"]).arg(self.folder.join("state"));
        let done = verify.output().unwrap();
        assert!(done.status.success(), "{}: {done:?}", self.name);
    }

    fn until(&self, what: &str, is_so: impl Fn(&Market) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            let waited = begin.elapsed();
            assert!(waited < Duration::from_secs(60), "{}: {what}: not so", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn send(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> Option<Value> {
        let token = fs::read_to_string(self.folder.join("state/admin.token")).ok()?;
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}{path}", self.port))
            .header("Authorization", format!("Bearer {}", token.trim()))
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key);
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = agent.run(request.body(body).ok()?);
        serde_json::from_str(&answer.ok()?.body_mut().read_to_string().ok()?).ok()
    }

    /// The same, again until there is an answer.
    fn must(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> Value {
        let mut answer: Option<Value> = None;
        for _ in 0..10 {
            answer = answer.or_else(|| self.send(method, path, key, body));
        }
        answer.unwrap_or_else(|| unreachable!("{}: {path}: no answer", self.name))
    }

    /// Lets a peer in: the secret goes into that peer's folder.
    fn admit(&self, peer: &Market) {
        let body = json!({"user": peer.name, "role": "peer", "note": ""});
        let token = self.send("POST", "/v1/tokens", "", Some(&body)).unwrap();
        let file = peer.folder.join(format!("{}.token", self.name));
        fs::write(file, token["token"].as_str().unwrap()).unwrap();
    }

    /// Submits a job that writes one line; its number.
    fn submit(&self, mark: &str, nodes: u32, log: &Path) -> u64 {
        let command = format!("echo {mark} >> {}; sleep 0.4", log.display());
        let job = json!({
            "name": mark, "command": ["sh", "-c", command], "nodes": nodes, "time": 20,
            "on_lost": "fail", "output": "/dev/null"
        });
        loop {
            let answer = self.send("POST", "/v1/jobs", mark, Some(&job));
            match answer.as_ref().and_then(|it| it["jobs"][0].as_u64()) {
                Some(number) => return number,
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn list(&self, path: &str, key: &str) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let page = self.send("GET", path, "", None);
            match page.and_then(|page| page[key].as_array().cloned()) {
                Some(all) => return all,
                None if begun.elapsed() > Duration::from_secs(60) => return Vec::new(),
                None => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Number of jobs of which it is unknown whether they have arrived at the peer.
    fn in_doubt(&self, peer: &str) -> u64 {
        let peers = self.list("/v1/peers", "peers");
        let found = peers.iter().find(|it| it["name"] == peer);
        found.and_then(|it| it["in_doubt"].as_u64()).unwrap_or(0)
    }

    fn all_over(&self) -> bool {
        let jobs = self.list("/v1/jobs?limit=1000", "jobs");
        let live = ["PENDING", "CONFIGURING", "RUNNING", "COMPLETING"];
        !jobs.is_empty() && jobs.iter().all(|job| !live.contains(&job["state"].as_str().unwrap()))
    }

    /// Micro-credits by account.
    fn accounts(&self) -> BTreeMap<String, i64> {
        let accounts = self.list("/v1/accounts?limit=1000", "accounts");
        let micro = |value: &Value| (value.as_f64().unwrap() * 1e6).round() as i64;
        let of = |it: &Value| (it["account"].as_str().unwrap().to_owned(), micro(&it["balance"]));
        accounts.iter().map(of).collect()
    }
}

impl Drop for Market {
    fn drop(&mut self) {
        if self.daemon.is_some() {
            self.kill();
        }
    }
}

#[test]
fn daemons_die_in_the_middle_of_hand_overs_and_every_job_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|name| Market::new(folder.path(), name));
    let (there, back) = (Wire::to(b.port), Wire::to(a.port));
    a.configure(1, &[("b", there.port), ("c", c.port)]);
    b.configure(3, &[("a", back.port)]);
    c.configure(2, &[("a", a.port)]);
    [&mut a, &mut b, &mut c].into_iter().for_each(Market::start);
    [(&a, &b), (&b, &a), (&a, &c), (&c, &a)].iter().for_each(|(at, peer)| at.admit(peer));
    let mut marks = BTreeMap::new();
    // What is lost, and whether the home dies or the one who takes jobs in.
    let rounds =
        [("\"migrate\"", true), ("\"done\"", true), ("\"migrate\"", false), ("\"done\"", false)];
    for (round, (word, home)) in rounds.into_iter().enumerate() {
        let wire = if word.contains("done") { &back } else { &there };
        wire.lose(Some(word));
        for count in 0..6 {
            // Three nodes are nowhere but at b.
            let nodes = if count == 0 { 3 } else { 1 };
            let mark = format!("m{round}-{count}");
            marks.insert(a.submit(&mark, nodes, &log), mark);
        }
        a.until("a job is in doubt", |a| a.in_doubt("b") > 0);
        let dies = if home { &mut a } else { &mut b };
        dies.kill();
        wire.lose(None);
        dies.start();
    }
    a.until("all jobs are over", Market::all_over);
    check(&a, &marks, &log);
    a.until("no job is in doubt", |a| a.in_doubt("b") == 0);
    for (market, other) in [(&b, "a"), (&c, "a")] {
        let there = market.accounts()[&format!("peer:{other}")];
        let here = a.accounts()[&format!("peer:{}", market.name)];
        // Both began with the same grant.
        assert_eq!(here - GRANT, GRANT - there, "{} and a disagree", market.name);
    }
    let went = a.list("/v1/jobs?limit=1000", "jobs");
    let went = went.iter().find(|job| job["peer"] == "b").unwrap();
    let job = a.send("GET", &format!("/v1/jobs/{}", went["id"]), "", None).unwrap();
    assert!(job["history"].to_string().contains("arrived"), "{job}");
    for market in [&a, &b, &c] {
        let sum: i64 = market.accounts().values().sum();
        assert_eq!(sum, 0, "the ledger of {}", market.name);
    }
    for market in [&mut a, &mut b, &mut c] {
        market.kill();
        market.verify();
    }
}

/// What accounts begin with: micro-credits.
const GRANT: i64 = 1_000_000_000_000;

fn check(home: &Market, marks: &BTreeMap<u64, String>, log: &Path) {
    let text = fs::read_to_string(log).unwrap();
    let mut runs = BTreeMap::<&str, u32>::new();
    text.lines().for_each(|mark| *runs.entry(mark).or_default() += 1);
    let jobs = home.list("/v1/jobs?limit=1000", "jobs");
    assert_eq!(jobs.len(), marks.len());
    let mut went = 0;
    for job in &jobs {
        let mark = &marks[&job["id"].as_u64().unwrap()];
        assert_eq!(runs.get(mark.as_str()), Some(&1), "{mark}: {job}");
        assert_eq!(job["state"], "COMPLETED", "{mark}: {job}");
        went += u32::from(job["peer"].is_string());
    }
    assert!(went >= 4, "{went} jobs went to peers");
}
