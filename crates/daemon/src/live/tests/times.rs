//! Limits of wall-clock time and of work, and who says which it is.

use crate::live::record::MarketRecord;
use tradewind_io::submission::Counted;
use tradewind_model::{JobId, Place, PoolId, TimeMode, Times};

use super::*;
use crate::live::state::{Booking, Quote};
use crate::live::times::{CountingReason, counted};

/// One pool of two nodes at each of five sites: of performance 0.5, 1 and 2 whose owners say
/// nothing, and of performance 0.5 and 2 whose owners count work.
fn five() -> Pools {
    let owners = [
        (500, Times::Wall),
        (1_000, Times::Wall),
        (2_000, Times::Wall),
        (500, Times::Work),
        (2_000, Times::Work),
    ];
    let plain = pools().as_slice()[0].clone();
    let pool = |(site, (performance, times)): (u32, (u32, Times))| Pool {
        name: format!("{site}/x"),
        site: SiteId(site),
        performance: Performance::from_thousandths(performance).unwrap(),
        attributes: [(SITE, site.to_string()), (RESOURCES, format!("{site}/x"))]
            .map(|(key, value)| (key.to_owned(), Attribute::Text(value)))
            .into(),
        times,
        ..plain.clone()
    };
    let sites = (0..5).map(|site| Site { name: site.to_string() }).collect();
    Pools::new(sites, (0..).zip(owners).map(pool).collect()).unwrap()
}

const SITE: &str = "site";
const ALL: [u32; 5] = [0, 1, 2, 3, 4];

fn market(projects: &[(&str, Times)]) -> Stage {
    let mut state = State::empty(DAY);
    let owners = ALL.map(|_| "olga".to_owned()).to_vec();
    let records = [
        Record::Market(MarketRecord::Created { market: "m".to_owned() }),
        Record::Market(MarketRecord::Gridded { pools: Arc::new(five()), owners }),
    ];
    records.iter().for_each(|record| state.apply(DAY, record).unwrap());
    let times = projects.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect();
    let settings = Settings { times, ..Settings::default() };
    let (live, step) = Live::begin(state, settings, Arc::new(Easy), "easy", DAY).unwrap();
    let records = records.into_iter().chain(step.records).map(|record| (DAY, record));
    let mut stage = Stage { live, records: records.collect() };
    let root = Actor { user: "root".to_owned(), role: Role::Administrator };
    for (project, _) in projects {
        let (from, to) = (Account::Bank, Account::Project((*project).to_owned()));
        let unknown = Unknown::Create;
        let ask =
            Ask::Move { from, to, amount: Money(1_000_000_000), note: String::new(), unknown };
        stage.step(DAY, Input::Asked { actor: root.clone(), ask }).unwrap().unwrap();
        let (user, role) = ("ana".to_owned(), crate::live::projects::MemberRole::Member);
        let project = (*project).to_owned();
        let ask = Ask::Project { project, wish: ProjectChange::Join { user, role } };
        stage.step(DAY, Input::Asked { actor: root.clone(), ask }).unwrap().unwrap();
    }
    stage
}

/// The limits, in seconds, that a job of two minutes has at each site, and what is held for it.
fn limits(stage: &mut Stage, time: &TimeLimit, project: Option<&str>) -> [i64; 5] {
    ALL.map(|site| {
        let mut submission = Submission { time: time.clone(), ..job(1, 1) };
        submission.project = project.map(str::to_owned);
        submission.terms.sites = vec![site.to_string()];
        let reply = stage.submit(DAY, submission).unwrap();
        let Reply::Jobs(jobs) = reply else { panic!("{reply:?}") };
        assert_eq!(stage.phase(jobs[0]), Phase::Running);
        let limit = stage.live.state().jobs[&jobs[0]].parts()[0].limit;
        // One credit per second: prices follow the limit.
        let held = stage.balance(&format!("held:{}", jobs[0]));
        assert_eq!(held, i128::from(limit.0) * 1_000_000);
        let orders = stage.orders();
        let order = orders.iter().find(|it| it.tag.job == jobs[0]).unwrap();
        assert_eq!(order.order.as_ref().unwrap().limit, limit);
        let ask = Ask::Cancel { job: jobs[0] };
        stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap().unwrap();
        let never = Seen::Ended { since: None, at: later(1), exit: Exit::Withdrawn };
        stage.survey(DAY, site, vec![(order.tag.clone(), never)], &[]);
        limit.0
    })
}

#[test]
fn a_limit_is_wall_clock_time_unless_job_project_or_owner_say_work() {
    let mut stage = market(&[("slow", Times::Work), ("fast", Times::Wall)]);
    let time = TimeLimit::one(Span(120));
    let [wall, work] = [Times::Wall, Times::Work].map(|times| time.clone().counted_by(times));
    let (by_clock, by_work) = ([120; 5], [240, 120, 60, 240, 60]);
    let by_owner = [120, 120, 120, 240, 60];
    assert_eq!(limits(&mut stage, &time, None), by_owner);
    assert_eq!(limits(&mut stage, &wall, None), by_clock);
    assert_eq!(limits(&mut stage, &work, None), by_work);
    assert_eq!(limits(&mut stage, &time, Some("slow")), by_work, "the project's word");
    assert_eq!(limits(&mut stage, &time, Some("fast")), by_clock, "before the owner's");
    assert_eq!(limits(&mut stage, &wall, Some("slow")), by_clock, "the job's before both");
    assert_eq!(limits(&mut stage, &work, Some("fast")), by_work);
    let earlier = TimeLimit::Reference(Span(120));
    assert_eq!(limits(&mut stage, &earlier, Some("fast")), by_work, "as it was submitted");
}

#[test]
fn it_is_known_who_said_what_is_counted() {
    let one = |counted| TimeLimit::One { limit: Span(9), counted };
    let said = |limit: &TimeLimit| [Times::Wall, Times::Work].map(|owner| counted(limit, owner));
    let both = |times, reason| [(times, reason), (times, reason)];
    assert_eq!(
        said(&one(Counted::Default)),
        [(Times::Wall, CountingReason::Default), (Times::Work, CountingReason::Owner)]
    );
    assert_eq!(said(&one(Counted::Job(Times::Wall))), both(Times::Wall, CountingReason::Job));
    assert_eq!(
        said(&one(Counted::Project(Times::Work))),
        both(Times::Work, CountingReason::Project)
    );
    assert_eq!(said(&TimeLimit::Reference(Span(9))), both(Times::Work, CountingReason::Earlier));
}

#[test]
fn what_a_project_says_later_is_for_later_jobs() {
    let mut stage = market(&[("p", Times::Work)]);
    let submission = || Submission {
        project: Some("p".to_owned()),
        time: TimeLimit::one(Span(60)),
        held: true,
        ..job(1, 1)
    };
    let submit = |stage: &mut Stage| {
        let (submission, key) = (Arc::new(submission()), Some("k".to_owned()));
        let ask = Ask::Submit { submission, key, quote: None };
        stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap()
    };
    assert_eq!(submit(&mut stage), Ok(Reply::Jobs(vec![1])));
    stage.live.settings.times = [("p".to_owned(), Times::Wall)].into();
    assert_eq!(submit(&mut stage), Ok(Reply::Jobs(vec![1])), "the same submission, sent again");
    let kept = |stage: &Stage| stage.live.state().jobs[&1].submission.time.clone();
    let counted = Counted::Project(Times::Work);
    assert_eq!(kept(&stage), TimeLimit::One { limit: Span(60), counted });
    let ask = Ask::Release { job: 1 };
    stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap().unwrap();
    let demand = stage.live.state().market.demand(JobId(0)).unwrap();
    assert_eq!(demand.mode(), TimeMode::WORK);
}

#[test]
fn a_quote_is_for_one_way_of_counting() {
    let mut stage = market(&[]);
    let quote = |times| Quote {
        number: 0,
        user: String::new(),
        tasks: 1,
        work: Span(60),
        times,
        booking: Booking {
            start: later(5),
            ends: vec![later(65)],
            place: Place::Pool(PoolId(2)),
            prices: vec![Price(1_000_000)],
            groups: None,
        },
        cost: Money(60_000_000),
        expires: later(50),
        slack: None,
    };
    let mut keep = |times| {
        let ask = Ask::Keep { quote: quote(times) };
        let kept = stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap();
        let Ok(Reply::Number(number)) = kept else { panic!("{kept:?}") };
        let submission = Submission { time: TimeLimit::one(Span(60)), ..job(1, 1) };
        let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: Some(number) };
        stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap()
    };
    let refused = keep(TimeMode::WORK).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
    assert!(refused.message.ends_with("is for 1 nodes and 60 s of work"), "{refused:?}");
    assert_eq!(keep(TimeMode::Owner), Ok(Reply::Jobs(vec![1])));
}
