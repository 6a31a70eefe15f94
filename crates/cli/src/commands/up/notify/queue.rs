//! A queue with an end: who puts something in never waits.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tradewind_web::Receiver;

use crate::client::words::now;

/// What waits for one receiver. If it is full, the oldest is dropped.
#[derive(Debug)]
pub(super) struct Queue<T> {
    inside: Mutex<Inside<T>>,
    changed: Condvar,
    max: usize,
}

#[derive(Debug)]
struct Inside<T> {
    waiting: VecDeque<T>,
    dropped: u64,
    closed: bool,
    /// How its receiver was reached.
    record: Receiver,
}

impl<T> Queue<T> {
    /// For the receiver of this name.
    pub(super) fn new(name: &str, max: usize) -> Queue<T> {
        let record = Receiver { name: name.to_owned(), ..Receiver::default() };
        let inside = Inside { waiting: VecDeque::new(), dropped: 0, closed: false, record };
        Queue { inside: Mutex::new(inside), changed: Condvar::new(), max }
    }

    fn inside(&self) -> MutexGuard<'_, Inside<T>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, item: T) {
        let mut inside = self.inside();
        inside.waiting.push_back(item);
        while inside.waiting.len() > self.max {
            inside.waiting.pop_front();
            inside.dropped += 1;
            inside.record.failed += 1;
            let why = "it is too slow: the oldest was dropped".to_owned();
            inside.record.last_failure = Some((now(), why));
        }
        self.changed.notify_all();
    }

    /// The oldest; waits for one. `None` once the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<T> {
        let wait = |inside: &mut Inside<T>| inside.waiting.is_empty() && !inside.closed;
        let inside = self.changed.wait_while(self.inside(), wait);
        inside.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
    }

    /// Number of messages dropped since the last call.
    pub(super) fn dropped(&self) -> u64 {
        std::mem::take(&mut self.inside().dropped)
    }

    /// One has arrived at the receiver, or not, and why.
    pub(super) fn note(&self, outcome: &Result<(), String>) {
        let record = &mut self.inside().record;
        match outcome {
            Ok(()) => {
                record.sent += 1;
                record.last_sent = Some(now());
            }
            Err(why) => {
                record.failed += 1;
                record.last_failure = Some((now(), why.clone()));
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.inside().waiting.len()
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.inside().closed = true;
        self.changed.notify_all();
    }

    /// Waits this long, or until the queue is closed; says whether it is.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let wait = |inside: &mut Inside<T>| !inside.closed;
        let waited = self.changed.wait_timeout_while(self.inside(), time, wait);
        waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }
}

/// A queue, whatever is in it.
pub(super) trait Lane: Debug + Send + Sync {
    /// How its receiver was reached so far.
    fn record(&self) -> Receiver;
}

impl<T: Debug + Send> Lane for Queue<T> {
    fn record(&self) -> Receiver {
        let inside = self.inside();
        Receiver { waiting: inside.waiting.len(), ..inside.record.clone() }
    }
}
