//! No input makes a parser panic: valid documents with random damage, and random bytes. The long
//! form: `TRADEWIND_FUZZ_CASES=100000 cargo test --release -p tradewind-io --test fuzz`.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tradewind_io::input::Input;
use tradewind_io::snapshot::{At, SnapshotOptions, side, take};
use tradewind_io::{grid, outages, sacct, scenario, swf, wire};
use tradewind_model::Span;

const TOML: &str = r#"
title = "x"
horizon = { start = -5, end = "1-00:00:00" }
busy = [{ node = "a", start = 0x10, end = 2e2 }]
[[nodes]]
name = "a"
site = 's'
performance = 1.5
price = 1_000.000001
attributes = { gpu = true, gb = 4.5, os = "x" }
[[jobs]]
name = "j"
nodes = 1
work = "2h"
budget = 12.5
minimize = "sum:gb"
[policy]
objective = "min-cost"
time_limit = "auto"
"#;
const COMBINE: &str = r#"{"jobs": [{"name": "a", "alternatives": [{"time": 5, "cost": 1.5}]}]}"#;
const SIDE: &str = "[model]\nclasses = [1, 2.5]\nslack = [2, 3]\ncriteria = ['cost']\n[[job]]\njob = 1\nbudget = 2\n";
const GRID: &str = "[[site]]\nname = 'a'\nprice = [1, 2.5]\n[[site.pool]]\nname = 'p'\nnodes = 12\n\
    queues = '1:2:3'\nmax_time = '1h'\n[[site.pool]]\nname = 'q'\nnodes = 6\n\
    queue = [{ name = 's', nodes = 2, max_processors = 1 }, { nodes = 4 }]\n\
    [[outage]]\npool = 'p'\nnodes = 7\nnode = 3\nfrom = 0\nuntil = 5\n";
const TABLE: &str = "job,budget,minimize\n1,2.5,cost\n2,,\"start\"\n";

const SACCT: &str = "JobID|Submit|Eligible|Start|End|NNodes|NCPUS|Timelimit|State|User|Account|Partition|\
    ReqMem|NodeList|JobName\n\
    7_[1-3%2]|2026-03-05T10:00:00|Unknown|None|Unknown|1|4|UNLIMITED|PENDING|u|a|p,q|4Gn|None|a|b\n\
    6+1|1772700000|1772700001|1772700002|1772700003|2|1K|1-02:03:04|CANCELLED by 5|v|b|p|1.5G|\
    n[1-2],m03|c\n";

/// One piece of damage: what to do, where, and with which byte.
type Damage = (u8, usize, u8);

fn damaged(text: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for &(kind, place, byte) in damage {
        let at = place % (bytes.len() + 1);
        let until = (at + usize::from(byte) % 16).min(bytes.len());
        match kind % 6 {
            0 if at < bytes.len() => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.drain(at..until)),
            3 => bytes.truncate(at),
            4 => bytes.extend_from_within(at..until),
            // Characters that mean something to a parser do more harm than others.
            _ => bytes.insert(at, b"{}[]\",:=-.0e9\n\\#;'"[usize::from(byte) % 18]),
        }
    }
    bytes
}

/// Reads `bytes` as everything that there is, under names that choose each syntax; says whether
/// any reader took them.
fn read_as_all(bytes: &[u8]) -> bool {
    let mut taken = false;
    for name in ["x", "x.json", "x.toml", "x.csv"] {
        let input = Input::new(name, bytes);
        if let Ok((scenario, _)) = scenario::parse(&input) {
            // What was accepted can be written and read again.
            let text = scenario.to_json();
            let (back, _) = scenario::parse(&Input::new("y.json", text)).unwrap();
            assert_eq!(back, scenario);
            taken = true;
        }
        taken |= wire::combine::parse(&input).is_ok();
        taken |= side::parse(&input).is_ok();
        if let Ok((grid, _)) = grid::parse(&input) {
            let pools = grid.pools(1);
            let whole = |it: &outages::Planned| {
                it.what.nodes >= 1 && it.what.nodes <= pools.pool(it.what.pool).nodes
            };
            assert!(grid.planned.iter().all(whole), "an outage of nodes that are not there");
            taken = true;
        }
    }
    if let Ok(log) = swf::parse(&Input::new("x.swf", bytes)) {
        let options = SnapshotOptions::new(At::Middle, Span(1_000), 1);
        let _ = take(&log, &SnapshotOptions { processors: Some(64), ..options });
        let back = swf::parse(&Input::new("x.swf", swf::write(&log))).unwrap();
        assert_eq!((back.header, back.jobs, back.undated), (log.header, log.jobs, log.undated));
        taken = true;
    }
    taken | read_rows(bytes)
}

/// Reads rows of Slurm's accounting; what was accepted becomes a log and a grid that can be read.
fn read_rows(bytes: &[u8]) -> bool {
    let options = sacct::SacctOptions::new(jiff::tz::TimeZone::UTC);
    let mut reader = sacct::SacctReader::new("x.txt", options);
    bytes.split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
    let Ok(history) = reader.finish() else { return false };
    let mut log = Vec::new();
    history.write_log(&mut log).unwrap();
    history.write_names(&mut Vec::new()).unwrap();
    let read = swf::parse(&Input::new("x.swf", log));
    // A log without a job that ran is refused by its reader.
    if let Ok(read) = read {
        assert_eq!(read.jobs.len(), history.counts().jobs);
    }
    if history.processors() > 0 {
        let (grid, _) = grid::parse(&Input::new("x.toml", history.grid())).unwrap();
        assert_eq!(grid.pools(1).nodes(), history.processors());
    }
    true
}

fn runner() -> TestRunner {
    let cases = std::env::var("TRADEWIND_FUZZ_CASES").ok().and_then(|n| n.parse().ok());
    let failure_persistence = None;
    TestRunner::new(Config {
        cases: cases.unwrap_or(200),
        failure_persistence,
        ..Config::default()
    })
}

#[test]
fn damaged_documents_are_read_or_refused() {
    let log = swf::write(&swf::sample(1, 8, 16));
    let (scenario, _) = scenario::parse(&Input::new("x.toml", TOML)).unwrap();
    let documents =
        [TOML, &scenario.to_json(), COMBINE, SIDE, GRID, TABLE, &log, SACCT].map(str::to_owned);
    let damage = proptest::collection::vec(any::<Damage>(), 0..5);
    let (taken, refused) = (Cell::new(0), Cell::new(0));
    runner()
        .run(&(0..documents.len(), damage), |(which, damage)| {
            let count = match read_as_all(&damaged(documents[which].as_bytes(), &damage)) {
                true => &taken,
                false => &refused,
            };
            count.set(count.get() + 1);
            Ok(())
        })
        .unwrap();
    let (taken, refused) = (taken.get(), refused.get());
    assert!(
        taken > 10 && refused > 10,
        "the damage is one-sided: {taken} taken, {refused} refused"
    );
}

#[test]
fn random_bytes_are_read_or_refused() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    runner()
        .run(&bytes, |bytes| {
            read_as_all(&bytes);
            Ok(())
        })
        .unwrap();
}
