//! What was changed, lost or swapped is found, and the first such row is named.

use proptest::prelude::*;

use super::*;

/// The first row that is found to be wrong.
fn first_wrong(path: &Path) -> u64 {
    match check(path) {
        Err(StoreError::Damaged { seq, .. }) => seq,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_row_that_is_wrong_is_named() {
    let cases = [
        ("UPDATE rows SET body = x'00' WHERE seq = 5", 5),
        ("UPDATE rows SET at = at + 1 WHERE seq = 6", 6),
        ("UPDATE rows SET chain = zeroblob(32) WHERE seq = 300", 300),
        ("UPDATE rows SET chain = x'00' WHERE seq = 4", 4),
        ("DELETE FROM rows WHERE seq = 7", 7),
        ("DELETE FROM rows WHERE seq = 1", 1),
        ("UPDATE rows SET body = (SELECT body FROM rows WHERE seq = 9) WHERE seq = 8", 8),
        ("DELETE FROM rows WHERE seq > 350", 351),
        ("UPDATE rows SET body = x'' WHERE seq = 400", 400),
        ("UPDATE meta SET market = 'other'", 1),
        ("DELETE FROM meta", 0),
        ("INSERT INTO rows SELECT -1, at, body, chain FROM rows WHERE seq = 1", 0),
    ];
    for (sql, seq) in cases {
        let (_folder, path) = place();
        filled(&path, 400);
        Sqlite::open(&path).unwrap().keep(&snapshot(390)).unwrap();
        meddle(&path, sql);
        match sql.contains("-1") {
            // A row before the first is never read: it does no harm.
            true => assert_eq!(check(&path).unwrap().rows, 400),
            false => assert_eq!(first_wrong(&path), seq, "{sql}"),
        }
    }
}

#[test]
fn a_damaged_end_is_found_when_it_is_opened() {
    let cases = [
        "UPDATE rows SET body = x'00' WHERE seq = 40",
        "DELETE FROM rows WHERE seq = 39",
        "DELETE FROM rows WHERE seq > 20",
    ];
    for sql in cases {
        let (_folder, path) = place();
        filled(&path, 40);
        Sqlite::open(&path).unwrap().keep(&snapshot(30)).unwrap();
        meddle(&path, sql);
        assert!(matches!(Sqlite::open(&path), Err(StoreError::Damaged { .. })), "{sql}");
    }
}

#[test]
fn reading_from_the_middle_finds_what_is_wrong_from_there() {
    let (_folder, path) = place();
    filled(&path, 40);
    meddle(&path, "UPDATE rows SET body = x'00' WHERE seq IN (10, 20)");
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.read(10, 9).unwrap().len(), 9);
    for (after, wrong) in [(0, 10), (9, 10), (10, 20), (19, 20)] {
        let found = store.read(after, 40);
        assert!(matches!(found, Err(StoreError::Damaged { seq, .. }) if seq == wrong));
    }
    assert_eq!(store.read(20, 40).unwrap().len(), 20);
}

#[test]
fn a_damaged_snapshot_is_passed_over() {
    let (folder, path) = place();
    filled(&path, 9);
    let mut store = Sqlite::open(&path).unwrap();
    (1..=3).for_each(|seq| store.keep(&snapshot(seq)).unwrap());
    drop(store);
    meddle(&path, "UPDATE snapshots SET body = x'00' WHERE seq = 3");
    assert_eq!(Sqlite::open(&path).unwrap().snapshot().unwrap(), Some(snapshot(2)));
    assert_eq!(check(&path).unwrap().damaged_snapshots, [3]);
    assert_eq!(backup(&path, &folder.path().join("copy.db")).unwrap().rows, 9);
    meddle_again(&path, "UPDATE snapshots SET version = 7");
    assert_eq!(Sqlite::open(&path).unwrap().snapshot().unwrap(), None);
}

#[test]
fn a_damaged_page_of_a_snapshot_is_found() {
    let (_folder, path) = place();
    filled(&path, 9);
    let mut store = Sqlite::open(&path).unwrap();
    let page = |number, byte| Page { key: (1, number), body: vec![byte; 3_000_000] };
    let head = Snapshot { version: 2, ..snapshot(4) };
    store.keep(&snapshot(3)).unwrap();
    let all = Changes::All(vec![page(0, 1), page(1, 2), page(2, 3)]);
    store.keep_pages(&head, &all).unwrap();
    let gone = Page { key: (1, 1), body: vec![] };
    let head = Snapshot { version: 2, ..snapshot(5) };
    store.keep_pages(&head, &Changes::Some(vec![gone, page(2, 4)])).unwrap();
    assert_eq!(store.snapshot().unwrap(), Some(head));
    let first = store.pages(None).unwrap();
    assert_eq!(first, [page(0, 1), page(2, 4)]);
    assert_eq!(store.pages(Some((1, 0))).unwrap(), [page(2, 4)]);
    assert_eq!(store.pages(Some((1, 2))).unwrap(), []);
    drop(store);
    assert!(check(&path).unwrap().damaged_snapshots.is_empty());
    meddle(&path, "UPDATE pages SET body = x'00' WHERE number = 2");
    assert_eq!(check(&path).unwrap().damaged_snapshots, [5]);
    assert!(Sqlite::open(&path).unwrap().pages(None).is_err());
}

fn meddle_again(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_damaged_journal_is_neither_copied_nor_brought_back() {
    let (folder, path) = place();
    filled(&path, 9);
    meddle(&path, "UPDATE rows SET body = x'00' WHERE seq = 5");
    let to = folder.path().join("copy.db");
    for copied in [backup(&path, &to), restore(&path, &to)] {
        assert!(matches!(copied, Err(StoreError::Damaged { seq: 5, .. })), "{copied:?}");
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert!(names.iter().all(|entry| !entry.file_name().to_string_lossy().contains("copy")));
}

#[test]
fn rows_cannot_be_changed_by_hand() {
    let (_folder, path) = place();
    filled(&path, 3);
    let connection = Connection::open(&path).unwrap();
    for sql in ["DELETE FROM rows", "UPDATE rows SET at = 1"] {
        let refused = connection.execute_batch(sql).unwrap_err().to_string();
        assert!(refused.contains("rows of a journal stay"), "{refused}");
    }
}

#[test]
fn rows_of_another_program_are_noticed() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    store.append(&rows(1..=3)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute("INSERT INTO rows VALUES (4, 4, x'00', zeroblob(32))", []).unwrap();
    let refused = store.append(&rows([4])).unwrap_err().to_string();
    assert!(refused.contains("row 4: another program has written here"), "{refused}");
    assert_eq!(store.last(), 3);
}

/// A copy of a journal of 60 rows and a snapshot, in bytes, and what its check finds.
fn whole() -> &'static (Vec<u8>, Verified) {
    static WHOLE: std::sync::OnceLock<(Vec<u8>, Verified)> = std::sync::OnceLock::new();
    WHOLE.get_or_init(|| {
        let (folder, path) = place();
        filled(&path, 60);
        Sqlite::open(&path).unwrap().keep(&snapshot(50)).unwrap();
        let copy = folder.path().join("copy.db");
        let found = backup(&path, &copy).unwrap();
        (std::fs::read(&copy).unwrap(), found)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// One byte of the file is another: it is found, or no row has changed.
    #[test]
    fn a_changed_byte_is_found_or_does_no_harm(at in 0.0..1.0, flip in 1u8..=255) {
        let (_folder, path) = place();
        let (mut bytes, whole) = whole().clone();
        let index = (bytes.len() as f64 * at) as usize;
        bytes[index] ^= flip;
        std::fs::write(&path, bytes).unwrap();
        match check(&path) {
            Ok(mut found) => {
                found.damaged_snapshots.clear();
                prop_assert_eq!(&found, &whole);
            }
            Err(StoreError::Damaged { .. }) => {}
            Err(error) => prop_assert!(index < 100, "byte {}: {}", index, error),
        }
    }
}
