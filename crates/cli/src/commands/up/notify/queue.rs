//! A queue with an end: who puts something in never waits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
}

impl<T> Queue<T> {
    pub(super) fn new(max: usize) -> Queue<T> {
        let inside = Inside { waiting: VecDeque::new(), dropped: 0, closed: false };
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
