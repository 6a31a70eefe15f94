//! Server and connection fail while rows are written.

use std::thread;
use std::time::{Duration, Instant};

use super::proxy::{Lost, Proxy};
use super::server::PASSWORD;
use super::*;

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not so in time: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A store that is reached through a proxy, with rows 1 to 3.
fn through(place: &Place) -> (Proxy, Postgres) {
    let proxy = Proxy::to(place.server.port());
    let (port, database) = (proxy.port, &place.database);
    let url = format!("postgresql://tradewind:{PASSWORD}@127.0.0.1:{port}/{database}");
    let address = Address::parse(&url).unwrap();
    let mut store = Postgres::open(&address, Claim::IfFree, None, now()).unwrap();
    store.append(&rows(1..=3)).unwrap();
    (proxy, store)
}

/// Appends row 4 while something is lost; what is done meanwhile.
fn append_while(
    (proxy, mut store): (Proxy, Postgres),
    lost: Lost,
    meanwhile: impl FnOnce(),
) -> Postgres {
    proxy.lose(lost);
    let writer = thread::spawn(move || {
        let answer = store.append(&rows([4]));
        (store, answer)
    });
    meanwhile();
    proxy.cut();
    let (mut store, answer) = writer.join().unwrap();
    let wrong = answer.unwrap_err().to_string();
    assert!(wrong.contains("did not confirm"), "{wrong}");
    // Nothing more until it is opened again, whatever the database could do.
    let more = store.append(&rows([5])).unwrap_err().to_string();
    assert!(more.contains("did not confirm"), "{more}");
    assert!(store.keep(&snapshot(1)).is_err());
    assert_eq!(store.epoch(), None);
    store
}

#[test]
fn a_database_that_is_killed_between_commit_and_answer_has_the_rows_once() {
    let place = Place::at(Arc::new(Server::start("")));
    let pair = through(&place);
    let store = append_while(pair, Lost::Answers, || {
        until("the row is committed", || place.rows() == 4);
        place.server.end("KILL");
    });
    place.server.run();
    drop(store);
    let mut store = place.open(Claim::Again(1)).unwrap();
    assert_eq!((store.last(), store.epoch()), (4, Some(2)));
    store.append(&rows([5])).unwrap();
    let found: Vec<i64> = store.read(0, 9).unwrap().iter().map(|row| row.at).collect();
    assert_eq!(found, [1, 2, 3, 4, 5]);
}

#[test]
fn rows_that_never_arrived_are_not_there_and_their_numbers_are_free() {
    let place = Place::new();
    let pair = through(&place);
    let store = append_while(pair, Lost::Requests, || thread::sleep(Duration::from_millis(200)));
    // The old session is still there: it is ended, and can write nothing.
    let mut again = place.open(Claim::Again(1)).unwrap();
    assert_eq!(again.last(), 3);
    again.append(&rows([5])).unwrap();
    drop(store);
    assert_eq!(verify(&mut again).unwrap().rows, 4);
}

#[test]
fn a_statement_that_waits_at_the_server_is_refused_after_the_next_opening() {
    let place = Place::new();
    let pair = through(&place);
    // The statement arrives and waits for the owner's row.
    let mut blocker = place.admin();
    let mut block = blocker.transaction().unwrap();
    block.batch_execute("SELECT * FROM tradewind.owner FOR UPDATE").unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                   AND datname = current_database()";
    let store = append_while(pair, Lost::Answers, || {
        let mut admin = place.admin();
        until("it waits", || admin.query_one(waiting, &[]).unwrap().get::<_, i64>(0) == 1);
    });
    let address = place.address.clone();
    let again = thread::spawn(move || Postgres::open(&address, Claim::Again(1), None, now()));
    thread::sleep(Duration::from_millis(200));
    block.rollback().unwrap();
    let mut again = again.join().unwrap().unwrap();
    let last = again.last();
    assert!(last == 3 || last == 4, "{last}");
    again.append(&rows([5])).unwrap();
    drop(store);
    assert_eq!(verify(&mut again).unwrap().rows, last + 1, "and nothing came later");
}

#[test]
fn what_was_acknowledged_survives_kills_of_the_database() {
    let place = Place::at(Arc::new(Server::start("")));
    let kills: u64 = std::env::var("TRADEWIND_KILLS").ok().map_or(4, |it| it.parse().unwrap());
    let mut claim = Claim::IfFree;
    for round in 0..kills {
        let mut store = place.open(claim).unwrap();
        claim = Claim::Again(store.epoch().unwrap());
        let writer = thread::spawn(move || {
            while store.append(&rows(store.last() as i64 + 1..store.last() as i64 + 4)).is_ok() {}
            store.last()
        });
        thread::sleep(Duration::from_millis(300 + 170 * round));
        place.server.end("KILL");
        let acknowledged = writer.join().unwrap();
        place.server.run();
        let mut store = Postgres::look(&place.address).unwrap();
        let found = verify(&mut store).unwrap().rows;
        assert!(acknowledged > 0 && (found == acknowledged || found == acknowledged + 3));
    }
}

#[test]
fn a_wait_for_a_standby_that_is_given_up_is_no_acknowledgement() {
    let place = Place::at(Arc::new(Server::start("")));
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows(1..=3)).unwrap();
    let admin = |sql: &str| place.server.admin("postgres").batch_execute(sql).unwrap();
    admin("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'");
    admin("SELECT pg_reload_conf()");
    // Until the server has taken note of its new setting, rows are acknowledged.
    let writer = thread::spawn(move || {
        loop {
            let next = store.last() + 1;
            if let Err(wrong) = store.append(&rows([next as i64])) {
                return (store, next, wrong.to_string());
            }
        }
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let mut look = place.admin();
    until("it waits", || look.query_one(waiting, &[]).unwrap().get::<_, i64>(0) == 1);
    admin("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    let (mut store, row, wrong) = writer.join().unwrap();
    assert!(wrong.contains("gave up waiting for a standby"), "{wrong}");
    assert!(store.append(&rows([row as i64 + 1])).is_err());
    admin("ALTER SYSTEM RESET synchronous_standby_names");
    admin("SELECT pg_reload_conf()");
    drop(store);
    assert_eq!(place.open(Claim::Again(1)).unwrap().last(), row);
}

#[test]
fn a_commit_is_synchronous_whatever_the_role_s_setting_is() {
    let place = Place::new();
    drop(place.open(Claim::IfFree).unwrap());
    let off = "SET synchronous_commit = off; ALTER DATABASE";
    let name = &place.database;
    place.admin().batch_execute(&format!("{off} {name} SET synchronous_commit = off")).unwrap();
    let store = place.open(Claim::IfFree).unwrap();
    let ask = "SELECT current_setting('synchronous_commit'), current_setting('statement_timeout')";
    let said = store.client().client.query_one(ask, &[]).unwrap();
    assert_eq!((said.get::<_, &str>(0), said.get::<_, &str>(1)), ("on", "0"));
}
