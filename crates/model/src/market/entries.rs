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
    /// A piece of entries that were forgotten.
    over: Option<Arc<Vec<Entry>>>,
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
        Entries { pieces, len: count, over: None }
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

    /// Puts one piece that all share in the place of a full one whose entries are all as `is_over`
    /// says, `index` among them. At most [`PIECE`] looks.
    pub(super) fn forget(&mut self, index: usize, over: &Entry, is_over: impl Fn(&Entry) -> bool) {
        let Some(piece) = self.pieces.get_mut(index / PIECE) else { return };
        if piece.len() == PIECE && piece.iter().all(is_over) {
            let of_all = self.over.get_or_insert_with(|| Arc::new(vec![over.clone(); PIECE]));
            *piece = Arc::clone(of_all);
        }
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
    fn a_piece_is_forgotten_once_all_of_it_is_over() {
        let mut entries = Entries::default();
        (0..2 * PIECE + 3).for_each(|at| entries.push(entry(at as u32)));
        let over = Entry { phase: Phase::Ended, ..entry(1) };
        let is_over = |entry: &Entry| entry.phase == Phase::Ended;
        for at in (0..PIECE).chain(2 * PIECE..2 * PIECE + 3).rev() {
            assert_eq!(entries[at].demand.processors, at as u32, "it is known until all are over");
            entries[at].phase = Phase::Ended;
            entries.forget(at, &over, is_over);
        }
        let plain = widths(&entries);
        assert_eq!(plain[..PIECE], vec![1; PIECE]);
        assert_eq!(plain[PIECE..], (PIECE as u32..2 * PIECE as u32 + 3).collect::<Vec<_>>());
        assert_eq!(entries.len(), 2 * PIECE + 3);
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
