//! Ranges of starts, and what they learn from.

use super::*;
use crate::codec::pages::{Draft, Pages, VERSION};
use crate::codec::{Codec as _, Json};
use crate::live::record::LedgerRecord;
use crate::live::waits::{LEVELS, StartRanges};
use crate::store::Changes;

/// Numbers that look random: a linear congruence.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound) as i64
    }
}

/// A market whose jobs wait for nodes that its owners have, one after the other: the plan says when
/// they are expected to come, and they come earlier or later.
struct World {
    stage: Stage,
    draw: Draw,
    now: Time,
}

/// What was said of a job, and when it started.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    ranges: Option<StartRanges>,
    start: Time,
}

const OWN: [(&str, u32); 1] = [("own", 2)];

impl World {
    fn new(seed: u64) -> World {
        let mut stage = Stage::new();
        for site in 0..2 {
            stage.survey(DAY, site, vec![], &OWN);
        }
        World { stage, draw: Draw(seed), now: DAY }
    }

    fn state(&self) -> &State {
        self.stage.live.state()
    }

    /// A job is submitted, and expected to wait for so long.
    fn submit(&mut self, expected: i64) -> u64 {
        let Ok(Reply::Jobs(jobs)) = self.stage.submit(self.now, job(1, 60)) else { panic!() };
        let starts = vec![(jobs[0], self.now + Span(expected))];
        self.stage.step(self.now, Input::Forecast { starts });
        jobs[0]
    }

    fn ranges(&self, expected: i64) -> Option<StartRanges> {
        self.state().start_ranges((self.now, self.now + Span(expected)), (1, Span(60)))
    }

    /// The nodes come after so many seconds; the job runs for a second.
    fn run(&mut self, wait: i64) -> Time {
        let start = self.now + Span(wait);
        self.stage.survey(start, 0, vec![], &[]);
        let order = self.stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
        let tag = order.tag;
        self.stage.survey(start + Span(1), 0, vec![(tag.clone(), running(start))], &[]);
        let over = ended(start, start + Span(1), Exit::Code(0));
        self.stage.survey(start + Span(2), 0, vec![(tag.clone(), over)], &OWN);
        let forgotten = Input::Answered { tag, act: Act::Forget, answer: Ok(()) };
        self.stage.step(start + Span(3), forgotten);
        self.now = start + Span(10);
        start
    }

    /// So many jobs with drawn waits.
    fn go(&mut self, jobs: usize) -> Vec<Said> {
        let one = |_| {
            let expected = 100 + self.draw.below(5_000);
            let factor = 20 + self.draw.below(100) + self.draw.below(100);
            let ranges = self.ranges(expected);
            self.submit(expected);
            Said { ranges, start: self.run(1 + expected * factor / 100) }
        };
        (0..jobs).map(one).collect()
    }
}

#[test]
fn there_are_ranges_once_enough_forecasts_have_ended() {
    let mut world = World::new(1);
    let (known, needed) = world.state().known_starts();
    assert_eq!(known, 0);
    let said = world.go(needed + 5);
    let with = said.iter().map(|said| said.ranges.is_some()).collect::<Vec<_>>();
    assert_eq!(with, (0..needed + 5).map(|job| job >= needed).collect::<Vec<_>>());
    assert_eq!(world.state().range_score().starts, 5, "only what was said is scored");
    assert_eq!(world.ranges(0), None, "a job that starts at once has a known start");
}

#[test]
fn ranges_contain_each_other_and_hold() {
    let mut world = World::new(2);
    let needed = world.state().known_starts().1;
    let said = world.go(needed + 900);
    let mut within = [0_u32; LEVELS.len()];
    for Said { ranges, start } in &said[needed..] {
        let StartRanges { median, ranges, .. } = ranges.unwrap();
        let [half, most, nearly_all] = ranges;
        let bounds = [nearly_all.0, most.0, half.0, median, half.1, most.1, nearly_all.1];
        assert!(bounds.is_sorted(), "{bounds:?}");
        for (within, (from, to)) in within.iter_mut().zip(ranges) {
            *within += u32::from(from <= *start && *start <= to);
        }
    }
    let score = world.state().range_score_at(SiteId(0));
    assert_eq!((score.starts, score.within), (900, within), "the market counts the same");
    assert_eq!(world.state().range_score(), score);
    for (within, level) in within.into_iter().zip(LEVELS) {
        let share = f64::from(level) / 100.0;
        let bound = 3.0 * (900.0 * share * (1.0 - share)).sqrt();
        assert!((f64::from(within) - 900.0 * share).abs() <= bound, "{level} %: {within} of 900");
    }
}

#[test]
fn the_same_market_says_the_same() {
    let (mut one, mut other) = (World::new(3), World::new(3));
    assert_eq!(one.go(80), other.go(80));
}

#[test]
fn a_restart_changes_no_range() {
    let mut world = World::new(4);
    world.go(70);
    // One forecast is open, and a bound of it is over.
    world.submit(500);
    world.now = world.now + Span(4_000);
    world.stage.step(world.now, Input::Tick);
    let mut replayed = State::empty(DAY);
    for (at, record) in &world.stage.records {
        replayed.apply(*at, record).unwrap();
    }
    let state = world.state();
    assert_eq!(replayed.waits, state.waits);
    assert_eq!(Json.read_state(Json::VERSION, &Json.state(state)).unwrap().waits, state.waits);
    let read = read_again(state);
    assert_eq!(read.waits, state.waits);
    let question = ((world.now, world.now + Span(900)), (1, Span(60)));
    let ranges = read.start_ranges(question.0, question.1);
    assert!(ranges.is_some());
    assert_eq!(ranges, state.start_ranges(question.0, question.1));
    // The daemon begins again: the policy is the same.
    let (live, _) =
        Live::begin(read, Settings::default(), Arc::new(Easy), "easy", world.now).unwrap();
    assert_eq!(live.state().waits, world.state().waits);
}

/// The state of rules, after the pages of a snapshot.
fn read_again(state: &State) -> State {
    let (head, Changes::All(pages)) = Pages::default().of(state, &BTreeSet::new()) else {
        panic!("a first snapshot has all pages");
    };
    let mut draft = Draft::begin(VERSION, &head).unwrap();
    pages.iter().for_each(|page| draft.add(page).unwrap());
    draft.finish().unwrap().0
}

#[test]
fn what_an_earlier_release_has_written_is_learned_as_it_learned_it() {
    let mut world = World::new(7);
    world.go(130);
    // The first half by rules of a release that had no ceiling, the rest by those of now.
    let half = world.stage.records.len() / 2;
    let apply = |state: &mut State, from: usize, to: usize| {
        for (at, record) in &world.stage.records[from..to] {
            let record = match record {
                Record::Ledger(LedgerRecord::RuledBy { .. }) => {
                    LedgerRecord::Rules { version: 2 }.into()
                }
                record => record.clone(),
            };
            state.apply(*at, &record).unwrap();
        }
    };
    let classes = |state: &State| state.waits.forecaster.score_memory().count();
    let mut replayed = State::empty(DAY);
    apply(&mut replayed, 0, half);
    let before = classes(&replayed);
    assert!(replayed.known_starts().0 > 40);
    // Its snapshot leads to the same state as all rows.
    let mut led = read_again(&replayed);
    for state in [&mut replayed, &mut led] {
        let now = state.now();
        state.apply(now, &LedgerRecord::RuledBy { version: 3 }.into()).unwrap();
        assert_eq!(classes(state), before, "of what was before there is no ceiling");
        apply(state, half, world.stage.records.len());
        assert!(classes(state) > before);
    }
    assert_eq!(led.waits, replayed.waits);
    assert_eq!(read_again(&led).waits, led.waits);
}

#[test]
fn a_job_that_leaves_the_queue_teaches_nothing() {
    let mut world = World::new(5);
    world.go(45);
    let (before, score) = (world.state().known_starts(), world.state().range_score());
    let (cancelled, held) = (world.submit(300), world.submit(300));
    for ask in [Ask::Cancel { job: cancelled }, Ask::Hold { job: held }] {
        world.stage.step(later(1), Input::Asked { actor: ana(), ask }).unwrap().unwrap();
    }
    assert_eq!(world.state().waits.forecaster.open_memory().count(), 0);
    assert_eq!((world.state().known_starts(), world.state().range_score()), (before, score));
}

#[test]
fn other_nodes_or_another_policy_are_a_new_beginning() {
    let mut world = World::new(6);
    world.go(50);
    assert!(world.ranges(600).is_some());
    let mut state = world.state().clone();
    let began = |policy: &str| MarketRecord::Began {
        release: String::new(),
        policy: policy.to_owned(),
        usage: vec![],
    };
    state.apply(world.now, &began("easy").into()).unwrap();
    assert_eq!(state.waits, world.state().waits, "only the daemon began again");
    state.apply(world.now, &began("other").into()).unwrap();
    assert_eq!(state.known_starts().0, 0);
    assert_eq!(state.range_score(), world.state().range_score(), "what was said was said");
    let mut state = world.state().clone();
    let mut pools = state.market.pools().as_slice().to_vec();
    let gridded = |pools: Vec<Pool>| MarketRecord::Gridded {
        pools: Arc::new(Pools::new(super::pools().sites().to_vec(), pools).unwrap()),
        owners: vec!["olga".to_owned(), "otto".to_owned()],
    };
    pools[0].price = Price(7);
    state.apply(world.now, &gridded(pools.clone()).into()).unwrap();
    assert_eq!(state.waits, world.state().waits, "prices are not nodes");
    pools[1].nodes = 3;
    state.apply(world.now, &gridded(pools).into()).unwrap();
    assert_eq!(state.known_starts().0, 0);
}
