//! What was written down recently, for streams of events and for callers that wait for a job.
//!
//! One thread listens to the market and keeps the last events in memory. Each has the number of
//! its row in the journal, so a client that comes back asks for what follows the last one it saw.
//! What is older than what is kept, or was missed, is replaced by one event `reset`: look again.

mod events;
mod projects;
mod tell;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tradewind_daemon::engine::{CommittedRecord, EngineStopped, RecordStream};
use tradewind_daemon::live::peers::WINDING_UP;
use tradewind_daemon::live::record::{AccessRecord, PeerRecord};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Record};

use crate::context::Context;
use crate::documents::Event;
use crate::notes;
pub use events::{Events, Notice};
use tell::EventEncoder;

/// Events that are kept.
const KEPT: usize = 20_000;

/// Which users may see an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Audience {
    Everyone,
    /// These, and administrators.
    Users(Vec<String>),
}

/// An event that is kept.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) kind: String,
    pub(crate) job: Option<u64>,
    /// The job is over.
    pub(crate) over: bool,
    /// The event as JSON.
    pub(crate) text: String,
    audience: Audience,
}

impl Entry {
    fn new(event: &Event, audience: Audience) -> Entry {
        Entry {
            seq: event.seq,
            kind: event.kind.clone(),
            job: event.job,
            over: event.kind == "over",
            text: serde_json::to_string(event).unwrap_or_default(),
            audience,
        }
    }

    /// Whether what was sent before is incomplete from here on.
    pub(crate) fn is_reset(&self) -> bool {
        self.kind == "reset"
    }

    pub(crate) fn is_for(&self, actor: &Actor) -> bool {
        match &self.audience {
            _ if actor.role == Role::Administrator => true,
            Audience::Everyone => true,
            Audience::Users(users) => users.contains(&actor.user),
        }
    }
}

/// What was written down recently.
#[derive(Debug)]
pub(crate) struct Feed {
    kept: Mutex<Kept>,
    /// The last row, for callers that wait for more; closed when the server stops.
    last: watch::Sender<u64>,
    stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Arc<Entry>>,
    /// Rows up to this one are not there.
    before: u64,
    last: u64,
}

/// Where a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last row that was read.
    pub(crate) seq: u64,
}

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed {
            kept: Mutex::default(),
            last: watch::Sender::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies callers that wait for more.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The last row that is known.
    pub(crate) fn last(&self) -> u64 {
        self.kept().last
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Nothing more will come: streams end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.last.send_modify(|_| {});
    }

    /// All events after the row, up to the end of some row, and where that is. If some are gone,
    /// `true`, and those that are left.
    pub(crate) fn after(
        &self,
        position: Position,
        max: usize,
    ) -> (Vec<Arc<Entry>>, Position, bool) {
        let kept = self.kept();
        // A number from the future is of another journal.
        let lost = position.seq < kept.before || position.seq > kept.last;
        let seq = if lost { kept.before } else { position.seq };
        let first = kept.entries.partition_point(|entry| entry.seq <= seq);
        let mut found = Vec::new();
        for entry in kept.entries.range(first..) {
            let new_row = found.last().is_none_or(|last: &Arc<Entry>| last.seq != entry.seq);
            if found.len() >= max && new_row {
                let seq = found.last().map_or(seq, |last| last.seq);
                return (found, Position { seq }, lost);
            }
            found.push(Arc::clone(entry));
        }
        (found, Position { seq: kept.last }, lost)
    }

    fn begin(&self, last: u64) {
        let mut kept = self.kept();
        kept.before = last;
        kept.last = last;
    }

    fn add(&self, seq: u64, entries: Vec<Entry>) {
        let mut kept = self.kept();
        kept.entries.extend(entries.into_iter().map(Arc::new));
        kept.last = seq;
        while kept.entries.len() > KEPT {
            if let Some(entry) = kept.entries.pop_front() {
                kept.before = entry.seq;
            }
        }
        drop(kept);
        self.last.send_replace(seq);
    }
}

/// Starts the thread that listens; it ends with the market or the feed.
pub(crate) fn follow(context: &Context) -> Result<std::thread::JoinHandle<()>, String> {
    let gone = |gone: EngineStopped| gone.to_string();
    let watch = context.market.watch().map_err(gone)?;
    let (teller, last) = EventEncoder::new(context).map_err(gone)?;
    context.feed.begin(last);
    let context = context.clone();
    let thread = std::thread::Builder::new().name("events".to_owned());
    let spawned = thread.spawn(move || listen(&context, &watch, teller, last));
    spawned.map_err(|wrong| format!("no thread for events: {wrong}"))
}

fn listen(context: &Context, watch: &RecordStream, mut teller: EventEncoder, mut last: u64) {
    let feed = &context.feed;
    while !feed.is_stopped() {
        let news = match watch.within(Duration::from_millis(200)) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let seq = news.seq;
        if seq <= last {
            continue; // known from the start
        }
        if seq != last + 1 {
            last = missed(context, watch, &mut teller, &news);
            continue;
        }
        last = seq;
        on_doors(context, &news);
        into_audit_log(context, &news);
        feed.add(seq, teller.tell(context, &news));
    }
    feed.stop();
}

/// Rows were missed: all that was remembered may be wrong, and what else has arrived meanwhile is
/// dropped, so that there is room again. The row up to which all is known again: if it is
/// impossible to read the market, as while its journal cannot be written, one before `news`, and
/// the next row tries again.
fn missed(
    context: &Context,
    watch: &RecordStream,
    teller: &mut EventEncoder,
    news: &CommittedRecord,
) -> u64 {
    while watch.within(Duration::ZERO).is_ok() {}
    let found = EventEncoder::new(context);
    // After that look: an event that is no longer sent may have been a revocation.
    context.auth.forget_all();
    let Ok((anew, seq)) = found else { return news.seq - 1 };
    *teller = anew;
    let seq = seq.max(news.seq);
    tracing::warn!(from = news.seq, until = seq, "events were missed");
    let event = Event { seq, at: news.at.0, kind: "reset".to_owned(), ..Event::default() };
    context.feed.add(seq, vec![Entry::new(&event, Audience::Everyone)]);
    seq
}

fn on_doors(context: &Context, news: &CommittedRecord) {
    match news.record {
        Record::Access(AccessRecord::Expelled { token }) => {
            context.auth.expel(token);
            context.auth.sessions.end(|_, it| it.who.token == token);
        }
        Record::Access(AccessRecord::TokenExpires { token, .. })
        | Record::Access(AccessRecord::TokenRotated { token, .. }) => {
            context.auth.expel(token);
        }
        _ => {}
    }
}

/// What the market did itself that else an administrator would have asked for.
fn into_audit_log(context: &Context, news: &CommittedRecord) {
    if let Record::Peer(PeerRecord::SettledByHand { job, by, outcome }) = &news.record
        && by == WINDING_UP
    {
        let ask = Ask::SettleAway { job: *job, outcome: *outcome };
        if let Some((kind, subject)) = notes::of(&ask) {
            context.audit.note(by, kind, format!("{subject}: its peer was removed"), "done");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64) -> Entry {
        let event = Event { seq, kind: "held".to_owned(), ..Event::default() };
        Entry::new(&event, Audience::Users(vec!["ana".to_owned()]))
    }

    fn seqs(feed: &Feed, seq: u64, max: usize) -> (Vec<u64>, u64, bool) {
        let (entries, position, lost) = feed.after(Position { seq }, max);
        (entries.iter().map(|it| it.seq).collect(), position.seq, lost)
    }

    #[test]
    fn a_reader_goes_on_where_it_was_and_rows_stay_whole() {
        let feed = Feed::new();
        feed.begin(4);
        feed.add(5, vec![entry(5)]);
        feed.add(6, vec![entry(6), entry(6), entry(6)]);
        feed.add(7, vec![]);
        assert_eq!(seqs(&feed, 4, 100), (vec![5, 6, 6, 6], 7, false));
        assert_eq!(seqs(&feed, 4, 2), (vec![5, 6, 6, 6], 7, false));
        assert_eq!(seqs(&feed, 4, 1), (vec![5], 5, false));
        assert_eq!(seqs(&feed, 7, 1), (vec![], 7, false));
        assert_eq!(seqs(&feed, 3, 1), (vec![5], 5, true));
        assert_eq!(seqs(&feed, 9, 9), (vec![5, 6, 6, 6], 7, true));
    }

    #[test]
    fn what_is_old_is_forgotten_and_said_to_be() {
        let feed = Feed::new();
        let more = KEPT as u64 + 10;
        (1..=more).for_each(|seq| feed.add(seq, vec![entry(seq)]));
        assert_eq!(seqs(&feed, 10, 1), (vec![11], 11, false));
        assert_eq!(seqs(&feed, 9, 1), (vec![11], 11, true));
    }

    #[test]
    fn a_subscriber_gets_each_event_once_and_learns_of_gaps() {
        let feed = Arc::new(Feed::new());
        feed.begin(4);
        feed.add(5, vec![entry(5)]);
        let mut events = Events::new(Arc::clone(&feed));
        feed.add(6, vec![entry(6), entry(6)]);
        let places = |events: &mut Events| {
            let fresh = events.fresh().into_iter();
            fresh.map(|it| (it.seq, it.place, it.kind)).collect::<Vec<_>>()
        };
        let held = || "held".to_owned();
        assert_eq!(places(&mut events), [(5, 0, held()), (6, 0, held()), (6, 1, held())]);
        assert_eq!(places(&mut events), []);
        let more = KEPT as u64;
        (7..=more).for_each(|seq| feed.add(seq, vec![entry(seq)]));
        assert_eq!(places(&mut events).len(), 1_000);
        (more + 1..=2 * more).for_each(|seq| feed.add(seq, vec![entry(seq)]));
        assert_eq!(places(&mut events)[0], (more, 0, "reset".to_owned()));
        assert!(!events.is_over());
        feed.stop();
        assert!(events.is_over());
    }
}
