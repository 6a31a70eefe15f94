//! The m least alive nodes of a ranking while time goes on.

use super::bits::Bits;
use super::expiries::Expiries;
use super::ranking::NodeRanking;

/// Buffers of [`CheapestNodes`].
#[derive(Debug, Default)]
pub(super) struct Buffers {
    present: Bits,
    last_start: Vec<i64>,
    expiries: Expiries,
}

/// The m least alive nodes by rank, with the sum of their weights, under insertion, expiry and
/// removal for good.
///
/// A node is alive from the start of its slot to the last start at which its task still fits.
/// Slots of one node never overlap, so at most one slot per node is alive at a time and a set of
/// ranks says it all. The *members* are the alive nodes below a boundary rank: all of them if
/// there are at most m, else exactly the m least. Only members are kept exact: their expiries
/// are watched. Nodes from the boundary on may have expired unnoticed; that is looked at when
/// one of them is about to become a member. So an insertion beyond the boundary, by far the most
/// common step on a large grid, costs two stores.
///
/// Each step is O(log n) amortised over the scan.
#[derive(Debug)]
pub(super) struct CheapestNodes<'a> {
    ranking: &'a NodeRanking,
    wanted: usize,
    now: i64,
    count: usize,
    sum: i128,
    boundary: u32,
    present: &'a mut Bits,
    /// By rank: the last start of the slot inserted last.
    last_start: &'a mut Vec<i64>,
    expiries: &'a mut Expiries,
}

impl<'a> CheapestNodes<'a> {
    /// Nothing alive yet; `wanted` is m.
    pub(super) fn new(ranking: &'a NodeRanking, wanted: usize, buffers: &'a mut Buffers) -> Self {
        let Buffers { present, last_start, expiries } = buffers;
        present.reset(ranking.nodes.len());
        // Old contents are never read: a rank is looked up only after its insertion.
        if last_start.len() < ranking.nodes.len() {
            last_start.resize(ranking.nodes.len(), 0);
        }
        expiries.reset(wanted);
        let boundary = ranking.nodes.len() as u32;
        CheapestNodes {
            ranking,
            wanted,
            now: i64::MIN,
            count: 0,
            sum: 0,
            boundary,
            present,
            last_start,
            expiries,
        }
    }

    /// The sum of the m least weights, if m nodes are alive.
    pub(super) fn sum(&self) -> Option<i128> {
        (self.count == self.wanted).then_some(self.sum)
    }

    /// The same without the heaviest of the m.
    pub(super) fn sum_without_last(&self) -> Option<i128> {
        let last = self.present.previous(self.boundary)?;
        Some(self.sum()? - self.weight(last))
    }

    /// The last start of the slot of this rank that was inserted last.
    pub(super) fn last_start(&self, rank: u32) -> i64 {
        self.last_start[rank as usize]
    }

    /// The ranks of the members, ascending.
    pub(super) fn members(&self) -> impl Iterator<Item = u32> {
        let first = self.present.next(0);
        std::iter::successors(first, |&rank| self.present.next(rank + 1))
            .take_while(|&rank| rank < self.boundary)
    }

    /// Moves on to the time `now`, which never falls.
    #[inline]
    pub(super) fn advance(&mut self, now: i64) {
        self.now = now;
        if self.expiries.due(now) {
            self.expire();
        }
    }

    fn expire(&mut self) {
        while let Some(rank) = self.expiries.pop(self.now) {
            // It may be a former member, or one that came back with a later slot.
            let expired = self.last_start[rank as usize] < self.now;
            if rank < self.boundary && expired && self.present.contains(rank) {
                self.leave(rank);
            }
        }
        self.refill();
    }

    /// The node of this rank becomes alive until `last_start`.
    #[inline]
    pub(super) fn insert(&mut self, rank: u32, last_start: i64) {
        self.last_start[rank as usize] = last_start;
        if rank >= self.boundary {
            self.present.insert(rank);
        } else {
            self.insert_member(rank);
        }
    }

    fn insert_member(&mut self, rank: u32) {
        debug_assert!(!self.present.contains(rank), "slots of one node overlap");
        self.present.insert(rank);
        self.join(rank);
        if self.count > self.wanted
            && let Some(worst) = self.present.previous(self.boundary)
        {
            // It stays alive, just beyond the boundary.
            self.count -= 1;
            self.sum -= self.weight(worst);
            self.expiries.forget(worst);
            self.boundary = worst;
        }
    }

    /// Takes the node of this rank out, alive or not; whether it was a member. The members are
    /// one short then, until [`CheapestNodes::refill`].
    pub(super) fn remove(&mut self, rank: u32) -> bool {
        if !self.present.contains(rank) {
            return false;
        }
        if rank < self.boundary {
            self.expiries.forget(rank);
            self.leave(rank);
            return true;
        }
        self.present.remove(rank);
        false
    }

    /// Makes the next alive nodes members until there are m, or no more.
    pub(super) fn refill(&mut self) {
        let size = self.ranking.nodes.len() as u32;
        while self.count < self.wanted && self.boundary < size {
            match self.present.next(self.boundary) {
                Some(rank) => {
                    self.boundary = rank + 1;
                    match self.last_start[rank as usize] < self.now {
                        true => self.present.remove(rank),
                        false => self.join(rank),
                    }
                }
                None => self.boundary = size,
            }
        }
    }

    fn join(&mut self, rank: u32) {
        self.count += 1;
        self.sum += self.weight(rank);
        self.expiries.add(self.last_start[rank as usize], rank);
    }

    fn leave(&mut self, rank: u32) {
        self.present.remove(rank);
        self.count -= 1;
        self.sum -= self.weight(rank);
    }

    fn weight(&self, rank: u32) -> i128 {
        i128::from(self.ranking.nodes[rank as usize].weight)
    }
}
