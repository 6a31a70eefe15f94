//! The disk is full: the market can be looked at, and jobs can be cancelled.
//!
//! What is looked at is the state of the journal, begun as after a restart, with what sites have
//! said since: jobs are shown as they are. What that beginning, surveys and cancellations write is
//! kept in memory until there is room, and is written before anything else happens. Sites get tasks
//! that the journal has started, and orders to stop cancelled ones; what else follows waits
//! ([`may_leave`]). If the daemon dies before there is room, sites say again what they see, a task
//! that was stopped counts as cancelled at its site, and a waiting job waits again.

use std::time::Instant;

use tradewind_model::Time;

use super::clock;
use super::gauges::ReadOnly;
use super::handle::Message;
use super::journal::Journal;
use super::run::{AGAIN, Letters, Loop, in_time, unavailable};
use crate::codec::Codec;
use crate::live::rights::Actor;
use crate::live::state::Phase;
use crate::live::{
    Act, ApplyError, Ask, Input, Instruction, Live, Record, Refusal, RefusalKind, Reply, Step,
};
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
                Message::Input(input) => self.note_survey(*input),
                Message::Stop | Message::HandOver(_) => {}
            }
        }
    }

    /// What a site says is so, though it cannot be written yet. Everything else comes again.
    fn note_survey(&mut self, input: Input) {
        let (Some(live), Input::Surveyed { .. }) = (&self.live, &input) else { return };
        let (last, lead) = (live.state().now(), live.state().lead());
        let read = self.clock.read(clock::Market { last, lead, is_idle: false });
        self.at = read.at;
        if read.lead != lead {
            self.step_unwritten(read.at, Input::Clock { lead: read.lead });
        }
        let Some(live) = &self.live else { return };
        let input = in_time(live.state(), read.at, input);
        self.step_unwritten(read.at, input);
    }

    fn answer_read_only(&mut self, actor: Actor, ask: Ask) -> Result<Reply, Refusal> {
        let Some(live) = &self.live else { return Err(unavailable()) };
        if !may_be_done(live, &ask) || !self.has_room() {
            return Err(read_only());
        }
        let at = live.state().now();
        let answer = self.step_unwritten(at, Input::Asked { actor, ask });
        answer.unwrap_or_else(|| Err(unavailable()))
    }

    fn has_room(&self) -> bool {
        self.unwritten.as_ref().is_some_and(|unwritten| unwritten.records.len() < MAX)
    }

    /// A step of which the records are kept until they can be written; nothing if there are too
    /// many.
    fn step_unwritten(&mut self, at: Time, input: Input) -> Option<Result<Reply, Refusal>> {
        if !self.has_room() {
            return None;
        }
        let (live, unwritten) = (self.live.as_mut()?, self.unwritten.as_mut()?);
        match live.step(at, input) {
            Ok(Step { records, answer, letters }) => {
                let at = live.state().now();
                unwritten.records.extend(records.into_iter().map(|record| (at, record)));
                unwritten.letters.extend(letters);
                answer
            }
            Err(wrong) => {
                tracing::error!(%wrong, "a mistake of this program");
                self.live = None;
                self.be_read_only(None);
                None
            }
        }
    }
}

/// Whether an order may leave before the state that it follows from is written down. If the daemon
/// dies by then, the journal must not miss what follows from the order: a task that has ended is not
/// forgotten by its site, parts do not begin together, and none is taken back.
pub(super) fn may_leave(live: &Live, order: &Instruction) -> bool {
    match order.act {
        Act::Submit => true,
        Act::Withdraw => {
            let job = live.state().jobs.get(&order.tag.job);
            job.is_some_and(|job| job.cancelled_by.is_some())
        }
        Act::Go | Act::Notify | Act::Recall | Act::Forget => false,
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
