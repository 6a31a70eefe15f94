//! The real daemon, killed at a hundred random moments while jobs are submitted and run: nothing
//! that was acknowledged is lost, nothing runs twice, money is conserved, the journal proves it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Kills, unless `TRADEWIND_KILLS` says otherwise.
const KILLS: u64 = 100;

struct Daemon(Child);

impl Daemon {
    fn start(state: &Path) -> Daemon {
        drop(fs::remove_file(state.join("url")));
        // As large on every machine.
        fs::create_dir_all(state).unwrap();
        fs::write(state.join("default-sites.json"), "{\"alpha\": 4, \"beta\": 2}").unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_tradewind"))
            .args(["up", "--quiet", "--listen", "127.0.0.1:0", "--state"])
            .arg(state)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Daemon(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Talks to whatever daemon runs on this state now; `None` if none answers.
struct Client(PathBuf);

impl Client {
    fn send(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> Option<Value> {
        let url = fs::read_to_string(self.0.join("url")).ok()?;
        let token = fs::read_to_string(self.0.join("admin.token")).ok()?;
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", url.trim()))
            .header("Authorization", format!("Bearer {}", token.trim()))
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key);
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = agent.run(request.body(body).ok()?);
        serde_json::from_str(&answer.ok()?.body_mut().read_to_string().ok()?).ok()
    }

    /// Hands the job in again and again until it is acknowledged; its number.
    fn submit(&self, mark: &str, log: &Path) -> u64 {
        // One write of one line: a job that writes it has run.
        let command = format!("echo {mark} >> {}; sleep 0.05", log.display());
        let job = json!({
            "name": mark, "command": ["sh", "-c", command], "nodes": 1, "time": 60,
            "on_lost": "fail", "output": "/dev/null"
        });
        let begin = Instant::now();
        loop {
            let answer = self.send("POST", "/v1/jobs", mark, Some(&job));
            match answer.as_ref().and_then(|it| it["jobs"][0].as_u64()) {
                Some(number) => return number,
                None => thread::sleep(Duration::from_millis(20)),
            }
            assert!(begin.elapsed() < Duration::from_secs(240), "{mark} is not accepted");
        }
    }

    fn all(&self, path: &str, list: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            // The daemon may only just have started.
            let ask = |_| {
                thread::sleep(Duration::from_millis(20));
                self.send("GET", &format!("{path}limit=1000{after}"), "x", None)
            };
            let page = (0..3_000).find_map(ask).unwrap();
            all.extend(page[list].as_array().unwrap().clone());
            match page["next"].as_u64() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }
}

/// The next of some random numbers.
fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn a_hundred_kills_lose_nothing_and_repeat_nothing() {
    let kills = std::env::var("TRADEWIND_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let (state, log) = (folder.path().join("state"), folder.path().join("log"));
    let stop = Arc::new(AtomicBool::new(false));
    let promised = Arc::new(Mutex::new(BTreeMap::new()));
    let hands: Vec<_> = (0..3)
        .map(|hand| {
            let (client, log) = (Client(state.clone()), log.clone());
            let (stop, promised) = (Arc::clone(&stop), Arc::clone(&promised));
            thread::spawn(move || {
                for count in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let mark = format!("m{hand}-{count}");
                    let number = client.submit(&mark, &log);
                    promised.lock().unwrap().insert(mark, number);
                    thread::sleep(Duration::from_millis(150));
                }
            })
        })
        .collect();
    let mut seed = 7;
    for _ in 0..kills {
        let daemon = Daemon::start(&state);
        thread::sleep(Duration::from_millis(50 + draw(&mut seed) % 400));
        daemon.kill();
    }
    let daemon = Daemon::start(&state);
    // A slow machine may have taken few jobs between two kills.
    let begin = Instant::now();
    while promised.lock().unwrap().len() <= 20 && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(50));
    }
    stop.store(true, Ordering::Relaxed);
    hands.into_iter().for_each(|hand| hand.join().unwrap());
    let client = Client(state.clone());
    let jobs = all_over(&client);
    check(&client, &jobs, &promised.lock().unwrap(), &log);
    daemon.kill();
}

fn all_over(client: &Client) -> BTreeMap<u64, Value> {
    let begin = Instant::now();
    loop {
        let jobs = client.all("/v1/jobs?", "jobs");
        let live = ["PENDING", "CONFIGURING", "RUNNING", "COMPLETING"];
        if jobs.iter().all(|job| !live.contains(&job["state"].as_str().unwrap())) {
            return jobs.into_iter().map(|job| (job["id"].as_u64().unwrap(), job)).collect();
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "jobs do not come to an end");
        thread::sleep(Duration::from_millis(200));
    }
}

fn check(
    client: &Client,
    jobs: &BTreeMap<u64, Value>,
    promised: &BTreeMap<String, u64>,
    log: &Path,
) {
    let text = fs::read_to_string(log).unwrap();
    let mut runs = BTreeMap::<&str, u32>::new();
    text.lines().for_each(|mark| *runs.entry(mark).or_default() += 1);
    assert!(promised.len() > 20, "{} jobs were acknowledged", promised.len());
    for (mark, number) in promised {
        let job = jobs.get(number).unwrap_or_else(|| panic!("job {number} ({mark}) is gone"));
        assert_eq!(job["name"], mark.as_str(), "another job has number {number}");
        let ran = runs.get(mark.as_str()).copied().unwrap_or(0);
        let state = job["state"].as_str().unwrap();
        assert!(ran <= 1, "{mark} ran {ran} times");
        assert!(state != "COMPLETED" || ran == 1, "{mark} is {state} and ran {ran} times");
    }
    let twice = jobs.values().map(|job| job["name"].as_str().unwrap());
    let names: Vec<&str> = twice.collect();
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "a submission was taken on twice");
    let accounts = client.all("/v1/accounts?", "accounts");
    let micro = |value: &Value| (value.as_f64().unwrap() * 1e6).round() as i64;
    // Nothing is held any more: all is over.
    let sum: i64 = accounts.iter().map(|it| micro(&it["balance"])).sum();
    assert_eq!(sum, 0, "{accounts:?}");
}
