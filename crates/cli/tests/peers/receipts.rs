//! Two daemons, of which one must sign what happened to the other's jobs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use super::Market;

/// The last table of the market's configuration is that of its peer.
fn require(market: &Market, key: &str) {
    let file = market.folder.join("tradewind.toml");
    let text = fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("receipt_key")).collect();
    fs::write(&file, format!("{}\nreceipt_key = '{key}'\n", kept.join("\n"))).unwrap();
}

fn key_of(market: &Market) -> String {
    let peers = market.must("GET", "/v1/peers", "", None);
    peers["receipt_key"].as_str().unwrap().to_owned()
}

/// A job that only the peer has nodes for, when it is over.
fn run(market: &Market, mark: &str) -> Value {
    let number = market.submit(mark, 3, &market.folder.join("log"));
    market.until("the job is over", Market::all_over);
    market.must("GET", &format!("/v1/jobs/{number}"), "", None)
}

#[test]
fn what_a_peer_says_counts_if_it_is_signed_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let [mut a, mut b] = ["a", "b"].map(|name| Market::new(folder.path(), name));
    b.configure(3, &[("a", a.port)]);
    b.start();
    a.configure(1, &[("b", b.port)]);
    require(&a, &key_of(&b));
    a.start();
    a.admit(&b);
    b.admit(&a);
    let job = run(&a, "signed");
    assert_eq!(job["state"], "COMPLETED", "{job}");
    let statement = job["peer_receipt"]["statement"].as_str().unwrap();
    assert!(
        statement.contains("\"finish\":\"completed\"") && statement.contains("\"until\":"),
        "{job}"
    );
    let other = key_of(&a);
    a.kill();
    require(&a, &other);
    a.start();
    let job = run(&a, "unsigned");
    assert_eq!(job["state"], "NODE_FAIL", "{job}");
    assert!(job["message"].as_str().unwrap().contains("has not signed it"), "{job}");
    assert_eq!(job["paid"], 0, "{job}");
    let report = a.must("GET", "/v1/report", "", None)["peers"].clone();
    let it = &report[0];
    let counts = ["jobs", "completed", "lost", "broken"].map(|name| it[name].as_u64());
    assert_eq!((it["peer"].as_str(), counts), (Some("b"), [2, 1, 1, 1].map(Some)), "{report}");
    assert!(it["paid"].as_f64() > Some(0.0), "{report}");
    for market in [&mut a, &mut b] {
        market.kill();
        market.verify();
    }
}

#[test]
fn a_restored_market_signs_with_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let [a, mut b] = ["a", "b"].map(|name| Market::new(folder.path(), name));
    b.configure(1, &[("a", a.port)]);
    b.start();
    let key = key_of(&b);
    let backup = folder.path().join("backup.db");
    let run = |words: [&std::ffi::OsStr; 4]| {
        let done = Command::new(env!("CARGO_BIN_EXE_tradewind")).args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    let state = b.folder.join("state");
    run(["backup".as_ref(), backup.as_ref(), "--state".as_ref(), state.as_ref()]);
    b.kill();
    let kept = folder.path().join("backup.db.receipt-key");
    let mode = fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600, "only its owner can read it");
    fs::remove_dir_all(&state).unwrap();
    run(["restore".as_ref(), backup.as_ref(), "--state".as_ref(), state.as_ref()]);
    b.start();
    assert_eq!(key_of(&b), key);
    b.kill();
}
