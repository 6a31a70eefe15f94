//! A journal goes from SQLite to PostgreSQL and back.

use tradewind_daemon::store::sqlite::{self, Sqlite};
use tradewind_daemon::store::{ExportedRows, StoreRows, export};

use super::*;

#[test]
fn a_journal_goes_there_and_back_digest_by_digest() {
    let folder = tempfile::tempdir().unwrap();
    let (from, back) = (folder.path().join("journal.db"), folder.path().join("back.db"));
    let mut original = Sqlite::open(&from).unwrap();
    original.append(&rows(1..=1_000)).unwrap();
    original.append(&[(1_000, b"\xff\0".to_vec()), (1_000, vec![])]).unwrap();
    let proof = verify(&mut original).unwrap();
    let mut place = Place::new();
    let copy = crate::import(&place.address, &mut StoreRows::of(&mut original)).unwrap();
    assert_eq!(copy, proof);
    let again = crate::import(&place.address, &mut StoreRows::of(&mut original)).unwrap_err();
    assert!(again.to_string().contains("there is a journal"), "{again}");
    let mut store = place.open(Claim::IfFree).unwrap();
    assert_eq!(store.origin(), original.origin());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    export(&mut store, &mut ours).unwrap();
    export(&mut original, &mut theirs).unwrap();
    assert!(ours == theirs, "the same lines");
    store.append(&rows([2_000])).unwrap();
    store.keep(&snapshot(900)).unwrap();
    tradewind_daemon::store::conformance::StoreBench::archive(&mut place, 600);
    let now = verify(&mut store).unwrap();
    let returned = sqlite::import(&back, &mut StoreRows::of(&mut store)).unwrap();
    assert_eq!(returned, now);
    assert_eq!(Sqlite::open(&back).unwrap().last(), 1_003);
}

#[test]
fn an_import_that_is_cut_short_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut original = Sqlite::open(&folder.path().join("journal.db")).unwrap();
    original.append(&rows(1..=1_000)).unwrap();
    let mut lines = Vec::new();
    export(&mut original, &mut lines).unwrap();
    let place = Place::new();
    let mut short = ExportedRows::begin(&lines[..lines.len() - 7]).unwrap();
    assert!(crate::import(&place.address, &mut short).is_err());
    assert_eq!(Postgres::market(&place.address).unwrap(), None);
    let mut whole = ExportedRows::begin(lines.as_slice()).unwrap();
    assert_eq!(crate::import(&place.address, &mut whole).unwrap().rows, 1_000);
    assert_eq!(Postgres::market(&place.address).unwrap().as_ref(), Some(original.origin()));
}
