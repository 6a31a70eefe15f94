//! Tables of earlier and later releases.

use super::*;
use crate::schema::{FORMAT, MIGRATIONS};

/// A journal of version 1, as its release made it.
fn first_version(place: &Place) -> u64 {
    let mut role =
        postgres::Client::connect(&place.server.url(&place.database), postgres::NoTls).unwrap();
    role.batch_execute(MIGRATIONS[0]).unwrap();
    let fill = "INSERT INTO tradewind.meta VALUES (1, 1, 'older', 7); \
                INSERT INTO tradewind.owner VALUES (1, 4, now());";
    role.batch_execute(fill).unwrap();
    let origin = tradewind_daemon::store::Origin { market: "older".to_owned(), created: 7 };
    let mut end = tradewind_daemon::store::chain::JournalEnd::of(&origin);
    for (at, body) in rows(1..=5) {
        end = end.then(at, &body);
        let insert = "INSERT INTO tradewind.rows VALUES ($1, $2, $3, $4)";
        let digest = end.digest.0.as_slice();
        role.execute(insert, &[&(end.seq as i64), &at, &body, &digest]).unwrap();
    }
    end.seq
}

#[test]
fn an_earlier_version_is_brought_up_to_date_by_an_opening_for_writing() {
    let place = Place::new();
    let last = first_version(&place);
    let looked = Postgres::look(&place.address).unwrap_err().to_string();
    assert!(looked.contains("earlier release (format 1") && looked.contains("start"), "{looked}");
    let other = tradewind_daemon::store::Origin { market: "other".to_owned(), created: 7 };
    assert!(Postgres::open(&place.address, Claim::IfFree, Some(&other), now()).is_err());
    let format = || -> i32 {
        place.admin().query_one("SELECT format FROM tradewind.meta", &[]).unwrap().get(0)
    };
    assert_eq!(format(), 1, "a refusal changes nothing");
    let mut store = place.open(Claim::IfFree).unwrap();
    assert_eq!((store.last(), store.epoch(), format()), (last, Some(5), FORMAT as i32));
    store.append(&rows([6])).unwrap();
    assert_eq!(verify(&mut store).unwrap().rows, 6);
    assert_eq!(store.archives().unwrap(), []);
}

#[test]
fn a_later_version_is_left_alone() {
    let place = Place::new();
    drop(place.open(Claim::IfFree).unwrap());
    place.meddle("UPDATE tradewind.meta SET format = 77");
    for opened in
        [place.open(Claim::IfFree), place.open(Claim::TakeOver), Postgres::look(&place.address)]
    {
        assert!(matches!(opened, Err(StoreError::TooNew { found: 77, known: FORMAT, .. })));
    }
    place.meddle(&format!("UPDATE tradewind.meta SET format = {FORMAT}"));
    assert_eq!(place.open(Claim::IfFree).unwrap().epoch(), Some(2));
}
