//! A process that appends is killed at random moments: what it acknowledged is there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::*;

/// Set for the child only: where it writes.
const PATH: &str = "TRADEWIND_TEST_STORE";

/// Rows of the append that begins with row `first`.
fn batch(first: u64) -> Vec<(i64, Vec<u8>)> {
    let body = |seq: u64| format!("{first} {seq} {}", "x".repeat(seq as usize % 700)).into_bytes();
    (first..=first + first % 7).map(|seq| (seq as i64, body(seq))).collect()
}

/// Appends for ever, and says after each append which row is safe.
fn child(path: &Path) {
    let mut store = Sqlite::open(path).unwrap();
    let mut out = std::io::stdout();
    for round in 0u64.. {
        if let Err(error) = store.append(&batch(store.last() + 1)) {
            writeln!(out, "error {error}").unwrap();
            assert_eq!(verify(&mut store).unwrap().rows, store.last());
            return;
        }
        if round % 5 == 4 {
            let snapshot = snapshot(store.last());
            store.keep(&snapshot).unwrap();
        }
        writeln!(out, "safe {}", store.last()).unwrap();
    }
}

/// Starts this very test as a process of its own, below a shell line.
fn start(path: &Path, name: &str, line: &str) -> std::process::Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{line} exec \"$0\" \"$@\"")]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", &format!("store::sqlite::tests::kill::{name}")]);
    command.env(PATH, path).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// What a child said: its acknowledged rows, and other words.
fn said(child: &mut std::process::Child) -> (u64, Option<String>) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut safe, mut error) = (0, None);
    for line in lines {
        if let Some(seq) = line.strip_prefix("safe ") {
            safe = seq.parse().unwrap_or(safe);
        }
        error = line.strip_prefix("error ").map(str::to_owned).or(error);
    }
    (safe, error)
}

/// All appends are whole, and there is nothing else.
fn is_whole(store: &mut Sqlite) {
    let all = store.read(0, usize::MAX).unwrap();
    let mut first = 1;
    while first <= all.len() as u64 {
        let expected = batch(first);
        let found = all.iter().skip(first as usize - 1).take(expected.len());
        let found: Vec<_> = found.map(|row| (row.at, row.body.clone())).collect();
        assert_eq!(found, expected);
        first += expected.len() as u64;
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(path) = std::env::var_os(PATH) {
        return child(Path::new(&path));
    }
    let (_folder, path) = place();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut safe = 0;
    let begun = std::time::Instant::now();
    let mut round = 0;
    // Twelve times, or more if the machine is slow.
    while round < 12 || (safe <= 20 && begun.elapsed().as_secs() < 60) {
        round += 1;
        let mut child = start(&path, "what_was_acknowledged_survives_a_kill", "");
        std::thread::sleep(Duration::from_millis(random.random_range(10..150)));
        child.kill().unwrap();
        let (acknowledged, error) = said(&mut child);
        child.wait().unwrap();
        assert_eq!(error, None);
        safe = safe.max(acknowledged);
        let mut store = Sqlite::open(&path).unwrap();
        assert!(store.last() >= safe, "round {round}: {safe} were safe, {} are", store.last());
        is_whole(&mut store);
        drop(store);
        check(&path).unwrap();
    }
    assert!(safe > 20, "the child was too slow to test anything: {safe} rows");
}

/// A file that may not grow, as on a disk that is full, by the kernel's word.
#[test]
fn a_file_that_may_not_grow_keeps_what_it_has() {
    if let Some(path) = std::env::var_os(PATH) {
        return child(Path::new(&path));
    }
    let (_folder, path) = place();
    let limit = "trap '' XFSZ; ulimit -f 400;";
    let mut child = start(&path, "a_file_that_may_not_grow_keeps_what_it_has", limit);
    let (safe, error) = said(&mut child);
    assert!(child.wait().unwrap().success());
    assert!(error.is_some() && safe > 10, "{safe} {error:?}");
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.last(), safe);
    is_whole(&mut store);
    store.append(&batch(safe + 1)).unwrap();
}
