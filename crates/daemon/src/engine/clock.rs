//! The market's time, and the system's clock.
//!
//! The market's time never goes back: records are in its order. So when the clock is set back, the
//! market's time goes on from where it is, second by second, and is ahead of the clock from then on
//! by its *lead*, which is part of the state. Moments that come from outside are of the clock, and
//! are converted on arrival: those of sites here, those of people where live/ reads them.
//! A clock that is set forward takes the lead back as far as it goes. While no job is unfinished
//! nothing needs time to go on: it stands until the clock has caught up, and the lead is gone.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_model::{Span, Time};

use crate::live::state::{State, TaskReport};
use crate::live::{Act, Instruction};
use crate::site::queued::{Blocked, QueuedJob};
use crate::site::{Aside, Exit, LocalTask, Seen, Survey, Tag};

/// Steps of the clock up to this are followed: back, the market's time stands still so long.
const SMALL: Span = Span(5);

/// Seconds since 1970, by the system's clock.
pub(super) fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_secs()).unwrap_or(0))
}

/// What a reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockReading {
    /// The market's time.
    pub at: Time,
    /// By how much it is ahead of the system's clock.
    pub lead: Span,
    /// What happened to the clock since the last reading.
    pub step: Option<ClockStep>,
}

/// Something that happened to the system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockStep {
    /// It was set back.
    Back(Span),
    /// It was set forward, or the machine slept.
    Forward(Span),
    /// The market's time has waited for it, with nothing to do, and is the same again.
    CaughtUp,
}

/// What the market's time depends on beside the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Market {
    /// The moment of its last record.
    pub last: Time,
    /// Its present lead.
    pub lead: Span,
    /// Nothing waits for time to pass.
    pub is_idle: bool,
}

/// Compares the system's clock with one that cannot be set.
#[derive(Debug)]
pub(super) struct Clock {
    begin: Instant,
    /// At the last reading: what the market's time was without rest, and how long we had run.
    before: Option<(Time, Duration)>,
}

impl Clock {
    pub(super) fn new() -> Clock {
        Clock { begin: Instant::now(), before: None }
    }

    /// The market's time now, and what happened to the clock; steps are said in the log.
    pub(super) fn read(&mut self, market: Market) -> ClockReading {
        let reading = self.reading(wall(), self.begin.elapsed(), market);
        report(&reading);
        reading
    }

    /// The same, if the clock shows `wall` and we have run for `ran`.
    fn reading(&mut self, wall: Time, ran: Duration, market: Market) -> ClockReading {
        let passed = |then: Duration| {
            Span(i64::try_from(ran.saturating_sub(then).as_secs()).unwrap_or(i64::MAX >> 1))
        };
        // Without steps, it would be this by now.
        let steady = self.before.map(|(at, then)| at + passed(then));
        let due = wall + market.lead;
        let (mut lead, mut step) = (market.lead, None);
        let expected = steady.unwrap_or(market.last).max(market.last);
        if expected - due > SMALL {
            lead = expected - wall;
            step = Some(ClockStep::Back(expected - due));
        } else if let Some(by) = steady.map(|steady| due - steady).filter(|by| *by > SMALL) {
            lead = Span((market.lead.0 - by.0).max(0));
            step = Some(ClockStep::Forward(by));
        }
        self.before = Some((wall + lead, ran));
        if market.is_idle && lead > Span::ZERO {
            if wall < market.last {
                return ClockReading { at: market.last, lead, step };
            }
            self.before = Some((wall, ran));
            return ClockReading {
                at: wall,
                lead: Span::ZERO,
                step: step.or(Some(ClockStep::CaughtUp)),
            };
        }
        ClockReading { at: (wall + lead).max(market.last), lead, step }
    }
}

fn report(reading: &ClockReading) {
    let lead = reading.lead.0;
    match reading.step {
        Some(ClockStep::Back(by)) => tracing::warn!(
            by = by.0,
            lead,
            "the system clock went back by {} s: the market's time goes on, and is {lead} s ahead \
             of the clock from now on",
            by.0
        ),
        Some(ClockStep::Forward(by)) => tracing::warn!(
            by = by.0,
            lead,
            "the system clock went forward by {} s, or the machine slept; the market's time is \
             {lead} s ahead of the clock",
            by.0
        ),
        Some(ClockStep::CaughtUp) => {
            tracing::info!("the system clock has caught up with the market's time");
        }
        None => {}
    }
}

/// Orders as sites get them: with moments of the system's clock.
pub(super) fn orders(mut all: Vec<Instruction>, lead: Span) -> Vec<Instruction> {
    for one in &mut all {
        if let Some(order) = &mut one.order {
            order.start = order.start - lead;
        }
        if let Some(go) = one.go.as_mut().filter(|_| one.act == Act::Go) {
            go.at = go.at - lead;
        }
    }
    all
}

/// What sites are to keep free, with moments of the system's clock.
pub(super) fn asides(mut all: Vec<Aside>, lead: Span) -> Vec<Aside> {
    for one in &mut all {
        (one.from, one.until) = (one.from - lead, one.until - lead);
    }
    all
}

/// What a site has seen, with moments of the market's time `at`.
pub(super) fn survey(state: &State, at: Time, mut survey: Survey) -> Survey {
    // Never set back: what sites say stands as it is.
    let Some(lead) = state.lead else { return survey };
    let here = MarketClock { at, lead };
    for (tag, seen) in &mut survey.tasks {
        here.task(known(state, tag), seen);
    }
    for pool in &mut survey.pools {
        pool.local.values_mut().for_each(|task| here.local(task));
    }
    survey.queue.iter_mut().for_each(|job| here.queued(job));
    survey
}

fn known<'s>(state: &'s State, tag: &Tag) -> Option<&'s Seen> {
    match &state.tasks.get(tag)?.known {
        TaskReport::Seen(seen) => Some(seen),
        _ => None,
    }
}

/// The market's time, and how to get there from the clock's.
#[derive(Debug, Clone, Copy)]
struct MarketClock {
    at: Time,
    lead: Span,
}

impl MarketClock {
    /// A moment that the clock has shown, in the market's time. One that lies ahead of the clock is
    /// of a time when that was ahead, and stands.
    fn past(self, moment: Time) -> Time {
        let is_past = moment <= self.at - self.lead + SMALL;
        let there = if is_past { moment + self.lead } else { moment };
        there.min(self.at)
    }

    /// When it began: as it was first understood, since the clock may have been set meanwhile.
    fn beginning(self, known: Option<&Seen>, moment: Time) -> Time {
        match known {
            Some(Seen::Running { since, .. }) if moment <= *since => *since,
            _ => self.past(moment),
        }
    }

    fn task(self, known: Option<&Seen>, seen: &mut Seen) {
        match seen {
            Seen::Waiting => {}
            Seen::Running { since, .. } => *since = self.beginning(known, *since),
            Seen::Ended { since: Some(since), at, exit } => {
                let (begin, ran) = (self.beginning(known, *since), *at - *since);
                let is_from_ahead = *since > self.at - self.lead + SMALL;
                // How long it ran, its site knows best, unless the clock went back under it.
                *at = match ran > Span::ZERO || !is_from_ahead || *exit == Exit::Withdrawn {
                    true => (begin + ran).min(self.at).max(begin),
                    false => self.at,
                };
                *since = begin;
            }
            Seen::Ended { since: None, at, .. } => *at = self.past(*at),
        }
    }

    fn local(self, task: &mut LocalTask) {
        let later = |moment: Time| Time(moment.0.saturating_add(self.lead.0).min(Time::MAX.0));
        let (from, until) = (later(task.from), later(task.until));
        (task.from, task.until) = (from.min(until), until);
    }

    /// Moments of a waiting job: its submission is past, the others lie ahead.
    fn queued(self, job: &mut QueuedJob) {
        let later = |moment: Time| Time(moment.0.saturating_add(self.lead.0).min(Time::MAX.0));
        job.submitted = self.past(job.submitted);
        job.earliest = job.earliest.map(later);
        job.expected = job.expected.map(later);
        if let Blocked::BeginTime(begin) = &mut job.blocked {
            *begin = later(*begin);
        }
    }
}

#[cfg(test)]
mod tests;
