use std::collections::BTreeMap;

use super::*;
use crate::live::state::{Task, TaskGoal};
use crate::site::PoolSurvey;
use crate::site::queued::{Blocked, QueuedJob};

const TEN: Time = Time(1_800_000_000);
const HOUR: i64 = 3_600;

/// A clock, what it shows, and what the market makes of it.
struct Stage {
    clock: Clock,
    wall: Time,
    ran: Duration,
    market: Market,
}

impl Stage {
    /// The last record is from this moment.
    fn begin(last: Time) -> Stage {
        let clock = Clock { begin: Instant::now(), before: None };
        let market = Market { last, lead: Span::ZERO, is_idle: false };
        Stage { clock, wall: TEN, ran: Duration::ZERO, market }
    }

    /// Seconds pass, by all clocks.
    fn pass(&mut self, seconds: i64) -> &mut Stage {
        self.wall = self.wall + Span(seconds);
        self.ran += Duration::from_secs(seconds.unsigned_abs());
        self
    }

    /// The system's clock is set.
    fn set(&mut self, by: i64) -> &mut Stage {
        self.wall = self.wall + Span(by);
        self
    }

    fn read(&mut self) -> ClockReading {
        let reading = self.clock.reading(self.wall, self.ran, self.market);
        assert!(reading.at >= self.market.last, "{reading:?}");
        self.market.lead = reading.lead;
        reading
    }

    /// A reading, and something is written down then.
    fn write(&mut self) -> ClockReading {
        let reading = self.read();
        self.market.last = reading.at;
        reading
    }
}

#[test]
fn the_markets_time_is_the_clocks_as_long_as_it_is_not_set() {
    let mut stage = Stage::begin(Time(0));
    for _ in 0..100 {
        let at = stage.wall;
        assert_eq!(stage.write(), ClockReading { at, lead: Span::ZERO, step: None });
        stage.pass(7);
    }
}

#[test]
fn small_steps_are_followed_and_time_stands_still_meanwhile() {
    let mut stage = Stage::begin(Time(0));
    let before = stage.write().at;
    let reading = stage.set(-4).read();
    assert_eq!(reading, ClockReading { at: before, lead: Span::ZERO, step: None });
    assert_eq!(stage.pass(6).write().at, TEN + Span(2));
    assert_eq!(
        stage.set(4).read(),
        ClockReading { at: TEN + Span(6), lead: Span::ZERO, step: None }
    );
}

#[test]
fn after_a_step_back_time_goes_on_second_by_second() {
    let mut stage = Stage::begin(Time(0));
    stage.write();
    let ahead = stage.pass(1).set(2 * HOUR).write();
    assert_eq!(ahead.step, Some(ClockStep::Forward(Span(2 * HOUR))));
    assert_eq!((ahead.at, ahead.lead), (TEN + Span(2 * HOUR + 1), Span::ZERO));
    let back = stage.pass(10).set(-2 * HOUR).write();
    assert_eq!(back.step, Some(ClockStep::Back(Span(2 * HOUR))));
    assert_eq!((back.at, back.lead), (TEN + Span(2 * HOUR + 11), Span(2 * HOUR)));
    let later = stage.pass(100).write();
    assert_eq!((later.at, later.lead, later.step), (back.at + Span(100), back.lead, None));
    // Forward again: the lead goes, and nothing waits or is hurried.
    let again = stage.pass(5).set(HOUR).write();
    assert_eq!((again.at, again.lead), (later.at + Span(5), Span(HOUR)));
    let again = stage.pass(5).set(3 * HOUR).write();
    assert_eq!((again.at, again.lead), (stage.wall, Span::ZERO));
}

#[test]
fn a_market_that_starts_behind_its_own_records_goes_on_from_them() {
    let mut stage = Stage::begin(TEN + Span(2 * HOUR));
    let first = stage.write();
    assert_eq!(first.step, Some(ClockStep::Back(Span(2 * HOUR))));
    assert_eq!((first.at, first.lead), (TEN + Span(2 * HOUR), Span(2 * HOUR)));
    assert_eq!(stage.pass(60).write().at, first.at + Span(60));
    // Another start, an hour later, with the lead that is written down.
    stage.pass(HOUR).clock.before = None;
    let again = stage.write();
    assert_eq!((again.at, again.step), (first.at + Span(60 + HOUR), None));
}

#[test]
fn an_idle_market_rests_until_the_clock_has_caught_up() {
    let mut stage = Stage::begin(TEN + Span(100));
    stage.read();
    stage.market.is_idle = true;
    for _ in 0..9 {
        let reading = stage.pass(10).write();
        assert_eq!((reading.at, reading.lead), (TEN + Span(100), Span(100)));
    }
    // Work comes too early: time goes on where it would be without the rest.
    let mut early = Stage { clock: Clock { ..stage.clock }, ..stage };
    early.market.is_idle = false;
    assert_eq!(early.read().at, TEN + Span(190));
    early.market.is_idle = true;
    let reading = early.pass(10).read();
    assert_eq!(
        reading,
        ClockReading { at: early.wall, lead: Span::ZERO, step: Some(ClockStep::CaughtUp) }
    );
    early.market.is_idle = false;
    assert_eq!(early.pass(1).read(), ClockReading { at: early.wall, lead: Span::ZERO, step: None });
}

fn tag(job: u64) -> Tag {
    Tag { market: "m".to_owned(), job, attempt: 0, part: 0 }
}

fn running(since: Time) -> Seen {
    Seen::Running { since, nodes: vec!["n1".to_owned()] }
}

fn ended(since: Option<Time>, at: Time) -> Seen {
    Seen::Ended { since, at, exit: Exit::Code(0) }
}

/// What the market makes of `seen` if it knows `known`; its time is 12:00:30, the clock's 10:00:30.
fn heard(known: Option<Seen>, seen: Seen) -> Seen {
    let mut state = State::empty(Time(0));
    state.lead = Some(Span(2 * HOUR));
    let known = known.map_or(TaskReport::Acknowledged, TaskReport::Seen);
    let task = Task {
        pool: tradewind_model::PoolId(0),
        wanted: TaskGoal::Run,
        known,
        go: None,
        begun: None,
        held: None,
        notice: None,
    };
    state.tasks.0.insert(tag(1), task);
    let survey = Survey { tasks: BTreeMap::from([(tag(1), seen)]), ..Survey::default() };
    let at = TEN + Span(2 * HOUR + 30);
    super::survey(&state, at, survey).tasks.remove(&tag(1)).unwrap()
}

#[test]
fn what_sites_say_is_converted_once_and_stays() {
    let (noon, ten) = (TEN + Span(2 * HOUR), TEN);
    assert_eq!(heard(None, running(ten + Span(20))), running(noon + Span(20)));
    // Seen before: whatever the clock does, it began when it began.
    for (known, said) in [(noon + Span(20), ten + Span(20)), (ten, ten), (noon, noon)] {
        assert_eq!(heard(Some(running(known)), running(said)), running(known));
        let over = heard(Some(running(known)), ended(Some(said), said + Span(10)));
        assert_eq!(over, ended(Some(known), known + Span(10)));
    }
    // It began while the clock was ahead, and ended after that was set back.
    let over = heard(Some(running(noon)), ended(Some(noon), noon));
    assert_eq!(over, ended(Some(noon), noon + Span(30)));
    assert_eq!(heard(None, ended(None, ten + Span(30))), ended(None, noon + Span(30)));
    assert_eq!(heard(None, Seen::Waiting), Seen::Waiting);
}

#[test]
fn the_owners_tasks_are_converted_and_a_market_without_lead_believes_its_sites() {
    let local = LocalTask { nodes: 1, from: TEN, until: TEN + Span(60) };
    let pool =
        PoolSurvey { local: BTreeMap::from([("7".to_owned(), local)]), ..Default::default() };
    let begin = TEN + Span(600);
    let waits = QueuedJob {
        submitted: TEN,
        earliest: Some(begin),
        blocked: Blocked::BeginTime(begin),
        expected: Some(begin),
        ..QueuedJob::of("8", 0, 1, Span(60))
    };
    let before = Survey { pools: vec![pool], queue: vec![waits], ..Survey::default() };
    let mut state = State::empty(Time(0));
    let at = TEN + Span(HOUR + 1);
    assert_eq!(super::survey(&state, at, before.clone()), before);
    state.lead = Some(Span(HOUR));
    let after = super::survey(&state, at, before);
    let waits = &after.queue[0];
    let begin = begin + Span(HOUR);
    assert_eq!((waits.submitted, waits.earliest), (TEN + Span(HOUR), Some(begin)));
    assert_eq!((&waits.blocked, waits.expected), (&Blocked::BeginTime(begin), Some(begin)));
    let local = after.pools[0].local["7"];
    assert_eq!((local.from, local.until), (TEN + Span(HOUR), TEN + Span(HOUR + 60)));
}
