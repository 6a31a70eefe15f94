//! What is remembered of sites, and by whom.

use tradewind_daemon::site::notes::conformance::{self, NotesBench};
use tradewind_daemon::site::notes::{Note, NoteChange, NoteKind, Notes};

use super::*;
use crate::lease::{IN_DATABASE, site_folders};
use crate::notes::SiteNotes;

/// A database, and the owner of its newest term.
struct Owned {
    place: Place,
    store: Option<Postgres>,
}

impl Owned {
    fn new() -> Owned {
        let place = Place::new();
        let store = Some(place.open(Claim::IfFree).unwrap());
        Owned { place, store }
    }

    fn term(&self) -> u64 {
        self.store.as_ref().unwrap().term()
    }
}

impl NotesBench for Owned {
    fn open(&mut self, site: &str) -> Box<dyn Notes> {
        Box::new(SiteNotes::new(self.place.address.clone(), site, self.term()))
    }

    fn succeed(&mut self) {
        self.store = Some(self.place.open(Claim::TakeOver).unwrap());
    }
}

#[test]
fn notes_in_the_database_are_notes() {
    conformance::all(Owned::new);
}

#[test]
fn a_term_lasts_when_its_connection_is_opened_again() {
    let mut owned = Owned::new();
    let (term, epoch) = (owned.term(), owned.store.as_ref().unwrap().epoch().unwrap());
    let since = u64::try_from(now()).unwrap();
    assert!(term.abs_diff(since) < 600, "a journal that was restored begins no lower: {term}");
    let mut notes = NotesBench::open(&mut owned, "a");
    notes.begin(&[]).unwrap();
    owned.store = None;
    owned.store = Some(owned.place.open(Claim::Again(epoch)).unwrap());
    assert_eq!((owned.term(), owned.store.as_ref().unwrap().epoch()), (term, Some(epoch + 1)));
    let note = Note { kind: NoteKind::Gone, key: "k".to_owned(), body: String::new() };
    notes.change(&[NoteChange::Put(note.clone())]).unwrap();
    // Its session is ended, as by a failover: the next change says so or is done, and one after it is.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tradewind' \
               AND datname = current_database()";
    owned.place.admin().execute(end, &[]).unwrap();
    drop(notes.change(&[NoteChange::Drop(NoteKind::Gone, "k".to_owned())]));
    notes.change(&[NoteChange::Put(note.clone())]).unwrap();
    assert_eq!(notes.read().unwrap(), Some(vec![note]));
    owned.succeed();
    assert!(owned.term() > term);
}

#[test]
fn a_site_whose_notes_are_in_the_database_has_no_folder() {
    let mut owned = Owned::new();
    let (address, term) = (owned.place.address.clone(), owned.term());
    let folder_of = |folder: &str| {
        let sites = [("alpha".to_owned(), folder.to_owned())];
        site_folders(&address, term, &sites).unwrap().pop().unwrap()
    };
    assert_eq!((folder_of("x"), folder_of("y")), ("x".to_owned(), "x".to_owned()));
    NotesBench::open(&mut owned, "alpha").begin(&[]).unwrap();
    assert_eq!((folder_of("x").as_str(), folder_of("y").as_str()), (IN_DATABASE, IN_DATABASE));
}
