//! What free nodes are kept in: the profile of one pool, or one of each pool.

use tradewind_model::{PoolId, Profile, Share, Time};

/// Nodes of a pool that are not free during `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Pool and number of nodes that are taken.
    pub share: Share,
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
    /// Memory of the pool in KiB that is taken with them, where it is counted.
    pub memory: u32,
}

impl Taken {
    /// Nodes of one pool, and when they are taken.
    pub(in crate::policy) fn new(pool: PoolId, nodes: u32, from: Time, until: Time) -> Taken {
        Taken { share: Share { pool, nodes }, from, until, memory: 0 }
    }
}

/// Free nodes over time, from a moving origin on.
pub(in crate::policy) trait Capacity {
    /// Whether licences are counted beside the nodes.
    const LICENCES: bool = false;

    /// Whether the books know a licence as this pool.
    fn is_licence(&self, _pool: PoolId) -> bool {
        false
    }

    /// The origin: the moment up to which this is kept.
    fn now(&self) -> Time;

    /// Forgets what was before `now`.
    fn advance(&mut self, now: Time);

    /// All nodes are free from `now` on.
    fn clear(&mut self, now: Time);

    /// Takes nodes; more than there are make the number of free nodes negative.
    fn take(&mut self, taken: Taken);

    /// Gives nodes back that were taken.
    fn give(&mut self, taken: Taken);

    /// Whether the nodes are free.
    fn fits(&self, taken: &Taken) -> bool;
}

/// One pool: there is nothing to choose.
impl Capacity for Profile {
    fn now(&self) -> Time {
        self.origin()
    }

    fn advance(&mut self, now: Time) {
        Profile::advance(self, now);
    }

    fn clear(&mut self, now: Time) {
        Profile::clear(self, now);
    }

    fn take(&mut self, Taken { share, from, until, .. }: Taken) {
        Profile::take(self, share.nodes, from, until);
    }

    fn give(&mut self, Taken { share, from, until, .. }: Taken) {
        Profile::give(self, share.nodes, from, until);
    }

    fn fits(&self, taken: &Taken) -> bool {
        Profile::fits(self, taken.share.nodes, taken.from, taken.until - taken.from)
    }
}

/// By pool; at least one.
impl Capacity for Vec<Profile> {
    fn now(&self) -> Time {
        self[0].origin()
    }

    fn advance(&mut self, now: Time) {
        self.iter_mut().for_each(|profile| profile.advance(now));
    }

    fn clear(&mut self, now: Time) {
        self.iter_mut().for_each(|profile| profile.clear(now));
    }

    fn take(&mut self, taken: Taken) {
        Capacity::take(&mut self[taken.share.pool.index()], taken);
    }

    fn give(&mut self, taken: Taken) {
        Capacity::give(&mut self[taken.share.pool.index()], taken);
    }

    fn fits(&self, taken: &Taken) -> bool {
        Capacity::fits(&self[taken.share.pool.index()], taken)
    }
}
