//! Bytes without an encoding: a row is the place of its record in a list. Now and then the real
//! codec has to read what it wrote.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tradewind_daemon::codec::pages::{self, Draft, Pages};
use tradewind_daemon::codec::{Codec, CodecError, Json};
use tradewind_daemon::live::{Record, State};

/// Records and states by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<(Vec<Record>, Vec<State>)>>);

/// Of so many records the real codec has to read one: it takes longer than the world does.
const SOME: usize = 16;

impl Codec for Shelf {
    const VERSION: u32 = 1;

    fn record(&self, record: &Record) -> Vec<u8> {
        let mut shelf = self.0.lock().unwrap();
        if shelf.0.len().is_multiple_of(SOME) {
            assert_eq!(Json.read_record(&Json.record(record)).as_ref(), Ok(record));
        }
        shelf.0.push(record.clone());
        (shelf.0.len() - 1).to_be_bytes().to_vec()
    }

    fn read_record(&self, body: &[u8]) -> Result<Record, CodecError> {
        let at = place(body)?;
        let shelf = self.0.lock().unwrap();
        shelf.0.get(at).cloned().ok_or_else(|| CodecError("no such record".to_owned()))
    }

    fn state(&self, state: &State) -> Vec<u8> {
        let mut shelf = self.0.lock().unwrap();
        let written = Json.state(state);
        let read = Json.read_state(Json::VERSION, &written).map(|state| Json.state(&state));
        assert_eq!(read, Ok(written), "a state is not read as it was written");
        assert_eq!(in_pages(state), Json.state(state), "pages are not read as they were written");
        shelf.1.push(state.clone());
        (shelf.1.len() - 1).to_be_bytes().to_vec()
    }

    fn read_state(&self, _: u32, body: &[u8]) -> Result<State, CodecError> {
        let at = place(body)?;
        let shelf = self.0.lock().unwrap();
        shelf.1.get(at).cloned().ok_or_else(|| CodecError("no such state".to_owned()))
    }
}

fn place(body: &[u8]) -> Result<usize, CodecError> {
    let bytes = body.try_into().map_err(|_| CodecError("not a place".to_owned()))?;
    Ok(usize::from_be_bytes(bytes))
}

/// The state as a snapshot in pages gives it back.
fn in_pages(state: &State) -> Vec<u8> {
    let (head, changes) = Pages::default().of(state, &BTreeSet::new());
    let mut draft = Draft::begin(pages::VERSION, &head).unwrap();
    changes.pages().iter().for_each(|page| draft.add(page).unwrap());
    Json.state(&draft.finish().unwrap().0)
}
