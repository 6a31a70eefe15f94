//! Files that are not ours, missing, not accessible.

use super::*;

fn said(opened: Result<Sqlite, StoreError>) -> String {
    opened.unwrap_err().to_string()
}

#[test]
fn there_is_one_writer() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path).unwrap();
    let refused = said(Sqlite::open(&path));
    assert_eq!(refused, format!("{} is in use by another process", path.display()));
    drop(store);
    Sqlite::open(&path).unwrap();
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let (folder, path) = place();
    let database = folder.path().join("other.db");
    let other = Connection::open(&database).unwrap();
    other.execute_batch("CREATE TABLE t (a); PRAGMA user_version = 1;").unwrap();
    other.close().unwrap();
    std::fs::write(&path, "a letter to a person, long enough to be no database".repeat(9)).unwrap();
    for path in [path, database] {
        let before = std::fs::read(&path).unwrap();
        for opened in [Sqlite::open(&path), Sqlite::look(&path)] {
            let refused = said(opened);
            assert!(refused.contains("not a Tradewind journal"), "{refused}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_later_format_is_left_alone() {
    let (_folder, path) = place();
    filled(&path, 3);
    meddle(&path, "PRAGMA user_version = 7; PRAGMA wal_checkpoint(TRUNCATE);");
    let before = std::fs::read(&path).unwrap();
    for opened in [Sqlite::open(&path), Sqlite::look(&path)] {
        assert!(matches!(opened, Err(StoreError::TooNew { found: 7, known: FORMAT, .. })));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_creation_that_was_cut_short_is_done_again() {
    let (_folder, path) = place();
    std::fs::write(files::beside(&path, ".new"), "half of a journal").unwrap();
    std::fs::write(files::beside(&path, ".new-journal"), "").unwrap();
    assert_eq!(Sqlite::open(&path).unwrap().last(), 0);
    assert!(!files::beside(&path, ".new").exists());
}

fn is_lost(opened: Result<Sqlite, StoreError>, word: &str) {
    match opened {
        Err(StoreError::Lost { what, .. }) => assert!(what.contains(word), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_journal_that_is_gone_or_empty_is_not_begun_again() {
    let (_folder, path) = place();
    std::fs::write(&path, "").unwrap();
    is_lost(Sqlite::open(&path), "empty");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(files::beside(&path, "-wal"), "").unwrap();
    is_lost(Sqlite::open(&path), "-wal");
    std::fs::remove_file(files::beside(&path, "-wal")).unwrap();
    is_lost(Sqlite::reopen(&path), "missing");
    drop(Sqlite::open(&path).unwrap());
    Sqlite::reopen(&path).unwrap();
    // SQLite's file without our tables.
    let (_folder, path) = place();
    let begun = Connection::open(&path).unwrap();
    begun.pragma_update(None, "journal_mode", "wal").unwrap();
    drop(begun);
    is_lost(Sqlite::open(&path), "no tables");
}

/// The file and its log as they are at some moment of a daemon's life.
fn copy_of(path: &Path, suffixes: &[&str]) -> (TempDir, PathBuf) {
    let (folder, copy) = place();
    for suffix in suffixes {
        std::fs::copy(files::beside(path, suffix), files::beside(&copy, suffix)).unwrap();
    }
    (folder, copy)
}

#[test]
fn the_file_alone_is_a_journal_at_any_moment() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    let alone = |rows: u64| {
        let (_folder, copy) = copy_of(&path, &[""]);
        assert_eq!(check(&copy).unwrap().rows, rows);
        let opened = Sqlite::open(&copy).unwrap();
        assert_eq!((opened.last(), opened.origin()), (rows, store_origin(&path).as_ref().unwrap()));
    };
    alone(0);
    store.append(&rows(1..=9)).unwrap();
    alone(0);
    store.settle().unwrap();
    alone(9);
}

fn store_origin(path: &Path) -> Option<Origin> {
    Sqlite::look(path).ok().map(|store| store.origin().clone())
}

#[test]
fn a_log_that_is_missing_after_a_crash_is_named() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    store.append(&rows(1..=9)).unwrap();
    // As after a kill: it was not closed.
    let (_copied, crashed) = copy_of(&path, &["", "-wal", ".lock"]);
    assert_eq!(Sqlite::open(&crashed).unwrap().last(), 9);
    // Closed without a change: nothing is missing at the next opening.
    assert_eq!(Sqlite::open(&crashed).unwrap().last(), 9);
    let (_copied, torn) = copy_of(&path, &["", ".lock"]);
    is_lost(Sqlite::open(&torn), "-wal");
    is_lost(Sqlite::open(&torn), "-wal");
    std::fs::write(files::beside(&torn, "-wal"), "").unwrap();
    is_lost(Sqlite::open(&torn), "-wal");
    std::fs::remove_file(files::beside(&torn, "-wal")).unwrap();
    std::fs::remove_file(&torn).unwrap();
    is_lost(Sqlite::open(&torn), "missing");
    let (_copied, torn) = copy_of(&path, &["", ".lock"]);
    std::fs::remove_file(files::beside(&torn, ".lock")).unwrap();
    assert_eq!(Sqlite::open(&torn).unwrap().last(), 0);
    drop(store);
    let (_copied, closed) = copy_of(&path, &["", ".lock"]);
    assert_eq!(Sqlite::open(&closed).unwrap().last(), 9);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let (folder, path) = place();
    let missing = said(Sqlite::look(&path));
    assert!(missing.contains("there is no such file"), "{missing}");
    let below_a_file = folder.path().join("file/journal.db");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let refused = said(Sqlite::open(&below_a_file));
    assert!(refused.contains("it could not be made"), "{refused}");
    // Not the outer one: locks are made beside what is opened.
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let is_a_folder = said(Sqlite::open(&inner));
    assert!(is_a_folder.contains("it cannot be opened"), "{is_a_folder}");
    assert!(matches!(backup(&path, &inner), Err(StoreError::Io { .. })));
    assert!(matches!(restore(&path, &folder.path().join("x")), Err(StoreError::Io { .. })));
}

#[test]
fn after_a_failed_sync_nothing_more_is_added() {
    use rusqlite::ffi;
    let (_folder, path) = place();
    filled(&path, 3);
    let mut store = Sqlite::open(&path).unwrap();
    let failed = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
    let full = store.writing_failed(4, &failed(ffi::SQLITE_FULL)).to_string();
    assert!(full.contains("the disk is full"), "{full}");
    store.append(&rows([4])).unwrap();
    let unsure = store.writing_failed(5, &failed(ffi::SQLITE_IOERR_FSYNC)).to_string();
    assert!(unsure.contains("did not confirm"), "{unsure}");
    assert!(store.append(&rows([5])).is_err());
    assert!(store.keep(&snapshot(1)).is_err());
    assert!(matches!(Sqlite::open(&path), Err(StoreError::Busy { .. })), "it has its lock still");
    drop(store);
    assert_eq!(Sqlite::open(&path).unwrap().last(), 4);
}

#[test]
fn a_disk_that_may_not_be_written_says_so() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    store.connection.pragma_update(None, "query_only", true).unwrap();
    let refused = store.append(&rows([1])).unwrap_err().to_string();
    assert!(refused.contains("it cannot be written"), "{refused}");
    store.connection.pragma_update(None, "query_only", false).unwrap();
    store.append(&rows([1])).unwrap();
    assert_eq!(store.last(), 1);
}

/// A child that was forked and has not begun its own program yet has a copy of the lock.
#[test]
fn children_that_are_being_started_do_not_keep_the_lock() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            for _ in 0..50 {
                std::process::Command::new("true").status().unwrap();
            }
        });
        while !starting.is_finished() {
            drop(Lock::take(&path).unwrap());
        }
    });
}
