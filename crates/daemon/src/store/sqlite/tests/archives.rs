//! Old rows in archive files: one chain with the database, whatever happens on the way.

use super::*;
use crate::store::archive::file_of;

/// A journal with rows 1 to `last`, a snapshot of the last but one, and no lock on it.
fn with_snapshot(path: &Path, last: i64) -> Verified {
    let mut store = Sqlite::open(path).unwrap();
    store.append(&rows(1..=last)).unwrap();
    store.keep(&snapshot(last as u64 - 1)).unwrap();
    verify(&mut store).unwrap()
}

fn folder_of(path: &Path) -> PathBuf {
    super::super::archives::folder(path)
}

fn names(path: &Path) -> Vec<String> {
    let Ok(all) = std::fs::read_dir(folder_of(path)) else { return Vec::new() };
    let mut names: Vec<_> = all.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn in_database(path: &Path) -> Vec<i64> {
    let file = Connection::open(path).unwrap();
    let mut all = file.prepare("SELECT seq FROM rows ORDER BY seq").unwrap();
    all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn archives_and_database_are_one_chain() {
    let (folder, path) = place();
    let whole = with_snapshot(&path, 700);
    for (before, left) in [(101, 101), (401, 401), (401, 401), (9_999, 700)] {
        archive_all(&path, Cover::Snapshots, before).unwrap();
        assert_eq!(in_database(&path).first(), Some(&left), "before {before}");
        let found = check(&path).unwrap();
        assert_eq!((found.rows, found.times, found.digest), (700, whole.times, whole.digest));
    }
    assert_eq!(names(&path).len(), 3);
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.read(41, 1).unwrap()[0].seq, 42);
    assert_eq!(store.read(99, 9).unwrap().len(), 1, "a file is read to its end");
    assert_eq!(store.read(100, 9).unwrap().len(), 9);
    assert_eq!(store.read(699, 9).unwrap()[0].body, br#"{"n":700}"#);
    store.append(&rows(701..=702)).unwrap();
    let mut lines = Vec::new();
    assert_eq!(export(&mut store, &mut lines).unwrap(), 702);
    let copy = folder.path().join("copy.db");
    let back = folder.path().join("back/journal.db");
    assert_eq!(backup(&path, &copy).unwrap().rows, 702);
    assert_eq!(restore(&copy, &back).unwrap(), check(&path).unwrap());
    assert_eq!((names(&copy), names(&back)), (names(&path), names(&path)));
    let taken = backup(&path, &copy).unwrap_err().to_string();
    assert!(taken.contains("it is there already"), "{taken}");
}

#[test]
fn rows_that_no_snapshot_has_stay_and_so_does_the_last() {
    let (_folder, path) = place();
    filled(&path, 50);
    assert_eq!(archive_all(&path, Cover::Snapshots, 999).unwrap(), []);
    Sqlite::open(&path).unwrap().keep(&snapshot(30)).unwrap();
    archive_all(&path, Cover::Snapshots, 999).unwrap();
    assert_eq!(in_database(&path).first(), Some(&31));
    archive_all(&path, Cover::Nothing, 999).unwrap();
    assert_eq!(in_database(&path), [50]);
    assert_eq!(check(&path).unwrap().rows, 50);
    let file = Connection::open(&path).unwrap();
    assert!(file.execute("DELETE FROM rows", []).is_err(), "the database keeps what no file has");
}

#[test]
fn a_few_rows_wait_until_they_are_older() {
    let (_folder, path) = place();
    let store = Sqlite::open(&path).unwrap();
    drop(store);
    with_snapshot(&path, 300);
    let _writer = Sqlite::open(&path).unwrap();
    let mut keeper = Keeper::beside(&path, Cover::Snapshots).unwrap();
    assert_eq!(keeper.archive(ArchiveCutoff { before: 200, partly_before: 0 }).unwrap(), None);
    let made = keeper.archive(ArchiveCutoff { before: 200, partly_before: 2 }).unwrap().unwrap();
    assert_eq!((made.first, made.last, made.times), (1, 199, (1, 199)));
    keeper.shrink().unwrap();
    assert_eq!(check(&path).unwrap().rows, 300);
}

/// After each step of the way the journal is stopped, and goes on.
#[test]
fn a_crash_at_any_step_loses_nothing_and_counts_nothing_twice() {
    let (_folder, path) = place();
    let whole = with_snapshot(&path, 400);
    // A file that was not finished, and one that was renamed and not noted.
    std::fs::create_dir(folder_of(&path)).unwrap();
    let unfinished = folder_of(&path).join("000000000001-000000000009.tw.gz.part");
    std::fs::write(&unfinished, "half").unwrap();
    let mut store = Sqlite::look(&path).unwrap();
    let (origin, first) = (store.origin().clone(), store.read(0, 150).unwrap());
    drop(store);
    archive::write(&folder_of(&path), &origin, origin.digest(), &first).unwrap();
    assert_eq!(check(&path).unwrap().digest, whole.digest, "before the next start");
    let writer = Sqlite::open(&path).unwrap();
    drop(Keeper::beside(&path, Cover::Snapshots).unwrap());
    drop(writer);
    assert_eq!(names(&path), ["000000000001-000000000150.tw.gz"]);
    assert_eq!(in_database(&path).first(), Some(&151), "the file is accepted");
    assert_eq!(check(&path).unwrap().digest, whole.digest);
    // The deletion was noted on the disk: nothing changes at further starts.
    archive_all(&path, Cover::Snapshots, 300).unwrap();
    archive_all(&path, Cover::Snapshots, 300).unwrap();
    assert_eq!(names(&path).len(), 2);
    let found = check(&path).unwrap();
    assert_eq!((found.rows, found.digest), (400, whole.digest));
}

#[test]
fn a_file_that_is_not_of_this_journal_is_put_aside() {
    let (_folder, path) = place();
    let whole = with_snapshot(&path, 60);
    let mut store = Sqlite::look(&path).unwrap();
    let (origin, mut first) = (store.origin().clone(), store.read(0, 20).unwrap());
    drop(store);
    first[3].body = b"other".to_vec();
    archive::write(&folder_of(&path), &origin, origin.digest(), &first).unwrap();
    archive_all(&path, Cover::Snapshots, 21).unwrap();
    let name = "000000000001-000000000020.tw.gz";
    assert_eq!(names(&path), [name.to_owned(), format!("{name}.unknown")]);
    assert_eq!(check(&path).unwrap().digest, whole.digest);
}

#[test]
fn a_damaged_or_missing_file_is_named_with_its_row() {
    let (_folder, path) = place();
    with_snapshot(&path, 300);
    let made = archive_all(&path, Cover::Snapshots, 101).unwrap();
    let file = file_of(&folder_of(&path), &made[0]);
    let bytes = std::fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x40;
    for (contents, rows) in [(Some(damaged), 1..=100), (None, 1..=1)] {
        match contents {
            Some(contents) => std::fs::write(&file, contents).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let Err(StoreError::Damaged { path: named, seq, .. }) = check(&path) else {
            panic!("not found")
        };
        assert_eq!(named, file.display().to_string());
        assert!(rows.contains(&seq), "{seq}");
        // The market itself goes on.
        Sqlite::open(&path).unwrap().append(&super::rows([9_999])).unwrap();
    }
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(check(&path).unwrap().rows, 302);
}

#[test]
fn damage_of_old_rows_is_found_by_looking_slowly() {
    let (_folder, path) = place();
    with_snapshot(&path, 2_000);
    let made = archive_all(&path, Cover::Snapshots, 1_001).unwrap();
    let mut writer = Sqlite::open(&path).unwrap();
    let mut scrub = Scrub::begin(&path).unwrap();
    let mut pass = || {
        let (mut rows, mut damage) = (0, Vec::new());
        loop {
            match scrub.step().unwrap() {
                Scrubbed::Rows(more) => rows += more,
                Scrubbed::Damaged(found) => damage.push((found.path, found.row)),
                Scrubbed::End => return (rows, damage),
            }
        }
    };
    assert_eq!(pass(), (2_000, vec![]));
    writer.append(&rows([2_001])).unwrap();
    meddle(
        &path,
        "UPDATE rows SET body = x'00' WHERE seq = 1500; DELETE FROM rows WHERE seq = 1700",
    );
    meddle_again(&path, "UPDATE snapshots SET body = x'00'");
    let file = file_of(&folder_of(&path), &made[0]);
    let cut = std::fs::read(&file).unwrap();
    std::fs::write(&file, &cut[..cut.len() / 2]).unwrap();
    let (_, damage) = pass();
    let database = path.display().to_string();
    let (in_file, others) = damage.split_first().unwrap();
    assert_eq!(in_file.0, file.display().to_string());
    assert_eq!(others[0], (database.clone(), 1_500));
    assert!(
        others[1..]
            .iter()
            .all(|(name, row)| { *name == database && [0, 1_700, 1_701].contains(row) })
    );
    assert_eq!(others.last(), Some(&(database, 0)), "the snapshot is named, too");
    writer.append(&rows([2_002])).unwrap();
}

fn meddle_again(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_journal_is_as_small_as_what_is_in_it_after_compaction() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    let body = |n: u32| (i64::from(n), format!("{n} {}", "word ".repeat(100)).into_bytes());
    (0..20).for_each(|piece| {
        store.append(&(piece * 500..piece * 500 + 500).map(body).collect::<Vec<_>>()).unwrap();
    });
    store.keep(&snapshot(10_000)).unwrap();
    assert!(matches!(compact(&path), Err(StoreError::Busy { .. })));
    drop(store);
    let size = || std::fs::metadata(&path).unwrap().len();
    let before = size();
    archive_all(&path, Cover::Snapshots, i64::MAX).unwrap();
    compact(&path).unwrap();
    assert!(size() < before / 20, "{} of {before}", size());
    assert_eq!(check(&path).unwrap().rows, 10_000);
}
