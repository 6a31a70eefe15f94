//! Who may own a market, and until when.

use std::thread;
use std::time::{Duration, Instant};

use tradewind_daemon::engine::{Lease, LeaseHold as _, Tick};

use super::*;
use crate::connect::{Access, connect};
use crate::lease::{Advertised, Claimant, OwnerWatch, Renewal, site_folders};
use crate::owner::hold;

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(600);

fn claimant(folder: &str, process: &str, length: Duration) -> Claimant {
    Claimant { folder: folder.to_owned(), process: process.to_owned(), length, knows: 7 }
}

fn open_for(place: &Place, claimant: &Claimant, claim: Claim) -> Result<Postgres, StoreError> {
    Postgres::open_for(Some(claimant), &place.address, claim, None, now())
}

/// The lease has run out, as if so much time had passed.
fn run_out(place: &Place) {
    place.meddle("UPDATE tradewind.owner SET until = clock_timestamp() - interval '1 second'");
}

#[test]
fn a_lease_that_runs_excludes_others_and_one_that_ran_out_does_not() {
    let place = Place::new();
    let (one, other) = (claimant("a", "1", LONG), claimant("b", "1", LONG));
    let mut first = open_for(&place, &one, Claim::IfFree).unwrap();
    first.append(&rows([1])).unwrap();
    // Also when its session has lost its lock, as after a failover.
    first.client().client.batch_execute("SELECT pg_advisory_unlock_all()").unwrap();
    for refused in [open_for(&place, &other, Claim::IfFree), place.open(Claim::IfFree)] {
        assert!(matches!(refused, Err(StoreError::Busy { .. })), "{refused:?}");
    }
    first.append(&rows([2])).unwrap();
    let mut watch = OwnerWatch::new(place.address.clone(), other.clone());
    let look = watch.look().unwrap();
    assert_eq!((look.last, look.is_free), (2, false));
    let at = Advertised::default();
    at.set("http://127.0.0.1:1");
    watch.say(1, &at);
    let seen = Postgres::daemons(&place.address).unwrap();
    let [standby] = &seen.standbys[..] else { panic!("{seen:?}") };
    assert_eq!((standby.url.as_str(), standby.rows_behind), ("http://127.0.0.1:1", 1));
    assert!(seen.lease.is_some() && seen.owner.is_none(), "{seen:?}");
    run_out(&place);
    assert!(watch.look().unwrap().is_free);
    assert_eq!(Postgres::daemons(&place.address).unwrap().lease, None);
    let mut second = open_for(&place, &other, Claim::IfFree).unwrap();
    assert!(first.append(&rows([3])).is_err(), "the earlier owner writes nothing any more");
    second.append(&rows([3])).unwrap();
    assert_eq!((second.epoch(), second.known_before()), (Some(2), Some(7)));
}

#[test]
fn of_several_claimants_one_is_the_owner() {
    let place = Place::new();
    // Its session goes on, so that each of the others wants to end it.
    let _stopped = open_for(&place, &claimant("a", "1", LONG), Claim::IfFree).unwrap();
    thread::sleep(Duration::from_secs(1));
    run_out(&place);
    let opened: Vec<_> = thread::scope(|scope| {
        let all = ["b", "c", "d"].map(|folder| {
            let place = &place;
            scope.spawn(move || open_for(place, &claimant(folder, "1", LONG), Claim::IfFree))
        });
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let owners = opened.iter().filter(|it| it.is_ok()).count();
    assert_eq!(owners, 1, "{opened:?}");
    let refused = |it: &&Result<Postgres, StoreError>| matches!(it, Err(StoreError::Busy { .. }));
    assert_eq!(opened.iter().filter(refused).count(), 2, "{opened:?}");
}

#[test]
fn a_session_that_holds_the_row_of_an_owner_that_was_cut_off_delays_no_takeover() {
    // One waits for the end of the lease, the other is of the same folder and need not.
    for (length, next) in [(Duration::from_millis(500), "b"), (LONG, "a")] {
        let place = Place::new();
        let first = open_for(&place, &claimant("a", "1", length), Claim::IfFree).unwrap();
        let epoch = first.epoch().unwrap();
        // Between two statements, and without the lock, which is of another session.
        let mut cut_off = connect(&place.address, Access::Write).unwrap();
        let mut change = cut_off.client.transaction().unwrap();
        hold(&mut change, "m", epoch).unwrap();
        thread::sleep(Duration::from_secs(1));
        let second = open_for(&place, &claimant(next, "2", LONG), Claim::IfFree).unwrap();
        assert_eq!(second.epoch(), Some(epoch + 1));
        assert!(change.commit().is_err(), "its session was ended");
    }
}

#[test]
fn a_process_of_the_same_folder_need_not_wait() {
    let place = Place::new();
    drop(open_for(&place, &claimant("a", "1", LONG), Claim::IfFree).unwrap());
    let again = claimant("a", "2", LONG);
    let mut watch = OwnerWatch::new(place.address.clone(), again.clone());
    assert!(watch.look().unwrap().is_free);
    let store = open_for(&place, &again, Claim::IfFree).unwrap();
    assert_eq!(store.epoch(), Some(2));
}

#[test]
fn a_renewal_goes_on_until_it_is_released_or_lost() {
    let place = Place::new();
    let (one, other) =
        (claimant("a", "1", Duration::from_secs(3)), claimant("b", "1", Duration::from_secs(3)));
    let begun = Tick::now();
    let store = open_for(&place, &one, Claim::IfFree).unwrap();
    let lease = Lease::timed(begun, one.length);
    let advertised = Advertised::default();
    advertised.set("https://one.example.org");
    let renewal = Renewal::start(&place.address, one, std::sync::Arc::clone(&lease), advertised);
    let renewal = renewal.unwrap();
    let mut watch = OwnerWatch::new(place.address.clone(), other.clone());
    let until = Instant::now() + Duration::from_secs(60);
    while watch.look().unwrap().url.as_deref() != Some("https://one.example.org") {
        assert!(Instant::now() < until, "the owner does not say where it is");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(lease.lost().is_none());
    drop(store);
    Box::new(renewal).release();
    let look = watch.look().unwrap();
    assert!(look.is_free && look.url.is_none(), "{look:?}");
    // Another one has taken over: a renewal notices.
    let asked = Tick::now();
    let _store = open_for(&place, &other, Claim::IfFree).unwrap();
    let lost = Lease::timed(asked, LONG);
    let one = claimant("a", "1", Duration::from_secs(3));
    let _renewal =
        Renewal::start(&place.address, one, std::sync::Arc::clone(&lost), Advertised::default());
    while lost.lost().is_none() {
        assert!(Instant::now() < until, "the renewal does not notice");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!lost.holds());
}

#[test]
fn the_first_folder_of_a_site_stays_its_folder() {
    let place = Place::new();
    let store = open_for(&place, &claimant("a", "1", LONG), Claim::IfFree).unwrap();
    let epoch = store.term();
    let sites = |folder: &str| vec![("alpha".to_owned(), folder.to_owned())];
    assert_eq!(site_folders(&place.address, epoch, &sites("x")).unwrap(), ["x"]);
    let more = [vec![("beta".to_owned(), "b".to_owned())], sites("y")].concat();
    assert_eq!(site_folders(&place.address, epoch, &more).unwrap(), ["b", "x"]);
    let stale = site_folders(&place.address, epoch + 1, &sites("z"));
    assert!(matches!(stale, Err(StoreError::Superseded { .. })), "{stale:?}");
}
