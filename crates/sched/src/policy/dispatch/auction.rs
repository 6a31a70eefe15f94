//! The double auction's match (paper 003, algorithm 1, corrected): the highest bid takes the lowest
//! ask that can have it.
//!
//! The list of asks is scanned from its beginning for every bid; with the gate, up to the first ask
//! above the bid. After a trade the queue asks again and takes its new place. Exact with respect to
//! this rule: within a cycle queues only fill up, so a job that found nothing finds nothing after
//! later trades either, and what one job did not get is not searched for by a larger one.
//!
//! Where prices change with time, queues ask each job for itself, and the list is made for every bid:
//! O(q log q) and, where slots are packaged, a search of each queue's plan.

use tradewind_model::random;

use super::round::{Fate, JobTurn, Round};
use super::settings::Ties;

/// A place in the order of asks: lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ask {
    amount: i128,
    /// Among equal amounts.
    tie: i64,
    queue: usize,
}

/// Asks in ascending order.
pub(super) struct Asks {
    list: Vec<Ask>,
    /// By queue, for random ties.
    lots: Vec<i64>,
}

impl Asks {
    /// Of all queues. O(q log q).
    pub(super) fn new(round: &Round<'_>) -> Asks {
        let mut asks = Asks { list: Vec::new(), lots: lots(round) };
        asks.ask_all(round);
        asks
    }

    fn ask_all(&mut self, round: &Round<'_>) {
        self.list = (0..round.queues.len()).map(|queue| self.of(round, queue)).collect();
        self.list.sort_unstable();
    }

    fn of(&self, round: &Round<'_>, queue: usize) -> Ask {
        let tie = match round.settings.ties {
            Ties::Index => 0,
            Ties::MostFree => -round.free_in(queue),
            Ties::Cheapest => round.price(queue).0,
            Ties::Random => self.lots[queue],
        };
        Ask { amount: round.ask(queue), tie, queue }
    }

    /// The queue at `place` asks again.
    fn move_from(&mut self, round: &Round<'_>, place: usize) {
        let old = self.list.remove(place);
        let new = self.of(round, old.queue);
        let place = self.list.partition_point(|ask| *ask < new);
        self.list.insert(place, new);
    }

    /// A job's turn.
    pub(super) fn bid(&mut self, round: &mut Round<'_>, turn: &JobTurn<'_>) -> Fate {
        if round.offer(turn.waiting) {
            self.ask_all(round);
        }
        for place in 0..self.list.len() {
            let queue = self.list[place].queue;
            if !round.gate_opens(turn.bid, queue) {
                break;
            }
            let until = round.until;
            if let Some(start) = round.slot(turn.waiting, queue, until) {
                let passed = self.list[..place].iter().map(|ask| ask.queue);
                let fate = round.trade(turn, (queue, start), passed, until);
                self.move_from(round, place);
                return fate;
            }
        }
        round.pend(turn)
    }
}

/// A number for every queue, drawn again in each cycle.
fn lots(round: &Round<'_>) -> Vec<i64> {
    if round.settings.ties != Ties::Random {
        return Vec::new();
    }
    let mut rng = random::stream(round.settings.seed, "ties", round.now.0.cast_unsigned());
    round.queues.iter().map(|_| random::within(&mut rng, 0, i64::MAX)).collect()
}
