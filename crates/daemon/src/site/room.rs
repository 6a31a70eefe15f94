//! What others have of a host that is sold in units, and what they leave.
//!
//! A host with free processors c and free memory m has min(⌊c / N⌋, ⌊m / M⌋) units of N processors and
//! M megabytes. Jobs of others need no multiples, so what one of them keeps from the market depends on
//! the others: two jobs of half a unit each may be in one unit. In order of their ends, the last
//! first, each job counts with the units that are free without it and not with it; so at each of their
//! ends the sum over those that still run is exactly what the host has less. The market's own
//! jobs have whole units: they change nothing of this.

use tradewind_model::Time;

/// Processors (or slots, as the manager counts) and memory of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::site) struct Room {
    pub cores: u32,
    /// Megabytes.
    pub memory: u64,
}

impl Room {
    /// Both together.
    fn and(self, other: Room) -> Room {
        Room {
            cores: self.cores.saturating_add(other.cores),
            memory: self.memory.saturating_add(other.memory),
        }
    }

    /// What is left beside `used`.
    pub(in crate::site) fn without(self, used: Room) -> Room {
        Room {
            cores: self.cores.saturating_sub(used.cores),
            memory: self.memory.saturating_sub(used.memory),
        }
    }

    /// What others `held` of this, in order of their ends, the last first: the units that each keeps
    /// from the market until it ends. `units` says how many there are in so much.
    fn kept(self, held: &[Room], units: impl Fn(Room) -> u32) -> Vec<u32> {
        let all = units(self);
        let (mut used, mut taken) = (Room::default(), 0);
        let kept = held.iter().map(|more| {
            used = used.and(*more);
            let now = all.saturating_sub(units(self.without(used)));
            now - std::mem::replace(&mut taken, now)
        });
        kept.collect()
    }
}

/// What a job or a reservation of others has of a host.
#[derive(Debug, Clone)]
pub(in crate::site) struct HostHold<T> {
    /// Who it is: of equals, the smaller one ends later.
    pub of: T,
    pub room: Room,
    pub from: Time,
    pub until: Time,
}

/// The holds on a host, and how many units each takes from the market. Of those that are there
/// `now`, two that share a unit are counted once, for the one that leaves it last; each later one
/// counts by itself. O(n log n).
pub(in crate::site) fn taken<T: Ord>(
    holds: Vec<HostHold<T>>,
    whole: Room,
    now: Time,
    units: impl Fn(Room) -> u32,
) -> Vec<(HostHold<T>, u32)> {
    let (mut current, later): (Vec<_>, Vec<_>) =
        holds.into_iter().partition(|hold| hold.from <= now);
    current.sort_by(|one, other| (other.until, &one.of).cmp(&(one.until, &other.of)));
    let rooms: Vec<Room> = current.iter().map(|hold| hold.room).collect();
    let together = whole.kept(&rooms, &units);
    let alone: Vec<u32> = later.iter().flat_map(|hold| whole.kept(&[hold.room], &units)).collect();
    current.into_iter().chain(later).zip(together.into_iter().chain(alone)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::site::size::UnitSize;

    #[test]
    fn two_halves_of_a_unit_are_one() {
        let unit = UnitSize { cores: 4, memory: 1_000 };
        let host = Room { cores: 16, memory: 4_000 };
        let kept = |held: [Room; 2]| host.kept(&held, |room| unit.within(room.cores, room.memory));
        let half = Room { cores: 2, memory: 300 };
        assert_eq!(kept([Room { cores: 2, memory: 700 }, half]), [1, 0]);
        assert_eq!(kept([Room { cores: 1, memory: 1_001 }, half]), [2, 0]);
        assert_eq!(unit.covering(1, 1_001), 2);
    }

    #[test]
    fn what_is_there_shares_units_and_what_comes_does_not() {
        let hold = |of, cores, from, until| {
            let room = Room { cores, memory: 0 };
            HostHold { of, room, from: Time(from), until: Time(until) }
        };
        let there = [hold("b", 1, 0, 20), hold("d", 1, 0, 30), hold("a", 1, 5, 20)];
        let holds = there.into_iter().chain([hold("c", 1, 9, 50)]).collect();
        let found = taken(holds, Room { cores: 8, memory: 0 }, Time(5), |room| room.cores / 2);
        let found: Vec<_> = found.iter().map(|(hold, units)| (hold.of, *units)).collect();
        assert_eq!(found, [("d", 1), ("a", 0), ("b", 1), ("c", 1)]);
    }

    proptest! {
        /// At any moment, what the remaining jobs keep is what the host has less.
        #[test]
        fn the_sum_is_what_the_host_lacks_at_every_moment(
            (cores, memory) in (1u32..40, 0u64..400),
            (each_cores, each) in (1u32..6, 1u64..60),
            held in prop::collection::vec((1u32..9, 0u64..90), 0..7),
        ) {
            let (host, unit) = (Room { cores, memory }, UnitSize { cores: each_cores, memory: each });
            let held: Vec<Room> =
                held.into_iter().map(|(cores, memory)| Room { cores, memory }).collect();
            let units = |room: Room| unit.within(room.cores, room.memory);
            let kept = host.kept(&held, units);
            // The first of them are left at the end.
            for left in 0..=held.len() {
                let used = held[..left].iter().fold(Room::default(), |sum, it| sum.and(*it));
                let sum: u32 = kept[..left].iter().sum();
                prop_assert_eq!(units(host) - sum, units(host.without(used)));
            }
        }
    }
}
