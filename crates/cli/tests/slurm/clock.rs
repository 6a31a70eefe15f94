//! The daemon's system clock is two hours ahead for some seconds: nothing waits for those hours
//! later, and jobs that run are unharmed.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, micro};

const MISSING: &str = "libfaketime is not installed, and these tests need it: run \
                       `scripts/setup.sh`, or `apt-get install libfaketime` (Debian, Ubuntu)";

/// A market whose daemon believes a clock that we set.
struct Stage {
    market: Market,
}

impl Stage {
    /// Begins with a clock that is so many seconds ahead.
    fn new(cluster: &Cluster, more: &str, ahead: i64) -> Stage {
        let offer = Offer::new(cluster, "alpha", 2, "1").with(more);
        let stage = Stage { market: Market::prepare("", &[offer]) };
        stage.set(ahead);
        stage.up();
        stage
    }

    fn up(&self) {
        let file = self.market.path("clock").to_string_lossy().into_owned();
        let one = || "1".to_owned();
        self.market.spawn_with(&[
            ("LD_PRELOAD", library().to_string_lossy().into_owned()),
            ("FAKETIME_TIMESTAMP_FILE", file),
            ("FAKETIME_CACHE_DURATION", one()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", one()),
            ("DONT_FAKE_MONOTONIC", one()),
            ("NO_FAKE_STAT", one()),
        ]);
        self.market.until_up();
    }

    fn set(&self, ahead: i64) {
        let path = self.market.path("clock");
        // In one step: the daemon may read it at any moment.
        std::fs::write(path.with_extension("new"), format!("{ahead:+}\n")).unwrap();
        std::fs::rename(path.with_extension("new"), path).unwrap();
    }

    fn until_said(&self, what: &str) {
        self.market.until(what, || self.market.log().contains(what));
    }

    fn submit(&self, line: &str) -> u64 {
        self.market.submit(&["--time", "5:00", "--wrap", line])
    }

    /// All jobs ended well, `long` among them, which worked for half a minute; money and journal
    /// are right.
    fn check(&self, long: u64) {
        let jobs = self.market.all_over();
        let well = |job: &Value| job["state"] == "COMPLETED";
        assert!(jobs.values().all(well), "{jobs:#?}\n{}", self.market.log());
        let paid = micro(&jobs[&long]["paid"]) / 1_000_000;
        assert!((25..90).contains(&paid), "{paid}: {:#}\n{}", jobs[&long], self.market.log());
        self.market.check_money(&jobs);
    }
}

fn library() -> PathBuf {
    let all = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let places = all.map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{MISSING}"))
}

#[test]
fn a_clock_that_was_ahead_for_seconds_makes_nothing_wait() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let stage = Stage::new(&alpha, "", 0);
    let long = stage.submit("sleep 30");
    stage.market.until_state(long, "RUNNING");
    stage.set(7_200);
    stage.until_said("the system clock went forward by");
    let ahead = stage.submit("true");
    stage.market.until_state(ahead, "COMPLETED");
    stage.set(0);
    stage.until_said("the system clock went back by");
    for _ in 0..2 {
        let next = stage.submit("true");
        stage.market.until_state(next, "COMPLETED");
    }
    let market = stage.market.json(&["doctor", "--config", &config(&stage.market)]);
    let said = |it: &Value| it["what"] == "the system clock" && it["verdict"] == "warning";
    assert!(market.as_array().unwrap().iter().any(said), "{market:#}");
    stage.check(long);
}

/// In the mode in which tasks wait on hold for a start that lies ahead.
#[test]
fn a_clock_that_was_ahead_until_a_restart_makes_nothing_wait() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let stage = Stage::new(&alpha, "mode = \"hold-release\"", 7_200);
    let first = stage.submit("true");
    stage.market.until_state(first, "COMPLETED");
    let long = stage.submit("sleep 30");
    stage.market.until_state(long, "RUNNING");
    stage.market.kill();
    stage.set(0);
    thread::sleep(Duration::from_secs(1));
    stage.up();
    stage.until_said("the system clock went back by");
    let next = stage.submit("true");
    stage.market.until_state(next, "COMPLETED");
    // And once more: what is written down is enough.
    stage.market.kill();
    stage.up();
    let last = stage.submit("true");
    stage.market.until_state(last, "COMPLETED");
    let log = stage.market.log();
    assert_eq!(log.matches("the system clock went back by").count(), 1, "{log}");
    stage.check(long);
}

fn config(market: &Market) -> String {
    market.config().to_string_lossy().into_owned()
}
