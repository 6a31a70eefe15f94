//! It is a store, as memory and SQLite are.

use tradewind_daemon::store::conformance::{self, StoreBench};
use tradewind_daemon::store::sqlite::{ArchiveCutoff, Cover};
use tradewind_daemon::store::{Store, StoreError};

use super::*;
use crate::archives::Keeper;

impl StoreBench for Place {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(Place::open(self, Claim::IfFree)?))
    }

    fn look(&mut self) -> Option<Box<dyn Store>> {
        Some(Box::new(Postgres::look(&self.address).unwrap()))
    }

    fn damage(&mut self, seq: u64) {
        let change = "UPDATE tradewind.rows SET body = set_byte(body, 0, 88) WHERE seq =";
        self.meddle(&format!("{change} {seq}"));
    }

    fn archive(&mut self, before: i64) -> Option<u64> {
        let mut keeper = Keeper::beside(&self.address).unwrap();
        let due = ArchiveCutoff { before, partly_before: before };
        let (mut moved, cover) = (0, Cover::Snapshots);
        while let Some(made) = keeper.archive(due, cover).unwrap() {
            moved += made.last - made.first + 1;
        }
        Some(moved)
    }
}

#[test]
fn a_store_in_postgresql_is_a_store() {
    conformance::all(Place::new);
}

#[test]
fn rows_cannot_be_changed_or_removed() {
    let place = Place::new();
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows(1..=3)).unwrap();
    let changes = [
        "DELETE FROM tradewind.rows WHERE seq = 2",
        "UPDATE tradewind.rows SET body = ''",
        "TRUNCATE tradewind.rows",
    ];
    for change in changes {
        let refused = place.admin().batch_execute(change).unwrap_err();
        let said = refused.as_db_error().unwrap().message().to_owned();
        assert!(said.contains("rows of a journal stay"), "{change}: {said}");
    }
    assert_eq!(verify(&mut store).unwrap().rows, 3);
}

#[test]
fn what_is_damaged_is_found_on_the_side() {
    use tradewind_daemon::store::sqlite::Scrubbed;
    use tradewind_daemon::upkeep::Maintenance as _;
    let mut place = Place::new();
    let mut store = place.open(Claim::IfFree).unwrap();
    store.append(&rows(1..=900)).unwrap();
    store.keep_pages(&snapshot(700), &Changes::All(vec![page(1), page(2)])).unwrap();
    StoreBench::archive(&mut place, 300);
    let mut upkeep = crate::scrub::Upkeep::new(place.address.clone());
    let mut look = || {
        let (mut looked, mut found) = (0, Vec::new());
        loop {
            match upkeep.scrub().unwrap() {
                Scrubbed::Rows(rows) => looked += rows,
                Scrubbed::Damaged(damage) => found.push(damage.row),
                Scrubbed::End => return (looked, found),
            }
        }
    };
    assert_eq!(look(), (900, vec![]));
    StoreBench::damage(&mut place, 600);
    place.meddle("UPDATE tradewind.pages SET body = 'x' WHERE number = 2");
    place.meddle("UPDATE tradewind.archives SET file = set_byte(file, 300, 7) WHERE first = 1");
    let (looked, found) = look();
    assert!(looked < 900, "{looked}");
    assert_eq!(found.last(), Some(&0), "the snapshot: {found:?}");
    assert!(found.contains(&600) && found[0] < 300, "{found:?}");
    assert_eq!(store.damaged_snapshots().unwrap(), [700]);
}

fn page(number: u64) -> Page {
    Page { key: (1, number), body: vec![number as u8; 50] }
}
