//! How long the market's jobs put off an owner's job: the bound, and that it is remembered.

use tradewind_model::{Guard, OwnersFirst};

use super::*;
use crate::live::outages::bound::Bound;
use crate::live::record::SiteRecord;
use crate::live::state::Why;
use crate::site::queued::QueuedJob;

const MAX_DELAY: Span = Span(60);

fn settings(max_delay: Span) -> Settings {
    let owners_first = [("a".to_owned(), OwnersFirst { guard: Guard::Limits, max_delay })].into();
    Settings { owners_first, ..Settings::default() }
}

/// A job of the market that only runs at site `a`.
fn here(tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

fn wide(name: &str) -> QueuedJob {
    QueuedJob::of(name, 0, 2, Span(600))
}

/// Site `a`, one of whose two nodes a job of the market has for 1,000 seconds.
struct Beside {
    stage: Stage,
    tag: Tag,
}

impl Beside {
    fn new() -> Beside {
        let mut stage = Stage::with(settings(MAX_DELAY));
        stage.step(DAY, Input::Surveyed { site: SiteId(0), survey: Ok(look(vec![])) });
        stage.submit(DAY, here(1, 1_000)).unwrap();
        let tag = stage.orders().remove(0).tag;
        Beside { stage, tag }
    }

    /// The longest that a job was put off, and how many have reached the bound.
    fn see(&mut self, at: i64, queue: &[&str]) -> (i64, usize) {
        let survey = look(vec![(self.tag.clone(), running(DAY))]);
        let survey = Survey { queue: queue.iter().map(|name| wide(name)).collect(), ..survey };
        self.stage.step(later(at), Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
        let Bound { longest, reached, .. } = self.stage.live.owners_queue(SiteId(0)).unwrap().bound;
        (longest.0, reached)
    }

    /// The daemon starts again at this moment, from what is written down.
    fn restart(self, at: i64, max_delay: Span) -> Beside {
        let mut state = State::empty(DAY);
        self.stage.records.iter().for_each(|(at, record)| state.apply(*at, record).unwrap());
        let begun = Live::begin(state, settings(max_delay), Arc::new(Easy), "easy", later(at));
        let (live, step) = begun.unwrap();
        let first = step.records.into_iter().map(|record| (later(at), record));
        let records = self.stage.records.into_iter().chain(first).collect();
        Beside { stage: Stage { live, records }, tag: self.tag }
    }

    /// The load to come: nodes, from, until.
    fn to_come(&self) -> Vec<(u32, i64, i64)> {
        let state = self.stage.live.state();
        let queued = state.outages().iter().filter(|(why, _)| matches!(why, Why::Queued(..)));
        let outages = queued.filter_map(|(_, id)| state.market.closure_state(*id));
        let mut all: Vec<_> = outages
            .map(|(what, _)| (what.nodes, (what.from - DAY).0, (what.until - DAY).0))
            .collect();
        all.sort_unstable();
        all
    }

    fn records_of_delays(&self) -> usize {
        let is_put_off =
            |record: &Record| matches!(record, Record::Site(SiteRecord::PutOff { .. }));
        self.stage.records.iter().filter(|(_, record)| is_put_off(record)).count()
    }
}

/// A job of the market runs, and the owner's job would run on its node. Until it has waited for that
/// for the bound, the other node may be used; afterwards no job of the market starts before it.
#[test]
fn an_owners_job_that_was_put_off_long_enough_comes_first() {
    let mut beside = Beside::new();
    assert_eq!(beside.see(10, &["wide"]), (0, 0));
    assert_eq!(beside.see(40, &["wide"]), (30, 0));
    assert_eq!(beside.to_come(), [(2, 1_000, 1_600)]);
    // It could start somewhere else in the order of the queue: it is not put off now.
    assert_eq!(beside.see(60, &["first", "wide"]), (50, 0));
    assert_eq!(beside.see(100, &["wide"]), (50, 0));
    assert_eq!(beside.see(110, &["wide"]), (60, 1));
    assert_eq!(beside.to_come(), [(1, 110, 1_000), (2, 1_000, 1_600)]);
    beside.stage.submit(later(111), here(1, 20)).unwrap();
    assert_eq!(beside.stage.phase(2), Phase::Waiting, "though it would be over long before");
    // It starts, or is withdrawn: nothing is closed any more.
    assert_eq!(beside.see(120, &[]), (70, 0));
    assert_eq!((beside.to_come(), beside.stage.phase(2)), (vec![], Phase::Running));
}

/// Half of the bound before a restart and half after it is the whole bound; and the time in between
/// counts, for the market's job ran on.
#[test]
fn a_restart_forgets_nothing_of_what_a_job_was_put_off() {
    let mut beside = Beside::new();
    beside.see(10, &["wide"]);
    assert_eq!(beside.see(40, &["wide"]), (30, 0));
    let mut beside = beside.restart(55, MAX_DELAY);
    assert_eq!(beside.see(60, &["wide"]), (50, 0));
    let mut beside = beside.restart(65, MAX_DELAY);
    assert_eq!(beside.see(70, &["wide"]), (60, 1));
    beside.stage.submit(later(71), here(1, 20)).unwrap();
    assert_eq!(beside.stage.phase(2), Phase::Waiting, "the owner's job comes first");
    // What it was stays, though it is not put off any more; and it is no other job's.
    beside.see(80, &["first", "wide"]);
    let mut beside = beside.restart(85, MAX_DELAY);
    assert_eq!(beside.see(90, &["first", "wide"]), (70, 1));
    assert_eq!(beside.see(100, &["first"]), (70, 0));
}

/// The journal has a record when something begins or ends, and none for each survey.
#[test]
fn what_goes_on_is_not_written_again() {
    let mut beside = Beside::new();
    for at in 10..60 {
        beside.see(at, &["wide"]);
    }
    assert_eq!(beside.records_of_delays(), 1);
    beside.see(70, &[]);
    beside.see(80, &[]);
    assert_eq!(beside.records_of_delays(), 2);
}

#[test]
fn without_a_bound_nothing_is_counted_and_what_was_is_forgotten() {
    let mut beside = Beside::new();
    beside.see(10, &["wide"]);
    beside.see(40, &["wide"]);
    let mut beside = beside.restart(50, OwnersFirst::NO_BOUND);
    beside.see(60, &["wide"]);
    let mut beside = beside.restart(500, MAX_DELAY);
    assert_eq!(beside.see(510, &["wide"]), (50, 0), "only the longest that was, is known");
}
