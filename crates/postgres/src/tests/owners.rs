//! Two daemons, one journal.

use super::*;
use crate::rows::INSERT;

/// The lock of the session is gone, as after a failover or behind a pooler; the daemon goes on.
fn lose_the_lock(store: &Postgres) {
    let unlock = "SELECT pg_advisory_unlock_all()";
    store.client().client.batch_execute(unlock).unwrap();
}

fn is_superseded(done: &Result<(), StoreError>) -> bool {
    matches!(done, Err(StoreError::Superseded { .. }))
}

#[test]
fn a_second_daemon_is_refused_unless_it_takes_over() {
    let place = Place::new();
    let mut first = place.open(Claim::IfFree).unwrap();
    first.append(&rows([1])).unwrap();
    let refused = place.open(Claim::IfFree).unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
    first.append(&rows([2])).unwrap();
    let mut second = place.open(Claim::TakeOver).unwrap();
    assert_eq!((first.epoch(), second.epoch()), (Some(1), Some(2)));
    assert_eq!(second.last(), 2);
    assert!(first.append(&rows([3])).is_err());
    second.append(&rows([4])).unwrap();
    // The first one lost its connection by that, and finds out why when it comes back.
    drop(first);
    let back = place.open(Claim::Again(1)).unwrap_err();
    assert!(matches!(back, StoreError::Superseded { epoch: 2, ours: 1, .. }), "{back}");
    assert!(back.to_string().contains("another daemon has taken over"), "{back}");
    assert_eq!(place.rows(), 3);
    second.append(&rows([5])).unwrap();
}

#[test]
fn an_owner_that_was_succeeded_writes_nothing() {
    let place = Place::new();
    let mut first = place.open(Claim::IfFree).unwrap();
    first.append(&rows(1..=3)).unwrap();
    lose_the_lock(&first);
    let mut second = place.open(Claim::IfFree).unwrap();
    // Before the second one has written anything: number and digest would fit.
    assert!(is_superseded(&first.append(&rows([4]))));
    assert!(is_superseded(&first.keep(&snapshot(3))));
    assert!(is_superseded(&first.keep_pages(&snapshot(3), &Changes::Some(vec![]))));
    assert_eq!((place.rows(), second.snapshot().unwrap()), (3, None));
    second.append(&rows([4])).unwrap();
    assert!(is_superseded(&first.append(&rows([5]))));
    assert_eq!(verify(&mut second).unwrap().rows, 4);
    assert_eq!(first.read(3, 9).unwrap().len(), 1, "it may read");
}

#[test]
fn without_the_check_of_the_epoch_number_and_chain_still_refuse() {
    let place = Place::new();
    let mut first = place.open(Claim::IfFree).unwrap();
    first.append(&rows(1..=3)).unwrap();
    lose_the_lock(&first);
    let mut second = place.open(Claim::IfFree).unwrap();
    // The planted fault.
    let without = INSERT.replace("EXISTS (SELECT FROM held)", "true");
    assert_ne!(without, INSERT);
    first.prepare(&without);
    second.append(&rows([4])).unwrap();
    let refused = first.append(&rows([5])).unwrap_err().to_string();
    assert!(refused.contains("another program has written here"), "{refused}");
    assert_eq!(place.rows(), 4);
    // Even where the number is free: rows of another history are not continued.
    place.meddle("UPDATE tradewind.rows SET chain = decode(repeat('ab', 32), 'hex') WHERE seq = 3");
    place.meddle("DELETE FROM tradewind.rows WHERE seq = 4");
    assert!(is_superseded(&first.append(&rows([5]))), "the refusal names the deeper reason");
    assert_eq!(place.rows(), 3);
}

#[test]
fn without_any_other_check_a_fork_is_stopped_at_the_next_row_of_the_owner() {
    let place = Place::new();
    let mut first = place.open(Claim::IfFree).unwrap();
    first.append(&rows(1..=3)).unwrap();
    lose_the_lock(&first);
    let mut second = place.open(Claim::IfFree).unwrap();
    let neither = INSERT.replace("EXISTS (SELECT FROM held)", "true");
    first.prepare(&neither);
    first.append(&rows([9])).unwrap();
    // There is one history still: the owner sees that it is not its own, and reads it again.
    let refused = second.append(&rows([4])).unwrap_err().to_string();
    assert!(refused.contains("another program has written here"), "{refused}");
    let epoch = second.epoch().unwrap();
    drop(second);
    let mut second = place.open(Claim::Again(epoch)).unwrap();
    assert_eq!(second.last(), 4);
    second.append(&rows([10])).unwrap();
    assert_eq!(verify(&mut second).unwrap().rows, 5);
}

#[test]
fn without_the_check_of_the_chain_the_epoch_still_refuses() {
    let place = Place::new();
    let mut first = place.open(Claim::IfFree).unwrap();
    first.append(&rows(1..=3)).unwrap();
    lose_the_lock(&first);
    let _second = place.open(Claim::IfFree).unwrap();
    let without = INSERT.replace("EXISTS (SELECT FROM before WHERE chain = $3::bytea)", "true");
    assert_ne!(without, INSERT);
    first.prepare(&without);
    assert!(is_superseded(&first.append(&rows([4]))));
    assert_eq!(place.rows(), 3);
}

#[test]
fn an_append_that_is_under_way_is_finished_before_a_takeover_or_refused() {
    for round in 0..4 {
        let place = Place::new();
        let mut first = place.open(Claim::IfFree).unwrap();
        first.append(&rows([1])).unwrap();
        lose_the_lock(&first);
        let writer = std::thread::spawn(move || {
            let mut acknowledged = 1;
            while first.append(&rows([acknowledged + 1])).is_ok() {
                acknowledged += 1;
            }
            acknowledged
        });
        std::thread::sleep(std::time::Duration::from_millis(20 * round));
        let mut second = place.open(Claim::IfFree).unwrap();
        let begun_with = second.last();
        second.append(&rows([1_000_000])).unwrap();
        let acknowledged = writer.join().unwrap();
        assert_eq!(
            acknowledged as u64, begun_with,
            "acknowledged is what the next one begins with"
        );
        assert_eq!(verify(&mut second).unwrap().rows, begun_with + 1);
    }
}
