//! The disk is full: the market can be looked at, and jobs can be cancelled.
//!
//! What is looked at is the state of the journal, begun as after a restart. What that beginning
//! and cancellations write is kept in memory until there is room, and is written before anything
//! else happens. Sites get orders to stop cancelled tasks meanwhile. If the daemon dies before
//! there is room, a task that was stopped counts as cancelled at its site, and a waiting job waits
//! again.

use std::time::Instant;

use tradewind_model::Time;

use super::gauges::ReadOnly;
use super::handle::Message;
use super::journal::Journal;
use super::run::{AGAIN, Letters, Loop, unavailable};
use crate::codec::Codec;
use crate::live::rights::Actor;
use crate::live::state::Phase;
use crate::live::{ApplyError, Ask, Input, Live, Record, Refusal, RefusalKind, Reply, Step};
use crate::store::StoreError;

/// What the state has, and the journal has not yet.
pub(super) struct Unwritten {
    /// Records in the order of the journal.
    pub(super) records: Vec<(Time, Record)>,
    /// They leave when the records are written.
    pub(super) letters: Letters,
}

/// As many records wait for room.
const MAX: usize = 20_000;

impl Unwritten {
    /// Adds that the market's sites are to be surveyed before they are counted on.
    pub(super) fn join_sites(&mut self, live: &mut Live) -> Result<(), ApplyError> {
        let at = live.state().now();
        let step = live.join_sites(at)?;
        self.records.extend(step.records.into_iter().map(|record| (at, record)));
        Ok(())
    }

    /// Writes it down; the letters may leave then.
    pub(super) fn write<C: Codec>(
        self,
        journal: &mut Journal,
        codec: &C,
    ) -> Result<Letters, (StoreError, Unwritten)> {
        let records = self.records.iter().map(|(at, record)| (*at, record));
        match journal.write_all(codec, records) {
            Ok(()) => Ok(self.letters),
            Err(wrong) => Err((wrong, self)),
        }
    }
}

impl<C: Codec> Loop<C> {
    /// From now on the state has what the journal has not; or no more.
    pub(super) fn be_read_only(&mut self, unwritten: Option<Unwritten>) {
        let read_only = if unwritten.is_some() { ReadOnly::Yes } else { ReadOnly::No };
        self.journal.gauges.set_read_only(read_only);
        self.unwritten = unwritten;
    }

    /// Tries now and then to write what is not written; whether there is nothing left of it.
    pub(super) fn catch_up(&mut self) -> bool {
        if self.tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
            return false;
        }
        self.tried = Some(Instant::now());
        self.write_up();
        self.live.is_some() && self.unwritten.is_none()
    }

    /// Writes what is not written, if there is room. If the journal fails otherwise, the state
    /// must not be used.
    pub(super) fn write_up(&mut self) {
        let Some(unwritten) = self.unwritten.take() else { return };
        let records = unwritten.records.clone();
        match unwritten.write(&mut self.journal, &self.base.codec) {
            Ok(letters) => {
                tracing::info!("the journal is written; going on");
                self.be_read_only(None);
                self.tell(records.iter().map(|(at, record)| (*at, record)));
                self.post(letters);
                self.told.clear();
            }
            Err((StoreError::Full { .. }, unwritten)) => {
                self.be_read_only(Some(unwritten));
            }
            Err((wrong, _)) => {
                tracing::error!(%wrong, "the journal cannot be written");
                self.be_read_only(None);
                self.live = None;
            }
        }
    }

    /// Looks are answered and jobs are cancelled; everything else comes again, or is refused.
    pub(super) fn take_in_read_only(&mut self, batch: Vec<Message>) {
        for message in batch {
            match message {
                Message::Look(look) => {
                    if let Some(live) = &self.live {
                        look(live);
                    }
                }
                Message::Watch(watcher) => self.watchers.push(watcher),
                Message::Ask(actor, ask, reply) => {
                    drop(reply.send(self.answer_read_only(actor, *ask)));
                }
                // Sites say again what they see.
                Message::Input(_) | Message::Stop | Message::HandOver(_) => {}
            }
        }
    }

    fn answer_read_only(&mut self, actor: Actor, ask: Ask) -> Result<Reply, Refusal> {
        let (Some(live), Some(unwritten)) = (&mut self.live, &mut self.unwritten) else {
            return Err(unavailable());
        };
        if !may_be_done(live, &ask) || unwritten.records.len() >= MAX {
            return Err(read_only());
        }
        let at = live.state().now();
        match live.step(at, Input::Asked { actor, ask }) {
            Ok(Step { records, answer, letters }) => {
                unwritten.records.extend(records.into_iter().map(|record| (at, record)));
                unwritten.letters.extend(letters);
                answer.unwrap_or_else(|| Err(unavailable()))
            }
            Err(wrong) => {
                tracing::error!(%wrong, "a mistake of this program");
                self.live = None;
                self.be_read_only(None);
                Err(unavailable())
            }
        }
    }
}

/// Whether it may happen before it is written down: a job that is here is cancelled. Of one that
/// went to another market, that market must know for certain.
fn may_be_done(live: &Live, ask: &Ask) -> bool {
    let Ask::Cancel { job } = ask else { return false };
    let job = live.state().jobs.get(job);
    job.is_none_or(|job| !matches!(job.phase(), Phase::Handing | Phase::Away))
}

fn read_only() -> Refusal {
    let message = "the disk is full: the market can be read, and jobs can be cancelled, no more";
    Refusal::new(RefusalKind::Unavailable, message, "make room; the market goes on by itself then")
}
