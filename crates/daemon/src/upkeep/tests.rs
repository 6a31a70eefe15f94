use std::path::Path;

use super::*;
use crate::store::sqlite::{Sqlite, check};
use crate::store::{Snapshot, Store as _};

const QUICK: Pace = Pace {
    turn: Duration::from_millis(1),
    archive: Duration::from_millis(5),
    scrub: Duration::from_millis(5),
    again: Duration::from_millis(5),
};

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "not so in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn rows(count: i64) -> Vec<(i64, Vec<u8>)> {
    (0..count).map(|n| (n, format!("{{\"n\":{n}}}").into_bytes())).collect()
}

fn kept(path: &Path, cover: Cover, retention: Option<Span>) -> MaintainedDatabase {
    let database = Box::new(SqliteMaintenance::new(path.to_owned(), cover));
    MaintainedDatabase { database, retention }
}

#[test]
fn old_rows_are_archived_while_the_journal_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let mut store = Sqlite::open(&path).unwrap();
    let old: Vec<_> = rows(16_000).into_iter().map(|(_, body)| (5, body)).collect();
    store.append(&old).unwrap();
    store.keep(&Snapshot { seq: 15_000, at: 5, version: 1, body: vec![1] }).unwrap();
    let gauges = Arc::new(Gauges::default());
    let retention = Some(Span(3_600));
    let kept = kept(&path, Cover::Snapshots, retention);
    let upkeep = Upkeep::start(vec![kept], QUICK, Arc::clone(&gauges)).unwrap();
    let (mut written, begun) = (16_000, Instant::now());
    while gauges.archived.count() < 15_000 {
        assert!(begun.elapsed() < Duration::from_secs(120), "not archived in time");
        store.append(&[(2_000_000_000, b"{}".to_vec())]).unwrap();
        written += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    until("all of it was looked at", || gauges.scrubbed.count() > 2 * written);
    upkeep.stop();
    assert_eq!(store.archives().unwrap().len(), 2, "a full one, and the rest that is covered");
    assert_eq!(gauges.damage(), []);
    drop(store);
    assert_eq!(check(&path).unwrap().rows, written);
}

#[test]
fn a_log_without_snapshots_is_archived_and_damage_is_reported_once_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let mut store = Sqlite::open(&path).unwrap();
    store.append(&rows(3_000)).unwrap();
    let gauges = Arc::new(Gauges::default());
    let kept = kept(&path, Cover::Nothing, None);
    let upkeep = Upkeep::start(vec![kept], QUICK, Arc::clone(&gauges)).unwrap();
    until("all of it was looked at", || gauges.scrubbed.count() > 6_000);
    assert_eq!((gauges.archived.count(), gauges.damage().len()), (0, 0), "nothing is too old");
    upkeep.stop();
    let kept = self::kept(&path, Cover::Nothing, Some(Span(3_600)));
    let upkeep = Upkeep::start(vec![kept], QUICK, Arc::clone(&gauges)).unwrap();
    until("old rows are archived", || gauges.archived.count() == 2_999);
    let file = store.archives().unwrap().remove(0).name();
    let file = folder.path().join("audit.db.archive").join(file);
    std::fs::remove_file(&file).unwrap();
    until("the loss is noticed", || !gauges.damage().is_empty());
    let damage = gauges.damage().remove(0);
    assert_eq!((damage.path, damage.row), (file.display().to_string(), 1));
    assert!(damage.what.contains("from a backup"), "{}", damage.what);
    store.append(&[(4_000, b"{}".to_vec())]).unwrap();
    upkeep.stop();
}
