mod archives;
mod damage;
mod format;
mod kill;
mod model;
mod speed;
mod trouble;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::store::{Digest, Verified, conformance, export, verify};

/// A folder that goes away, and a journal's path in it.
fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    (folder, path)
}

fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<(i64, Vec<u8>)> {
    numbers.into_iter().map(|n| (n, format!(r#"{{"n":{n}}}"#).into_bytes())).collect()
}

fn snapshot(seq: u64) -> Snapshot {
    Snapshot { seq, at: 9, version: 1, body: vec![seq as u8; 100] }
}

/// A closed journal with rows 1 to `last`.
fn filled(path: &Path, last: i64) -> Digest {
    let mut store = Sqlite::open(path).unwrap();
    store.append(&rows(1..=last)).unwrap();
    verify(&mut store).unwrap().digest
}

/// Does to the file what no journal does to itself.
fn meddle(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("DROP TRIGGER rows_stay; DROP TRIGGER rows_keep;").unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn what_was_appended_is_there_when_it_is_opened_again() {
    let (_folder, path) = place();
    let digest = filled(&path, 700);
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.last(), 700);
    assert_eq!(store.read(698, 9).unwrap().len(), 2);
    assert_eq!(store.read(0, 0).unwrap(), []);
    assert_eq!(store.read(u64::MAX, usize::MAX).unwrap(), []);
    let row = &store.read(41, 1).unwrap()[0];
    assert_eq!((row.seq, row.at, row.body.as_slice()), (42, 42, br#"{"n":42}"#.as_slice()));
    assert_eq!(verify(&mut store).unwrap().digest, digest);
}

struct FileBench {
    _folder: TempDir,
    path: PathBuf,
}

impl conformance::StoreBench for FileBench {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(Sqlite::open(&self.path)?))
    }

    fn look(&mut self) -> Option<Box<dyn Store>> {
        Some(Box::new(Sqlite::look(&self.path).unwrap()))
    }

    fn damage(&mut self, seq: u64) {
        meddle(
            &self.path,
            &format!("UPDATE rows SET body = CAST('X' || body AS BLOB) WHERE seq = {seq}"),
        );
    }

    fn archive(&mut self, before: i64) -> Option<u64> {
        let made = archive_all(&self.path, Cover::Snapshots, before).unwrap();
        Some(made.iter().map(|it| it.last - it.first + 1).sum())
    }
}

#[test]
fn a_store_in_a_file_is_a_store() {
    conformance::all(|| {
        let (folder, path) = place();
        FileBench { _folder: folder, path }
    });
}

#[test]
fn it_is_synced_at_every_commit() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path).unwrap();
    let pragma = |name: &str| -> i64 {
        store.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((pragma("synchronous"), pragma("fullfsync")), (2, 1));
}

#[test]
fn each_journal_has_a_name_of_its_own_and_keeps_it() {
    let ((_one, first), (_two, second)) = (place(), place());
    let name = |path: &Path| Sqlite::open(path).unwrap().origin().clone();
    assert_eq!(name(&first), name(&first));
    assert_ne!(name(&first).market, name(&second).market);
    assert_eq!(name(&first).market.len(), 10);
    assert!(name(&first).created > 1_700_000_000);
}

#[test]
fn the_latest_snapshots_are_kept() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.snapshot().unwrap(), None);
    store.append(&rows(1..=9)).unwrap();
    (1..=6).for_each(|seq| store.keep(&snapshot(seq)).unwrap());
    store.keep(&snapshot(6)).unwrap();
    assert_eq!(store.snapshot().unwrap(), Some(snapshot(6)));
    let kept = "SELECT group_concat(seq) FROM (SELECT seq FROM snapshots ORDER BY seq)";
    let kept: String = store.connection.query_row(kept, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "4,5,6");
    assert!(store.keep(&snapshot(10)).is_err());
}

#[test]
fn others_look_while_one_writes() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    store.append(&rows(1..=3)).unwrap();
    let mut other = Sqlite::look(&path).unwrap();
    assert_eq!(other.last(), 3);
    store.append(&rows(4..=5)).unwrap();
    assert_eq!((other.last(), other.read(3, 9).unwrap().len()), (5, 2));
    assert_eq!(verify(&mut other).unwrap(), verify(&mut store).unwrap());
    let mut lines = Vec::new();
    assert_eq!(export(&mut other, &mut lines).unwrap(), 5);
    let refused = other.append(&rows([6])).unwrap_err().to_string();
    assert!(refused.ends_with("it was opened for reading only"), "{refused}");
    assert!(other.keep(&snapshot(1)).is_err());
    assert_eq!(check(&path).unwrap().rows, 5);
    store.append(&rows(6..=7)).unwrap();
}

#[test]
fn a_backup_is_one_file_with_all_rows_of_its_moment() {
    let (folder, path) = place();
    let (copy, back) = (folder.path().join("copy.db"), folder.path().join("new/place/back.db"));
    let mut store = Sqlite::open(&path).unwrap();
    store.append(&rows(1..=300)).unwrap();
    store.keep(&snapshot(200)).unwrap();
    let made = backup(&path, &copy).unwrap();
    store.append(&rows(301..=310)).unwrap();
    assert_eq!(made.rows, 300);
    assert_eq!(check(&copy).unwrap(), made);
    assert_eq!(restore(&copy, &back).unwrap(), made);
    let names: Vec<_> = std::fs::read_dir(back.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1);
    let mut restored = Sqlite::open(&back).unwrap();
    assert_eq!(restored.origin(), store.origin());
    restored.append(&rows(301..=310)).unwrap();
    assert_eq!(restored.snapshot().unwrap(), Some(snapshot(200)));
    assert_eq!(verify(&mut restored).unwrap(), verify(&mut store).unwrap());
}

#[test]
fn a_copy_replaces_nothing() {
    let (folder, path) = place();
    filled(&path, 3);
    let there = folder.path().join("there.db");
    for taken in ["there.db", "there.db-wal", "there.db-journal"] {
        let taken = folder.path().join(taken);
        std::fs::write(&taken, "mine").unwrap();
        for copied in [backup(&path, &there), restore(&path, &there)] {
            let refused = copied.unwrap_err().to_string();
            assert!(refused.contains("it is there already"), "{refused}");
        }
        assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
        std::fs::remove_file(&taken).unwrap();
    }
    std::fs::write(folder.path().join("there.db.part"), "left by a copy that was stopped").unwrap();
    assert_eq!(backup(&path, &there).unwrap().rows, 3);
    assert!(!folder.path().join("there.db.part").exists());
}

#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, _) = place();
    let path = folder.path().join("a/b/journal.db");
    let mut store = Sqlite::open(&path).unwrap();
    store.append(&rows([1])).unwrap();
    backup(&path, &folder.path().join("a/copy.db")).unwrap();
    let mode = |name: &str| {
        let found = folder.path().join(name).metadata().expect(name);
        found.permissions().mode() & 0o777
    };
    assert_eq!([mode("a"), mode("a/b")], [0o700; 2]);
    let files = ["a/b/journal.db", "a/b/journal.db-wal", "a/b/journal.db.lock", "a/copy.db"];
    assert_eq!(files.map(mode), [0o600; 4]);
}
