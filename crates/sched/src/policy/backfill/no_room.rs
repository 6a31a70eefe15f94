//! Where searches have found no room, so that later ones pass over it.
//!
//! Time is cut into blocks. Once all starts in a block were tried for a job without result, no job that is
//! as wide and as long, or more so, fits at any of them, until processors become free that such a
//! start can reach: in the block itself, or after it without a gap. With reservations for all jobs
//! and estimates that are too long, each early end moves half of the queue, and each move is a
//! search of its own; without this it would try all gaps that were too small for the job before.
//!
//! Widths are taken in classes, two per power of two. With n changes in the profile a search looks
//! at one number for each of n / 32 blocks, and at the changes of those blocks about which nothing
//! is known; an opening costs the steps within it and the levels before it.

use tradewind_model::{Level, Profile, Span, Time};

/// Changes of the profile in a block.
const BLOCK: usize = if cfg!(test) { 2 } else { 32 };

/// In a profile with fewer changes it is quicker to search.
const LONG: usize = 512;

/// With more openings between two searches all is forgotten.
const MOST_OPENINGS: usize = 4_096;

/// What is known, and what became free since.
#[derive(Debug, Clone)]
pub(super) struct NoRoom {
    /// [`LONG`], but in tests.
    pub(super) long: usize,
    /// Whether all openings are reported.
    is_told: bool,
    /// Where blocks begin, ascending; the last has no end.
    begins: Vec<Time>,
    /// Changes of the profile when blocks were cut.
    changes: usize,
    /// By class of widths, then by block: at no start in the block there is room of the class's
    /// width for so long.
    in_vain: Vec<Vec<Span>>,
    opened: Vec<(Time, Time)>,
    /// Buffers.
    levels: Vec<Level>,
    lows: Vec<Level>,
}

impl Default for NoRoom {
    fn default() -> NoRoom {
        NoRoom {
            long: LONG,
            is_told: false,
            begins: Vec::new(),
            changes: 0,
            in_vain: Vec::new(),
            opened: Vec::new(),
            levels: Vec::new(),
            lows: Vec::new(),
        }
    }
}

/// The smallest width of a class: 1, 2, 3, 4, 6, 8, 12, 16, …
fn width_of(class: usize) -> i64 {
    match class {
        0 => 1,
        _ => (2 + (class as i64 - 1) % 2) << ((class - 1) / 2),
    }
}

/// The last class whose width is at most this one, which is at least 1.
fn class_below(width: i64) -> usize {
    let log = width.ilog2() as usize;
    match log {
        0 => 0,
        _ => 2 * log - 1 + usize::from(width >> (log - 1) & 1 == 1),
    }
}

/// The first class whose width is at least this one.
fn class_above(width: i64) -> usize {
    let below = class_below(width);
    below + usize::from(width_of(below) < width)
}

impl NoRoom {
    /// From now on each opening is reported by [`NoRoom::open`].
    pub(super) fn is_told_of_openings(&mut self) {
        self.is_told = true;
    }

    /// Nothing is known any more.
    pub(super) fn clear(&mut self) {
        self.begins.clear();
        self.opened.clear();
    }

    /// Processors became free in `[from, until)`.
    pub(super) fn open(&mut self, from: Time, until: Time) {
        if self.opened.len() == MOST_OPENINGS {
            self.clear();
        }
        if !self.begins.is_empty() {
            self.opened.push((from, until));
        }
    }

    /// The same as [`Profile::earlier`].
    pub(super) fn earlier(
        &mut self,
        profile: &Profile,
        (processors, span): (u32, Span),
        (from, held): (Time, Time),
    ) -> Option<Time> {
        if !self.is_told || processors == 0 || profile.changes() < self.long {
            self.clear();
            return profile.earlier(processors, span, from, held);
        }
        self.bring_up_to_date(profile);
        let from = from.max(profile.origin());
        let class = class_below(i64::from(processors));
        self.reach(class);
        // Blocks from which every start has room for all of the span before `held`.
        let whole = self.begins.partition_point(|begin| *begin + span <= held).saturating_sub(1);
        let mut block = self.block_of(from);
        while block < whole {
            if self.in_vain[class][block] <= span {
                block += 1;
                continue;
            }
            let (begin, end) = (self.begins[block], self.begins[block + 1]);
            let found = profile.earliest_before(processors, span, begin.max(from), end);
            if found.is_some() {
                return found;
            }
            if from <= begin.max(profile.origin()) {
                self.learn(block, processors, span);
            }
            block += 1;
        }
        let rest = self.begins.get(whole).map_or(from, |begin| from.max(*begin));
        profile.earlier(processors, span, rest, held)
    }

    /// The block of a moment.
    fn block_of(&self, at: Time) -> usize {
        self.begins.partition_point(|begin| *begin <= at).saturating_sub(1)
    }

    /// Makes room for a class: what is true of a width is true of those that are wider.
    fn reach(&mut self, class: usize) {
        while self.in_vain.len() <= class {
            let fresh = || vec![Span::MAX; self.begins.len()];
            let row = self.in_vain.last().cloned().unwrap_or_else(fresh);
            self.in_vain.push(row);
        }
    }

    fn learn(&mut self, block: usize, processors: u32, span: Span) {
        let first = class_above(i64::from(processors));
        for row in self.in_vain.iter_mut().skip(first) {
            row[block] = row[block].min(span);
        }
    }

    fn bring_up_to_date(&mut self, profile: &Profile) {
        let changes = profile.changes();
        let fits = changes <= 2 * self.changes && self.changes <= 2 * changes;
        let past = self.block_of(profile.origin());
        if self.begins.is_empty() || !fits || 2 * past > self.begins.len() {
            return self.cut(profile);
        }
        for (from, until) in std::mem::take(&mut self.opened) {
            self.reopen(profile, from.max(profile.origin()), until);
        }
    }

    /// Cuts blocks, about which nothing is known.
    fn cut(&mut self, profile: &Profile) {
        self.clear();
        self.in_vain.clear();
        self.levels.clear();
        profile.levels(profile.origin(), Time::INFINITY, &mut self.levels);
        self.begins.extend(self.levels.iter().step_by(BLOCK).map(|level| level.at));
        self.changes = profile.changes();
    }

    /// Forgets what may not be true any more after processors became free in `[from, until)`.
    fn reopen(&mut self, profile: &Profile, from: Time, until: Time) {
        if from >= until {
            return;
        }
        let NoRoom { levels, lows, .. } = self;
        levels.clear();
        lows.clear();
        profile.levels(from, until, levels);
        profile.lows_back(from, lows);
        let top = self.levels.iter().map(|level| level.free).max().unwrap_or(0);
        if top < 1 {
            return;
        }
        let last = self.begins.partition_point(|begin| *begin < until);
        let (mut reached, mut lows) = (from, self.lows.iter().peekable());
        for class in (0..=class_below(top)).rev() {
            while let Some(low) = lows.next_if(|low| low.free >= width_of(class)) {
                reached = low.at;
            }
            let first = self.begins.partition_point(|begin| *begin <= reached).saturating_sub(1);
            if let Some(row) = self.in_vain.get_mut(class) {
                row[first.min(last)..last].fill(Span::MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn classes_ascend_and_bound_widths_on_both_sides() {
        let widths: Vec<i64> = (0..8).map(width_of).collect();
        assert_eq!(widths, [1, 2, 3, 4, 6, 8, 12, 16]);
        for width in 1..5_000 {
            let (below, above) = (class_below(width), class_above(width));
            assert!(width_of(below) <= width && width < width_of(below + 1));
            assert!(width <= width_of(above) && above <= below + 1);
        }
    }

    /// A step: processors are taken or given back, time passes, or a place is looked for.
    #[derive(Debug, Clone)]
    enum Step {
        Take(u32, i64, i64),
        Give(usize),
        Advance(i64),
        Search(u32, i64, i64, i64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1u32..9, 0i64..300, 1i64..40).prop_map(|(w, at, span)| Step::Take(w, at, span)),
            2 => any::<usize>().prop_map(Step::Give),
            1 => (0i64..10).prop_map(Step::Advance),
            6 => (1u32..20, 1i64..40, 0i64..100, 0i64..400)
                .prop_map(|(w, span, from, held)| Step::Search(w, span, from, held)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn a_search_finds_what_it_finds_without_a_memory(
            steps in prop::collection::vec(step(), 1..120),
        ) {
            let mut profile = Profile::new(16, Time(0));
            let mut memory = NoRoom { long: 1, ..NoRoom::default() };
            memory.is_told_of_openings();
            let mut taken: Vec<(u32, Time, Time)> = Vec::new();
            for step in steps {
                let now = profile.origin();
                match step {
                    Step::Take(width, at, span) => {
                        let (from, until) = (now + Span(at), now + Span(at + span));
                        profile.take(width, from, until);
                        taken.push((width, from, until));
                    }
                    Step::Give(which) if !taken.is_empty() => {
                        let (width, from, until) = taken.swap_remove(which % taken.len());
                        profile.give(width, from, until);
                        memory.open(from, until);
                    }
                    Step::Give(_) => {}
                    Step::Advance(by) => profile.advance(now + Span(by)),
                    Step::Search(width, span, from, held) => {
                        let from = if from < 50 { now } else { now + Span(from) };
                        let held = if held < 200 { Time::INFINITY } else { now + Span(held) };
                        let job = (width, Span(span));
                        let found = memory.earlier(&profile, job, (from, held));
                        prop_assert_eq!(found, profile.earlier(width, Span(span), from, held));
                    }
                }
            }
        }
    }
}
