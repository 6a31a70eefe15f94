use std::sync::Arc;

use super::*;
use crate::store::memory::{Disk, StoreFault};
use crate::store::sqlite::Sqlite;
use crate::store::{Origin, verify};

fn entry(kind: AuditKind, actor: &str, subject: &str) -> AuditEntry {
    let (actor, subject, outcome) = (actor.to_owned(), subject.to_owned(), "429 limit".to_owned());
    AuditEntry { kind, actor, subject, outcome, count: None, since: None }
}

#[test]
fn a_flood_is_a_row_and_a_sum_for_each_who_sent_it() {
    let mut sums = Sums::default();
    let mut rows = Vec::new();
    for i in 0..1_000 {
        let route = format!("GET /{i}");
        rows.extend(sums.add(entry(AuditKind::Refusal, "ana", &route), 100));
        rows.extend(sums.add(entry(AuditKind::Refusal, "bob", &route), 100));
    }
    rows.extend(sums.add(entry(AuditKind::Money, "root", "a"), 100));
    rows.extend(sums.add(entry(AuditKind::Money, "root", "a"), 100));
    assert_eq!(rows.len(), 4, "changes are never summed up");
    assert_eq!(sums.due(159), []);
    let told: Vec<_> = sums.due(160).into_iter().map(|it| (it.actor, it.count, it.since)).collect();
    let all = |user: &str| (user.to_owned(), Some(999), Some(100));
    assert_eq!(told, [all("ana"), all("bob")]);
    assert!(sums.add(entry(AuditKind::Refusal, "ana", "x"), 161).is_some(), "another minute");
    assert_eq!(sums.all(), []);
}

#[test]
fn many_who_are_refused_do_not_fill_the_memory() {
    let mut sums = Sums::default();
    let add = |i: usize| sums.add(entry(AuditKind::Refusal, &format!("@{i}"), "x"), 100).is_some();
    let written = (0..10_000).map(add).filter(|it| *it).count();
    assert_eq!(written, 4_096);
    let told = sums.all();
    assert_eq!((told.len(), told[0].count), (1, Some(10_000 - 4_096)));
}

#[test]
fn rows_are_chained_found_by_time_and_kind_and_go_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("audit.db"));
    for round in 0..2 {
        let at = Arc::clone(&path);
        let look = move || Ok(Box::new(Sqlite::look(&at)?) as Box<dyn Store>);
        let audit = Audit::start(Box::new(Sqlite::open(&path).unwrap()), look).unwrap();
        audit.note("root", AuditKind::Money, "bank to user:ana, 5.0", "done");
        audit.note("ana", AuditKind::Refusal, "POST /v1/tokens", "403 forbidden");
        audit.note("ana", AuditKind::Refusal, "POST /v1/tokens\n", "403 forbidden");
        audit.stop();
        audit.note("ana", AuditKind::Refusal, "too late", "");
        let (all, next) = audit.read(0, (100, 1_000), None, |_| true).unwrap();
        assert_eq!((all.len(), next), (3 * (round + 1), None));
        assert_eq!((all[2].entry.count, all[2].entry.kind), (Some(1), AuditKind::Refusal));
        let money = |it: &StoredAuditEntry| it.entry.kind == AuditKind::Money;
        assert_eq!(audit.read(0, (100, 1_000), Some(0), money).unwrap().0.len(), round + 1);
        assert_eq!(audit.read(0, (100, 1_000), Some(i64::MAX), |_| true).unwrap().0, []);
        let (page, next) = audit.read(0, (2, 1_000), None, |_| true).unwrap();
        assert_eq!((page.len(), next), (2, Some(2)));
        assert_eq!(audit.read(2, (100, 1), None, |_| true).unwrap().0.len(), 1);
    }
    let mut store = Sqlite::look(&path).unwrap();
    assert_eq!(verify(&mut store).unwrap().rows, 6);
}

#[test]
fn what_could_not_be_written_is_counted_and_told() {
    let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
    let store = disk.open().unwrap();
    disk.fail_next(StoreFault::Full);
    let again = disk.clone();
    let look = move || Ok(Box::new(again.open()?) as Box<dyn Store>);
    let audit = Audit::start(Box::new(store), look).unwrap();
    audit.note("root", AuditKind::Policy, "easy", "done");
    // The first row is lost; the next one says so.
    audit.stop();
    let (all, _) = audit.read(0, (10, 10), None, |_| true).unwrap();
    assert_eq!((all[0].entry.kind, all[0].entry.count), (AuditKind::Lost, Some(1)));
}

/// Also where the writer is busy, and again and again: what was noted before is there.
#[test]
fn a_reader_sees_what_was_noted_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("audit.db"));
    let at = Arc::clone(&path);
    let look = move || Ok(Box::new(Sqlite::look(&at)?) as Box<dyn Store>);
    let audit = Audit::start(Box::new(Sqlite::open(&path).unwrap()), look).unwrap();
    for round in 1..=50 {
        audit.note("root", AuditKind::Money, format!("transfer {round}"), "done");
        let (all, _) = audit.read(0, (100, 1_000), None, |_| true).unwrap();
        assert_eq!(all.len(), round);
    }
    audit.stop();
}
