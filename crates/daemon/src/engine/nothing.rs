//! In the place of a journal that is closed and could not be opened again yet.

use crate::store::{Changes, Origin, Page, PageKey, Row, Snapshot, Store, StoreError};

/// A store that does nothing.
#[derive(Debug)]
pub(super) struct Nothing(pub(super) Origin);

fn closed() -> StoreError {
    StoreError::Io { path: "journal".to_owned(), what: "it is closed".to_owned() }
}

impl Store for Nothing {
    fn origin(&self) -> &Origin {
        &self.0
    }

    fn last(&self) -> u64 {
        0
    }

    fn append(&mut self, _: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        Err(closed())
    }

    fn read(&mut self, _: u64, _: usize) -> Result<Vec<Row>, StoreError> {
        Err(closed())
    }

    fn keep_pages(&mut self, _: &Snapshot, _: &Changes) -> Result<(), StoreError> {
        Err(closed())
    }

    fn pages(&mut self, _: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        Err(closed())
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        Err(closed())
    }

    fn keep(&mut self, _: &Snapshot) -> Result<(), StoreError> {
        Err(closed())
    }
}
