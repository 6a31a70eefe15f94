//! A server that hangs: its kernel takes what it gets, and no answer comes.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::proxy::{Lost, Proxy};
use super::server::PASSWORD;
use tradewind_daemon::engine::{Lease, LeaseHold as _, Tick};

use super::*;
use crate::lease::{Advertised, Claimant, OwnerWatch, Renewal};
use crate::patience::PatientStore;

/// Longer than one call may take, and shorter than for ever.
const SOON: Duration = Duration::from_secs(180);

/// The database of a place by these ports.
fn address(place: &Place, ports: &[u16]) -> Address {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let url = format!("postgresql://tradewind:{PASSWORD}@{}/{}", hosts.join(","), place.database);
    Address::parse(&url).unwrap()
}

fn claimant() -> Claimant {
    let length = Duration::from_secs(600);
    Claimant { folder: "b".to_owned(), process: "1".to_owned(), length, knows: 7 }
}

#[test]
fn a_standby_goes_on_when_the_server_that_it_asks_hangs() {
    let place = Place::new();
    place.open(Claim::IfFree).unwrap().append(&rows(1..=3)).unwrap();
    let proxy = Proxy::to(place.server.port());
    // One is frozen from the beginning; the other one later, and then it is another primary.
    let frozen = TcpListener::bind("127.0.0.1:0").unwrap();
    let frozen = (frozen.local_addr().unwrap().port(), frozen);
    let begin = Instant::now();
    let way = address(&place, &[frozen.0, proxy.port, place.server.port()]);
    let mut watch = OwnerWatch::new(way.clone(), claimant());
    assert_eq!(watch.look().unwrap().last, 3);
    let mut reader = PatientStore::look(&way).unwrap();
    assert_eq!((reader.read(0, 2).unwrap().len(), reader.last()), (2, 3));
    proxy.lose(Lost::Requests);
    assert!(watch.look().unwrap_err().to_string().contains("does not answer within 5 s"));
    assert_eq!(watch.look().unwrap().last, 3, "by another host");
    assert!(reader.read(2, 2).unwrap_err().to_string().contains("does not answer"));
    assert!(reader.read(2, 2).unwrap_err().to_string().contains("hangs"));
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    // Hosts that hang are not waited for twice.
    let begin = Instant::now();
    assert_eq!(PatientStore::look(&way).unwrap().read(2, 2).unwrap().len(), 1);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn a_session_whose_server_hangs_is_closed_without_waiting_for_it() {
    let place = Place::new();
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows(1..=3)).unwrap();
    let proxy = Proxy::to(place.server.port());
    let reader = PatientStore::look(&address(&place, &[proxy.port])).unwrap();
    proxy.lose(Lost::Requests);
    let (send, closed) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(reader);
        send.send(()).unwrap();
    });
    closed.recv_timeout(SOON).expect("it waits for the server");
}

#[test]
fn a_host_that_answers_again_is_used_again() {
    let place = Place::new();
    place.open(Claim::IfFree).unwrap().append(&rows([1])).unwrap();
    let proxy = Proxy::to(place.server.port());
    let way = address(&place, &[proxy.port]);
    proxy.lose(Lost::Answers);
    let mut watch = OwnerWatch::new(way, claimant());
    assert!(watch.look().unwrap_err().to_string().contains("does not answer within 20 s"));
    assert!(watch.look().unwrap_err().to_string().contains("still does not answer"));
    proxy.lose(Lost::Nothing);
    proxy.cut();
    let begin = Instant::now();
    while watch.look().is_err() {
        assert!(begin.elapsed() < SOON, "it is not used again");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_owner_whose_server_hangs_adds_nothing_more_until_its_journal_is_opened_again() {
    let place = Place::new();
    let proxy = Proxy::to(place.server.port());
    let way = address(&place, &[proxy.port]);
    let owner = Postgres::open_for(Some(&claimant()), &way, Claim::IfFree, None, now()).unwrap();
    let mut store = PatientStore::from(owner);
    store.append(&rows(1..=3)).unwrap();
    // The row is added, and no answer says so.
    proxy.lose(Lost::Answers);
    let begin = Instant::now();
    let wrong = store.append(&rows([4])).unwrap_err().to_string();
    assert!(wrong.contains("did not confirm") && wrong.contains("does not answer"), "{wrong}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    assert!(store.append(&rows([5])).is_err() && store.keep(&snapshot(1)).is_err());
    // While the call hangs, by another way.
    let mut again = place.open(Claim::Again(1)).unwrap();
    assert_eq!((again.last(), again.epoch()), (4, Some(2)), "the row is there once");
    again.append(&rows([5])).unwrap();
    // What is under way at the old one comes to nothing, whatever arrives there now.
    proxy.lose(Lost::Nothing);
    assert!(store.append(&rows([6])).is_err());
    assert_eq!(verify(&mut again).unwrap().rows, 5);
}

#[test]
fn a_lease_is_renewed_again_after_a_renewal_that_hangs() {
    let place = Place::new();
    let proxy = Proxy::to(place.server.port());
    let way = address(&place, &[proxy.port]);
    let owner = Postgres::open_for(Some(&claimant()), &place.address, Claim::IfFree, None, now());
    let lease = Lease::timed(Tick::now(), claimant().length);
    let renewal = Renewal::start(&way, claimant(), lease, Advertised::default()).unwrap();
    let ask = "SELECT until::text FROM tradewind.owner";
    let mut admin = place.admin();
    let mut is_renewed = |what: &str| {
        let mut until = || admin.query_one(ask, &[]).unwrap().get::<_, String>(0);
        let (begin, before) = (Instant::now(), until());
        while until() == before {
            assert!(begin.elapsed() < SOON, "it is not renewed {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    is_renewed("at all");
    // At least one renewal hangs for ever, as the answer that it waits for is lost.
    proxy.lose(Lost::Answers);
    std::thread::sleep(Duration::from_secs(2));
    proxy.lose(Lost::Nothing);
    is_renewed("once more");
    is_renewed("by another connection");
    // Giving it up ends in time, too, and the market may wait for the lease then.
    proxy.lose(Lost::Requests);
    let begin = Instant::now();
    Box::new(renewal).release();
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    drop(owner);
}
