//! Posted prices: the owners' lists, or what demand makes of them.

use std::sync::Arc;

use tradewind_model::{Pools, Price, Rates, Ratio, Span, Time};

use super::price;
use super::queue::DispatchQueue;
use super::waiting::UnassignedJob;

/// Where posted prices come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prices {
    /// The owners' lists.
    List,
    /// Lists, raised and lowered as [`Dynamics`] says.
    Dynamic,
}

impl Prices {
    /// Both, with their names on the command line.
    pub const ALL: [(Prices, &'static str); 2] =
        [(Prices::List, "list"), (Prices::Dynamic, "dynamic")];
}

/// How prices follow demand. Everything but the outlook is in thousandths of the list price. A step
/// of zero counts as one, or jobs would wait for ever for a price that they can pay; a ceiling
/// below the floor counts as the floor, an outlook of less than a second as a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dynamics {
    /// The most that a price moves in one cycle.
    pub step: u32,
    /// The lowest price.
    pub floor: u32,
    /// The highest price.
    pub ceiling: u32,
    /// How far ahead demand and supply are counted.
    pub outlook: Span,
}

impl Dynamics {
    /// At most a fiftieth per cycle, between half and twice the list price, an hour ahead.
    pub const STANDARD: Dynamics =
        Dynamics { step: 20, floor: 500, ceiling: 2_000, outlook: Span(3_600) };

    /// Millionths of the list price, lowest and highest.
    fn bounds(self) -> (i64, i64) {
        (i64::from(self.floor) * 1_000, i64::from(self.ceiling.max(self.floor)) * 1_000)
    }

    /// How many millionths of the list price a price moves: by the whole step if no job wants
    /// anything (down) or if nothing is there (up), by a part of it as one exceeds the other in
    /// between; rounded away from zero, so that it arrives at its bound in the end.
    fn moves(self, wanted: i128, free: i128) -> i64 {
        let step = i64::from(self.step.max(1)) * 1_000;
        if wanted == 0 {
            return -step;
        }
        let (excess, all) = ((wanted - free) * i128::from(step), wanted + free);
        let whole = (excess.abs() + all - 1) / all * excess.signum();
        i64::try_from(whole).unwrap_or(0)
    }
}

/// What the queues want per node and second: a search for prices at which what is wanted is what
/// is there (L. Walras's tâtonnement), one step per cycle. A heuristic: within bounds, and trades
/// go on meanwhile.
///
/// In a cycle a queue's price moves towards excess demand. **Free** is what the queue's plan leaves
/// until the outlook, in node-seconds. **Wanted** is what waiting jobs would use until then: each
/// is spread over the processors of all queues that it could go to in time and can pay at the
/// prices so far. Cycles for which no job waits count as cycles without demand.
#[derive(Debug, Clone)]
pub(super) struct Board {
    dynamics: Option<Dynamics>,
    cycle: Span,
    /// List prices, by queue.
    list: Vec<Price>,
    /// Factors of asks, by queue.
    factors: Vec<Ratio>,
    /// By queue, in millionths of the list price.
    levels: Vec<i64>,
    /// Posted prices, by queue. Of one whose price changes with time: of its lowest.
    posted: Vec<Price>,
    /// Prices that change with time.
    rates: Option<Arc<Rates>>,
    /// The last cycle.
    last: Option<Time>,
}

impl Board {
    /// List prices, or the nearest to them within bounds.
    pub(super) fn new(pools: &Pools, dynamics: Option<Dynamics>, cycle: Span) -> Board {
        let list: Vec<Price> = pools.as_slice().iter().map(price::list).collect();
        let factors = pools.iter().map(|(id, _)| pools.ask_factor(id)).collect();
        let level = dynamics.map_or(MILLION, |dynamics| {
            let (floor, ceiling) = dynamics.bounds();
            MILLION.clamp(floor, ceiling)
        });
        let levels = vec![level; list.len()];
        let posted = list.iter().map(|list| scaled(*list, level)).collect();
        let rates = pools.rates().cloned();
        Board { dynamics, cycle, list, factors, levels, posted, rates, last: None }
    }

    /// Whether any price changes with time.
    pub(super) fn changes_with_time(&self) -> bool {
        self.rates.is_some()
    }

    /// Posted prices, by queue.
    pub(super) fn posted(&self) -> &[Price] {
        &self.posted
    }

    /// What the queue wants per node and second of a job that starts there at `start`: what it has
    /// posted, or what demand makes of the mean price of the job's time.
    pub(super) fn price(&self, at: usize, start: Time, length: Span) -> Price {
        let rate = self.rates.as_ref().and_then(|rates| rates.get(at));
        rate.map_or(self.posted[at], |rate| scaled(rate.mean_price(start, length), self.levels[at]))
    }

    /// A cycle begins at `now`, and plans are up to date. Nothing where prices are lists, else
    /// O(jobs × queues + the plans' changes until the outlook).
    pub(super) fn follow(
        &mut self,
        queues: &[DispatchQueue],
        waiting: &[UnassignedJob],
        now: Time,
    ) {
        let Some(dynamics) = self.dynamics else { return };
        let (floor, ceiling) = dynamics.bounds();
        let cycles = self.last.map_or(1, |last| (now - last).0.div_euclid(self.cycle.0.max(1)));
        let missed = (cycles - 1).max(0).saturating_mul(-dynamics.moves(0, 1));
        self.last = Some(now);
        let until = now + dynamics.outlook.max(Span(1));
        for at in 0..queues.len() {
            self.post(at, self.levels[at].saturating_sub(missed).max(floor));
        }
        let wanted = self.wanted(queues, waiting, (now, until));
        for (at, queue) in queues.iter().enumerate() {
            let moved = self.levels[at] + dynamics.moves(wanted[at], queue.free_until(until));
            self.post(at, moved.clamp(floor, ceiling));
        }
    }

    /// An owner asks another price: the list changes, and what demand makes of it with it.
    pub(super) fn list_anew(&mut self, at: usize, pools: &Pools) {
        self.list[at] = price::list(&pools.as_slice()[at]);
        self.rates = pools.rates().cloned();
        self.post(at, self.levels[at]);
    }

    fn post(&mut self, at: usize, level: i64) {
        self.levels[at] = level;
        self.posted[at] = scaled(self.list[at], level);
    }

    /// Node-seconds, by queue.
    fn wanted(
        &self,
        queues: &[DispatchQueue],
        waiting: &[UnassignedJob],
        during: (Time, Time),
    ) -> Vec<i128> {
        let (now, until) = during;
        let mut wanted = vec![0; queues.len()];
        let mut open: Vec<(usize, Span)> = Vec::new();
        for job in waiting {
            open.clear();
            open.extend((0..queues.len()).filter_map(|at| {
                let (latest, length) = job.in_queue(at)?;
                let limit = job.limit(length, self.factors[at]);
                (latest >= now && limit >= self.price(at, now, length)).then_some((at, length))
            }));
            let nodes: i128 = open.iter().map(|(at, _)| i128::from(queues[*at].nodes())).sum();
            for (at, length) in &open {
                let seconds = i128::from(job.processors) * i128::from((*length).min(until - now).0);
                wanted[*at] += seconds * i128::from(queues[*at].nodes()) / nodes.max(1);
            }
        }
        wanted
    }
}

const MILLION: i64 = 1_000_000;

/// The list price × `level`, rounded down.
fn scaled(list: Price, level: i64) -> Price {
    let price = i128::from(list.0) * i128::from(level) / i128::from(MILLION);
    Price(i64::try_from(price).unwrap_or(i64::MAX))
}

/// The lowest price that demand makes of this list price.
pub(super) fn lowest(list: Price, dynamics: Option<Dynamics>) -> Price {
    dynamics.map_or(list, |dynamics| scaled(list, dynamics.bounds().0))
}

#[cfg(test)]
mod tests {
    use tradewind_model::Pool;

    use super::*;

    #[test]
    fn prices_move_by_the_excess_and_never_stand_still_before_their_bound() {
        let dynamics = Dynamics { step: 20, ..Dynamics::STANDARD };
        assert_eq!(dynamics.moves(0, 0), -20_000);
        assert_eq!(dynamics.moves(0, 9), -20_000);
        assert_eq!(dynamics.moves(9, 0), 20_000);
        assert_eq!(dynamics.moves(9, 9), 0);
        assert_eq!(dynamics.moves(3, 1), 10_000);
        assert_eq!(dynamics.moves(1, 3), -10_000);
        let (more, less) = (1 << 60, (1 << 60) - 1);
        assert_eq!((dynamics.moves(more, less), dynamics.moves(less, more)), (1, -1));
    }

    #[test]
    fn list_prices_are_kept_within_bounds() {
        let pool = Pool { price: Price(1_001), ..Pools::cluster(1).as_slice()[0].clone() };
        let dynamics = |floor, ceiling| Dynamics { floor, ceiling, ..Dynamics::STANDARD };
        assert_eq!(lowest(pool.price, None), Price(1_001));
        assert_eq!(lowest(pool.price, Some(dynamics(500, 2_000))), Price(500));
        let pools = Pools::new(vec![tradewind_model::Site { name: "s".to_owned() }], vec![pool]);
        let pools = pools.unwrap();
        let first = |dynamics| Board::new(&pools, dynamics, Span(10)).posted()[0];
        assert_eq!(first(None), Price(1_001));
        assert_eq!(first(Some(dynamics(500, 2_000))), Price(1_001));
        assert_eq!(first(Some(dynamics(100, 700))), Price(700));
        assert_eq!(first(Some(dynamics(1_500, 7))), Price(1_501));
    }
}
