//! Expected starts with their ranges, and how ranges held.

use tradewind_daemon::live::state::{Phase, State, waits};
use tradewind_daemon::live::waits::LEVELS;
use tradewind_model::{Span, Time};

use crate::documents::{Expectation, RangeScore, StartRange, StartRanges, StartsWithin, WhatIf};

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

/// Gives the starts of a what-if their ranges, as those of plans have them: for jobs that wait and to
/// which nothing was promised.
pub(crate) fn in_whatif(state: &State, found: &mut WhatIf) {
    let at = Time(found.from);
    for change in &mut found.changes {
        let job = state.jobs.get(&change.job).filter(|job| job.phase() == Phase::Waiting);
        let Some(asked) = job.and_then(|job| Some((job.nodes(), state.asked_limit(job)?))) else {
            continue;
        };
        for fate in [&mut change.before, &mut change.after] {
            let ranges = fate.start.and_then(|start| state.start_ranges((at, Time(start)), asked));
            fate.ranges = ranges.map(|it| document(&it));
        }
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

#[cfg(test)]
mod tests {
    use tradewind_daemon::codec::{Codec as _, Json};

    use super::*;

    /// A market that knows so many scores: waits of half to twice the expected ones.
    fn knows(scores: i64) -> State {
        let count = scores;
        let scores: Vec<String> =
            (0..scores).map(|it| (500_000 + it * 1_500_000 / scores).to_string()).collect();
        let body = String::from_utf8(Json.state(&State::empty(Time(0)))).unwrap();
        let levels = [25, 100, 250, 500, 750, 900, 975].map(|it| format!("{it}000000")).join(",");
        let head = format!(r#"{{"levels":[{levels},0,0,0,{count}],"held":[]}}"#);
        let scores = format!("[[0,[-2,0,1,{count},{}]]]", scores.join(","));
        let waits =
            format!(r#","rules":4,"waits":{{"head":{head},"scores":{scores},"open":[]}}}}"#);
        let body = format!("{}{waits}", body.strip_suffix('}').unwrap());
        Json.read_state(Json::VERSION, body.as_bytes()).unwrap()
    }

    #[test]
    fn there_are_ranges_where_enough_is_known_and_nothing_was_promised() {
        let ahead = (Time(1_000), Time(4_600));
        let asked = Some((1, Span(60)));
        let few = expectation(&knows(39), ahead, asked);
        assert!(few.ranges.is_none() && few.lacks_starts());
        assert_eq!(
            (few.at, few.early, few.late, few.samples, few.needed),
            (4_600, 4_600, 4_600, 39, 40)
        );
        let state = knows(400);
        let said = expectation(&state, ahead, asked);
        let most = said.most().unwrap();
        assert_eq!((said.early, said.late, said.samples), (most.from, most.to, 400));
        assert!(1_000 < most.from && most.from < 4_600 && 4_600 < most.to, "{said:?}");
        assert_eq!(most.percent, 80);
        let promised = expectation(&state, ahead, None);
        assert!(promised.ranges.is_none() && !promised.lacks_starts());
        let at_once = expectation(&state, (Time(1_000), Time(1_000)), asked);
        assert!(at_once.ranges.is_none() && !at_once.lacks_starts());
    }

    #[test]
    fn a_score_has_shares() {
        assert_eq!(score(&waits::RangeScore::default()), None);
        let it = score(&waits::RangeScore { starts: 7, within: [3, 6, 7] }).unwrap();
        assert_eq!(it.shares().collect::<Vec<_>>(), [(50, 43), (80, 86), (95, 100)]);
    }
}
