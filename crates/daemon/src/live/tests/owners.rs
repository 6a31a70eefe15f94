//! Owners' jobs that wait are load to come.

use tradewind_model::{Cause, Guard, Outage, OwnersFirst, Place, PoolId, TimeMode};
use tradewind_sched::policy::owners::{Expected, Unforeseen};

use super::*;
use crate::live::outages::usual::Wanted;
use crate::live::state::{Booking, OfferOutcome, Quote, Why};
use crate::site::SiteError;
use crate::site::limits::Limits;
use crate::site::queued::{Blocked, QueueRule, QueuedJob};

/// One of two nodes of site `a` is the owner's until `until`; these jobs wait.
fn backlog(until: i64, queue: Vec<QueuedJob>) -> Survey {
    let running = LocalTask { nodes: 1, from: DAY, until: later(until) };
    let local = [("running".to_owned(), running)].into();
    let pools = vec![PoolSurvey { up: 2, local, ..PoolSurvey::default() }];
    Survey { pools, queue, ..Survey::default() }
}

fn waiting(name: &str, nodes: u32, seconds: i64) -> QueuedJob {
    QueuedJob::of(name, 0, nodes, Span(seconds))
}

/// A job of the market that only runs at site `a`.
fn here(tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

/// The site's owners may rely on this guard, and on a bound of a quarter of an hour.
fn first(guard: Guard) -> BTreeMap<String, OwnersFirst> {
    [("a".to_owned(), OwnersFirst { guard, max_delay: Span(900) })].into()
}

impl Stage {
    fn see(&mut self, at: Time, survey: Survey) {
        self.step(at, Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
    }

    fn to_come(&self) -> Vec<(u32, i64, i64)> {
        let state = self.live.state();
        let queued = state.outages().iter().filter(|(why, _)| matches!(why, Why::Queued(..)));
        let outages = queued.filter_map(|(_, id)| state.market.closure_state(*id));
        let mut all: Vec<_> = outages
            .map(|(what, _)| (what.nodes, (what.from - DAY).0, (what.until - DAY).0))
            .collect();
        all.sort_unstable();
        all
    }

    fn expected(&self, name: &str) -> Expected {
        let queue = self.live.owners_queue(SiteId(0)).unwrap();
        queue.jobs.iter().find(|(job, _)| job.name == name).unwrap().1
    }
}

fn starts(at: i64) -> Expected {
    Expected::Starts { start: later(at), pool: PoolId(0), entries: 1, last: later(at) }
}

#[test]
fn a_job_runs_only_where_it_delays_no_owners_job() {
    let mut stage = Stage::new();
    stage.see(DAY, backlog(240, vec![waiting("wide", 2, 600)]));
    assert_eq!(stage.expected("wide"), starts(240));
    assert_eq!(stage.to_come(), [(2, 240, 840)]);
    stage.submit(DAY, here(1, 300)).unwrap();
    assert_eq!(stage.phase(1), Phase::Waiting, "it would delay the owner's job by a minute");
    stage.submit(DAY, here(1, 240)).unwrap();
    assert_eq!(stage.phase(2), Phase::Running, "it is over before");
    stage.submit(DAY, here(1, 60)).unwrap();
    assert_eq!(stage.phase(3), Phase::Waiting, "no second node is free until then");
}

#[test]
fn load_to_come_follows_the_queue() {
    let mut stage = Stage::new();
    stage.see(DAY, backlog(240, vec![waiting("wide", 2, 600)]));
    stage.submit(later(1), here(1, 300)).unwrap();
    let named = |stage: &Stage| {
        let queued = stage.live.state().outages().iter();
        queued.filter(|(why, _)| matches!(why, Why::Queued(..))).map(|(_, id)| *id).collect()
    };
    let before: Vec<_> = named(&stage);
    // The same forecast, some seconds off, is not written again.
    stage.see(later(5), backlog(245, vec![waiting("wide", 2, 610)]));
    assert_eq!((named(&stage), stage.to_come()), (before, vec![(2, 240, 840)]));
    // The running job ends early: what waits starts now.
    let wide = LocalTask { nodes: 2, from: later(9), until: later(609) };
    let mut survey = backlog(0, Vec::new());
    survey.pools[0].local = [("wide".to_owned(), wide)].into();
    stage.see(later(10), survey);
    assert_eq!(stage.to_come(), []);
    assert_eq!(stage.live.state().market.free_in(PoolId(0)), 0);
    stage.see(later(20), look(vec![]));
    assert_eq!(stage.phase(1), Phase::Running, "the owner's job is gone");
}

#[test]
fn a_job_that_has_not_begun_gives_way_to_a_queue_that_it_would_delay() {
    let mut stage = Stage::new();
    stage.submit(DAY, here(2, 600)).unwrap();
    assert_eq!(stage.phase(1), Phase::Running);
    let tag = stage.orders().remove(0).tag;
    // The manager has not started it, and the owner's job comes first there.
    let both = vec![(tag.clone(), Seen::Waiting)];
    let survey = Survey { queue: vec![waiting("own", 2, 60)], ..look(both) };
    stage.see(later(1), survey);
    let orders = stage.orders();
    assert_eq!(orders.iter().map(|it| it.act).collect::<Vec<_>>(), [Act::Recall]);
    // What has begun keeps its nodes, and the owner's job is expected behind it.
    let mut stage = Stage::new();
    stage.submit(DAY, here(2, 600)).unwrap();
    let tag = stage.orders().remove(0).tag;
    let survey = look(vec![(tag.clone(), running(DAY))]);
    stage.see(later(1), Survey { queue: vec![waiting("own", 2, 60)], ..survey });
    assert_eq!(stage.expected("own"), starts(600));
    assert_eq!(stage.to_come(), [(2, 600, 660)]);
    assert_eq!(stage.phase(1), Phase::Running);
}

#[test]
fn a_site_that_does_not_answer_is_not_counted_on() {
    let mut stage = Stage::new();
    stage.submit(DAY, here(1, 60)).unwrap();
    let tag = stage.orders().remove(0).tag;
    stage.see(later(1), look(vec![(tag.clone(), running(DAY))]));
    let away = || Err(SiteError::Away("it hangs".to_owned()));
    for at in 2..5 {
        stage.step(later(at), Input::Surveyed { site: SiteId(0), survey: away() });
    }
    assert_eq!(stage.live.state().outages().len(), 2, "what is free and what is not, said once");
    stage.submit(later(5), here(1, 60)).unwrap();
    assert_eq!(stage.phase(2), Phase::Waiting);
    assert_eq!(stage.phase(1), Phase::Running, "what ran there runs on, as far as is known");
    stage.submit(later(5), job(1, 60)).unwrap();
    assert_eq!(stage.phase(3), Phase::Running, "at the other site");
    stage.see(later(6), look(vec![(tag, running(DAY))]));
    assert_eq!(stage.phase(2), Phase::Running, "the site is back");
    assert_eq!(stage.live.state().outages().len(), 0);
}

#[test]
fn there_is_room_for_a_round_of_the_manager() {
    let mut stage = Stage::new();
    let rule = |depth| QueueRule {
        depth,
        on_request: false,
        window: Span(86_400),
        interval: Span(30),
        changes_order: false,
    };
    let limits = |depth| Some(Arc::new(Limits { queue: Some(rule(depth)), ..Limits::default() }));
    let queue = || vec![waiting("wide", 2, 600), waiting("narrow", 1, 100)];
    stage.see(DAY, Survey { limits: limits(100), ..backlog(240, queue()) });
    assert_eq!(stage.expected("narrow"), starts(0));
    // The wide job gets one node from the running job: only the other must be left in time.
    assert_eq!(stage.to_come(), [(1, 0, 100), (1, 210, 240), (2, 240, 840)]);
    // Without backfilling the second job waits for the first.
    stage.see(later(100), Survey { limits: limits(0), ..backlog(240, queue()) });
    assert_eq!(stage.expected("narrow"), starts(840));
}

/// Grid Engine keeps nodes free only for jobs that ask for that.
#[test]
fn a_wide_job_that_does_not_ask_is_passed_by_narrow_ones() {
    let mut stage = Stage::new();
    let mut see = |at, reserves, depth| {
        let rule = QueueRule {
            depth,
            on_request: true,
            window: Span(86_400),
            interval: Span(0),
            changes_order: true,
        };
        let limits = Some(Arc::new(Limits { queue: Some(rule), ..Limits::default() }));
        let wide = QueuedJob { reserves, ..waiting("wide", 2, 600) };
        let narrow = QueuedJob { reserves: false, ..waiting("narrow", 1, 500) };
        stage.see(later(at), Survey { limits, ..backlog(240, vec![wide, narrow]) });
        let mut load = stage.to_come();
        load.sort_by_key(|step| step.1);
        (stage.expected("wide"), stage.expected("narrow"), load)
    };
    let narrow_first = (starts(500), starts(0), vec![(1, 0, 500), (2, 500, 1_100)]);
    assert_eq!(see(0, false, 10), narrow_first);
    assert_eq!(see(0, false, 0), narrow_first, "no job is given a reservation");
    let wide_first = (starts(240), starts(840), vec![(2, 240, 840), (1, 840, 1_340)]);
    assert_eq!(see(0, true, 10), wide_first);
}

/// The owners' jobs end long before their limits: a guard leaves nodes to the next one sooner.
#[test]
fn a_guard_leaves_nodes_for_early_ends() {
    let runs = |guard| {
        let owners_first = first(guard);
        let mut stage = Stage::with(Settings { owners_first, ..Settings::default() });
        let running = |name: &str, from: i64, queue| {
            let mut survey = backlog(0, queue);
            let task = LocalTask { nodes: 1, from: later(from), until: later(from + 1_000) };
            survey.pools[0].local = [(name.to_owned(), task)].into();
            survey
        };
        stage.see(DAY, running("job 5", 0, vec![waiting("6", 1, 60)]));
        stage.see(later(10), running("job 6", 10, vec![waiting("7", 2, 600)]));
        assert_eq!(stage.expected("7"), starts(1_010), "what is expected does not change");
        stage.submit(later(11), here(1, 300)).unwrap();
        stage.phase(1) == Phase::Running
    };
    assert!(runs(Guard::Limits));
    assert!(!runs(Guard::Early), "the wide job may start in some seconds");
    assert!(!runs(Guard::Spare));
}

/// An owner's job runs on one of two nodes; the other is left for the next one, but for what is over
/// soon, and for a window that was promised.
#[test]
fn spare_nodes_are_not_taken_from_an_accepted_offer() {
    let owners_first = first(Guard::Spare);
    let mut stage = Stage::with(Settings { owners_first, ..Settings::default() });
    let owned = |tasks| {
        let task = LocalTask { nodes: 1, from: DAY, until: later(90_000) };
        let mut survey = look(tasks);
        survey.pools[0].local = [("job 5".to_owned(), task)].into();
        survey
    };
    stage.see(DAY, owned(vec![]));
    // Nodes are spared for two hours at most, and from then on again.
    let booking = Booking {
        start: later(8_000),
        ends: vec![later(8_400)],
        place: Place::Pool(PoolId(0)),
        prices: vec![Price(1_000_000)],
        groups: None,
    };
    let quote = Quote {
        number: 0,
        user: "ana".to_owned(),
        tasks: 1,
        work: Span(400),
        times: TimeMode::WORK,
        cost: booking.max(1),
        booking,
        expires: later(100),
        slack: None,
    };
    let mut ask = |at, ask| stage.step(at, Input::Asked { actor: ana(), ask }).unwrap().unwrap();
    let Reply::Number(number) = ask(DAY, Ask::Keep { quote }) else { panic!() };
    let submission = Arc::new(job(1, 400));
    ask(later(1), Ask::Submit { submission, key: None, quote: Some(number) });
    stage.submit(later(2), here(1, 700)).unwrap();
    for at in (10..8_000).step_by(100) {
        stage.see(later(at), owned(vec![]));
        assert_eq!(stage.phase(2), Phase::Waiting, "it would have the spare node for too long");
        assert!(stage.to_come().iter().all(|(_, from, _)| *from > at), "{:?}", stage.to_come());
    }
    stage.see(later(8_000), owned(vec![]));
    let tag = stage.orders().remove(0).tag;
    assert_eq!((tag.job, stage.phase(2)), (1, Phase::Waiting));
    stage.see(later(8_005), owned(vec![(tag, running(later(8_002)))]));
    let promise = stage.live.state().jobs[&1].promise().unwrap();
    assert_eq!(promise.outcome, OfferOutcome::Kept(later(8_002)));
    // A job that is over soon may use a spare node.
    let owners_first = first(Guard::Spare);
    let mut stage = Stage::with(Settings { owners_first, ..Settings::default() });
    stage.see(DAY, owned(vec![]));
    stage.submit(later(1), here(1, 240)).unwrap();
    assert_eq!(stage.phase(1), Phase::Running);
}

#[test]
fn spare_nodes_are_expected_to_be_free_when_no_job_of_the_owners_is_left() {
    let owners_first = first(Guard::Spare);
    let mut stage = Stage::with(Settings { owners_first, ..Settings::default() });
    let task = LocalTask { nodes: 1, from: DAY, until: later(1_000) };
    let mut survey = look(vec![]);
    survey.pools[0].local = [("job 5".to_owned(), task)].into();
    stage.see(DAY, survey.clone());
    assert_eq!(stage.to_come(), [(1, 240, 1_000)]);
    // When this one is over is not known.
    let held = QueuedJob { blocked: Blocked::Held, ..waiting("6", 1, 600) };
    stage.see(DAY, Survey { queue: vec![held], ..survey });
    assert_eq!(stage.to_come(), [(1, 240, 2_880)]);
}

/// When the market expects the owner's running task to end.
fn running_until(stage: &Stage) -> Time {
    let state = stage.live.state();
    let local = state.outages().iter().find(|(why, _)| matches!(why, Why::Local(..)));
    state.market.closure_state(*local.unwrap().1).unwrap().0.until
}

#[test]
fn a_task_is_expected_to_end_at_its_limit_or_soon_after() {
    let mut stage = Stage::new();
    let see = |stage: &mut Stage, at| {
        stage.see(later(at), backlog(240, vec![waiting("wide", 2, 600)]));
        (stage.expected("wide"), running_until(stage))
    };
    assert_eq!(see(&mut stage, 239), (starts(240), later(240)), "not later, though it is near");
    // Sites end jobs some seconds after their limits, and nothing was heard yet.
    stage.step(later(243), Input::Tick);
    assert_eq!(running_until(&stage), later(255));
    assert_eq!(see(&mut stage, 250), (starts(255), later(255)));
    stage.step(later(256), Input::Tick);
    assert_eq!(running_until(&stage), later(270));
    assert_eq!(see(&mut stage, 300), (starts(360), later(360)), "by twice the time beyond it");
    let state = stage.live.state();
    assert_eq!(state.market.free_in(PoolId(0)), 1, "its node is never free meanwhile");
}

#[test]
fn a_job_may_wait_for_one_that_runs() {
    let mut stage = Stage::new();
    let behind = Blocked::Dependency(vec!["77".to_owned()]);
    let mut survey = backlog(240, vec![QueuedJob { blocked: behind, ..waiting("78", 1, 60) }]);
    let local = &mut survey.pools[0].local;
    *local = local.values().map(|task| ("job 77".to_owned(), *task)).collect();
    stage.see(DAY, survey);
    assert_eq!(stage.expected("78"), starts(240));
}

#[test]
fn what_cannot_be_foreseen_is_said_and_not_planned_for() {
    let mut stage = Stage::new();
    let blocked = |name: &str, blocked| QueuedJob { blocked, ..waiting(name, 1, 60) };
    let after =
        |names: &[&str]| Blocked::Dependency(names.iter().map(|name| (*name).to_owned()).collect());
    let queue = vec![
        blocked("held", Blocked::Held),
        blocked("limit", Blocked::Limit("QOSMaxJobsPerUserLimit".to_owned())),
        blocked("later", Blocked::BeginTime(later(500))),
        blocked("behind", after(&["later"])),
        blocked("behind-running", after(&["running"])),
        blocked("one", after(&["other"])),
        blocked("other", after(&["one"])),
        blocked("unknown", after(&["77"])),
        waiting("too-wide", 9, 60),
        QueuedJob { pools: vec![usize::MAX], ..waiting("nowhere", 1, 60) },
        QueuedJob { tasks: 3, at_once: Some(1), ..waiting("array", 1, 100) },
    ];
    stage.see(DAY, backlog(240, queue));
    let no = Expected::No;
    for (name, expected) in [
        ("held", no(Unforeseen::Held)),
        ("limit", no(Unforeseen::Dependency)),
        ("later", starts(500)),
        ("behind", starts(560)),
        ("behind-running", starts(240)),
        ("one", no(Unforeseen::Dependency)),
        ("other", no(Unforeseen::Dependency)),
        ("unknown", no(Unforeseen::Dependency)),
        ("too-wide", no(Unforeseen::TooWide)),
        ("nowhere", no(Unforeseen::TooWide)),
        ("array", starts(0)),
    ] {
        assert_eq!(stage.expected(name), expected, "{name}");
    }
    let queue = stage.live.owners_queue(SiteId(0)).unwrap();
    let said = "no start is foreseen for 7 waiting jobs, and no load by them: 1 held, 4 waiting for a \
                limit, another job or an event of which the time is not known, 2 wider than the pools";
    assert_eq!(queue.notes, [said]);
    let load: i64 =
        stage.to_come().iter().map(|(nodes, from, until)| *nodes as i64 * (until - from)).sum();
    assert_eq!(load, 3 * 60 + 3 * 100, "what has a start, and all tasks of the array");
}

#[test]
fn an_absurd_queue_changes_little_and_ends_nothing() {
    let mut stage = Stage::new();
    let absurd = QueuedJob {
        pools: vec![0, 0, 7],
        nodes: u32::MAX,
        limit: Span::MAX,
        submitted: Time::MAX,
        earliest: Some(Time::MAX),
        expected: Some(Time::MIN),
        tasks: u32::MAX,
        at_once: Some(0),
        ..waiting("absurd", 1, 1)
    };
    let late = QueuedJob { earliest: Some(Time::MAX), ..waiting("late", 1, 1) };
    let many = QueuedJob { tasks: u32::MAX, limit: Span::MAX, ..waiting("many", 1, 1) };
    stage.see(DAY, backlog(240, vec![absurd, late, many]));
    stage.submit(later(1), here(1, 200)).unwrap();
    let all = stage.to_come();
    assert!(all.len() <= 64, "{}", all.len());
    stage.see(later(2), look(vec![]));
    assert_eq!(stage.to_come(), []);
    assert_eq!(stage.phase(1), Phase::Running);
}

#[test]
fn an_outage_that_was_announced_and_withdrawn_leaves_nothing_behind() {
    let mut stage = Stage::new();
    for round in 0..50 {
        let queue = vec![waiting("wide", 2, 600 + 100 * round)];
        stage.see(later(round), backlog(240 + 50 * round, queue));
        assert_eq!(stage.to_come().len(), 1, "round {round}");
    }
    let state = stage.live.state();
    let known: Vec<Outage> = state.market.outages().map(|(_, what)| what).collect();
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.iter().all(|what| what.cause == Cause::Local));
    assert_eq!(state.market.state().closures.len(), 2);
}

/// One job of others runs at a time on both nodes of site `a`, each with a limit of 600 s, and the next
/// one waits; each ends after a minute.
fn minute(number: i64) -> Survey {
    let running = LocalTask { nodes: 2, from: later(60 * number), until: later(60 * number + 600) };
    let local = [(format!("job {number}"), running)].into();
    let pools = vec![PoolSurvey { up: 2, local, ..PoolSurvey::default() }];
    let queue = vec![waiting(&format!("{}", number + 1), 2, 600)];
    Survey { pools, queue, ..Survey::default() }
}

#[test]
fn a_start_is_expected_by_how_early_jobs_of_others_end_and_promised_by_limits() {
    let mut stage = Stage::new();
    let wanted = Wanted { pool: PoolId(0), nodes: 2, limit: Span(60) };
    let usual = |stage: &Stage, before: &[Wanted]| {
        let known = stage.live.usual_start(SiteId(0))?;
        known.of(wanted, before, &mut || true)
    };
    stage.see(DAY, minute(0));
    assert_eq!(usual(&stage, &[]), None, "nothing is known of ends");
    for number in 1..10 {
        stage.see(later(60 * number), minute(number));
    }
    // By limits: 540 + 600 for the one that runs, and 600 for the one that waits.
    assert_eq!(stage.to_come(), [(2, 1_140, 1_740)]);
    // Each ended between two surveys, seen half a minute after its start on average.
    let expected = usual(&stage, &[]).unwrap();
    assert!((later(600)..later(660)).contains(&expected), "{expected:?}");
    let behind = usual(&stage, &[wanted]).unwrap();
    assert_eq!(behind, expected + Span(60), "a job of the market counts with its limit");
    assert_eq!(usual(&stage, &[wanted; 300]), None, "too many");
    // Nothing of others is there: a window says all.
    stage.see(later(700), look(vec![]));
    assert_eq!(usual(&stage, &[]), None);
}

#[test]
fn how_early_jobs_of_others_end_is_known_after_a_restart() {
    let mut stage = Stage::new();
    (0..10).for_each(|number| stage.see(later(60 * number), minute(number)));
    let wanted = Wanted { pool: PoolId(0), nodes: 2, limit: Span(60) };
    let usual = |stage: &Stage| stage.live.usual_start(SiteId(0))?.of(wanted, &[], &mut || true);
    let mut state = State::empty(DAY);
    stage.records.iter().for_each(|(at, record)| state.apply(*at, record).unwrap());
    let at = later(545);
    let begun = Live::begin(state, Settings::default(), Arc::new(Easy), "easy", at);
    let mut again = Stage { live: begun.unwrap().0, records: vec![] };
    assert_eq!(usual(&again), None, "the site was not surveyed yet");
    stage.see(at, minute(9));
    again.see(at, minute(9));
    assert!(usual(&again).is_some());
    assert_eq!(usual(&again), usual(&stage));
}
