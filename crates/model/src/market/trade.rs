//! What a job and a queue agree on before the job runs.

use crate::{Money, PoolId, Price, Time};

/// Why a job passed a queue by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// The queue does not take such jobs: limits, size, performance, attributes, price cap.
    Closed,
    /// The bid is below the ask.
    LowBid,
    /// It costs more than the job's budget or value.
    Dear,
    /// Too few processors are free, now or up to the horizon.
    Full,
    /// The job would not be finished by its deadline.
    Late,
}

impl SkipReason {
    /// All of them, with the names that scripts know.
    pub const ALL: [(SkipReason, &'static str); 5] = [
        (SkipReason::Closed, "closed"),
        (SkipReason::LowBid, "low-bid"),
        (SkipReason::Dear, "dear"),
        (SkipReason::Full, "full"),
        (SkipReason::Late, "late"),
    ];
}

/// A job's place in a queue, its price there, and the numbers that decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trade {
    /// The queue. The job runs nowhere else unless it trades again.
    pub pool: PoolId,
    /// What it pays per node and second, whatever the owner's list says.
    pub price: Price,
    /// What the queue wanted at least, per node and second.
    pub reserve: Price,
    /// What the job could pay at most, per node and second, where the policy compares the two.
    pub limit: Option<Price>,
    /// When it is expected to start.
    pub expected: Time,
    /// What the job offered, where the policy compares such values.
    pub bid: Option<Money>,
    /// What the queue asked.
    pub ask: Option<Money>,
    /// The job's place among those that wanted to trade in this cycle, from 1.
    pub rank: u32,
    /// Queues that it passed by before this one: the first [`Trade::MAX_PASSED`].
    pub passed: Vec<(PoolId, SkipReason)>,
    /// How many they were in all.
    pub passed_in_all: u32,
}

impl Trade {
    /// As many queues that were passed by are written down.
    pub const MAX_PASSED: usize = 16;

    /// A place at the given price without competition.
    pub fn at(pool: PoolId, price: Price, expected: Time) -> Trade {
        Trade {
            pool,
            price,
            reserve: price,
            limit: None,
            expected,
            bid: None,
            ask: None,
            rank: 1,
            passed: vec![],
            passed_in_all: 0,
        }
    }
}
