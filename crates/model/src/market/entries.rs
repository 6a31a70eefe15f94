//! What is known of each job, in pieces that copies of a market share.
//!
//! A live market is copied for each caller that looks ahead, and has an entry for each job ever
//! submitted. So a copy takes the pieces as they are, and a piece is copied when one of its entries
//! changes in one of the markets.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use super::Entry;

/// Entries of a piece.
const PIECE: usize = 256;

/// Entries by the number of the job.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    /// All but the last are full.
    pieces: Vec<Arc<Vec<Entry>>>,
    len: usize,
}

impl Entries {
    /// So many of one kind.
    pub(super) fn of(entry: &Entry, count: usize) -> Entries {
        let full = Arc::new(vec![entry.clone(); PIECE.min(count)]);
        let mut pieces = vec![full; count / PIECE];
        match count % PIECE {
            0 => {}
            rest => pieces.push(Arc::new(vec![entry.clone(); rest])),
        }
        Entries { pieces, len: count }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, index: usize) -> Option<&Entry> {
        self.pieces.get(index / PIECE)?.get(index % PIECE)
    }

    /// Copies the piece first, if another market has it, too.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Entry> {
        let piece = self.pieces.get_mut(index / PIECE)?;
        match index % PIECE < piece.len() {
            true => Arc::make_mut(piece).get_mut(index % PIECE),
            false => None,
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        match self.pieces.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => Arc::make_mut(piece).push(entry),
            None => self.pieces.push(Arc::new(vec![entry])),
        }
        self.len += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.pieces.iter().flat_map(|piece| piece.iter())
    }
}

/// Panics where there is none, as slices do.
impl Index<usize> for Entries {
    type Output = Entry;

    fn index(&self, index: usize) -> &Entry {
        &self.pieces[index / PIECE][index % PIECE]
    }
}

impl IndexMut<usize> for Entries {
    fn index_mut(&mut self, index: usize) -> &mut Entry {
        &mut Arc::make_mut(&mut self.pieces[index / PIECE])[index % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Phase;
    use super::*;
    use crate::{Demand, Money, Span};

    fn entry(processors: u32) -> Entry {
        let demand = Demand::new(processors, Span(1));
        Entry { demand, phase: Phase::Queued, paid: Money::ZERO, trade: None }
    }

    fn widths(entries: &Entries) -> Vec<u32> {
        entries.iter().map(|entry| entry.demand.processors).collect()
    }

    #[test]
    fn they_are_a_list_and_copies_go_their_own_ways() {
        for count in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7] {
            let (mut entries, mut plain) = (Entries::default(), Vec::new());
            for at in 0..count {
                entries.push(entry(at as u32));
                plain.push(at as u32);
            }
            let before = entries.clone();
            entries.push(entry(9_999));
            for at in (0..count).step_by(100) {
                entries[at].demand.processors = 1_000 + at as u32;
                entries.get_mut(at).unwrap().paid = Money(5);
            }
            assert_eq!((widths(&before), before.len()), (plain, count));
            assert_eq!(entries.len(), count + 1);
            assert_eq!(entries[count].demand.processors, 9_999);
            assert!(entries.get(count + 1).is_none() && entries.get_mut(count + 1).is_none());
            let same = Entries::of(&entry(3), count);
            assert_eq!((widths(&same), same.len()), (vec![3; count], count));
            let mut same = same;
            same.push(entry(4));
            assert_eq!(same[count].demand.processors, 4);
        }
    }
}
