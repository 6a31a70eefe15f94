//! Where there may be room in a profile, by classes of width and length.
//!
//! A long queue asks the same profile again and again for much the same. So for each class it is
//! kept at which starts there may be room for the minimum job of the class. A search strikes out
//! what it passed without success; taking nodes changes nothing about that; where nodes are given
//! there may be room again. With c such pieces of time since the class was asked last, a question
//! costs O(c log c) and the search of those pieces alone, instead of a search from the beginning.

use std::collections::BTreeMap;

use tradewind_model::{Profile, Span, Time};

use super::search::Starts;

/// So many pieces of given time are remembered for classes that are seldom asked.
const REMEMBERED: usize = if cfg!(test) { 4 } else { 2_048 };

/// What is known of a profile.
#[derive(Debug, Clone, Default)]
pub(super) struct Rooms {
    classes: BTreeMap<(u32, Span), RoomClass>,
    /// Times at which nodes were given, in that order.
    given: Vec<(Time, Time)>,
    /// How many of them have been forgotten.
    forgotten: usize,
}

#[derive(Debug, Clone)]
struct RoomClass {
    /// Starts at which there may be room, in order and apart.
    starts: Vec<Starts>,
    /// How much of what was given is among them.
    seen: usize,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoomRequest {
    pub(super) nodes: u32,
    pub(super) length: Span,
}

impl RoomRequest {
    /// The minimum of its class: the first three binary digits count.
    fn class(self) -> RoomRequest {
        let digits = |number: u64| {
            let shift = (u64::BITS - number.leading_zeros()).saturating_sub(3);
            number >> shift << shift
        };
        let length = digits(self.length.0.max(1).unsigned_abs());
        RoomRequest { nodes: digits(u64::from(self.nodes)) as u32, length: Span(length as i64) }
    }

    /// The earliest start in the profile.
    fn earliest(self, profile: &Profile, starts: Starts) -> Option<Time> {
        profile.earliest_before(self.nodes, self.length, starts.from, starts.until)
    }
}

impl Rooms {
    /// Nodes are free again during `[from, until)`.
    pub(super) fn give(&mut self, from: Time, until: Time) {
        self.given.push((from, until));
        if self.given.len() >= 2 * REMEMBERED {
            self.given.drain(..REMEMBERED);
            self.forgotten += REMEMBERED;
        }
    }

    /// The earliest of `starts` at which there is room. `lifted` is a time during which nodes were
    /// given that will be taken again. Exact.
    pub(super) fn earliest(
        &mut self,
        profile: &Profile,
        wanted: RoomRequest,
        starts: Starts,
        lifted: Option<Starts>,
    ) -> Option<Time> {
        let min = wanted.class();
        let class = self.classes.entry((min.nodes, min.length)).or_insert_with(RoomClass::new);
        class.follow(&self.given, self.forgotten, min.length);
        let found = class.earliest(profile, (min, wanted), starts);
        let lifted = lifted.and_then(|Starts { from, until }| {
            let from = starts.from.max(from - wanted.length + Span(1));
            let until = starts.until.min(until).min(found.unwrap_or(Time::INFINITY));
            (from < until).then(|| wanted.earliest(profile, Starts { from, until }))?
        });
        lifted.or(found)
    }
}

impl RoomClass {
    fn new() -> RoomClass {
        RoomClass { starts: vec![Starts::from(Time(-Time::INFINITY.0))], seen: 0 }
    }

    /// Takes note of what was given.
    fn follow(&mut self, given: &[(Time, Time)], forgotten: usize, length: Span) {
        let Some(from) = self.seen.checked_sub(forgotten) else {
            *self = RoomClass { seen: forgotten + given.len(), ..RoomClass::new() };
            return;
        };
        let new = &given[from..];
        self.seen += new.len();
        if new.is_empty() {
            return;
        }
        let touching =
            |(from, until): &(Time, Time)| Starts { from: *from - length + Span(1), until: *until };
        self.starts.extend(new.iter().map(touching));
        // Stable, as the first of them are in order already.
        self.starts.sort_by_key(|starts| starts.from);
        self.starts.dedup_by(|later, first| {
            let joins = later.from <= first.until;
            if joins {
                first.until = first.until.max(later.until);
            }
            joins
        });
    }

    /// The earliest of `among` for the job, and strikes out what is without success for all of the
    /// class.
    fn earliest(
        &mut self,
        profile: &Profile,
        (min, job): (RoomRequest, RoomRequest),
        among: Starts,
    ) -> Option<Time> {
        let mut found = None;
        let mut kept = Vec::with_capacity(self.starts.len() + 1);
        let mut rest = self.starts.drain(..).skip_while(|it| it.until <= profile.origin());
        for starts in rest.by_ref() {
            let from = starts.from.max(among.from);
            let until = starts.until.min(among.until);
            if from >= until {
                kept.push(starts);
                if starts.from >= among.until {
                    break;
                }
                continue;
            }
            if starts.from < from {
                kept.push(Starts { from: starts.from, until: from });
            }
            let first = min.earliest(profile, Starts { from, until });
            let left = first.unwrap_or(until);
            if left < starts.until {
                kept.push(Starts { from: left, until: starts.until });
            }
            found = first.and_then(|from| job.earliest(profile, Starts { from, until }));
            if found.is_some() {
                break;
            }
        }
        kept.extend(rest);
        self.starts = kept;
        found
    }
}
