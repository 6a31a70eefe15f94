//! What was written down recently, for streams of events and for callers that wait for a job.
//!
//! The last events are kept in memory. Each has the number of
//! its row in the journal, so a client that comes back asks for what follows the last one it saw.
//! What is older than what is kept, or was missed, is replaced by one event `reset`: look again.

mod events;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tradewind_daemon::live::rights::{Actor, Role};

use crate::documents::Event;
pub use events::{Events, Notice};

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
    pub(crate) fn new(event: &Event, audience: Audience) -> Entry {
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

    /// Rows up to this one are not kept.
    pub(crate) fn begin(&self, last: u64) {
        let mut kept = self.kept();
        kept.before = last;
        kept.last = last;
    }

    /// The events of a row, and those of the oldest go.
    pub(crate) fn add(&self, seq: u64, entries: Vec<Entry>) {
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
