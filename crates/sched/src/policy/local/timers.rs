//! One moment for each of many things, and which comes first.

use std::collections::BTreeSet;

use tradewind_model::Time;

/// At most one moment per thing, things being numbered from 0. O(log n) each.
#[derive(Debug, Default)]
pub struct Timers {
    by_time: BTreeSet<(Time, usize)>,
    set: Vec<Option<Time>>,
}

impl Timers {
    /// None is set yet.
    pub fn new(things: usize) -> Timers {
        Timers { by_time: BTreeSet::new(), set: vec![None; things] }
    }

    /// Replaces the thing's moment. Panics if there is no such thing.
    pub fn set(&mut self, thing: usize, at: Option<Time>) {
        if self.set[thing] == at {
            return;
        }
        if let Some(before) = std::mem::replace(&mut self.set[thing], at) {
            self.by_time.remove(&(before, thing));
        }
        self.by_time.extend(at.map(|at| (at, thing)));
    }

    /// The first moment of all.
    pub fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Things whose moment has come, the earliest first.
    pub fn until(&self, now: Time) -> impl Iterator<Item = usize> + '_ {
        self.by_time.iter().take_while(move |(at, _)| *at <= now).map(|(_, thing)| *thing)
    }
}
