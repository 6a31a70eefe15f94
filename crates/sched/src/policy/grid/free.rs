//! What is free in each pool, and in all of them together.

use tradewind_model::{Licence, Pool, PoolId, Pools, Profile, Time};

use super::rooms::{RoomRequest, Rooms};
use super::search::Starts;
use super::wish::PoolOffer;
use crate::policy::availability::{Capacity, Taken};

/// A time that holds all times at which nodes of a pool became free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct PoolOpening {
    pub(in crate::policy) from: Time,
    pub(in crate::policy) until: Time,
}

impl PoolOpening {
    /// Nothing became free.
    pub(in crate::policy) const NONE: PoolOpening =
        PoolOpening { from: Time::INFINITY, until: Time(-Time::INFINITY.0) };

    /// The smallest span that contains both.
    pub(in crate::policy) fn and(self, other: PoolOpening) -> PoolOpening {
        PoolOpening { from: self.from.min(other.from), until: self.until.max(other.until) }
    }
}

/// A profile of each pool, and their sum: a job in several pools looks there first.
///
/// Profiles in which nothing changes are not moved on: their origin may be earlier than that of the
/// sum, and the same nodes are free from then on.
#[derive(Debug, Clone)]
pub(in crate::policy) struct Free {
    profiles: Vec<Profile>,
    /// By pool: free memory in KiB; empty where it is not counted. Moved on with the nodes.
    memory: Vec<Profile>,
    /// By licence. The books know them as pools behind those of nodes.
    licences: Vec<Profile>,
    /// By pool: when its profile changes next.
    changes: Vec<Time>,
    /// By pool: whether nodes are free at the origin of the sum.
    open: Vec<bool>,
    /// By pool: whether nodes are taken that are not there, at any moment.
    lacks: Vec<bool>,
    /// How many pools lack nodes.
    lacking: usize,
    /// Of all pools.
    sum: Profile,
    /// What is known of the sum.
    rooms: Rooms,
    /// By pool, since the last query.
    openings: Vec<PoolOpening>,
}

impl Free {
    /// Of pools of which nothing is taken.
    pub(in crate::policy) fn new(pools: &Pools, now: Time) -> Free {
        let fresh = |pool: &Pool| Profile::new(pool.nodes, now);
        let profiles = pools.as_slice().iter().map(fresh).collect();
        let memory = pools.iter().filter_map(|(id, _)| pools.memory(id));
        let memory = memory.map(|memory| Profile::new(memory, now)).collect();
        let free = Free::of(profiles, Profile::new(pools.nodes(), now));
        Free { memory, ..free }.with_licences(pools)
    }

    fn with_licences(mut self, pools: &Pools) -> Free {
        let fresh = |licence: &Licence| Profile::new(licence.count, self.sum.origin());
        self.licences = pools.licences().iter().map(fresh).collect();
        self.openings.resize(self.profiles.len() + self.licences.len(), PoolOpening::NONE);
        self
    }

    fn of(profiles: Vec<Profile>, sum: Profile) -> Free {
        let count = profiles.len();
        let mut free = Free {
            profiles,
            memory: Vec::new(),
            licences: Vec::new(),
            changes: vec![Time::INFINITY; count],
            open: vec![false; count],
            lacks: vec![false; count],
            lacking: 0,
            sum,
            rooms: Rooms::default(),
            openings: vec![PoolOpening::NONE; count],
        };
        (0..count).for_each(|pool| free.changed(pool));
        free
    }

    /// Takes note of what is known of a profile that has changed.
    fn changed(&mut self, pool: usize) {
        let profile = &self.profiles[pool];
        self.open[pool] = profile.free_now() > 0;
        self.changes[pool] = profile.next_change().unwrap_or(Time::INFINITY);
        let lacks = profile.lowest() < 0;
        let before = std::mem::replace(&mut self.lacks[pool], lacks);
        self.lacking = self.lacking + usize::from(lacks) - usize::from(before);
    }

    /// Takes or gives memory of the pool, if it is counted.
    fn change_memory(&mut self, taken: &Taken, change: impl FnOnce(&mut Profile, u32, Time, Time)) {
        let origin = self.sum.origin();
        if let Some(memory) = self.memory.get_mut(taken.share.pool.index()) {
            memory.advance(origin);
            change(memory, taken.memory, taken.from, taken.until);
        }
    }

    /// The profile of a pool, moved on to the origin, to be changed.
    fn change(&mut self, pool: usize, change: impl FnOnce(&mut Profile)) {
        let profile = &mut self.profiles[pool];
        profile.advance(self.sum.origin());
        change(profile);
        self.changed(pool);
    }

    /// Of one pool, and no licence is taken.
    pub(super) fn of_pool(profile: Profile, pools: &Pools) -> Free {
        let sum = profile.clone();
        Free::of(vec![profile], sum).with_licences(pools)
    }

    /// The licence that the books know as this pool, moved on to the origin.
    fn licence(&mut self, pool: PoolId) -> Option<&mut Profile> {
        let (at, origin) = (pool.index().checked_sub(self.profiles.len())?, self.sum.origin());
        let profile = self.licences.get_mut(at)?;
        profile.advance(origin);
        Some(profile)
    }

    /// Profiles of free licences.
    pub(in crate::policy) fn licences(&self) -> &[Profile] {
        &self.licences
    }

    /// Searches begin again without what they know.
    #[cfg(test)]
    pub(in crate::policy) fn forget(&mut self) {
        self.rooms = Rooms::default();
    }

    /// Profiles of free nodes, by pool; the origin of some may be earlier than [`Capacity::now`].
    pub(in crate::policy) fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Whether fewer nodes than these are free in all pools, if that can be said at once.
    pub(super) fn has_fewer(&self, nodes: u32, at: Time) -> bool {
        let is_known = self.lacking == 0 && at == self.sum.origin();
        is_known && self.sum.free_now() < i64::from(nodes)
    }

    /// Whether any node of the pool is free at the origin.
    pub(super) fn is_open(&self, pool: PoolId) -> bool {
        self.open[pool.index()]
    }

    /// Nodes of the offer that are free from `at` on for as long as a task takes.
    pub(super) fn usable(&self, offer: &PoolOffer, at: Time) -> u32 {
        let free = self.profiles[offer.pool.index()].min(at, offer.length);
        free.clamp(0, i64::from(offer.nodes)) as u32
    }

    /// A booking was lifted for good.
    pub(in crate::policy) fn open(&mut self, taken: Taken) {
        let Taken { share, from, until, .. } = taken;
        let opening = &mut self.openings[share.pool.index()];
        *opening = opening.and(PoolOpening { from, until });
        self.rooms.give(from, until);
    }

    /// What a place is looked for in, and the nodes of all pools together.
    pub(super) fn parts(&mut self) -> (FreeParts<'_>, PoolsTogether<'_>) {
        let sound = self.lacking == 0;
        let Free { profiles, memory, licences, .. } = self;
        (
            FreeParts { profiles, memory, licences },
            PoolsTogether { sound, profile: &self.sum, rooms: &mut self.rooms },
        )
    }

    /// Gives nodes back without noting it, as they may be taken again.
    pub(in crate::policy) fn lift(&mut self, taken: Taken) {
        if let Some(licence) = self.licence(taken.share.pool) {
            return Capacity::give(licence, taken);
        }
        self.change_memory(&taken, Profile::give);
        self.change(taken.share.pool.index(), |profile| Capacity::give(profile, taken));
        Capacity::give(&mut self.sum, taken);
    }

    /// By pool, what has been given since the last call.
    pub(in crate::policy) fn opened(&mut self) -> impl Iterator<Item = PoolOpening> + '_ {
        self.openings.iter_mut().map(|opening| std::mem::replace(opening, PoolOpening::NONE))
    }
}

impl Capacity for Free {
    const LICENCES: bool = true;

    fn is_licence(&self, pool: PoolId) -> bool {
        pool.index() >= self.profiles.len()
    }

    fn now(&self) -> Time {
        self.sum.origin()
    }

    fn advance(&mut self, now: Time) {
        self.sum.advance(now);
        for pool in 0..self.changes.len() {
            if self.changes[pool] <= now {
                self.change(pool, |_| {});
            }
        }
    }

    fn clear(&mut self, now: Time) {
        Capacity::clear(&mut self.profiles, now);
        self.memory.iter_mut().chain(&mut self.licences).for_each(|it| it.clear(now));
        self.sum.clear(now);
        (0..self.profiles.len()).for_each(|pool| self.changed(pool));
        self.rooms = Rooms::default();
        self.openings.fill(PoolOpening::NONE);
    }

    fn take(&mut self, taken: Taken) {
        if let Some(licence) = self.licence(taken.share.pool) {
            return Capacity::take(licence, taken);
        }
        self.change_memory(&taken, Profile::take);
        self.change(taken.share.pool.index(), |profile| Capacity::take(profile, taken));
        Capacity::take(&mut self.sum, taken);
    }

    fn give(&mut self, taken: Taken) {
        self.lift(taken);
        self.open(taken);
    }

    fn fits(&self, taken: &Taken) -> bool {
        let licence = taken.share.pool.index().checked_sub(self.profiles.len());
        if let Some(at) = licence {
            return self.licences.get(at).is_some_and(|licence| Capacity::fits(licence, taken));
        }
        let memory = self.memory.get(taken.share.pool.index());
        self.profiles.fits(taken)
            && memory.is_none_or(|it| it.fits(taken.memory, taken.from, taken.until - taken.from))
    }
}

/// What is free, in all that is counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeParts<'f> {
    /// Nodes by pool.
    pub(super) profiles: &'f [Profile],
    /// Memory by pool; none where it is not counted.
    pub(super) memory: &'f [Profile],
    /// By licence.
    pub(super) licences: &'f [Profile],
}

/// All pools together. Where less than n nodes are free in the sum, no n nodes are free in any
/// pools.
pub(super) struct PoolsTogether<'f> {
    /// Whether no pool lacks nodes, at any moment: it would count against others.
    sound: bool,
    profile: &'f Profile,
    rooms: &'f mut Rooms,
}

impl PoolsTogether<'_> {
    /// The earliest of `starts` at which the sum does not say that there is no room. `lifted` is
    /// when the job that asks had nodes.
    pub(super) fn earliest(
        &mut self,
        wanted: RoomRequest,
        starts: Starts,
        lifted: Option<Starts>,
    ) -> Option<Time> {
        match self.sound {
            true => self.rooms.earliest(self.profile, wanted, starts, lifted),
            false => (starts.from < starts.until).then_some(starts.from),
        }
    }
}
