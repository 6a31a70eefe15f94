//! Processors that became free, and who could move there.

use tradewind_model::{Level, Profile, Span, Time};

use super::shelves::Limits;
use super::waiting::Rank;

/// More processors have become free in `[from, until)`: a job can have come to fit somewhere
/// earlier than its reservation only where its new place touches such an opening.
#[derive(Debug, Clone)]
pub(super) struct FreedInterval {
    from: Time,
    until: Time,
    /// Jobs before this one have not been looked at since; `None`: no job has.
    pub(super) before: Option<Rank>,
    /// What room there is around the opening, by ever fewer processors.
    room: Vec<FreeRoom>,
}

/// Around an opening so many processors are free somewhere in `[since, until)`, for `longest`
/// without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FreeRoom {
    processors: i64,
    since: Time,
    until: Time,
    longest: Span,
}

impl FreedInterval {
    pub(super) fn new(from: Time, until: Time, before: Option<Rank>) -> FreedInterval {
        FreedInterval { from, until, before, room: Vec::new() }
    }

    /// Whether all of it is past.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until <= now
    }

    /// Measures the room again. O(k + log n) with k steps of the profile within the opening.
    pub(super) fn measure(&mut self, profile: &Profile, outline: &mut FreeOutline) {
        outline.draw(profile, self.from.max(profile.origin()), self.until);
        outline.rooms(&mut self.room);
    }

    /// Which jobs of this width may have come to fit earlier. A superset: what the widest room,
    /// the longest and the earliest one allow together. `None`: no job of this width or wider.
    pub(super) fn limits(&self, processors: u32) -> Option<Limits> {
        let enough = |room: &FreeRoom| room.processors >= i64::from(processors);
        let at = self.room.partition_point(enough).checked_sub(1)?;
        let FreeRoom { since, until, longest, .. } = self.room[at];
        Some(Limits { after: since, until, longest })
    }
}

/// The free processors in and around an opening. To its left and right only the ever lower levels
/// count, as they are available together with the opening.
#[derive(Debug, Clone, Default)]
pub(super) struct FreeOutline {
    /// Ascending; each level holds up to the next one's moment, the last is nothing.
    levels: Vec<Level>,
    left: Vec<Level>,
    right: Vec<Level>,
    /// Levels that rise, from those that are not over yet.
    rising: Vec<Level>,
}

impl FreeOutline {
    fn draw(&mut self, profile: &Profile, from: Time, until: Time) {
        let FreeOutline { levels, left, right, .. } = self;
        levels.clear();
        left.clear();
        right.clear();
        profile.lows_back(from, left);
        profile.levels(from, until, levels);
        profile.running_minima(until, right);
        let cap = |side: &mut Vec<Level>, inner: i64| {
            side.iter_mut().for_each(|level| level.free = level.free.min(inner));
        };
        if let (Some(first), Some(last)) = (levels.first().copied(), levels.last().copied()) {
            cap(left, first.free);
            cap(right, last.free);
        }
        left.reverse();
        left.append(levels);
        left.append(right);
        std::mem::swap(left, levels);
        let end = levels.last().filter(|level| level.free > 0);
        levels.extend(end.map(|_| Level { at: Time::INFINITY, free: 0 }));
    }

    /// The largest rectangles under the outline, from the highest down; each takes in what the
    /// higher ones allow. One pass over the levels with a stack, then a sort of the rectangles.
    fn rooms(&mut self, rooms: &mut Vec<FreeRoom>) {
        rooms.clear();
        self.rising.clear();
        for &Level { at, free } in &self.levels {
            let mut since = at;
            while let Some(&higher) = self.rising.last()
                && higher.free >= free
            {
                self.rising.pop();
                since = higher.at;
                if higher.free > free.max(0) {
                    let (since, longest) = (higher.at, at - higher.at);
                    rooms.push(FreeRoom { processors: higher.free, since, until: at, longest });
                }
            }
            self.rising.push(Level { at: since, free });
        }
        rooms.sort_unstable_by_key(|room| std::cmp::Reverse(room.processors));
        for at in 1..rooms.len() {
            let higher = rooms[at - 1];
            let room = &mut rooms[at];
            room.since = room.since.min(higher.since);
            room.until = room.until.max(higher.until);
            room.longest = room.longest.max(higher.longest);
        }
    }
}
