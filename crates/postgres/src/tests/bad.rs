//! Bad input: one clear sentence, no password in it, nothing written.

use std::fs;

use rcgen::generate_simple_self_signed;
use tradewind_daemon::store::{Origin, StoreError};

use super::server::PASSWORD;
use super::*;

fn said<T>(done: Result<T, StoreError>) -> String {
    let Err(wrong) = done else { panic!("it was not refused") };
    let text = wrong.to_string();
    assert!(!text.contains(PASSWORD) && !text.contains("not-it"), "{text}");
    assert!(!text.contains('\n'), "one sentence: {text}");
    text
}

fn open(url: &str) -> Result<Postgres, StoreError> {
    Postgres::open(&Address::parse(url).unwrap(), Claim::IfFree, None, now())
}

/// How many tables of ours there are.
fn tables(place: &Place) -> i64 {
    let ask = "SELECT count(*) FROM pg_tables WHERE schemaname = 'tradewind'";
    place.admin().query_one(ask, &[]).unwrap().get(0)
}

#[test]
fn a_refused_connection_says_why() {
    let place = Place::new();
    let server = &place.server;
    let wrong = said(open(&server.url_with(&place.database, "not-it")));
    assert!(wrong.contains("refuses the password"), "{wrong}");
    let missing = said(open(&server.url("nowhere")));
    assert!(missing.contains("there is no such database"), "{missing}");
    let (port, database) = (server.port(), &place.database);
    let without = said(open(&format!("postgresql://tradewind@127.0.0.1:{port}/{database}")));
    assert!(without.contains("asks for a password"), "{without}");
    let closed = said(open(&format!("postgresql://tradewind:{PASSWORD}@127.0.0.1:1/{database}")));
    assert!(closed.contains("cannot be reached") && closed.contains("refused"), "{closed}");
    let socket = said(open("postgresql://tradewind@/x?host=/nowhere"));
    assert!(socket.contains("cannot be reached"), "{socket}");
    assert_eq!(tables(&place), 0);
}

#[test]
fn a_refused_role_is_shown_where_its_rights_are_written_down() {
    let place = Place::new();
    place.admin().batch_execute("DROP SCHEMA tradewind").unwrap();
    let none = said(place.open(Claim::IfFree));
    assert!(none.contains("the role may not") && none.contains("postgresql.md"), "{none}");
    place.admin().batch_execute("CREATE SCHEMA tradewind").unwrap();
    let foreign = said(place.open(Claim::IfFree));
    assert!(foreign.contains("the role may not"), "{foreign}");
    assert_eq!(tables(&place), 0);
    let owned = "ALTER SCHEMA tradewind OWNER TO tradewind";
    place.admin().batch_execute(owned).unwrap();
    let mut store = place.open(Claim::IfFree).unwrap();
    place.admin().batch_execute("REVOKE INSERT ON tradewind.rows FROM tradewind").unwrap();
    let refused = said(store.append(&rows([1])));
    assert!(refused.contains("the role may not"), "{refused}");
    place.admin().batch_execute("GRANT INSERT ON tradewind.rows TO tradewind").unwrap();
    store.append(&rows([1])).unwrap();
}

#[test]
fn the_role_of_the_documentation_has_no_other_rights() {
    let place = Place::new();
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows([1])).unwrap();
    let mut role =
        postgres::Client::connect(&place.server.url(&place.database), postgres::NoTls).unwrap();
    for more in
        ["CREATE TABLE public.x ()", "CREATE SCHEMA y", "CREATE ROLE z", "CREATE DATABASE d"]
    {
        let refused = role.batch_execute(more).unwrap_err();
        assert_eq!(refused.code(), Some(&postgres::error::SqlState::INSUFFICIENT_PRIVILEGE));
    }
}

#[test]
fn another_database_is_left_alone() {
    let place = Place::new();
    place.admin().batch_execute("CREATE TABLE tradewind.fares (id int)").unwrap();
    let other = said(place.open(Claim::IfFree));
    assert!(other.contains("tables of something else"), "{other}");
    assert_eq!(tables(&place), 1);
}

#[test]
fn another_market_s_journal_is_left_alone() {
    let place = Place::new();
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows([1])).unwrap();
    drop(store);
    let ours = Origin { market: "ours".to_owned(), created: 5 };
    for claim in [Claim::IfFree, Claim::TakeOver] {
        let other = said(Postgres::open(&place.address, claim, Some(&ours), now()));
        assert!(other.contains("another market") && other.contains("`ours`"), "{other}");
    }
    assert_eq!(place.open(Claim::IfFree).unwrap().epoch(), Some(2), "they raised no epoch");
    let empty = Place::new();
    let gone = Postgres::open(&empty.address, Claim::IfFree, Some(&ours), now());
    assert!(matches!(&gone, Err(StoreError::Lost { .. })));
    assert!(said(gone).contains("is not there"));
    assert_eq!(tables(&empty), 0);
}

#[test]
fn a_database_that_takes_no_changes_is_refused_and_can_be_read() {
    let place = Place::new();
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows([1])).unwrap();
    drop(store);
    let name = &place.database;
    let read_only = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    place.server.admin("postgres").batch_execute(&read_only).unwrap();
    let refused = said(place.open(Claim::IfFree));
    assert!(refused.contains("read-only") && refused.contains("nothing was written"), "{refused}");
    assert_eq!(Postgres::look(&place.address).unwrap().last(), 1);
}

#[test]
fn a_server_that_does_not_sync_is_refused() {
    let place = Place::at(Arc::new(Server::start("fsync = off")));
    let refused = said(place.open(Claim::IfFree));
    assert!(refused.contains("fsync = off"), "{refused}");
    assert_eq!(tables(&place), 0);
}

#[test]
fn clocks_that_are_hours_apart_are_refused() {
    let place = Place::new();
    for (ahead, word) in [(7_200, "ahead of"), (-7_200, "behind")] {
        let claim = Claim::IfFree;
        let refused = said(Postgres::open(&place.address, claim, None, now() + ahead));
        assert!(refused.contains(word) && refused.contains("NTP"), "{refused}");
    }
    assert_eq!(tables(&place), 0);
    Postgres::open(&place.address, Claim::IfFree, None, now() + 60).unwrap();
}

#[test]
fn tls_is_used_where_the_url_asks_and_the_certificate_counts() {
    let server = Arc::new(Server::start(""));
    let made = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (server.folder().join("tls.pem"), server.folder().join("tls.key"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o640);
    fs::set_permissions(&key, mode).unwrap();
    let place = Place::at(Arc::clone(&server));
    let (port, root) = (server.port(), certificate.display());
    let url = |host: &str, more: &str| {
        let database = &place.database;
        format!("postgresql://tradewind:{PASSWORD}@{host}:{port}/{database}?sslmode=require{more}")
    };
    let trusted = url("localhost", &format!("&sslrootcert={root}"));
    let none = said(open(&trusted));
    assert!(none.contains("TLS"), "{none}");
    // Root may own the key, if the server's group can read it.
    if rustix::process::geteuid().is_root() {
        let owner = std::process::Command::new("chgrp").arg("postgres").arg(&key).status();
        assert!(owner.unwrap().success());
    } else {
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let admin = |sql: &str| server.admin("postgres").batch_execute(sql).unwrap();
    admin(&format!("ALTER SYSTEM SET ssl_cert_file = '{root}'"));
    admin(&format!("ALTER SYSTEM SET ssl_key_file = '{}'", key.display()));
    admin("ALTER SYSTEM SET ssl = on");
    server.end("INT");
    server.run();
    let store = open(&trusted).unwrap();
    let ask = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert!(store.client().client.query_one(ask, &[]).unwrap().get::<_, bool>(0));
    drop(store);
    let unknown = said(open(&url("localhost", "")));
    assert!(unknown.contains("certificate"), "{unknown}");
    let other = said(open(&url("127.0.0.1", &format!("&sslrootcert={root}"))));
    assert!(other.contains("certificate"), "{other}");
    let empty = server.folder().join("empty.pem");
    fs::write(&empty, "").unwrap();
    let nothing = said(open(&url("localhost", &format!("&sslrootcert={}", empty.display()))));
    assert!(nothing.contains("no certificate in it"), "{nothing}");
}
