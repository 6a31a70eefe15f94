//! Two daemons, one market: killed, frozen, given up, under a stream of submissions.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use super::*;

/// How often each thing happens; `TRADEWIND_TAKEOVERS=50` for more.
fn rounds() -> usize {
    std::env::var("TRADEWIND_TAKEOVERS").ok().and_then(|it| it.parse().ok()).unwrap_or(2)
}

/// Where more rounds are asked for, their times are of interest.
#[expect(clippy::print_stderr, reason = "a measurement is printed")]
fn measured(what: &str, round: usize, milliseconds: u128) {
    if std::env::var_os("TRADEWIND_TAKEOVERS").is_some() {
        eprintln!("{what} {round}: {milliseconds} ms");
    }
}

/// The folder `other` has the sites of `one`, as on a shared file system.
pub(super) fn share_sites(one: &Path, other: &Path) {
    fs::create_dir_all(one.join("sites")).unwrap();
    fs::create_dir_all(other).unwrap();
    std::os::unix::fs::symlink(one.join("sites"), other.join("sites")).unwrap();
}

/// Status, headers and body of an answer; `None`: there is none.
fn get(url: &str, path: &str) -> Option<String> {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// What a daemon says that it is.
pub(super) fn ready(url: &str) -> String {
    let text = get(url, "/readyz").unwrap_or_default();
    let body = text.rsplit("\r\n\r\n").next().unwrap_or_default();
    let status = serde_json::from_str::<Value>(body).ok();
    status.and_then(|it| it["status"].as_str().map(str::to_owned)).unwrap_or_default()
}

/// Waits until the daemon says that; how long it took.
pub(super) fn await_role(url: &str, role: &str) -> Duration {
    let begin = Instant::now();
    while ready(url) != role {
        assert!(begin.elapsed() < Duration::from_secs(90), "{url} does not become {role}");
        thread::sleep(Duration::from_millis(20));
    }
    begin.elapsed()
}

/// Two daemons of one market, in two folders.
struct Pair {
    place: Place,
    states: [PathBuf; 2],
    daemons: [Option<Daemon>; 2],
    owner: usize,
}

impl Pair {
    fn new() -> Pair {
        let place = Place::new();
        place.configure_with(&place.server.url(&place.database), "[standby]\nlease_seconds = 2");
        let states = [place.path("one"), place.path("two")];
        share_sites(&states[0], &states[1]);
        fs::create_dir(place.path("marks")).unwrap();
        let daemons = [Some(place.start(&states[0], &[])), None];
        let mut pair = Pair { place, states, daemons, owner: 0 };
        pair.begin(1);
        assert_eq!(ready(pair.url(1)), "standby");
        pair
    }

    /// Starts a daemon again.
    fn begin(&mut self, which: usize) {
        self.daemons[which] = Some(self.place.start(&self.states[which], &[]));
    }

    fn url(&self, which: usize) -> &str {
        &self.daemons[which].as_ref().unwrap().url
    }

    fn urls(&self) -> String {
        let urls = self.daemons.iter().flatten().map(|it| it.url.as_str());
        urls.collect::<Vec<_>>().join(",")
    }

    fn token(&self) -> String {
        self.states[0].join("admin.token").to_str().unwrap().to_owned()
    }

    fn signal(&self, which: usize, signal: &str) {
        server::signal_to(
            self.daemons[which].as_ref().unwrap().child.as_ref().unwrap().id(),
            signal,
        );
    }

    /// Submits jobs, one after the other, until it is stopped.
    fn stream(&self) -> Stream {
        static JOBS: AtomicUsize = AtomicUsize::new(0);
        let stop = Arc::new(AtomicBool::new(false));
        let (urls, token, marks) = (self.urls(), self.token(), self.place.path("marks"));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (mut accepted, mut refused) = (Vec::new(), Vec::new());
            while !stopped.load(Ordering::Relaxed) {
                let mark = marks.join(JOBS.fetch_add(1, Ordering::Relaxed).to_string());
                let line = format!("echo ran >> {}", mark.display());
                let market = ["submit", "--url", &urls, "--token-file", &token, "--time", "60"];
                let ended = run(&[&market[..], &["--", "sh", "-c", &line]].concat());
                match ended.status.success() {
                    true => accepted.push(mark),
                    false => refused.push(String::from_utf8_lossy(&ended.stderr).into_owned()),
                }
                thread::sleep(Duration::from_millis(30));
            }
            (accepted, refused)
        });
        Stream { stop, thread }
    }

    /// All that was accepted has run, once each, and the journal proves the rest.
    fn check(&self, marks: &[PathBuf]) {
        let (url, token) = (self.url(self.owner).to_owned(), self.token());
        let begin = Instant::now();
        loop {
            let market = json(&["policy", "--url", &url, "--token-file", &token]);
            let count = |phase: &str| market["jobs"][phase].as_u64().unwrap();
            if count("waiting") + count("running") + count("held") == 0 {
                assert_eq!(market["money"]["held"].to_string().trim_matches('"'), "0", "{market}");
                assert!(market["standby"].is_null(), "{market}");
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(120), "{market}");
            thread::sleep(Duration::from_millis(100));
        }
        for mark in marks {
            let text = fs::read_to_string(mark).unwrap_or_default();
            assert_eq!(text, "ran\n", "{} ran once", mark.display());
        }
        let listed = jobs_at(&url, &token);
        assert!(listed >= marks.len(), "{listed} jobs for {} submissions", marks.len());
        let store = self.place.server.url(&self.place.database);
        let proof = json(&["journal", "verify", "--store", &store]);
        assert_eq!(proof["proved"], true, "{proof}");
    }
}

fn jobs_at(url: &str, token: &str) -> usize {
    let listed = json(&["jobs", "--all", "--url", url, "--token-file", token]);
    listed.as_array().map_or_else(|| listed["jobs"].as_array().unwrap().len(), Vec::len)
}

struct Stream {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Vec<PathBuf>, Vec<String>)>,
}

impl Stream {
    /// The marks of all jobs that were accepted; none may have been refused.
    fn end(self) -> Vec<PathBuf> {
        self.stop.store(true, Ordering::Relaxed);
        let (accepted, refused) = self.thread.join().unwrap();
        assert!(refused.is_empty(), "{refused:?}");
        assert!(!accepted.is_empty());
        accepted
    }
}

#[test]
fn a_standby_takes_over_when_the_owner_is_killed() {
    let mut pair = Pair::new();
    let mut all = Vec::new();
    for round in 0..rounds() {
        let stream = pair.stream();
        thread::sleep(Duration::from_millis(700));
        let (dead, heir) = (pair.owner, 1 - pair.owner);
        pair.daemons[dead].take().unwrap().kill();
        let took = await_role(pair.url(heir), "ok");
        measured("killed", round, took.as_millis());
        assert!(took < Duration::from_secs(15), "{took:?}");
        pair.owner = heir;
        thread::sleep(Duration::from_millis(300));
        all.extend(stream.end());
        pair.check(&all);
        pair.begin(dead);
        assert_eq!(ready(pair.url(dead)), "standby");
    }
}

#[test]
fn a_daemon_that_was_frozen_does_nothing_any_more() {
    let mut pair = Pair::new();
    let mut all = Vec::new();
    for round in 0..rounds() {
        let stream = pair.stream();
        thread::sleep(Duration::from_millis(700));
        let (frozen, heir) = (pair.owner, 1 - pair.owner);
        pair.signal(frozen, "STOP");
        let took = await_role(pair.url(heir), "ok");
        measured("frozen", round, took.as_millis());
        assert!(took < Duration::from_secs(15), "{took:?}");
        thread::sleep(Duration::from_millis(300));
        pair.signal(frozen, "CONT");
        await_role(pair.url(frozen), "standby");
        pair.owner = heir;
        all.extend(stream.end());
        assert_eq!(ready(pair.url(heir)), "ok");
        pair.check(&all);
    }
    let fence = fs::read_to_string(pair.states[0].join("sites/alpha/epoch")).unwrap();
    let (url, epoch) = (pair.url(pair.owner), fence.trim());
    let numbers = get(url, "/metrics").unwrap();
    assert!(numbers.contains(&format!("\ntradewind_epoch {epoch}\n")), "{epoch}");
}

#[test]
fn a_handover_refuses_no_submission() {
    let mut pair = Pair::new();
    let mut all = Vec::new();
    let stream = pair.stream();
    for round in 0..rounds() {
        thread::sleep(Duration::from_millis(500));
        let (urls, token) = (pair.urls(), pair.token());
        let given = json(&["handover", "--url", &urls, "--token-file", &token]);
        pair.owner = 1 - pair.owner;
        assert_eq!(given["owner"], pair.url(pair.owner), "{given}");
        measured("handover", round, given["milliseconds"].as_u64().unwrap().into());
        await_role(pair.url(pair.owner), "ok");
        await_role(pair.url(1 - pair.owner), "standby");
    }
    all.extend(stream.end());
    pair.check(&all);
    // Of a daemon that has no other to hand over to, the market is owned again.
    let standby = 1 - pair.owner;
    pair.daemons[standby].take().unwrap().stop();
    let (url, token) = (pair.url(pair.owner).to_owned(), pair.token());
    let alone = run(&["handover", "--url", &url, "--token-file", &token]);
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(alone.status.code() == Some(1) && said.contains("owns it again"), "{said}");
}

#[test]
fn a_standby_answers_reads_and_says_how_far_it_is_behind() {
    let pair = Pair::new();
    let (standby, token) = (pair.url(1).to_owned(), pair.token());
    // The standby alone is named: it sends the client to the owner.
    let market = ["--url", &standby, "--token-file", &token];
    let ended =
        run(&[&["submit"], &market[..], &["--time", "60", "--wait", "--", "true"]].concat());
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let begin = Instant::now();
    while jobs_at(&standby, &token) != 1 {
        assert!(begin.elapsed() < Duration::from_secs(30), "the job does not come to the standby");
        thread::sleep(Duration::from_millis(50));
    }
    let whole = json(&[&["policy"], &market[..]].concat());
    assert_eq!(whole["standby"]["owner"], pair.url(0), "{whole}");
    let head = get(&standby, "/readyz").unwrap();
    assert!(head.contains("tradewind-standby-rows-behind: "), "{head}");
    let numbers = |url: &str| get(url, "/metrics").unwrap();
    assert!(numbers(&standby).contains("\ntradewind_owner 0\n"));
    assert!(numbers(pair.url(0)).contains("\ntradewind_owner 1\n"));
    assert!(numbers(&standby).contains("\ntradewind_standby_rows_behind "));
}

#[test]
fn a_site_whose_folder_is_elsewhere_is_not_used() {
    let place = Place::new();
    place.configure_with(&place.server.url(&place.database), "[standby]\nlease_seconds = 2");
    let (one, other) = (place.path("one"), place.path("other"));
    let first = place.start(&one, &[]);
    a_job_runs(&one);
    let second = place.start(&other, &[]);
    first.stop();
    await_role(&second.url, "ok");
    let token = one.join("admin.token").to_str().unwrap().to_owned();
    let begin = Instant::now();
    loop {
        let sites = json(&["sites", "--url", &second.url, "--token-file", &token]);
        if sites.to_string().contains("belongs to its machine") {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{sites}");
        thread::sleep(Duration::from_millis(100));
    }
    second.stop();
}
