//! Events for the rest of this program, which passes them on.

use std::sync::Arc;

use super::{Entry, Feed, Position};
use crate::documents::Event;

/// Events at once; more only if a row has more.
const MAX: usize = 1_000;

/// An event, and what must be known of it to pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The row of the journal.
    pub seq: u64,
    /// The place among the events of its row, from 0.
    pub place: usize,
    /// As in [`Event::kind`].
    pub kind: String,
    /// About which job.
    pub job: Option<u64>,
    /// The [`Event`] as JSON, as streams have it.
    pub text: String,
}

impl Notice {
    fn new(entry: &Entry, place: usize) -> Notice {
        let Entry { seq, kind, job, text, .. } = entry;
        Notice { seq: *seq, place, kind: kind.clone(), job: *job, text: text.clone() }
    }
}

/// All events since the server began, of all users.
#[derive(Debug)]
pub struct Events {
    feed: Arc<Feed>,
    position: Position,
}

impl Events {
    pub(crate) fn new(feed: Arc<Feed>) -> Events {
        let seq = feed.kept().before;
        Events { feed, position: Position { seq } }
    }

    pub(crate) fn from_now(feed: Arc<Feed>) -> Events {
        let seq = feed.last();
        Events { feed, position: Position { seq } }
    }

    /// Those since the last call, in order and by whole rows; never waits. If some are gone
    /// after a long time without a call, the first is a `reset`.
    pub fn fresh(&mut self) -> Vec<Notice> {
        let (entries, position, lost) = self.feed.after(self.position, MAX);
        let mut notices: Vec<Notice> = Vec::with_capacity(entries.len());
        if lost {
            // The row before those that are left is one of those that are gone.
            let first = entries.first().map(|entry| entry.seq.saturating_sub(1));
            notices.push(reset(first.unwrap_or(position.seq)));
        }
        for entry in entries {
            let before = notices.last().filter(|before| before.seq == entry.seq);
            let place = before.map_or(0, |before| before.place + 1);
            notices.push(Notice::new(&entry, place));
        }
        self.position = position;
        notices
    }

    /// Nothing more will come than what is there now.
    pub fn is_over(&self) -> bool {
        self.feed.is_stopped()
    }
}

fn reset(seq: u64) -> Notice {
    let event = Event { seq, kind: "reset".to_owned(), ..Event::default() };
    let text = serde_json::to_string(&event).unwrap_or_default();
    Notice { seq, place: 0, kind: event.kind, job: None, text }
}
