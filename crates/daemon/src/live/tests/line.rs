//! Jobs that wait in the queue of a site, in line with its owners' jobs.

use tradewind_model::{Money, Place, PoolId, TimeMode};

use super::*;
use crate::live::state::{Booking, Quote};
use crate::site::SiteError;
use crate::site::limits::Limits;
use crate::site::queued::{OwnPlace, QueueRule, QueuedJob};

const A: PoolId = PoolId(0);
const B: PoolId = PoolId(1);

/// The market's jobs stand in the queue of site `a`, with this priority.
fn stage(priority: Option<u64>) -> Stage {
    let line = LineSettings { priority, reserves: false };
    let in_line = [("a".to_owned(), line)].into();
    Stage::with(Settings { in_line, ..Settings::default() })
}

fn waiting(name: &str, priority: u64) -> QueuedJob {
    let job = QueuedJob::of(name, 0, 2, Span(600));
    QueuedJob { priority: Some(priority), ..job }
}

/// One of two nodes of site `a` is the owner's until 240; these jobs wait, and these of ours are seen.
fn backlog(queue: Vec<QueuedJob>, tasks: Vec<(Tag, Seen)>) -> Survey {
    let running = LocalTask { nodes: 1, from: DAY, until: later(240) };
    let mut survey = look(tasks);
    survey.pools[0].local = [("running".to_owned(), running)].into();
    let rule = QueueRule {
        depth: 100,
        on_request: false,
        window: Span(86_400),
        interval: Span(0),
        changes_order: true,
    };
    survey.limits = Some(Arc::new(Limits { queue: Some(rule), ..Limits::default() }));
    Survey { queue, ..survey }
}

fn here(tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

impl Stage {
    fn seen(&mut self, at: i64, survey: Survey) {
        self.step(later(at), Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
    }

    fn is_lined(&self, job: u64) -> bool {
        let state = self.live.state();
        state.is_lined(&state.jobs[&job])
    }

    fn turn_of(&self, job: u64) -> Option<Time> {
        let state = self.live.state();
        state.turn_of(&state.jobs[&job])
    }

    fn only_order(&self, act: Act) -> Tag {
        let orders = self.orders();
        assert_eq!(orders.iter().map(|it| it.act).collect::<Vec<_>>(), [act]);
        orders[0].tag.clone()
    }

    fn answered(&mut self, at: i64, tag: &Tag, act: Act, answer: Result<(), SiteError>) {
        self.step(later(at), Input::Answered { tag: tag.clone(), act, answer });
    }

    /// A replay of the journal gives the same state.
    fn replays(&self) {
        let mut again = State::empty(DAY);
        for (at, record) in &self.records {
            again.apply(*at, record).unwrap();
        }
        let state = self.live.state();
        assert_eq!((&again.jobs, &again.tasks), (&state.jobs, &state.tasks));
        assert_eq!(again.market.state(), state.market.state());
        assert_eq!(again.accounts(), state.accounts());
    }
}

/// A job in the middle of the queue of site `a`, behind one job and before another.
fn in_the_middle() -> (Stage, Tag) {
    let mut stage = stage(Some(5));
    stage.seen(0, backlog(vec![waiting("high", 9), waiting("low", 1)], vec![]));
    stage.submit(DAY, here(2, 100)).unwrap();
    assert!(stage.is_lined(1), "{:?}", stage.phase(1));
    let tag = stage.only_order(Act::Submit);
    stage.answered(1, &tag, Act::Submit, Ok(()));
    let own = [(tag.clone(), OwnPlace { rank: 1, priority: Some(5) })].into();
    let queue = vec![waiting("high", 9), waiting("low", 1)];
    stage.seen(2, Survey { own, ..backlog(queue, vec![(tag.clone(), Seen::Waiting)]) });
    (stage, tag)
}

#[test]
fn a_job_gets_its_turn_in_the_middle_of_the_queue() {
    let (mut stage, tag) = in_the_middle();
    assert_eq!(stage.turn_of(1), Some(later(840)), "after the one, before the other");
    assert_eq!(stage.live.state().market.queue().len(), 0, "no policy decides about it");
    assert!(stage.balance("held:1") > 0, "what it may cost is held");
    // Jobs of the owners end early, and its turn comes sooner than expected.
    stage.seen(300, backlog(vec![waiting("low", 1)], vec![(tag.clone(), Seen::Waiting)]));
    assert!(stage.is_lined(1) && stage.turn_of(1) < Some(later(840)), "{:?}", stage.turn_of(1));
    let mut survey = look(vec![(tag.clone(), running(later(310)))]);
    survey.queue = vec![waiting("low", 1)];
    stage.seen(311, survey.clone());
    assert_eq!((stage.is_lined(1), stage.turn_of(1)), (false, None));
    assert_eq!(stage.live.state().market.free_in(A), 0);
    assert_eq!(stage.live.state().jobs[&1].began(), Some(later(310)));
    survey.tasks = [(tag, ended(later(310), later(360), Exit::Code(0)))].into();
    stage.seen(361, survey);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert_eq!(stage.live.state().jobs[&1].paid, Money(2 * 50 * 1_000_000));
    stage.replays();
}

#[test]
fn jobs_of_lower_priority_are_no_load() {
    let mut stage = stage(Some(5));
    stage.seen(0, backlog(vec![waiting("low", 1)], vec![]));
    stage.submit(DAY, here(1, 600)).unwrap();
    assert_eq!((stage.phase(1), stage.is_lined(1)), (Phase::Running, false), "a node is free");
    // Of its own priority, and of an unknown one, they come first.
    for other in [waiting("same", 5), QueuedJob { priority: None, ..waiting("hidden", 0) }] {
        let mut stage = self::stage(Some(5));
        stage.seen(0, backlog(vec![other], vec![]));
        stage.submit(DAY, here(1, 600)).unwrap();
        assert!(stage.is_lined(1));
    }
}

#[test]
fn the_priority_is_the_one_that_is_observed() {
    let mut stage = stage(None);
    let queue = || vec![waiting("high", 9), waiting("low", 1)];
    stage.seen(0, backlog(queue(), vec![]));
    stage.submit(DAY, here(2, 100)).unwrap();
    let tag = stage.only_order(Act::Submit);
    stage.seen(1, backlog(queue(), vec![(tag.clone(), Seen::Waiting)]));
    assert_eq!(stage.turn_of(1), Some(later(1_440)), "as the last, as long as nothing is known");
    let own = [(tag.clone(), OwnPlace { rank: 1, priority: Some(5) })].into();
    stage.seen(2, Survey { own, ..backlog(queue(), vec![(tag, Seen::Waiting)]) });
    assert_eq!(stage.turn_of(1), Some(later(840)));
    let state = stage.live.state();
    let last = state.market.outages().map(|(_, what)| what.until).max();
    assert_eq!(last, Some(later(940)), "the other is no load for one more job");
}

#[test]
fn a_job_leaves_the_queue_if_another_site_frees_first_and_it_has_not_begun() {
    for has_begun in [false, true] {
        let mut stage = stage(Some(5));
        let task = |until| LocalTask { nodes: 2, from: DAY, until: later(until) };
        let mut other = look(vec![]);
        other.pools[0].local = [("own".to_owned(), task(9_000))].into();
        stage.step(DAY, Input::Surveyed { site: SiteId(1), survey: Ok(other) });
        stage.seen(0, backlog(vec![waiting("high", 9)], vec![]));
        stage.submit(DAY, job(2, 100)).unwrap();
        let tag = stage.only_order(Act::Submit);
        stage.answered(1, &tag, Act::Submit, Ok(()));
        let waits = || backlog(vec![waiting("high", 9)], vec![(tag.clone(), Seen::Waiting)]);
        stage.seen(2, waits());
        assert!(stage.is_lined(1));
        stage.step(later(9), Input::Surveyed { site: SiteId(1), survey: Ok(look(vec![])) });
        assert_eq!(stage.only_order(Act::Recall), tag);
        assert!(stage.is_lined(1), "its nodes elsewhere are not taken before it is out");
        assert_eq!(stage.live.state().market.free_in(B), 2);
        if has_begun {
            stage.answered(10, &tag, Act::Recall, Err(SiteError::Begun));
            stage.seen(11, look(vec![(tag.clone(), running(later(9)))]));
            assert_eq!((stage.phase(1), stage.is_lined(1)), (Phase::Running, false));
            assert_eq!(stage.orders(), []);
        } else {
            stage.answered(10, &tag, Act::Recall, Ok(()));
            let never = Seen::Ended { since: None, at: later(10), exit: Exit::Withdrawn };
            stage.seen(11, backlog(vec![waiting("high", 9)], vec![(tag.clone(), never)]));
            let job = &stage.live.state().jobs[&1];
            assert_eq!((job.parts()[0].pool, job.attempt), (B, 1));
        }
        stage.replays();
    }
}

/// A job was withdrawn from the queue, and stands in it again after a restart: it is not withdrawn twice.
#[test]
fn a_job_is_withdrawn_from_a_queue_once_also_after_a_restart() {
    for restarts in [false, true] {
        let mut stage = stage(Some(5));
        let task = |until| LocalTask { nodes: 2, from: DAY, until: later(until) };
        let busy = |until| {
            let mut survey = look(vec![]);
            survey.pools[0].local = [("own".to_owned(), task(until))].into();
            Input::Surveyed { site: SiteId(1), survey: Ok(survey) }
        };
        let free = || Input::Surveyed { site: SiteId(1), survey: Ok(look(vec![])) };
        let queue = || vec![waiting("high", 9)];
        stage.step(DAY, busy(9_000));
        stage.seen(0, backlog(queue(), vec![]));
        stage.submit(DAY, job(2, 100)).unwrap();
        let tag = stage.only_order(Act::Submit);
        stage.answered(1, &tag, Act::Submit, Ok(()));
        stage.seen(2, backlog(queue(), vec![(tag.clone(), Seen::Waiting)]));
        stage.step(later(9), free());
        assert_eq!(stage.only_order(Act::Recall), tag);
        // Before it is out, the other site is busy again, and the queue is the best place.
        stage.step(later(9), busy(9_000));
        stage.answered(10, &tag, Act::Recall, Ok(()));
        let never = Seen::Ended { since: None, at: later(10), exit: Exit::Withdrawn };
        stage.seen(11, backlog(queue(), vec![(tag, never)]));
        assert!(stage.is_lined(1), "{:?}", stage.phase(1));
        if restarts {
            stage.restart(later(12));
        }
        let tags = |stage: &Stage, act| -> Vec<Tag> {
            let orders = stage.orders().into_iter().filter(|order| order.act == act);
            orders.map(|order| order.tag).collect()
        };
        for tag in tags(&stage, Act::Submit) {
            stage.answered(13, &tag, Act::Submit, Ok(()));
        }
        let tag = Tag { attempt: 1, ..stage.live.state().tasks.keys().next().unwrap().clone() };
        stage.step(later(14), busy(9_000));
        stage.seen(14, backlog(queue(), vec![(tag, Seen::Waiting)]));
        stage.step(later(19), free());
        assert!(stage.is_lined(1));
        assert_eq!(tags(&stage, Act::Recall), [], "restarted: {restarts}");
    }
}

#[test]
fn only_jobs_of_one_part_are_sent_ahead() {
    let mut stage = stage(Some(5));
    stage.seen(0, backlog(vec![waiting("high", 9)], vec![]));
    stage.submit(DAY, job(4, 100)).unwrap();
    assert_eq!((stage.phase(1), stage.orders().len()), (Phase::Waiting, 0));
    // Without jobs of others there is no queue to stand in.
    let mut stage = self::stage(Some(5));
    stage.seen(0, look(vec![]));
    stage.submit(DAY, here(2, 100)).unwrap();
    stage.submit(DAY, here(2, 100)).unwrap();
    assert_eq!((stage.phase(1), stage.phase(2)), (Phase::Running, Phase::Waiting));
}

#[test]
fn a_cancelled_job_leaves_the_queue() {
    let (mut stage, tag) = in_the_middle();
    stage.step(later(3), Input::Asked { actor: ana(), ask: Ask::Cancel { job: 1 } });
    assert_eq!(stage.only_order(Act::Withdraw), tag);
    let never = Seen::Ended { since: None, at: later(4), exit: Exit::Withdrawn };
    stage.seen(5, backlog(vec![waiting("low", 1)], vec![(tag, never)]));
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Cancelled));
    assert_eq!((stage.balance("held:1"), stage.live.state().market.lined().len()), (0, 0));
    stage.replays();
}

#[test]
fn a_job_whose_nodes_others_get_keeps_its_place() {
    let mut stage = stage(Some(5));
    stage.seen(0, backlog(vec![], vec![]));
    stage.submit(DAY, here(1, 600)).unwrap();
    let tag = stage.only_order(Act::Submit);
    stage.answered(1, &tag, Act::Submit, Ok(()));
    assert!(!stage.is_lined(1));
    // An owner's job that came later with a higher priority has the second node.
    let mut survey = backlog(vec![], vec![(tag.clone(), Seen::Waiting)]);
    let first = LocalTask { nodes: 1, from: later(1), until: later(400) };
    survey.pools[0].local.insert("first".to_owned(), first);
    stage.seen(2, survey.clone());
    assert!(stage.is_lined(1));
    assert_eq!(stage.orders(), []);
    stage.seen(3, survey);
    assert_eq!(stage.turn_of(1), Some(later(240)));
    stage.replays();
}

#[test]
fn a_turn_cannot_be_booked() {
    let mut stage = stage(Some(5));
    stage.seen(0, backlog(vec![waiting("high", 9)], vec![]));
    let mut keep = |pool, from| {
        let (start, ends) = (later(from), vec![later(from + 100)]);
        let (place, prices) = (Place::Pool(pool), vec![Price(1_000_000)]);
        let booking = Booking { start, ends, place, prices, groups: None };
        let (number, user, tasks, work) = (0, String::new(), 1, Span(100));
        let (cost, expires, times) = (Money(1), later(60), TimeMode::WORK);
        let slack = Some(Span(60));
        let quote = Quote { number, user, tasks, work, times, booking, cost, expires, slack };
        stage.step(later(1), Input::Asked { actor: ana(), ask: Ask::Keep { quote } }).unwrap()
    };
    assert_eq!(keep(A, 900).unwrap_err().kind, RefusalKind::Conflict);
    keep(B, 900).unwrap();
}
