//! What must be remembered of a site, where every daemon of a market finds it.
//!
//! The adapter of a cluster remembers which tasks it has submitted, which must never run again, and how
//! tasks ended. It has files for that. Where several daemons may own a market in turn, it also keeps
//! [`Notes`] beside the journal: they are written before anything depends on them, only by the owner,
//! and the next owner goes on from them. Its own files are a copy then.

use std::fmt::Debug;
use std::io;

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// A task that was submitted, or is about to be.
    Ticket,
    /// A task that must not run again.
    Gone,
    /// How a task ended that was forgotten.
    End,
}

impl NoteKind {
    /// All of them.
    pub const ALL: [NoteKind; 3] = [NoteKind::Ticket, NoteKind::Gone, NoteKind::End];

    /// As stores write it. Numbers that a release has written keep their meaning.
    pub fn number(self) -> i16 {
        match self {
            NoteKind::Ticket => 0,
            NoteKind::Gone => 1,
            NoteKind::End => 2,
        }
    }

    /// What [`NoteKind::number`] has written.
    pub fn of_number(number: i16) -> Option<NoteKind> {
        NoteKind::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// One of them: of a kind and a task there is one at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// Which task.
    pub key: String,
    /// As the adapter writes it.
    pub body: String,
}

/// One that is to be there, or to be there no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteChange {
    /// It is there, in the place of an earlier one.
    Put(Note),
    /// There is none.
    Drop(NoteKind, String),
}

/// What must be remembered of one site, in one term of ownership.
pub trait Notes: Debug + Send + Sync {
    /// All that there are, of each kind in the order in which they were first put; `None`: none were
    /// ever kept here, so the adapter's own files count.
    ///
    /// # Errors
    /// If they cannot be read, or another daemon owns the market.
    fn read(&mut self) -> io::Result<Option<Vec<Note>>>;

    /// Keeps the first ones, which the adapter had in files of its own. Once only.
    ///
    /// # Errors
    /// If that is not safe, or another daemon owns the market. Then nothing is kept.
    fn begin(&mut self, notes: &[Note]) -> io::Result<()>;

    /// All of these or none; when it returns they survive what the journal survives.
    ///
    /// # Errors
    /// If that is not known, or another daemon owns the market. They may be repeated.
    fn change(&mut self, changes: &[NoteChange]) -> io::Result<()>;
}

/// Notes and changes, and what they are in memory: what [`Notes`] of any kind must do.
pub mod conformance {
    #![expect(clippy::panic, reason = "a suite of checks says by a panic what does not hold")]

    use super::{Note, NoteChange, NoteKind, Notes};

    /// Opens the notes of a site of one market, in the owner's term or in a new one.
    pub trait NotesBench {
        /// In the newest term.
        fn open(&mut self, site: &str) -> Box<dyn Notes>;
        /// From now on there is a newer term.
        fn succeed(&mut self);
    }

    fn note(kind: NoteKind, key: u32, body: &str) -> Note {
        Note { kind, key: format!("tw-m-{key}-0-0"), body: body.to_owned() }
    }

    fn read(notes: &mut dyn Notes) -> Vec<Note> {
        let Ok(found) = notes.read() else { panic!("they cannot be read") };
        let mut found = found.unwrap_or_default();
        found.sort_by_key(|note| note.kind);
        found
    }

    fn sure<T: std::fmt::Debug>(done: &std::io::Result<T>) {
        assert!(done.is_ok(), "{done:?}");
    }

    /// All checks.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn all<B: NotesBench>(make: impl Fn() -> B) {
        what_is_changed_is_there(&mut make());
        sites_are_apart(&mut make());
        an_earlier_term_changes_nothing(&mut make());
    }

    fn what_is_changed_is_there(bench: &mut impl NotesBench) {
        let mut notes = bench.open("a");
        assert!(matches!(notes.read(), Ok(None)), "nothing was kept here yet");
        let first = [note(NoteKind::Ticket, 2, "two"), note(NoteKind::Ticket, 1, "ö \"{}\" \\ '")];
        sure(&notes.begin(&first));
        assert_eq!(read(&mut *notes), first, "in their order");
        sure(&notes.change(&[]));
        sure(&notes.change(&[
            NoteChange::Put(note(NoteKind::Ticket, 2, "new")),
            NoteChange::Put(note(NoteKind::Gone, 2, "")),
            NoteChange::Drop(NoteKind::Ticket, "tw-m-1-0-0".to_owned()),
            NoteChange::Drop(NoteKind::End, "tw-m-1-0-0".to_owned()),
            NoteChange::Put(note(NoteKind::End, 3, "over")),
        ]));
        let wanted = [
            note(NoteKind::Ticket, 2, "new"),
            note(NoteKind::Gone, 2, ""),
            note(NoteKind::End, 3, "over"),
        ];
        assert_eq!(read(&mut *notes), wanted);
        // One after the other: the last word counts.
        let put = |body| NoteChange::Put(note(NoteKind::End, 3, body));
        let drop = NoteChange::Drop(NoteKind::End, "tw-m-3-0-0".to_owned());
        sure(&notes.change(&[put("a"), drop, put("b"), put("c")]));
        assert_eq!(read(&mut *notes).last().map(|it| it.body.as_str()), Some("c"));
        bench.succeed();
        assert_eq!(read(&mut *bench.open("a")).len(), 3, "the next term goes on from them");
    }

    fn sites_are_apart(bench: &mut impl NotesBench) {
        sure(&bench.open("a").begin(&[note(NoteKind::Ticket, 1, "a")]));
        assert!(matches!(bench.open("b").read(), Ok(None)));
        sure(&bench.open("b").begin(&[]));
        assert_eq!(bench.open("b").read().ok().flatten(), Some(Vec::new()));
        let gone = NoteChange::Drop(NoteKind::Ticket, "tw-m-1-0-0".to_owned());
        sure(&bench.open("b").change(&[gone]));
        assert_eq!(read(&mut *bench.open("a")).len(), 1);
    }

    fn an_earlier_term_changes_nothing(bench: &mut impl NotesBench) {
        let mut old = bench.open("a");
        sure(&old.begin(&[note(NoteKind::Ticket, 1, "a")]));
        bench.succeed();
        let change = [NoteChange::Put(note(NoteKind::Ticket, 1, "stale"))];
        assert!(old.change(&change).is_err(), "before the next owner has opened them");
        let mut new = bench.open("a");
        sure(&new.change(&[NoteChange::Put(note(NoteKind::Ticket, 2, "b"))]));
        assert!(old.change(&change).is_err() && old.begin(&[]).is_err());
        let wanted = [note(NoteKind::Ticket, 1, "a"), note(NoteKind::Ticket, 2, "b")];
        assert_eq!(read(&mut *new), wanted);
    }
}

/// In memory, for tests.
pub mod memory {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use super::{Note, NoteChange, NoteKind, Notes};

    /// By kind and key: when it was first put, and the body.
    type Noted = BTreeMap<(NoteKind, String), (u64, String)>;

    #[derive(Debug, Default)]
    struct Shared {
        term: u64,
        next: u64,
        /// By site.
        sites: BTreeMap<String, Noted>,
    }

    /// What all daemons of a market see.
    #[derive(Debug, Clone, Default)]
    pub struct NotesInMemory(Arc<Mutex<Shared>>);

    /// One site's, in one term.
    #[derive(Debug)]
    struct MemoryNotes {
        shared: NotesInMemory,
        site: String,
        term: u64,
    }

    impl NotesInMemory {
        /// From now on there is a newer term.
        pub fn succeed(&self) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).term += 1;
        }

        /// Notes of a site in the newest term.
        pub fn open(&self, site: &str) -> Box<dyn Notes> {
            let term = self.0.lock().unwrap_or_else(PoisonError::into_inner).term;
            Box::new(MemoryNotes { shared: self.clone(), site: site.to_owned(), term })
        }
    }

    impl MemoryNotes {
        fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> io::Result<T> {
            let mut shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            match shared.term == self.term {
                true => Ok(act(&mut shared)),
                false => Err(io::Error::other("another daemon owns the market")),
            }
        }
    }

    impl Notes for MemoryNotes {
        fn read(&mut self) -> io::Result<Option<Vec<Note>>> {
            self.with(|shared| {
                let site = shared.sites.get(&self.site)?;
                let mut all: Vec<_> = site.iter().collect();
                all.sort_by_key(|(_, (place, _))| *place);
                let note = |((kind, key), (_, body)): (&(NoteKind, String), &(u64, String))| Note {
                    kind: *kind,
                    key: key.clone(),
                    body: body.clone(),
                };
                Some(all.into_iter().map(note).collect())
            })
        }

        fn begin(&mut self, notes: &[Note]) -> io::Result<()> {
            self.with(|shared| {
                shared.sites.entry(self.site.clone()).or_default();
            })?;
            self.change(&notes.iter().cloned().map(NoteChange::Put).collect::<Vec<_>>())
        }

        fn change(&mut self, changes: &[NoteChange]) -> io::Result<()> {
            self.with(|shared| {
                let site = shared.sites.entry(self.site.clone()).or_default();
                for change in changes {
                    match change {
                        NoteChange::Put(Note { kind, key, body }) => {
                            shared.next += 1;
                            let there = site.entry((*kind, key.clone()));
                            there.or_insert((shared.next, String::new())).1.clone_from(body);
                        }
                        NoteChange::Drop(kind, key) => drop(site.remove(&(*kind, key.clone()))),
                    }
                }
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::super::conformance::{self, NotesBench};
        use super::*;

        impl NotesBench for NotesInMemory {
            fn open(&mut self, site: &str) -> Box<dyn Notes> {
                NotesInMemory::open(self, site)
            }

            fn succeed(&mut self) {
                NotesInMemory::succeed(self);
            }
        }

        #[test]
        fn notes_in_memory_are_notes() {
            conformance::all(NotesInMemory::default);
        }
    }
}
