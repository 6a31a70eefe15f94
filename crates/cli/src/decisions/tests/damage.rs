//! Damaged and forged journals: `journal verify`, `restore` and the start of a daemon answer with
//! one sentence, or find that no row has changed.

use std::path::{Path, PathBuf};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use tradewind_daemon::engine::recover_pages;
use tradewind_daemon::journal::prove;
use tradewind_daemon::store::Row;
use tradewind_daemon::store::sqlite::{self, Sqlite};

use super::*;
use crate::commands::live::journal::proof;
use crate::journals::JournalPlace;

/// Journals that earlier releases wrote.
const KEPT: [&str; 3] = ["1", "3", "3-rules-2"];

/// Numbers that overflow, divide by zero, or are just outside.
const ODD: [i64; 12] = [
    0,
    -1,
    1,
    2,
    127,
    65_536,
    u32::MAX as i64,
    u32::MAX as i64 + 1,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    1 << 53,
];

fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
    folder.join(format!("journal-{name}.db"))
}

/// One sentence for people, on one line.
fn is_sentence(text: &str) {
    let is_one = !text.is_empty() && !text.contains(['\n', '\r']) && text.len() < 600;
    assert!(is_one, "{text:?}");
}

/// What a disk does to a file.
fn damaged(draw: &mut Pcg64Mcg, whole: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = draw.random_range(0..bytes.len());
    let end = (at + draw.random_range(1..8_192)).min(bytes.len());
    match draw.random_range(0..6) {
        0..3 => {
            for _ in 0..draw.random_range(1..9) {
                let at = draw.random_range(0..bytes.len());
                bytes[at] ^= 1 << draw.random_range(0..8);
            }
        }
        3 => bytes.truncate(at.max(1)),
        4 => bytes[at..end].fill(0),
        _ => {
            let end = end.min(other.len());
            let from = at.min(end);
            bytes[from..end].copy_from_slice(&other[from..end]);
        }
    }
    bytes
}

/// All that reads a journal's file. If it is proved, its chain is this one.
fn read_file(path: &Path, to: &Path, chain: &Value) {
    match proof(&JournalPlace::File(path.to_owned())) {
        Ok(document) => assert_eq!(&document["chain"], chain, "another journal is proved"),
        Err(failure) => {
            assert_eq!(failure.problems.len(), 1);
            is_sentence(&failure.problems[0].message);
        }
    }
    if let Err(wrong) = sqlite::restore(path, to) {
        is_sentence(&wrong.to_string());
    }
    match Sqlite::open(path) {
        Ok(mut store) => {
            if let Err(wrong) = recover_pages(&mut store, &Json) {
                is_sentence(&wrong.to_string());
            }
        }
        Err(wrong) => is_sentence(&wrong.to_string()),
    }
}

#[test]
fn files_that_a_disk_damaged_are_refused_in_a_sentence_or_are_whole() {
    let files = KEPT.map(|name| std::fs::read(kept(name)).unwrap());
    let chain = |name| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        std::fs::copy(kept(name), &path).unwrap();
        proof(&JournalPlace::File(path)).ok().unwrap()["chain"].clone()
    };
    let chains = KEPT.map(chain);
    let mut draw = Pcg64Mcg::seed_from_u64(1);
    for case in 0..600 {
        let folder = tempfile::tempdir().unwrap();
        let (path, to) = (folder.path().join("journal.db"), folder.path().join("restored.db"));
        let bytes = damaged(&mut draw, &files[case % 3], &files[(case + 1) % 3]);
        std::fs::write(&path, bytes).unwrap();
        read_file(&path, &to, &chains[case % 3]);
    }
}

fn rows(name: &str) -> Vec<(i64, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    std::fs::copy(kept(name), &path).unwrap();
    let mut store = Sqlite::look(&path).unwrap();
    let read = |row: Row| (row.at, serde_json::from_slice(&row.body).unwrap());
    // Enough for all that such a market does, and few enough for many cases.
    store.read(0, 100).unwrap().into_iter().map(read).collect()
}

/// The values in a document that are no tables and no lists.
fn leaves<'a>(value: &'a mut Value, all: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|it| leaves(it, all)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, it)| leaves(it, all)),
        _ => all.push(value),
    }
}

/// Another value in one place of a row.
fn forge(draw: &mut Pcg64Mcg, row: &mut Value) {
    let mut all = Vec::new();
    leaves(row, &mut all);
    let which = draw.random_range(0..all.len().max(1));
    let Some(value) = all.into_iter().nth(which) else { return };
    *value = match (&*value, draw.random_range(0..8)) {
        (_, 0) => Value::Null,
        (Value::Number(number), 1..4) => {
            let number = number.as_i64().unwrap_or(0);
            json!(number.saturating_add(draw.random_range(-3..4)))
        }
        (Value::Number(_), _) => json!(ODD[draw.random_range(0..ODD.len())]),
        (Value::String(_), 1..4) => json!(""),
        (Value::String(text), _) => json!(format!("{text}\u{1b}x")),
        (other, _) => other.clone(),
    };
}

/// Other pools, at the beginning or where a policy begins later.
fn other_pools(draw: &mut Pcg64Mcg, rows: &mut Vec<(i64, Value)>) {
    let mut grid = rows[1].clone();
    forge(draw, &mut grid.1);
    if draw.random() {
        rows[1] = grid;
        return;
    }
    let at = draw.random_range(3..rows.len());
    let began = rows[2].clone();
    rows.splice(at..at, [grid, began]);
}

/// What no disk does: rows in another order or with other contents, which the caller gives a chain
/// that fits.
fn forged(
    draw: &mut Pcg64Mcg,
    whole: &[(i64, Value)],
    other: &[(i64, Value)],
) -> Vec<(i64, Value)> {
    let mut rows = whole.to_vec();
    for _ in 0..draw.random_range(1..3) {
        let (one, two) = (draw.random_range(0..rows.len()), draw.random_range(0..rows.len()));
        match draw.random_range(0..10) {
            0 => rows.swap(one, two),
            1 => drop(rows.remove(one)),
            2 => rows.insert(two, rows[one].clone()),
            3 => rows[one].1 = other[two % other.len()].1.clone(),
            4 => rows[one].0 = ODD[draw.random_range(0..ODD.len())],
            5 | 6 => other_pools(draw, &mut rows),
            _ => forge(draw, &mut rows[one].1),
        }
    }
    // A row earlier than the one before it is not written at all.
    let mut last = i64::MIN;
    for (at, _) in &mut rows {
        last = last.max(*at);
        *at = last;
    }
    rows
}

/// All that reads rows: the proof, the decisions, and a market that goes on with them.
fn read_rows(rows: &[(i64, Value)]) {
    let disk = Disk::new(Origin { market: "m".to_owned(), created: DAWN.0 });
    let rows: Vec<_> = rows.iter().map(|(at, row)| (*at, row.to_string().into_bytes())).collect();
    let mut store = disk.open().unwrap();
    if let Err(wrong) = store.append(&rows) {
        return is_sentence(&wrong.to_string());
    }
    if let Err(wrong) = prove(&mut store, &Json) {
        is_sentence(&wrong.to_string());
    }
    if let Err(wrong) = retrace(&mut store, &Json) {
        is_sentence(&wrong);
    }
    let state = match recover_pages(&mut store, &Json) {
        Ok((state, _)) => state,
        Err(wrong) => return is_sentence(&wrong.to_string()),
    };
    let at = state.now();
    let begun = Live::begin(state, Settings::default(), Arc::new(Policies), "easy", at);
    let went_on = begun.and_then(|(mut live, _)| {
        let step = live.step(at, Input::Tick).and_then(|_| live.plan(at));
        step.map_err(|wrong| wrong.to_string())
    });
    if let Err(wrong) = went_on {
        is_sentence(&wrong);
    }
}

#[test]
fn rows_that_were_forged_are_refused_in_a_sentence_or_make_a_market() {
    let kept = KEPT.map(rows);
    let mut draw = Pcg64Mcg::seed_from_u64(2);
    let mut wrong = Vec::new();
    for case in 0..1_400 {
        let rows = forged(&mut draw, &kept[case % 3], &kept[(case + 1) % 3]);
        if std::panic::catch_unwind(|| read_rows(&rows)).is_err() {
            wrong.push(case);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
