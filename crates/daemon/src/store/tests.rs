use std::collections::BTreeMap;

use serde_json::Value;

use super::chain::{JournalEnd, link};
use super::memory::{Disk, StoreFault};
use super::*;

fn origin() -> Origin {
    Origin { market: "test".to_owned(), created: 1_700_000_000 }
}

fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<(i64, Vec<u8>)> {
    numbers.into_iter().map(|n| (n, format!(r#"{{"n":{n}}}"#).into_bytes())).collect()
}

#[test]
fn the_chain_is_what_its_description_says() {
    // Made with sha256sum over the bytes that `link` and `Origin::digest` describe.
    let first = link(origin().digest(), 1, 7, b"{}");
    assert_eq!(origin().digest().to_string(), GENESIS);
    assert_eq!(first.to_string(), FIRST);
}

const GENESIS: &str = "a344e099f3dbf8f6f1762071bf03712dcc09634a0419e9db853cdb9a968474c9";
const FIRST: &str = "adeb4e932199d1d73fc91fdac7b0edc60c4e16646dcc6ab2c5d43778093768e7";

#[test]
fn each_part_of_a_row_moves_its_digest() {
    let before = origin().digest();
    let row = link(before, 1, 7, b"ab");
    let other = Origin { created: 0, ..origin() };
    let others = [
        link(other.digest(), 1, 7, b"ab"),
        link(before, 2, 7, b"ab"),
        link(before, 1, 8, b"ab"),
        link(before, 1, 7, b"ac"),
        link(before, 1, 7, b"a"),
    ];
    assert!(others.iter().all(|other| *other != row));
}

#[test]
fn names_of_markets_are_short_plain_and_not_the_same() {
    let one = Origin::random([0, 31, 32, 255, 7, 8, 9, 10, 11, 12], 5);
    assert_eq!(one.market, "a9a9hijkmn");
    assert_ne!(one.market, Origin::random([1; 10], 5).market);
}

#[test]
fn a_store_in_memory_keeps_what_was_appended() {
    let disk = Disk::new(origin());
    let mut store = disk.open().unwrap();
    assert!(matches!(disk.open(), Err(StoreError::Busy { .. })));
    store.append(&rows([1, 2, 3])).unwrap();
    assert!(store.append(&rows([2])).is_err());
    drop(store);
    let mut store = disk.open().unwrap();
    assert_eq!(store.last(), 3);
    let read = store.read(1, 1).unwrap();
    assert_eq!(read, [Row { seq: 2, at: 2, body: br#"{"n":2}"#.to_vec() }]);
    assert_eq!(store.read(3, 9).unwrap(), []);
    assert_eq!(store.read(u64::MAX, 9).unwrap(), []);
}

#[test]
fn a_store_in_memory_fails_on_request() {
    let disk = Disk::new(origin());
    let mut store = disk.open().unwrap();
    disk.fail_next(StoreFault::Full);
    assert!(store.append(&rows([1])).is_err());
    store.append(&rows([1])).unwrap();
    for (fault, there) in [(StoreFault::DiesBefore, 1), (StoreFault::DiesAfter, 2)] {
        disk.fail_next(fault);
        assert!(store.append(&rows([2])).is_err());
        assert!(store.append(&rows([2])).is_err());
        store = disk.open().unwrap();
        assert_eq!(store.last(), there, "{fault:?}");
    }
    disk.crash();
    assert!(store.read(0, 1).is_err());
    let mut next = disk.open().unwrap();
    drop(store);
    assert!(disk.open().is_err(), "a dead store does not give up what another has");
    disk.corrupt(2, 0);
    assert!(matches!(verify(&mut next), Err(StoreError::Damaged { seq: 2, .. })));
}

#[test]
fn snapshots_are_of_rows_that_are_there() {
    let mut store = Disk::new(origin()).open().unwrap();
    let snapshot = |seq| Snapshot { seq, at: 5, version: 1, body: vec![1] };
    assert!(store.keep(&snapshot(1)).is_err());
    store.append(&rows([1])).unwrap();
    store.keep(&snapshot(1)).unwrap();
    assert_eq!(store.snapshot().unwrap(), Some(snapshot(1)));
}

struct MemoryBench(Disk);

impl conformance::StoreBench for MemoryBench {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(self.0.open()?))
    }

    fn look(&mut self) -> Option<Box<dyn Store>> {
        None
    }

    fn damage(&mut self, seq: u64) {
        self.0.corrupt(seq, 0);
    }

    fn archive(&mut self, _: i64) -> Option<u64> {
        None
    }
}

#[test]
fn a_store_in_memory_is_a_store() {
    conformance::all(|| MemoryBench(Disk::new(origin())));
}

#[test]
fn a_journal_goes_from_store_to_store_and_through_an_export() {
    let mut store = Disk::new(origin()).open().unwrap();
    store.append(&rows(1..=600)).unwrap();
    let odd: [&[u8]; 5] = [b"{\"a\": 1.50 , \"a\":2}", b"{\"a\":\n1}", b"no JSON", b"\xff", b""];
    store.append(&odd.map(|body| (700, body.to_vec()))).unwrap();
    let original = verify(&mut store).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let copy = sqlite::import(&file("copy.db"), &mut StoreRows::of(&mut store)).unwrap();
    assert_eq!(copy, original);
    let mut lines = Vec::new();
    export(&mut store, &mut lines).unwrap();
    let mut read = ExportedRows::begin(lines.as_slice()).unwrap();
    assert_eq!(sqlite::import(&file("again.db"), &mut read).unwrap(), original);
    assert_eq!(sqlite::Sqlite::open(&file("again.db")).unwrap().origin(), store.origin());
    let there = sqlite::import(&file("again.db"), &mut StoreRows::of(&mut store)).unwrap_err();
    assert!(there.to_string().contains("it is there already"), "{there}");
}

#[test]
fn an_export_that_was_changed_is_not_imported() {
    let mut store = Disk::new(origin()).open().unwrap();
    store.append(&rows(1..=9)).unwrap();
    let mut lines = Vec::new();
    export(&mut store, &mut lines).unwrap();
    let text = String::from_utf8(lines).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.db");
    let said = |text: &str| {
        let read = ExportedRows::begin(text.as_bytes());
        let wrong = read.and_then(|mut read| sqlite::import(&to, &mut read)).unwrap_err();
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        wrong.to_string()
    };
    let without = |line: usize| {
        let kept = text.lines().enumerate().filter(|(place, _)| *place != line);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    assert!(said(&without(4)).starts_with("line 5 "), "{}", said(&without(4)));
    assert!(said(&text.replace("\"n\":7", "\"n\":8")).starts_with("line 8 "));
    assert!(said(&text.replace("\"at\":7", "\"at\": 7")).starts_with("line 8 "));
    assert!(said(&text[..text.len() - 9]).contains("not complete"));
    assert!(said(&text.replace("\"journal\":1", "\"journal\":2")).contains("format 2"));
    assert!(said("not an export\n").starts_with("line 1 "));
    assert!(said(&text.replace("\"test\"", "\"other\"")).starts_with("line 2 "));
}

#[test]
fn all_rows_are_verified() {
    let mut store = Disk::new(origin()).open().unwrap();
    let nothing = verify(&mut store).unwrap();
    assert_eq!((nothing.rows, nothing.times, nothing.digest), (0, None, origin().digest()));
    let all = rows(1..=600);
    store.append(&all).unwrap();
    let end = all.iter().fold(JournalEnd::of(&origin()), |end, (at, body)| end.then(*at, body));
    let found = verify(&mut store).unwrap();
    assert_eq!((found.rows, found.times, found.digest), (600, Some((1, 600)), end.digest));
}

#[test]
fn an_export_has_every_row_as_it_is() {
    let mut store = Disk::new(origin()).open().unwrap();
    store.append(&rows(1..=300)).unwrap();
    let odd: [&[u8]; 4] = [b"{\"a\": 1.50 , \"a\":2}", b"{\"a\":\n1}", b"no JSON", b"\xff"];
    store.append(&odd.map(|body| (400, body.to_vec()))).unwrap();
    let mut out = Vec::new();
    assert_eq!(export(&mut store, &mut out).unwrap(), 304);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines[0]["market"], "test");
    assert_eq!(lines[300]["body"]["n"], 300);
    assert_eq!(lines[300]["seq"], 300);
    assert!(text.contains(r#""at":400,"body":{"a": 1.50 , "a":2},"chain":"#));
    let hex: BTreeMap<u64, &str> =
        lines.iter().filter_map(|l| Some((l["seq"].as_u64()?, l["hex"].as_str()?))).collect();
    let expected = [(302, "7b2261223a0a317d"), (303, "6e6f204a534f4e"), (304, "ff")];
    assert_eq!(hex, BTreeMap::from(expected));
    assert_eq!(lines[304]["chain"], verify(&mut store).unwrap().digest.to_string());
}
