//! Journals of every format that a release has written are opened for ever.

use super::*;

const FIXTURE: &[u8] = include_bytes!("format-1.db");

/// What is in the fixture: rows, an empty one, a snapshot.
fn contents() -> (Origin, Vec<(i64, Vec<u8>)>, Snapshot) {
    let origin = Origin { market: "fixture234".to_owned(), created: 1_750_000_000 };
    let body = |n: i64| match n {
        5 => vec![],
        _ => format!(r#"{{"v":1,"number":{n},"text":"é"}}"#).into_bytes(),
    };
    let rows = (1..=9).map(|n| (1_750_000_000 + n / 2, body(n))).collect();
    let snapshot =
        Snapshot { seq: 4, at: 1_750_000_002, version: 1, body: br#"{"state":4}"#.to_vec() };
    (origin, rows, snapshot)
}

/// Makes the file again: `cargo test -p tradewind-daemon -- --ignored make_the_fixture`. Only for
/// a new format, under a new name.
#[test]
#[ignore = "the file of a released format never changes"]
fn make_the_fixture() {
    let (folder, path) = place();
    let (origin, rows, snapshot) = contents();
    let mut store = Sqlite::open_with(&path, || Ok(origin)).unwrap();
    store.append(&rows).unwrap();
    store.keep(&snapshot).unwrap();
    let copy = folder.path().join("copy.db");
    backup(&path, &copy).unwrap();
    let to = format!("src/store/sqlite/tests/format-{FORMAT}.db");
    std::fs::copy(copy, Path::new(env!("CARGO_MANIFEST_DIR")).join(to)).unwrap();
}

#[test]
fn format_1_is_opened() {
    let (_folder, path) = place();
    std::fs::write(&path, FIXTURE).unwrap();
    let (origin, rows, snapshot) = contents();
    let looked = check(&path).unwrap();
    assert_eq!((looked.rows, looked.damaged_snapshots), (9, vec![]));
    let format = || -> u32 {
        let opened = Connection::open(&path).unwrap();
        opened.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(format(), 1, "a look changes nothing");
    let known = "bb05a8c8b33818245d49f2eba3fe1521543fda116a2fe97a4c071888840b68d4";
    assert_eq!(looked.digest.to_string(), known);
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.origin(), &origin);
    let found: Vec<_> =
        store.read(0, 99).unwrap().into_iter().map(|row| (row.at, row.body)).collect();
    assert_eq!(found, rows);
    assert_eq!(store.snapshot().unwrap(), Some(snapshot));
    assert_eq!(store.pages(None).unwrap(), []);
    assert_eq!(format(), FORMAT, "it is one of the latest format now");
    store.append(&super::rows([1_800_000_000])).unwrap();
    assert_eq!(check(&path).unwrap().rows, 10);
}
