//! What a second of a job's time is: a second of the clock, or of work on the reference node.

use crate::{Performance, Span};

/// How times are counted on some nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Times {
    /// Seconds of work on a node of performance 1: faster nodes take less time.
    #[default]
    Work,
    /// Seconds of the clock: the same time on all nodes.
    Wall,
}

impl Times {
    /// How long `span` takes on nodes of this performance: rounded up, at least 1 s for any work.
    pub fn length_of(self, span: Span, performance: Performance) -> Span {
        match self {
            Times::Wall => span,
            Times::Work if performance == Performance::REFERENCE => span,
            Times::Work => performance.length_of(span),
        }
    }
}

/// How the times of a job are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeMode {
    /// The same way on all nodes.
    Fixed(Times),
    /// As the owner of the nodes says.
    Owner,
}

impl Default for TimeMode {
    /// As work, which simulations and scenarios use.
    fn default() -> TimeMode {
        TimeMode::WORK
    }
}

impl TimeMode {
    /// Work on the reference node, wherever the job runs.
    pub const WORK: TimeMode = TimeMode::Fixed(Times::Work);
    /// Wall-clock time, wherever the job runs.
    pub const WALL: TimeMode = TimeMode::Fixed(Times::Wall);

    /// How times are counted on nodes whose owner says `owner`.
    pub fn at(self, owner: Times) -> Times {
        match self {
            TimeMode::Fixed(times) => times,
            TimeMode::Owner => owner,
        }
    }
}

/// The longest of several times that may be counted in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Longest {
    /// Of those that are work, in seconds of the reference node.
    pub work: Span,
    /// Of those that are wall-clock time.
    pub wall: Span,
    /// Of those that are counted as the owner of the nodes says.
    pub owner: Span,
}

impl Longest {
    /// Of one time.
    pub fn of(span: Span, mode: TimeMode) -> Longest {
        let mut longest = Longest::default();
        *longest.field(mode) = span;
        longest
    }

    fn field(&mut self, mode: TimeMode) -> &mut Span {
        match mode {
            TimeMode::Fixed(Times::Work) => &mut self.work,
            TimeMode::Fixed(Times::Wall) => &mut self.wall,
            TimeMode::Owner => &mut self.owner,
        }
    }

    /// The longest of both.
    pub fn max(self, other: Longest) -> Longest {
        Longest {
            work: self.work.max(other.work),
            wall: self.wall.max(other.wall),
            owner: self.owner.max(other.owner),
        }
    }

    /// One time that is on no nodes shorter than any of these, if none has a higher performance
    /// than `fastest`. Exact where all are counted in one way, else longer on some nodes.
    pub fn estimate(self, fastest: Performance) -> (Span, TimeMode) {
        let none = Span::ZERO;
        if self.wall == none && self.owner == none {
            return (self.work, TimeMode::WORK);
        }
        if self.work == none && self.owner == none {
            return (self.wall, TimeMode::WALL);
        }
        if self.work == none && self.wall == none {
            return (self.owner, TimeMode::Owner);
        }
        let wall = fastest.work_in(self.wall.max(self.owner));
        (self.work.max(self.owner).max(wall), TimeMode::WORK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn performance(thousandths: u32) -> Performance {
        Performance::from_thousandths(thousandths).unwrap()
    }

    #[test]
    fn wall_time_is_the_same_on_all_nodes() {
        for thousandths in [1, 500, 1_000, 2_000, 1_000_000_000] {
            let here = performance(thousandths);
            assert_eq!(Times::Wall.length_of(Span(3_600), here), Span(3_600));
            assert_eq!(Times::Work.length_of(Span(3_600), here), here.length_of(Span(3_600)));
        }
    }

    #[test]
    fn the_owner_is_asked_where_no_other_rule_applies() {
        for owner in [Times::Work, Times::Wall] {
            assert_eq!(TimeMode::Owner.at(owner), owner);
            assert_eq!(TimeMode::WALL.at(owner), Times::Wall);
            assert_eq!(TimeMode::WORK.at(owner), Times::Work);
        }
    }

    #[test]
    fn work_in_a_span_takes_that_span() {
        for thousandths in [1, 333, 1_000, 1_001, 2_500] {
            let here = performance(thousandths);
            for span in [1, 59, 60, 3_600] {
                let work = here.work_in(Span(span));
                assert!(here.length_of(work) >= Span(span), "{thousandths} {span}");
                assert!(here.length_of(work).0 <= span + 1_000 / i64::from(thousandths) + 1);
            }
        }
    }

    #[test]
    fn no_time_is_longer_than_the_one_that_stands_for_all() {
        let modes = [TimeMode::WORK, TimeMode::WALL, TimeMode::Owner];
        let speeds = [250, 1_000, 3_000];
        let times: Vec<(Span, TimeMode)> =
            modes.into_iter().flat_map(|mode| [(Span(7), mode), (Span(20), mode)]).collect();
        for first in &times {
            for second in &times {
                let all = Longest::of(first.0, first.1).max(Longest::of(second.0, second.1));
                let (span, mode) = all.estimate(performance(3_000));
                for (speed, owner) in
                    speeds.into_iter().flat_map(|it| [(it, Times::Work), (it, Times::Wall)])
                {
                    let length = |(span, mode): (Span, TimeMode)| {
                        mode.at(owner).length_of(span, performance(speed))
                    };
                    let longest = length(*first).max(length(*second));
                    assert!(length((span, mode)) >= longest, "{first:?} {second:?}");
                    if first.1 == second.1 {
                        assert_eq!(length((span, mode)), longest);
                    }
                }
            }
        }
    }
}
