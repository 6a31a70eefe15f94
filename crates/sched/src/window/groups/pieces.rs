//! Pieces of all groups together.

use tradewind_model::Slot;

use super::Group;
use crate::window::pieces::{Piece, Pieces};
use crate::window::sweep::StartBounds;

/// Spans of starts in which no group's pieces change; see [`Pieces`].
pub(super) struct GroupPieces<'a> {
    groups: Vec<OfGroup<'a>>,
    /// Whether some price changes with time; if none does, only the first start of a piece matters.
    changing: bool,
    at: i64,
    /// By group, the ranks that are alive in the piece given last.
    pub(super) alive: Vec<Vec<u32>>,
}

struct OfGroup<'a> {
    pieces: Pieces<'a>,
    /// Its piece that has not ended yet.
    now: Option<Piece>,
    alive: Vec<u32>,
}

impl<'a> GroupPieces<'a> {
    pub(super) fn new(
        groups: &'a [Group],
        slots: &[Slot],
        bracket: StartBounds,
    ) -> GroupPieces<'a> {
        let of = |group: &'a Group| {
            let mut pieces = Pieces::new(&group.prices, &group.ranking, slots, bracket);
            let mut alive = Vec::new();
            OfGroup { now: pieces.next(&mut alive), pieces, alive }
        };
        let changing = groups.iter().any(|group| group.prices.is_changing());
        let alive = vec![Vec::new(); groups.len()];
        GroupPieces { groups: groups.iter().map(of).collect(), changing, at: i64::MIN, alive }
    }

    /// The next piece in which every group has some alive node; they are in `alive`.
    pub(super) fn next(&mut self) -> Option<Piece> {
        loop {
            let at = self.at;
            for of in &mut self.groups {
                while of.now.is_some_and(|piece| piece.last < at) {
                    of.now = of.pieces.next(&mut of.alive);
                }
            }
            let now: Option<Vec<Piece>> = self.groups.iter().map(|of| of.now).collect();
            let now = now?;
            let first = now.iter().map(|piece| piece.first).max()?.max(at);
            let last = now.iter().map(|piece| piece.last).min()?;
            if last < first {
                self.at = first;
                continue;
            }
            self.at = last + 1;
            if self.groups.iter().any(|of| of.alive.is_empty()) {
                continue;
            }
            for (alive, of) in self.alive.iter_mut().zip(&self.groups) {
                alive.clone_from(&of.alive);
            }
            let last = if self.changing { last } else { first };
            return Some(Piece { first, last });
        }
    }
}
