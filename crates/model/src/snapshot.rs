//! All that a policy may know at one moment.

use crate::{Grid, Horizon, Job, Money, Slot, SlotList, Time, VoPolicy};

/// The planning problem of one cycle: what is free, who waits, and what the VO wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The interval to plan in; every slot lies within it.
    pub horizon: Horizon,
    /// The nodes, with performance, price and attributes; and the licences.
    pub grid: Grid,
    /// What is idle on them, and which licences are free.
    pub slots: SlotList,
    /// The batch, as listed; [`Snapshot::by_priority`] gives the order of planning.
    pub jobs: Vec<Job>,
    /// What the VO wants.
    pub policy: VoPolicy,
}

/// Why parts do not make a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The horizon ends before or when it starts, or is out of range.
    #[error("the horizon [{}, {}) is empty or out of range", .0.start, .0.end)]
    Horizon(Horizon),
    /// A slot that is not within the horizon.
    #[error("the slot [{}, {}) on node {} is not within the horizon", .0.start, .0.end, .0.node.0)]
    OutsideHorizon(Slot),
    /// A slot on a node that is not in the grid.
    #[error("a slot is on node {}, which is not in the grid", .0.node.0)]
    UnknownNode(Slot),
    /// Price × horizon × nodes does not fit the range of money.
    #[error("the highest price over the whole horizon on all nodes exceeds the range of money")]
    MoneyOverflow,
    /// With the price of all licences over the horizon it does not.
    #[error("the price of all licences over the whole horizon exceeds the range of money")]
    LicencesOverflow,
}

impl Snapshot {
    /// Whether the parts fit together: a sane horizon, slots within it on nodes of the grid,
    /// and no sum of costs that could overflow.
    ///
    /// # Errors
    /// The first way in which they do not.
    pub fn check(&self) -> Result<(), SnapshotError> {
        let Horizon { start, end } = self.horizon;
        if start >= end || start < Time::MIN || end > Time::MAX {
            return Err(SnapshotError::Horizon(self.horizon));
        }
        for slot in self.slots.as_slice() {
            if slot.node.0 as usize >= self.grid.len() {
                return Err(SnapshotError::UnknownNode(*slot));
            }
            if slot.start < start || slot.end > end {
                return Err(SnapshotError::OutsideHorizon(*slot));
            }
        }
        let dearest = i128::from(self.grid.dearest().0);
        let shared = |(id, node): (crate::NodeId, &crate::Node)| {
            self.grid.resources(id).map(|has| has.ceiling(node.price))
        };
        let dearest = match self.grid.has_resources() {
            true => self.grid.iter().filter_map(shared).fold(dearest, i128::max),
            false => dearest,
        };
        let span = i128::from(self.horizon.span().0);
        let all = dearest.saturating_mul(span).saturating_mul(self.grid.len() as i128);
        if all > i128::from(Money::MAX.0) {
            return Err(SnapshotError::MoneyOverflow);
        }
        let licences = self.grid.dearest_licences(self.horizon);
        if all.saturating_add(licences) > i128::from(Money::MAX.0) {
            return Err(SnapshotError::LicencesOverflow);
        }
        Ok(())
    }

    /// Job indices in order of planning: higher priority first, equals as listed.
    pub fn by_priority(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.jobs[i].priority));
        order
    }
}
