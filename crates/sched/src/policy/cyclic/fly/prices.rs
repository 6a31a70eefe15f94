//! Prices of slots: a Lagrangian multiplier for each piece of time of each node.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_model::{Measure, NodeId, Objective, Rates, Series, Slot, Snapshot, Time, Window};

use super::Worth;

/// Pieces of time at most: prices are constant in each, so that searches stay short. Any prices
/// prove a bound; shorter pieces prove better ones.
const MOST_CELLS: i64 = 96;
/// Seconds of a subgradient count in so many parts.
const FINE: i128 = 1 << 8;

/// By node and piece of time.
pub(super) struct SlotPrices {
    /// What a second of each node costs beside its price, node by node, scaled.
    cells: Vec<i128>,
    /// How many seconds of each are free.
    room: Vec<i128>,
    start: i64,
    width: i64,
    count: usize,
    /// What a second of each node is worth to the objective, scaled; `None` is nothing.
    own: Vec<Option<Series>>,
}

impl SlotPrices {
    pub(super) fn new(snapshot: &Snapshot, worth: &Worth) -> SlotPrices {
        let slots = snapshot.slots.as_slice();
        let start = slots.iter().map(|slot| slot.start.0).min().unwrap_or(0);
        let end = slots.iter().map(|slot| slot.end.0).max().unwrap_or(start).max(start + 1);
        let width = ((end - start) + MOST_CELLS - 1) / MOST_CELLS;
        let count = ((end - start + width - 1) / width) as usize;
        let nodes = snapshot.grid.len();
        let own = (0..nodes).map(|node| own(snapshot, worth, NodeId(node as u32), start, end));
        let mut prices = SlotPrices {
            cells: vec![0; nodes * count],
            room: vec![0; nodes * count],
            start,
            width,
            count,
            own: own.collect(),
        };
        for slot in slots {
            let mut room = std::mem::take(&mut prices.room);
            prices.each(*slot, |cell, seconds| room[cell] += seconds);
            prices.room = room;
        }
        prices
    }

    /// Calls for every piece that the slot lies in, with how many seconds of it.
    fn each(&self, slot: Slot, mut call: impl FnMut(usize, i128)) {
        let (from, until) = (slot.start.0 - self.start, slot.end.0 - self.start);
        let mut at = from;
        while at < until {
            let piece = at / self.width;
            let next = ((piece + 1) * self.width).min(until);
            let cell = slot.node.0 as usize * self.count + (piece as usize).min(self.count - 1);
            call(cell, i128::from(next - at));
            at = next;
        }
    }

    /// What all free slots cost, scaled.
    pub(super) fn whole(&self) -> i128 {
        self.cells.iter().zip(&self.room).map(|(price, room)| price * room).sum()
    }

    /// What a second of each node counts in searches: the objective's part and the slot's price.
    pub(super) fn rates(&self) -> Rates {
        let of = |(node, own): (usize, &Option<Series>)| {
            let cells = &self.cells[node * self.count..][..self.count];
            let at = |piece: usize| Time(self.start + piece as i64 * self.width);
            let own = own.as_ref();
            let mut moments: BTreeSet<Time> =
                own.into_iter().flat_map(Series::values).map(|(from, _)| from).collect();
            moments.insert(at(0));
            let steps = (1..self.count).filter(|&piece| cells[piece] != cells[piece - 1]);
            moments.extend(steps.map(at));
            let value = |time: Time| {
                let piece = (time.0 - self.start).max(0) / self.width;
                let price = cells[(piece as usize).min(self.count - 1)];
                let own = own.map_or(0, |own| own.at(time));
                (price + i128::from(own)).min(i128::from(Series::MAX)) as i64
            };
            let values: Vec<(Time, i64)> = moments.into_iter().map(|at| (at, value(at))).collect();
            Series::new(&values).ok().map(Arc::new)
        };
        Rates::new(self.own.iter().enumerate().map(of).collect())
    }

    /// Moves prices along the subgradient at these windows, by `push` over its length; whether
    /// there is anywhere to go.
    pub(super) fn follow<'w>(
        &mut self,
        windows: impl Iterator<Item = &'w Window>,
        push: i128,
    ) -> bool {
        let mut slope: Vec<i128> = self.room.iter().map(|room| -room).collect();
        for slot in windows.flat_map(Window::taken) {
            self.each(slot, |cell, seconds| slope[cell] += seconds);
        }
        let moving = |at: usize| slope[at] > 0 || self.cells[at] > 0;
        let length: i128 =
            (0..slope.len()).filter(|&at| moving(at)).map(|at| slope[at] * slope[at]).sum();
        if length == 0 || push <= 0 {
            return false;
        }
        let step = push.saturating_mul(FINE) / length;
        let most = i128::from(Series::MAX / 2);
        let mut moved = false;
        for (price, slope) in self.cells.iter_mut().zip(slope) {
            let next = (*price + step.saturating_mul(slope) / FINE).clamp(0, most);
            moved |= next != *price;
            *price = next;
        }
        moved
    }
}

/// What a second of the node is worth to the objective, over time.
fn own(snapshot: &Snapshot, worth: &Worth, node: NodeId, start: i64, end: i64) -> Option<Series> {
    let scaled = |value: i64| {
        (i128::from(value) * worth.scale()).clamp(0, i128::from(Series::MAX / 2)) as i64
    };
    let (from, until) = (Time(start), Time(end));
    let mut values = match (worth.objective, worth.measure, snapshot.grid.rate(node)) {
        (Objective::MinCost | Objective::MaxIncome, _, Some(rate)) => {
            let changes = rate.changes(from, until).map(|(at, value)| (at, scaled(value)));
            std::iter::once((from, scaled(rate.at(from)))).chain(changes).collect()
        }
        (Objective::MinCost | Objective::MaxIncome, _, None) => {
            vec![(from, scaled(snapshot.grid.node(node).price.0))]
        }
        (_, Measure::ProcessorTime, _) => vec![(from, scaled(1))],
        (_, Measure::Runtime, _) => vec![(from, 0)],
    };
    values.dedup_by_key(|(at, _)| *at);
    Series::new(&values).ok()
}
