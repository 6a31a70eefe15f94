//! A server that hangs: its kernel takes what it gets, and no answer comes.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::proxy::{Lost, Proxy};
use super::server::PASSWORD;
use super::*;
use crate::lease::{Claimant, OwnerWatch};
use crate::patience::PatientReader;

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
    let mut reader = PatientReader::open(&way).unwrap();
    assert_eq!((reader.read(0, 2).unwrap().len(), reader.last()), (2, 3));
    proxy.lose(Lost::Requests);
    assert!(watch.look().unwrap_err().to_string().contains("does not answer within 5 s"));
    assert_eq!(watch.look().unwrap().last, 3, "by another host");
    assert!(reader.read(2, 2).unwrap_err().to_string().contains("does not answer"));
    assert!(reader.read(2, 2).unwrap_err().to_string().contains("hangs"));
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    // Hosts that hang are not waited for twice.
    let begin = Instant::now();
    assert_eq!(PatientReader::open(&way).unwrap().read(2, 2).unwrap().len(), 1);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
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
