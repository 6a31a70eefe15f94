use super::*;
use crate::site::conformance::{CHECKS, SiteBench, TaskBehaviour, order, tag};
use tradewind_io::submission::Work;
use tradewind_model::Performance;

struct FakeBench(FakeSite);

impl FakeBench {
    fn new() -> FakeBench {
        let pool = |name: &str, nodes| PoolSetup {
            name: name.to_owned(),
            nodes,
            performance: Performance::REFERENCE,
            attributes: BTreeMap::new(),
        };
        FakeBench(FakeSite::new(vec![pool("cpu", 8), pool("other", 2)], Time(1_000)))
    }

    /// A task of the suite's name that runs for so long.
    fn order(&mut self, job: u64, nodes: u32, length: i64) -> Order {
        let mut order = order(self, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.work = work(Span(length), 0);
        order.nodes = nodes;
        order
    }

    fn seen(&mut self, job: u64) -> Option<Seen> {
        self.0.survey().unwrap().tasks.remove(&tag(job))
    }
}

fn line_up(site: &mut FakeSite, nodes: &[u32]) -> bool {
    let now = site.now();
    for (number, nodes) in nodes.iter().enumerate() {
        let job = LocalJob { pool: 0, nodes: *nodes, shown: now, from: now, length: Span(300) };
        site.set_local(&format!("line {number}"), job);
    }
    true
}

fn take(site: &mut FakeSite, nodes: u32) {
    let now = site.now();
    let job = LocalJob { pool: 0, nodes, shown: now, from: now, length: Span(1_000_000) };
    site.end_local("hand");
    if nodes > 0 {
        site.set_local("hand", job);
    }
}

impl SiteBench for FakeBench {
    fn site(&mut self) -> &mut dyn Site {
        &mut self.0
    }
    fn now(&mut self) -> Time {
        self.0.now()
    }
    fn wait(&mut self) {
        let now = self.0.now();
        self.0.advance(now + Span(1));
    }
    fn patience(&self) -> u32 {
        100
    }
    fn restart(&mut self) {}
    fn take(&mut self, nodes: u32) {
        take(&mut self.0, nodes);
    }
    fn line_up(&mut self, nodes: &[u32]) -> bool {
        line_up(&mut self.0, nodes)
    }
    fn work(&self, act: &TaskBehaviour) -> Work {
        work_of(act)
    }
}

#[test]
fn it_keeps_the_promises() {
    for (name, check) in CHECKS {
        check(&mut FakeBench::new()).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// A duplicated or late request changes nothing of the promise to run once.
#[test]
fn it_keeps_them_when_every_request_arrives_twice() {
    for (name, check) in CHECKS {
        let mut bench = FakeBench::new();
        bench.0.weather(Some(InjectedFault::Twice));
        check(&mut bench).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// What a bad site does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    ForgetsWhatItTook,
    DeafToWithdrawals,
    ForgetsWithdrawalsOfTheUnknown,
    StartsEarly,
    KnowsNoLimit,
    SaysAllIsWell,
    TrimsArguments,
    HidesTheOwner,
    GivesTheHead,
    ShowsForty,
    TakesBackWhatRuns,
    NeverTakesBack,
    HidesTheQueue,
}

#[derive(Debug)]
struct Bad(FakeSite, Flaw);

impl Site for Bad {
    fn pools(&self) -> &[PoolSetup] {
        self.0.pools()
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        let mut survey = self.0.survey()?;
        match self.1 {
            Flaw::HidesTheOwner => survey.pools.iter_mut().for_each(|pool| pool.local.clear()),
            Flaw::HidesTheQueue => survey.queue.clear(),
            Flaw::ShowsForty => survey.tasks = survey.tasks.into_iter().take(40).collect(),
            Flaw::SaysAllIsWell => survey.tasks.values_mut().for_each(|seen| {
                if let Seen::Ended { exit, .. } = seen {
                    *exit = Exit::Code(0);
                }
            }),
            _ => {}
        }
        Ok(survey)
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        let mut order = order.clone();
        match (self.1, &mut order.work) {
            (Flaw::StartsEarly, _) => order.start = self.0.now(),
            (Flaw::KnowsNoLimit, _) => order.limit = Span(1_000_000),
            (Flaw::TrimsArguments, Work::Command(words)) => {
                words.iter_mut().for_each(|word| *word = word.trim().to_owned());
            }
            _ => {}
        }
        self.0.submit(&order)?;
        if self.1 == Flaw::ForgetsWhatItTook {
            self.0.crash(1);
        }
        Ok(())
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        match self.1 {
            Flaw::DeafToWithdrawals => Ok(()),
            Flaw::ForgetsWithdrawalsOfTheUnknown if !self.0.cluster.knows(tag) => Ok(()),
            _ => self.0.withdraw(tag),
        }
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        match self.1 {
            Flaw::TakesBackWhatRuns => self.0.withdraw(tag),
            Flaw::NeverTakesBack => Err(SiteError::Begun),
            _ => self.0.recall(tag),
        }
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.0.forget(tag)
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        match self.1 {
            Flaw::GivesTheHead => {
                self.0.output(tag, usize::MAX).map(|all| all.into_iter().take(max).collect())
            }
            _ => self.0.output(tag, max),
        }
    }

    fn doctor(&mut self) -> Vec<Finding> {
        self.0.doctor()
    }
}

struct BadBench(Bad);

impl SiteBench for BadBench {
    fn site(&mut self) -> &mut dyn Site {
        &mut self.0
    }
    fn now(&mut self) -> Time {
        self.0.0.now()
    }
    fn wait(&mut self) {
        let now = self.0.0.now();
        self.0.0.advance(now + Span(1));
    }
    fn patience(&self) -> u32 {
        100
    }
    fn restart(&mut self) {}
    fn take(&mut self, nodes: u32) {
        take(&mut self.0.0, nodes);
    }
    fn line_up(&mut self, nodes: &[u32]) -> bool {
        line_up(&mut self.0.0, nodes)
    }
    fn work(&self, act: &TaskBehaviour) -> Work {
        work_of(act)
    }
}

/// The suite can fail: for each flaw there is a check that sees it.
#[test]
fn the_suite_sees_what_is_wrong() {
    let flaws = [
        (Flaw::ForgetsWhatItTook, "what was acknowledged is seen"),
        (Flaw::DeafToWithdrawals, "withdrawn while it runs, it stops"),
        (Flaw::ForgetsWithdrawalsOfTheUnknown, "withdrawn before it was known, it never runs"),
        (Flaw::StartsEarly, "a task does not start before its time"),
        (Flaw::KnowsNoLimit, "the time limit holds"),
        (Flaw::SaysAllIsWell, "exit codes are reported"),
        (Flaw::TrimsArguments, "arguments arrive as they are"),
        (Flaw::HidesTheOwner, "the owner's load comes and goes"),
        (Flaw::GivesTheHead, "the output's tail is reported"),
        (Flaw::ShowsForty, "fifty tasks at once share the nodes"),
        (Flaw::TakesBackWhatRuns, "recalled when its work has begun, it runs on"),
        (Flaw::NeverTakesBack, "recalled before it began, it never does"),
        (Flaw::HidesTheQueue, "waiting jobs of the owner are listed"),
    ];
    for (flaw, name) in flaws {
        let (_, check) = CHECKS.iter().find(|(other, _)| *other == name).unwrap();
        let answer = check(&mut BadBench(Bad(FakeBench::new().0, flaw)));
        assert!(answer.is_err(), "{flaw:?} is not seen by {name:?}");
    }
}

#[test]
fn an_answer_that_is_lost_after_the_deed_leaves_the_deed() {
    let mut bench = FakeBench::new();
    let order = bench.order(1, 2, 10);
    for (fault, is_done) in [
        (InjectedFault::LostBefore, false),
        (InjectedFault::Away, false),
        (InjectedFault::LostAfter, true),
    ] {
        bench.0.plan(Some(fault));
        assert!(bench.0.submit(&order).is_err());
        assert_eq!(bench.seen(1).is_some(), is_done);
    }
    assert_eq!(bench.0.submit(&order), Ok(()));
    assert_eq!(bench.0.history().len(), 1);
}

#[test]
fn a_late_submission_comes_after_its_withdrawal_and_does_nothing() {
    let mut bench = FakeBench::new();
    let order = bench.order(1, 1, 10);
    bench.0.plan(Some(InjectedFault::Late(Span(5))));
    assert!(bench.0.submit(&order).is_err());
    bench.0.advance(Time(1_003));
    bench.0.withdraw(&order.tag).unwrap();
    bench.0.advance(Time(1_100));
    assert_eq!(bench.seen(1), None);
    assert_eq!(bench.0.history(), []);
}

#[test]
fn a_crash_loses_records_and_not_tasks() {
    let mut bench = FakeBench::new();
    let orders: Vec<Order> = (1..=3).map(|job| bench.order(job, 4, 10)).collect();
    for order in &orders {
        bench.0.submit(order).unwrap();
    }
    // The first two run, the third waits.
    bench.0.crash(2);
    assert!(bench.seen(1).is_some() && bench.seen(2).is_none() && bench.seen(3).is_none());
    // A second submission of what runs without a record does not run it twice.
    bench.0.submit(&orders[1]).unwrap();
    bench.0.submit(&orders[2]).unwrap();
    bench.0.advance(Time(1_100));
    let ran: Vec<u64> = bench.0.history().iter().map(|ran| ran.tag.job).collect();
    assert_eq!(ran, [1, 2, 3]);
    assert!(bench.0.history().iter().all(|ran| ran.ended.is_some()));
    let again = bench.seen(2);
    assert!(matches!(again, Some(Seen::Ended { since: None, .. })), "{again:?}");
}

#[test]
fn a_node_that_dies_takes_its_task_along() {
    let mut bench = FakeBench::new();
    let order = bench.order(1, 3, 100);
    bench.0.submit(&order).unwrap();
    bench.0.advance(Time(1_010));
    bench.0.break_node(0, 1);
    let ended = Seen::Ended { since: Some(Time(1_000)), at: Time(1_010), exit: Exit::NodeFailed };
    assert_eq!(bench.seen(1), Some(ended));
    assert_eq!(bench.0.survey().unwrap().pools[0].up, 7);
    bench.0.mend_node(0, 1);
    assert_eq!(bench.0.survey().unwrap().pools[0].up, 8);
}

#[test]
fn the_owners_job_waits_for_nodes_and_comes_first() {
    let mut bench = FakeBench::new();
    let (first, second) = (bench.order(1, 6, 10), bench.order(2, 6, 10));
    bench.0.submit(&first).unwrap();
    bench.0.submit(&second).unwrap();
    let job =
        LocalJob { pool: 0, nodes: 4, shown: Time(1_005), from: Time(1_005), length: Span(20) };
    bench.0.set_local("late", job);
    bench.0.advance(Time(1_007));
    let further = QueuedJob { tasks: 7, ..QueuedJob::of("set", 0, 2, Span(60)) };
    bench.0.set_queue(vec![further]);
    let mut survey = bench.0.survey().unwrap();
    let told: Vec<_> =
        survey.queue.iter().map(|it| (it.name.as_str(), it.rank, it.nodes, it.tasks)).collect();
    assert_eq!(told, [("late", 0, 4, 1), ("set", 1, 2, 7)]);
    let pool = survey.pools.remove(0);
    assert_eq!(pool.local.len(), 0);
    bench.0.advance(Time(1_015));
    bench.0.set_queue(Vec::new());
    let mut survey = bench.0.survey().unwrap();
    assert!(survey.queue.is_empty(), "it runs");
    let pool = survey.pools.remove(0);
    let task = LocalTask { nodes: 4, from: Time(1_010), until: Time(1_030) };
    assert_eq!(pool.local.get("late"), Some(&task));
    assert_eq!(bench.seen(2), Some(Seen::Waiting));
    bench.0.advance(Time(1_040));
    let since = bench.0.history().iter().find(|ran| ran.tag.job == 2).map(|ran| ran.since);
    assert_eq!(since, Some(Time(1_030)));
}

/// One step of a random life: what, of which job, and how much.
fn step(bench: &mut FakeBench, what: u8, job: u64, much: u32) {
    let fault = match much % 9 {
        0 => Some(InjectedFault::LostBefore),
        1 => Some(InjectedFault::LostAfter),
        2 => Some(InjectedFault::Late(Span(i64::from(much % 40)))),
        3 => Some(InjectedFault::Twice),
        4 => Some(InjectedFault::Garbage(much)),
        _ => None,
    };
    let now = bench.0.now();
    let length = i64::from(much % 30);
    match what {
        0..=3 => {
            let order = bench.order(job, 1 + much % 9, length);
            bench.0.plan(fault);
            let _ = bench.0.submit(&order);
        }
        4 => {
            bench.0.plan(fault);
            let _ = bench.0.withdraw(&tag(job));
        }
        5 => {
            bench.0.plan(fault);
            let _ = bench.0.forget(&tag(job));
        }
        6 => {
            let from = now + Span(i64::from(much % 7));
            let length = Span(length + 1);
            let job = LocalJob { pool: 0, nodes: much % 8, shown: now, from, length };
            bench.0.set_local(&format!("own {}", much % 3), job);
        }
        7 => bench.0.crash(u64::from(much % 3)),
        _ => bench.0.advance(now + Span(length)),
    }
}

proptest::proptest! {
    /// Whatever is lost, late or doubled: no tag runs twice, and what the site knows never has
    /// a node twice or more nodes than there are.
    #[test]
    fn nothing_runs_twice(steps in proptest::collection::vec((0u8..12, 0u64..12, 0u32..1_000), 1..120)) {
        let mut bench = FakeBench::new();
        for (what, job, much) in steps {
            step(&mut bench, what, job, much);
            let survey = bench.0.survey().unwrap();
            let mut nodes = BTreeSet::new();
            for seen in survey.tasks.values() {
                if let Seen::Running { nodes: own, .. } = seen {
                    proptest::prop_assert!(own.iter().all(|node| nodes.insert(node.clone())));
                }
            }
            let now = bench.0.now();
            let running = survey.pools[0].local.values().filter(|task| task.from <= now);
            let owners: u32 = running.map(|task| task.nodes).sum();
            proptest::prop_assert!(nodes.len() + usize::try_from(owners).unwrap() <= 8);
        }
        let mut tags = BTreeSet::new();
        proptest::prop_assert!(bench.0.history().iter().all(|ran| tags.insert(ran.tag.clone())));
        // Once all is quiet, everything that began has ended.
        let now = bench.0.now();
        bench.0.advance(now + Span(100_000));
        proptest::prop_assert!(bench.0.history().iter().all(|ran| ran.ended.is_some()));
    }
}

/// How fast it is; run by hand.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let began = std::time::Instant::now();
    let mut tasks = 0;
    for world in 0..200 {
        let mut bench = FakeBench::new();
        for job in 0..100 {
            let order = bench.order(job, 1 + u32::try_from((job + world) % 4).unwrap(), 10);
            bench.0.submit(&order).unwrap();
            bench.wait();
            bench.0.survey().unwrap();
            tasks += 1;
        }
        bench.0.advance(Time(100_000));
        assert_eq!(bench.0.history().len(), 100);
    }
    println!("{} us for a task with its survey and second", began.elapsed().as_micros() / tasks);
}
