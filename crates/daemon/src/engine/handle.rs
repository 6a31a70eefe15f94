//! How others talk to the engine.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use tradewind_model::{SiteId, Time};

use super::gauges::Gauges;
use super::lease::Lease;
use crate::live::rights::Actor;
use crate::live::site_health::SiteState;
use crate::live::{Ask, Input, Live, Record, Refusal, RefusalKind, Reply};

/// Messages to the engine.
pub(super) enum Message {
    /// A request whose caller waits for the answer.
    Ask(Actor, Box<Ask>, SyncSender<Result<Reply, Refusal>>),
    /// A query of the state.
    Look(Box<dyn FnOnce(&Live) + Send>),
    /// An input to the market.
    Input(Box<Input>),
    /// A subscription to all records from now on.
    Watch(SyncSender<CommittedRecord>),
    /// Give the market up, for another daemon to own it.
    HandOver(SyncSender<Result<(), Refusal>>),
    /// Stop, when everything is written down.
    Stop,
}

impl Message {
    /// The engine cannot do it.
    pub(super) fn refuse(self, why: Refusal) {
        match self {
            Message::Ask(_, _, reply) => drop(reply.send(Err(why))),
            Message::HandOver(reply) => drop(reply.send(Err(why))),
            Message::Look(_) | Message::Input(_) | Message::Watch(_) | Message::Stop => {}
        }
    }
}

/// Passes a record on to all that still listen.
pub(super) fn tell_all(watchers: &mut Vec<SyncSender<CommittedRecord>>, news: &CommittedRecord) {
    let listens = |watcher: &SyncSender<CommittedRecord>| {
        !matches!(watcher.try_send(news.clone()), Err(TrySendError::Disconnected(_)))
    };
    watchers.retain(listens);
}

/// A record that is safe, for subscribers.
#[derive(Debug, Clone)]
pub struct CommittedRecord {
    /// The row's number in the journal.
    pub seq: u64,
    /// The moment in simulated or market time.
    pub at: Time,
    /// The record.
    pub record: Record,
}

/// Records as they are written down. One that is read too slowly misses some: the numbers show it.
#[derive(Debug)]
pub struct RecordStream(pub(super) Receiver<CommittedRecord>);

impl RecordStream {
    /// The next one; `None` once the engine is gone.
    pub fn next(&self) -> Option<CommittedRecord> {
        self.0.recv().ok()
    }

    /// The next one within this time.
    ///
    /// # Errors
    /// If there was none, or the engine is gone.
    pub fn within(
        &self,
        time: std::time::Duration,
    ) -> Result<CommittedRecord, std::sync::mpsc::RecvTimeoutError> {
        self.0.recv_timeout(time)
    }
}

/// The engine has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the market has stopped")]
pub struct EngineStopped;

/// A way to the engine. Cheap to copy; calls wait for the engine.
#[derive(Debug, Clone)]
pub struct Handle(Sender<Message>, Arc<Gauges>);

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Message")
    }
}

/// News that a slow watcher may be behind.
const BACKLOG: usize = 4_096;

impl Handle {
    /// Has something done. When this returns, it is written down.
    ///
    /// # Errors
    /// Why it was not done; nothing has changed then.
    pub fn ask(&self, actor: Actor, ask: Ask) -> Result<Reply, Refusal> {
        let gone = || {
            Refusal::new(
                RefusalKind::Unavailable,
                EngineStopped.to_string(),
                "start it again: `up`",
            )
        };
        let (answer, wait) = sync_channel(1);
        self.0.send(Message::Ask(actor, Box::new(ask), answer)).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Looks at the market as it is. Whatever `look` does, everything else waits for it: take
    /// what is needed and be off.
    ///
    /// # Errors
    /// If the engine has stopped.
    pub fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Live) -> T + Send + 'static,
    ) -> Result<T, EngineStopped> {
        let (answer, wait) = sync_channel(1);
        let look = move |live: &Live| drop(answer.send(look(live)));
        let begun = Instant::now();
        self.0.send(Message::Look(Box::new(look))).map_err(|_| EngineStopped)?;
        let seen = wait.recv().map_err(|_| EngineStopped)?;
        self.gauges().readings.add(1, begun.elapsed());
        Ok(seen)
    }

    /// Says what happened, without waiting.
    ///
    /// # Errors
    /// If the engine has stopped.
    pub fn tell(&self, input: Input) -> Result<(), EngineStopped> {
        self.0.send(Message::Input(Box::new(input))).map_err(|_| EngineStopped)
    }

    /// Everything that is written down from now on.
    ///
    /// # Errors
    /// If the engine has stopped.
    pub fn watch(&self) -> Result<RecordStream, EngineStopped> {
        let (news, watch) = sync_channel(BACKLOG);
        self.0.send(Message::Watch(news)).map_err(|_| EngineStopped)?;
        Ok(RecordStream(watch))
    }

    /// Waits until each site was surveyed once, or failed to be, but no longer than `max`: nothing
    /// is planned at a site before that.
    pub fn await_surveys(&self, max: Duration) {
        let until = Instant::now() + max;
        let is_joining = |live: &Live| {
            let state = live.state();
            let sites = 0..state.market.pools().sites().len() as u32;
            let mut states = sites.map(|site| state.site_health(SiteId(site)).state);
            states.any(|state| state == SiteState::Joining)
        };
        while Instant::now() < until && !self.gauges().is_read_only() {
            match self.look(is_joining) {
                Ok(true) => std::thread::sleep(Duration::from_millis(10)),
                Ok(false) | Err(EngineStopped) => return,
            }
        }
    }

    /// Gives the market up, for another daemon to own it. Returns once the present turn is written
    /// down and no order is on its way to a site; this daemon is a standby then.
    ///
    /// # Errors
    /// If no other daemon can own it, or this one does not.
    pub fn hand_over(&self) -> Result<(), Refusal> {
        let gone =
            || Refusal::new(RefusalKind::Unavailable, EngineStopped.to_string(), "start it again");
        let (answer, wait) = sync_channel(1);
        self.0.send(Message::HandOver(answer)).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Stops the engine once everything is written down. Running jobs go on.
    pub fn stop(&self) {
        drop(self.0.send(Message::Stop));
    }

    /// What the engine counts.
    pub fn gauges(&self) -> &Arc<Gauges> {
        &self.1
    }

    pub(super) fn pair() -> (Handle, Receiver<Message>) {
        let (send, receive) = channel();
        (Handle(send, Arc::default()), receive)
    }
}

/// The way to the engine for what was asked in one term of ownership: it says nothing to a later term of
/// the same daemon, however long it takes.
#[derive(Debug, Clone)]
pub(super) struct TermHandle {
    engine: Handle,
    lease: Arc<Lease>,
}

impl TermHandle {
    /// Of the term that has this lease.
    pub(super) fn new(engine: Handle, lease: Arc<Lease>) -> TermHandle {
        TermHandle { engine, lease }
    }

    /// As [`Handle::tell`].
    ///
    /// # Errors
    /// If the engine has stopped, or the term is over.
    pub(super) fn tell(&self, input: Input) -> Result<(), EngineStopped> {
        match self.lease.lost() {
            Some(_) => Err(EngineStopped),
            None => self.engine.tell(input),
        }
    }

    /// As [`Handle::gauges`].
    pub(super) fn gauges(&self) -> &Arc<Gauges> {
        self.engine.gauges()
    }
}
