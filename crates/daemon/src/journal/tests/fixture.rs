//! A journal of format 2, as the release of that format wrote it, is read and goes on.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::engine::recover_pages;
use crate::store::Store as _;
use crate::store::sqlite::{FORMAT, Sqlite};

/// The whole file as SQL: settings of the file, tables, and all their rows.
const FORMAT_2: &str = include_str!("format-2.sql");

/// After this row the snapshot of the fixture was taken.
const SNAPSHOT: u64 = 12;

/// Writes the text again: `cargo test -p tradewind-daemon -- --ignored make_the_journal_as_text`.
/// Only for a new format, under a new name.
#[test]
#[ignore = "the file of a released format never changes"]
fn make_the_journal_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let mut store = Sqlite::open(&path).unwrap();
    let rows: Vec<_> = history().iter().map(|(at, record)| (*at, Json.record(record))).collect();
    store.append(&rows).unwrap();
    let mut state = state_after(&mut store, &Json, SNAPSHOT).unwrap();
    let touched = state.jobs.take_touched();
    let (body, changed) = Pages::default().of(&state, &touched);
    let snapshot = Snapshot { seq: SNAPSHOT, at: 1_012, version: pages::VERSION, body };
    store.keep_pages(&snapshot, &changed).unwrap();
    drop(store);
    let to = format!("src/journal/tests/format-{FORMAT}.sql");
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(to), dump(&path)).unwrap();
}

fn dump(path: &Path) -> String {
    let file = Connection::open(path).unwrap();
    let mut text = String::new();
    for pragma in ["application_id", "user_version"] {
        let value: i64 = file.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap();
        writeln!(text, "PRAGMA {pragma} = {value};").unwrap();
    }
    let texts = |sql: &str| -> Vec<String> {
        let mut all = file.prepare(sql).unwrap();
        all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for sql in texts("SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY rowid") {
        writeln!(text, "{sql};").unwrap();
    }
    for table in texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid") {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|it| format!("quote({it})")).collect();
        let values = quoted.join(" || ',' || ");
        for row in texts(&format!("SELECT {values} FROM {table}")) {
            writeln!(text, "INSERT INTO {table} VALUES ({row});").unwrap();
        }
    }
    text
}

#[test]
fn a_journal_of_format_2_makes_its_state_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    Connection::open(&path).unwrap().execute_batch(FORMAT_2).unwrap();
    let format = || -> u32 {
        let file = Connection::open(&path).unwrap();
        file.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    };
    let looked = prove(&mut Sqlite::look(&path).unwrap(), &Json).unwrap();
    assert_eq!((looked.snapshot, looked.verified.rows), (Some(SNAPSHOT), 21));
    let chain = "7fef3b2e8da3429266c2c79543ef942d06dac0ccd9e9ee024a6dc5b1d7ad46c5";
    assert_eq!(looked.verified.digest.to_string(), chain);
    assert_eq!(format(), 2, "a look changes nothing");
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(format(), FORMAT);
    let (mut state, mut pages) = recover_pages(&mut store, &Json).unwrap();
    let dropped = Record::Dropped { job: 1 };
    store.append(&[(1_060, Json.record(&dropped))]).unwrap();
    state.apply(Time(1_060), &dropped).unwrap();
    let touched = state.jobs.take_touched();
    let (body, changed) = pages.of(&state, &touched);
    let snapshot = Snapshot { seq: 22, at: 1_060, version: pages::VERSION, body };
    store.keep_pages(&snapshot, &changed).unwrap();
    assert_eq!(prove(&mut store, &Json).unwrap().snapshot, Some(22));
}
