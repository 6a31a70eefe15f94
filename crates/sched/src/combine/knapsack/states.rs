//! Lists of the sums that choices from some classes can reach.

use super::Goal;
use super::relax::Slope;

/// Sums over choices from some classes, counted from the base; or one choice of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) weight: i64,
    pub(super) value: i64,
}

impl State {
    pub(super) const BASE: State = State { weight: 0, value: 0 };

    pub(super) fn plus(self, other: State) -> State {
        State { weight: self.weight + other.weight, value: self.value + other.value }
    }
}

/// Which states may still lead to something better.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sieve {
    pub(super) goal: Goal,
    pub(super) slope: Slope,
    /// No state may lose more.
    pub(super) most_loss: i128,
    /// No state may be lighter or heavier: the classes to come could not make up for it.
    pub(super) weights: (i64, i64),
}

/// A list would have grown beyond its bound.
pub(super) struct TooLong;

impl Sieve {
    /// The states reachable from `list` by one of the `moves` of a further class: by weight,
    /// strictly ascending, without those that lose too much or are dominated.
    ///
    /// A state is dominated by one of no more weight and no more value; where weight is wanted,
    /// only by one of equal weight. O(states · log moves).
    pub(super) fn extend(
        &self,
        list: &[State],
        moves: &[State],
        max: usize,
    ) -> Result<Vec<State>, TooLong> {
        if let [one] = moves {
            return Ok(self.shifted(list, *one));
        }
        let (left, right) = moves.split_at(moves.len() / 2);
        let left = self.extend(list, left, max)?;
        let right = self.extend(list, right, max)?;
        let merged = self.merge(&left, &right);
        if merged.len() > max { Err(TooLong) } else { Ok(merged) }
    }

    fn shifted(&self, list: &[State], step: State) -> Vec<State> {
        let (lightest, heaviest) = self.weights;
        let keeps = |state: &State| {
            lightest <= state.weight
                && state.weight <= heaviest
                && self.slope.loss(state.weight, state.value) <= self.most_loss
        };
        list.iter().map(|state| state.plus(step)).filter(keeps).collect()
    }

    fn merge(&self, left: &[State], right: &[State]) -> Vec<State> {
        let mut merged: Vec<State> = Vec::with_capacity(left.len() + right.len());
        let (mut i, mut j) = (0, 0);
        while i < left.len() || j < right.len() {
            let from_left = j == right.len() || (i < left.len() && left[i] <= right[j]);
            let next = if from_left { left[i] } else { right[j] };
            i += usize::from(from_left);
            j += usize::from(!from_left);
            let dominated = merged.last().is_some_and(|last| match self.goal {
                Goal::Cheapest => next.value >= last.value,
                Goal::Fullest | Goal::FullestWithin(_) => next.weight == last.weight,
            });
            if !dominated {
                merged.push(next);
            }
        }
        merged
    }
}
