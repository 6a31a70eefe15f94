//! Expected starts with their ranges, and how ranges held.

use tradewind_daemon::live::state::State;
use tradewind_daemon::live::waits::{self, LEVELS};
use tradewind_model::{Span, Time};

use crate::documents::{Expectation, RangeScore, StartRange, StartRanges, StartsWithin};

/// What a look-ahead at the moment `at` says of a job of so many nodes with this time limit, `None`
/// if a promise was made to it.
pub(crate) fn expectation(
    state: &State,
    (at, expected): (Time, Time),
    asked: Option<(u32, Span)>,
) -> Expectation {
    let (samples, needed) = state.known_starts();
    let found = asked.and_then(|asked| state.start_ranges((at, expected), asked));
    let ranges = found.map(|it| document(&it));
    let most = ranges.map_or((expected.0, expected.0), |it| (it.within[1].from, it.within[1].to));
    Expectation {
        at: expected.0,
        early: most.0,
        late: most.1,
        samples: samples as u32,
        needed: if asked.is_some() { needed as u32 } else { 0 },
        ranges,
    }
}

fn document(it: &waits::StartRanges) -> StartRanges {
    let range = |level: usize| {
        let (from, to) = it.ranges[level];
        StartRange { percent: LEVELS[level].into(), from: from.0, to: to.0 }
    };
    StartRanges { median: it.median.0, within: [range(0), range(1), range(2)] }
}

/// `None`: no start was compared yet.
pub(crate) fn score(it: &waits::RangeScore) -> Option<RangeScore> {
    let within = LEVELS.iter().zip(it.within);
    let within = within.map(|(level, starts)| StartsWithin { percent: (*level).into(), starts });
    (it.starts > 0).then(|| RangeScore { starts: it.starts, within: within.collect() })
}
