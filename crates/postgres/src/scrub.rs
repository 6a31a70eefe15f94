//! What is done on the side while the market runs: old rows are archived, and all that is old is
//! read again, slowly.

use tradewind_daemon::store::archive::Segment;
use tradewind_daemon::store::sqlite::{ArchiveCutoff, Cover, Damage, Scrubbed};
use tradewind_daemon::store::{Store as _, StoreError};
use tradewind_daemon::upkeep::Maintenance;

use crate::address::Address;
use crate::archives::{self, Keeper};
use crate::patience::ask;
use crate::store::Postgres;

/// Rows that are looked at in one step.
const STEP: usize = 256;

/// The care of a journal in PostgreSQL.
#[derive(Debug)]
pub struct Upkeep {
    address: Address,
    look: Option<Look>,
}

#[derive(Debug)]
struct Look {
    store: Postgres,
    /// The last row that was looked at; `None`: all of them were.
    after: Option<u64>,
}

impl Upkeep {
    /// Of the journal at this address; connects when there is something to do.
    pub fn new(address: Address) -> Upkeep {
        Upkeep { address, look: None }
    }
}

impl Maintenance for Upkeep {
    fn name(&self) -> String {
        self.address.name().to_owned()
    }

    fn archive(&mut self, due: ArchiveCutoff) -> Result<Option<Segment>, StoreError> {
        ask(&self.address, move |address| Keeper::beside(address)?.archive(due, Cover::Snapshots))
    }

    fn scrub(&mut self) -> Result<Scrubbed, StoreError> {
        let look = self.look.take();
        let (look, step) = ask(&self.address, move |address| {
            let mut look = match look {
                Some(look) => look,
                None => Look { store: Postgres::look(address)?, after: Some(0) },
            };
            let step = look.step()?;
            Ok((look, step))
        })?;
        self.look = matches!(step, Scrubbed::Rows(_) | Scrubbed::Damaged(_)).then_some(look);
        Ok(step)
    }

    fn end_scrub(&mut self) {
        self.look = None;
    }
}

impl Look {
    fn step(&mut self) -> Result<Scrubbed, StoreError> {
        let Some(after) = self.after else { return Ok(Scrubbed::End) };
        match self.store.read(after, STEP) {
            Ok(rows) => match rows.last() {
                Some(last) => {
                    self.after = Some(last.seq);
                    Ok(Scrubbed::Rows(rows.len() as u64))
                }
                None => self.snapshots(),
            },
            Err(StoreError::Damaged { path, seq, what }) => {
                // Of a damaged archive the rest cannot be read either.
                let client = &mut self.store.client().client;
                let holding = archives::holding(client, &path, seq)?;
                self.after = Some(holding.map_or(seq.max(after + 1), |it| it.last));
                let what = format!(
                    "{what}; the market goes on, but its journal cannot be proved any more: look at \
                     the server's disk, and keep the last backup of the database"
                );
                Ok(Scrubbed::Damaged(Damage { path, row: seq, what }))
            }
            Err(wrong) => Err(wrong),
        }
    }

    /// Where the rows end, once.
    fn snapshots(&mut self) -> Result<Scrubbed, StoreError> {
        self.after = None;
        Ok(match self.store.damaged_snapshots()?.first() {
            None => Scrubbed::Rows(0),
            Some(row) => Scrubbed::Damaged(Damage {
                path: self.store.name.clone(),
                row: 0,
                what: format!(
                    "the snapshot after row {row} is damaged; nothing is lost, the next start reads \
                     all rows, and the next snapshot is whole"
                ),
            }),
        })
    }
}
