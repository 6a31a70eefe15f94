//! What the auction is compared with: the earliest slot, the first slot, and shares by value.

use tradewind_model::Time;

use super::round::{Fate, JobTurn, Round};
use super::settings::ShareOf;

/// The queue where the job's slot begins earliest, then the first of them.
pub(super) fn earliest(round: &mut Round<'_>, turn: &JobTurn<'_>) -> Fate {
    round.offer(turn.waiting);
    let mut best: Option<(usize, Time)> = None;
    let mut until = round.until;
    for queue in 0..round.queues.len() {
        if until < round.now {
            break; // it starts now already
        }
        if round.gate_opens(turn.bid, queue)
            && let Some(start) = round.slot(turn.waiting, queue, until)
        {
            best = Some((queue, start));
            until = Time(start.0 - 1);
        }
    }
    match best {
        Some((queue, start)) => round.trade(turn, (queue, start), 0..queue, start),
        None => round.pend(turn),
    }
}

/// The first queue that has a slot for the job.
pub(super) fn first(round: &mut Round<'_>, turn: &JobTurn<'_>) -> Fate {
    match first_by(round, turn) {
        Some((queue, start)) => round.trade(turn, (queue, start), 0..queue, round.until),
        None => round.pend(turn),
    }
}

fn first_by(round: &mut Round<'_>, turn: &JobTurn<'_>) -> Option<(usize, Time)> {
    round.offer(turn.waiting);
    let until = round.until;
    for queue in 0..round.queues.len() {
        if round.gate_opens(turn.bid, queue)
            && let Some(start) = round.slot(turn.waiting, queue, until)
        {
            return Some((queue, start));
        }
    }
    None
}

/// While any job starts, each that waits has a share of the processors as its value is of all
/// values, and starts in the first queue that has room if its share is as wide as itself.
///
/// Where nothing runs or waits in any queue and no job's share suffices, the job with the largest
/// share per processor of those that find room starts: else they would wait for ever.
pub(super) fn fair_shares(round: &mut Round<'_>, turns: &[JobTurn<'_>]) -> Vec<Fate> {
    let idle = round.queues.iter().all(super::queue::DispatchQueue::idle);
    let mut fates = vec![Fate::Waits; turns.len()];
    let shares = loop {
        let shares = Shares::new(round, turns, &fates);
        let before = count(&fates);
        for (turn, fate) in turns.iter().zip(&mut fates) {
            if *fate != Fate::Traded
                && shares.suffice(turn)
                && let Some(found) = first_by(round, turn)
            {
                *fate = round.trade(turn, found, 0..found.0, round.until);
            }
        }
        if count(&fates) == before {
            break shares;
        }
    };
    if idle && count(&fates) == 0 {
        start_one(round, turns, &mut fates);
    }
    for (turn, fate) in turns.iter().zip(&mut fates) {
        if *fate != Fate::Traded && shares.suffice(turn) {
            round.offer(turn.waiting);
            *fate = round.pend(turn);
        }
    }
    fates
}

fn count(fates: &[Fate]) -> usize {
    fates.iter().filter(|fate| **fate == Fate::Traded).count()
}

/// The largest share per processor first.
fn start_one(round: &mut Round<'_>, turns: &[JobTurn<'_>], fates: &mut [Fate]) {
    let mut order: Vec<usize> = (0..turns.len()).collect();
    let density = |at: &usize| {
        let waiting = turns[*at].waiting;
        (i128::from(waiting.value.0), i128::from(waiting.processors))
    };
    order.sort_by(|a, b| {
        let ((value_a, wide_a), (value_b, wide_b)) = (density(a), density(b));
        (value_b * wide_a).cmp(&(value_a * wide_b))
    });
    for at in order {
        if let Some(found) = first_by(round, &turns[at]) {
            fates[at] = round.trade(&turns[at], found, 0..found.0, round.until);
            return;
        }
    }
}

/// What all shares are of.
struct Shares {
    /// Of all jobs that wait.
    value: i128,
    processors: i128,
}

impl Shares {
    fn new(round: &Round<'_>, turns: &[JobTurn<'_>], fates: &[Fate]) -> Shares {
        let waits = turns.iter().zip(fates).filter(|(_, fate)| **fate != Fate::Traded);
        let processors = round.queues.iter().map(|queue| match round.settings.share {
            ShareOf::All => i128::from(queue.nodes()),
            ShareOf::Free => i128::from(queue.free_now()),
        });
        Shares {
            value: waits.map(|(turn, _)| i128::from(turn.waiting.value.0)).sum(),
            processors: processors.sum(),
        }
    }

    fn suffice(&self, turn: &JobTurn<'_>) -> bool {
        let share = i128::from(turn.waiting.value.0) * self.processors;
        share >= self.value * i128::from(turn.waiting.processors)
    }
}
