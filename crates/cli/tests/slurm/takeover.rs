//! Two daemons with nothing in common but a database, and two real clusters: one daemon is killed,
//! frozen for longer than its lease, or cut off from the database, again and again, under load. What
//! was accepted is in the journal and has run, no task has run twice, and the sums are zero.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::cluster::{Cluster, Plan};
use super::market::{Offer, PROGRAM, micro};
use super::ports;
use super::proxy::{Lost, Proxy};
use super::server::{PASSWORD, Server, signal_to};

/// How often each thing happens; `TRADEWIND_TAKEOVERS=50` for more.
fn rounds() -> usize {
    std::env::var("TRADEWIND_TAKEOVERS").ok().and_then(|it| it.parse().ok()).unwrap_or(2)
}

/// A daemon in a folder of its own, with a way of its own to the database.
struct Daemon {
    name: &'static str,
    child: Option<Child>,
    proxy: Proxy,
    /// Where it answers: the same after a restart.
    port: u16,
}

struct Stage {
    // Dropped in this order: daemons first.
    daemons: [Daemon; 2],
    folder: TempDir,
    server: Arc<Server>,
    database: String,
    _clusters: [Cluster; 2],
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl Daemon {
    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn signal(&self, signal: &str) {
        signal_to(self.child.as_ref().unwrap().id(), signal);
    }

    /// What it says that it is; empty: nothing.
    fn role(&self) -> String {
        use std::io::{Read as _, Write as _};
        let address = format!("127.0.0.1:{}", self.port);
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&address)?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            let text =
                format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            stream.write_all(text.as_bytes())?;
            let mut said = String::new();
            stream.read_to_string(&mut said)?;
            Ok(said)
        };
        let said = ask().unwrap_or_default();
        let body = said.rsplit("\r\n\r\n").next().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        body["status"].as_str().unwrap_or_default().to_owned()
    }
}

impl Stage {
    fn new() -> Stage {
        let clusters = ["alpha", "beta"].map(|name| Cluster::start(&Plan::of(name, 4)));
        let (server, folder) = (Server::shared(), tempfile::tempdir().unwrap());
        let database = server.database();
        for name in ["work", "marks"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let daemons = ["one", "two"].map(|name| {
            let (proxy, port) = (Proxy::to(server.port()), ports::free());
            let url =
                format!("postgresql://tradewind:{PASSWORD}@127.0.0.1:{}/{database}", proxy.port);
            let sites: String = [("alpha", "1"), ("beta", "2")]
                .iter()
                .zip(&clusters)
                .map(|((name, price), cluster)| {
                    Offer::new(cluster, name, 4, price).table(folder.path())
                })
                .collect();
            let text = format!("store = \"{url}\"\n[standby]\nlease_seconds = 3\n{sites}");
            std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
            Daemon { name, child: None, proxy, port }
        });
        let mut stage = Stage { daemons, folder, server, database, _clusters: clusters };
        for which in 0..2 {
            stage.start(which);
            stage.until(which, if which == 0 { "ok" } else { "standby" });
        }
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&mut self, which: usize) {
        let name = self.daemons[which].name;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path(&format!("{name}.log")));
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--listen", &format!("127.0.0.1:{}", self.daemons[which].port), "--state"]);
        up.arg(self.path(name)).arg("--config").arg(self.path(&format!("{name}.toml")));
        up.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.unwrap());
        self.daemons[which].child = Some(up.spawn().unwrap());
    }

    fn logs(&self) -> String {
        let log = |it: &Daemon| {
            let text = std::fs::read_to_string(self.path(&format!("{}.log", it.name)));
            format!("{}:\n{}", it.name, text.unwrap_or_default())
        };
        self.daemons.iter().map(log).collect()
    }

    /// Waits until a daemon is that; how long it took.
    fn until(&self, which: usize, role: &str) -> Duration {
        let began = Instant::now();
        while self.daemons[which].role() != role {
            let late = began.elapsed() > Duration::from_secs(120);
            assert!(!late, "{} does not become {role}\n{}", self.daemons[which].name, self.logs());
            thread::sleep(Duration::from_millis(50));
        }
        began.elapsed()
    }

    fn owner(&self) -> usize {
        let began = Instant::now();
        loop {
            if let Some(owner) = self.daemons.iter().position(|it| it.role() == "ok") {
                return owner;
            }
            assert!(began.elapsed() < Duration::from_secs(120), "no owner\n{}", self.logs());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn program(&self) -> impl Fn(&[&str]) -> Output + Send + use<> {
        let urls = self.daemons.iter().map(Daemon::url).collect::<Vec<_>>().join(",");
        let token = self.path("one/admin.token");
        move |words| {
            let mut command = Command::new(PROGRAM);
            command.args(words).args(["--url", &urls, "--token-file"]).arg(&token);
            command.env_remove("TRADEWIND_URL").env_remove("TRADEWIND_TOKEN");
            command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
        }
    }

    fn json(&self, words: &[&str]) -> Value {
        let ended = self.program()(&[words, &["--format", "json"]].concat());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{words:?}: {said}\n{}", self.logs());
        serde_json::from_slice(&ended.stdout).unwrap()
    }

    /// Submits jobs that leave a mark, one after the other, until it is stopped; what was accepted.
    fn load(&self) -> (Arc<AtomicBool>, JoinHandle<BTreeSet<String>>) {
        static JOBS: AtomicUsize = AtomicUsize::new(0);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (program, folder) = (self.program(), self.folder.path().to_owned());
        let thread = thread::spawn(move || {
            let mut accepted = BTreeSet::new();
            while !stopped.load(Ordering::Relaxed) {
                let mark = JOBS.fetch_add(1, Ordering::Relaxed).to_string();
                let line = format!("echo ran >> {}/marks/{mark}; sleep 0.3", folder.display());
                let work = folder.join("work");
                let work = work.to_str().unwrap();
                let words = ["submit", "--time", "60", "--chdir", work, "--wrap", &line];
                if program(&words).status.success() {
                    accepted.insert(mark);
                }
                thread::sleep(Duration::from_millis(150));
            }
            accepted
        });
        (stop, thread)
    }

    fn kill(&mut self, owner: usize) {
        let child = self.daemons[owner].child.as_mut().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        self.measured("killed", self.until(1 - owner, "ok"));
        self.start(owner);
    }

    fn freeze(&mut self, owner: usize) {
        self.daemons[owner].signal("STOP");
        self.measured("frozen", self.until(1 - owner, "ok"));
        // It wakes while the other one gives orders.
        thread::sleep(Duration::from_millis(500));
        self.daemons[owner].signal("CONT");
    }

    fn cut_off(&mut self, owner: usize, lost: Lost) {
        self.daemons[owner].proxy.lose(lost);
        self.measured("cut off", self.until(1 - owner, "ok"));
        self.daemons[owner].proxy.lose(Lost::Nothing);
        self.daemons[owner].proxy.cut();
    }

    /// A takeover takes the lease and little more, however the owner was lost. Where more rounds are asked
    /// for, their times are of interest.
    #[expect(clippy::print_stderr, reason = "a measurement is printed")]
    fn measured(&self, what: &str, took: Duration) {
        if std::env::var_os("TRADEWIND_TAKEOVERS").is_some() {
            eprintln!("{what}: {} ms", took.as_millis());
        }
        assert!(took < Duration::from_secs(45), "{what}: {took:?}\n{}", self.logs());
    }

    /// Looks at all that happened.
    fn check(&self, accepted: &BTreeSet<String>) {
        let began = Instant::now();
        loop {
            let market = self.json(&["policy"]);
            let count = |phase: &str| market["jobs"][phase].as_u64().unwrap();
            if count("waiting") + count("running") + count("held") == 0 {
                break;
            }
            let late = began.elapsed() > Duration::from_secs(180);
            assert!(!late, "{market}\n{}", self.logs());
            thread::sleep(Duration::from_millis(200));
        }
        // One run at most of each task, whether its submission was acknowledged or not.
        let mut ran = BTreeSet::new();
        for entry in std::fs::read_dir(self.path("marks")).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let text = std::fs::read_to_string(entry.path()).unwrap();
            assert_eq!(text, "ran\n", "{name} ran once\n{}", self.logs());
            ran.insert(name);
        }
        let lost: Vec<&String> = accepted.difference(&ran).collect();
        assert!(lost.is_empty(), "{lost:?} were accepted and did not run\n{}", self.logs());
        let listed = self.json(&["jobs", "--all"]);
        let jobs = listed["jobs"].as_array().unwrap();
        assert!(jobs.len() >= ran.len(), "{} jobs, {} marks", jobs.len(), ran.len());
        let all = self.json(&["ledger", "--accounts"]);
        let sums: i64 =
            all["accounts"].as_array().unwrap().iter().map(|it| micro(&it["balance"])).sum();
        assert_eq!(sums, 0, "{all}");
        let store = self.server.url(&self.database);
        let proof = Command::new(PROGRAM)
            .args(["journal", "verify", "--store", &store, "--format", "json"])
            .output()
            .unwrap();
        let proof: Value = serde_json::from_slice(&proof.stdout).unwrap();
        assert_eq!(proof["proved"], true, "{proof}");
    }
}

#[test]
fn two_daemons_and_two_clusters_lose_nothing_and_run_nothing_twice() {
    let mut stage = Stage::new();
    let (stop, load) = stage.load();
    for round in 0..rounds() {
        let lost = if round % 2 == 0 { Lost::Requests } else { Lost::Answers };
        for what in 0..3 {
            thread::sleep(Duration::from_millis(1_500));
            let owner = stage.owner();
            match what {
                0 => stage.kill(owner),
                1 => stage.freeze(owner),
                _ => stage.cut_off(owner, lost),
            }
            stage.until(owner, "standby");
        }
    }
    stop.store(true, Ordering::Relaxed);
    let accepted = load.join().unwrap();
    assert!(accepted.len() > 3 * rounds(), "{}", accepted.len());
    stage.check(&accepted);
}
