use crate::live::record::{JobRecord, MarketRecord};
use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_io::submission::{Conditions, OnLost, Submission, Surroundings, TimeLimit, Work};
use tradewind_model::{
    Admission, Attribute, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Spread, Time,
    Times,
};
use tradewind_sched::policy::expecting::ByExpectation;
use tradewind_sched::policy::{Policy, gridfill};

use super::money::Account;
use super::rights::{Actor, Role};
use super::state::{Finish, JobHold, Phase, Why};
use super::*;
use crate::site::{Exit, LocalTask, PoolSurvey, Seen, Survey, Tag};

mod advice;
mod bodies;
mod caps;
mod choice;
mod data;
mod dependencies;
mod energy;
mod funds;
mod gather;
mod groups;
mod held;
mod lengths;
mod licences;
mod line;
mod moldable;
mod owners;
mod preempted;
mod prices;
mod projects;
mod promises;
mod put_off;
mod quotes;
mod recall;
mod redact;
mod requeue;
mod resources;
mod rules;
mod shapes;
mod sites;
mod size;
mod times;
mod tokens;
mod update;
mod waits;

/// The rows of the journal make the same jobs and the same money.
fn replayed(stage: &Stage) {
    let mut again = State::empty(DAY);
    for (at, record) in &stage.records {
        again.apply(*at, record).unwrap();
    }
    assert_eq!(again.jobs, stage.live.state().jobs);
    assert_eq!(again.accounts(), stage.live.state().accounts());
}

fn easy() -> Box<dyn Policy> {
    Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default()))
}

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, policy: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        match policy {
            "easy" => Ok(Box::new(ByExpectation::new(easy(), Box::new(|_| Some(easy()))))),
            other => Err(format!("there is no policy `{other}`")),
        }
    }
}

const DAY: Time = Time(1_800_000_000);

fn later(seconds: i64) -> Time {
    DAY + Span(seconds)
}

fn ana() -> Actor {
    Actor { user: "ana".to_owned(), role: Role::User }
}

fn pools() -> Pools {
    let pool = |name: &str, site: u32, performance| Pool {
        name: name.to_owned(),
        site: SiteId(site),
        nodes: 2,
        performance: Performance::from_thousandths(performance).unwrap(),
        price: Price(1_000_000),
        attributes: [("site", &name[..1]), (RESOURCES, name)]
            .map(|(key, value)| (key.to_owned(), Attribute::Text(value.to_owned())))
            .into(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let site = |name: &str| Site { name: name.to_owned() };
    Pools::new(vec![site("a"), site("b")], vec![pool("a/x", 0, 1_000), pool("b/y", 1, 2_000)])
        .unwrap()
}

fn job(tasks: u32, seconds: i64) -> Submission {
    Submission::new(
        "t",
        Work::Command(vec!["true".to_owned()]),
        tasks,
        TimeLimit::Reference(Span(seconds)),
    )
}

/// A live market whose sites are driven by hand.
struct Stage {
    live: Live,
    records: Vec<(Time, Record)>,
}

impl Stage {
    fn new() -> Stage {
        Stage::with(Settings::default())
    }

    fn with(settings: Settings) -> Stage {
        Stage::on(pools(), settings)
    }

    fn on(pools: Pools, settings: Settings) -> Stage {
        let mut state = State::empty(DAY);
        let owners = vec!["olga".to_owned(), "otto".to_owned()];
        let mut records = vec![Record::Market(MarketRecord::Created { market: "m".to_owned() })];
        records.push(Record::Market(MarketRecord::Gridded { pools: Arc::new(pools), owners }));
        records.iter().for_each(|record| state.apply(DAY, record).unwrap());
        let (live, step) = Live::begin(state, settings, Arc::new(Easy), "easy", DAY).unwrap();
        records.extend(step.records);
        let records = records.into_iter().map(|record| (DAY, record)).collect();
        Stage { live, records }
    }

    fn asked(&mut self, at: Time, actor: Actor, ask: Ask) -> Result<Reply, Refusal> {
        self.step(at, Input::Asked { actor, ask }).unwrap()
    }

    fn step(&mut self, at: Time, input: Input) -> Option<Result<Reply, Refusal>> {
        let step = self.live.step(at, input).unwrap();
        self.records.extend(step.records.into_iter().map(|record| (at, record)));
        while self.live.is_due(at) {
            let step = self.live.plan(at).unwrap();
            self.records.extend(step.records.into_iter().map(|record| (at, record)));
        }
        self.live.state().market.check().unwrap();
        let accounts = &self.live.state().accounts();
        assert_eq!(accounts.sum(), 0);
        let mut owing = accounts.balances().filter(|(account, _)| **account != Account::Bank);
        assert_eq!(owing.find(|(_, balance)| *balance < 0), None);
        step.answer
    }

    fn submit(&mut self, at: Time, submission: Submission) -> Result<Reply, Refusal> {
        let submission = Arc::new(submission);
        let ask = Ask::Submit { submission, key: None, quote: None };
        self.step(at, Input::Asked { actor: ana(), ask }).unwrap()
    }

    fn orders(&self) -> Vec<Instruction> {
        self.live.orders(|_, _| false)
    }

    fn survey(&mut self, at: Time, site: u32, tasks: Vec<(Tag, Seen)>, local: &[(&str, u32)]) {
        let until = at + Span(100);
        let task = |nodes| LocalTask { nodes, from: at, until };
        let local: BTreeMap<String, LocalTask> =
            local.iter().map(|(name, nodes)| ((*name).to_owned(), task(*nodes))).collect();
        let pools = vec![PoolSurvey { up: 2, local, ..PoolSurvey::default() }];
        let survey = Ok(Survey { pools, ..look(tasks) });
        self.step(at, Input::Surveyed { site: SiteId(site), survey });
    }

    fn phase(&self, job: u64) -> Phase<'_> {
        self.live.state().jobs[&job].phase()
    }

    fn balance(&self, account: &str) -> i128 {
        self.live.state().accounts().balance(&Account::parse(account).unwrap())
    }
}

/// A survey of two idle nodes.
fn look(tasks: Vec<(Tag, Seen)>) -> Survey {
    let pools = vec![PoolSurvey { up: 2, ..PoolSurvey::default() }];
    Survey { pools, tasks: tasks.into_iter().collect(), ..Survey::default() }
}

fn running(since: Time) -> Seen {
    Seen::Running { since, nodes: vec!["n".to_owned()] }
}

fn ended(since: Time, at: Time, exit: Exit) -> Seen {
    Seen::Ended { since: Some(since), at, exit }
}

#[test]
fn a_key_is_for_one_submission() {
    let mut stage = Stage::new();
    let mut submit = |work, deadline| {
        let terms = Conditions { deadline: Some(later(deadline)), ..Conditions::default() };
        let submission = Arc::new(Submission { terms, ..job(1, work) });
        let key = Some("k".to_owned());
        let ask = Ask::Submit { submission, key, quote: None };
        stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap()
    };
    assert_eq!(submit(60, 3_600), Ok(Reply::Jobs(vec![1])));
    assert_eq!(submit(60, 3_601), Ok(Reply::Jobs(vec![1])), "in an hour, asked a second later");
    assert_eq!(submit(61, 3_600).unwrap_err().kind, RefusalKind::Conflict);
}

#[test]
fn a_job_goes_from_submission_to_a_settled_ledger() {
    let mut stage = Stage::new();
    let grant = i128::from(Settings::default().new_user_grant.0);
    assert_eq!(stage.submit(DAY, job(1, 60)), Ok(Reply::Jobs(vec![1])));
    assert_eq!(stage.phase(1), Phase::Running);
    let held = stage.balance("held:1");
    assert!(held > 0 && stage.balance("user:ana") == grant - held);
    let orders = stage.orders();
    let [Instruction { tag, act: Act::Submit, order: Some(order), site, .. }] = &orders[..] else {
        panic!("{orders:?}");
    };
    assert_eq!((order.nodes, order.user.as_str()), (1, "ana"));
    let (tag, site) = (tag.clone(), site.0);
    stage.step(later(1), Input::Answered { tag: tag.clone(), act: Act::Submit, answer: Ok(()) });
    assert_eq!(stage.orders(), []);
    stage.survey(later(2), site, vec![(tag.clone(), running(later(1)))], &[]);
    stage.survey(later(12), site, vec![(tag, ended(later(1), later(11), Exit::Code(0)))], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    let owner = stage.balance("owner:a") + stage.balance("owner:b");
    assert_eq!(owner, 10_000_000);
    assert_eq!(stage.balance("user:ana"), grant - owner);
    assert_eq!(stage.live.state().jobs[&1].paid, Money(10_000_000));
    assert!(matches!(stage.orders()[..], [Instruction { act: Act::Forget, .. }]));
}

#[test]
fn the_state_is_what_a_replay_gives() {
    let mut stage = Stage::new();
    for seconds in [60, 30, 90, 20, 40] {
        stage.submit(DAY, job(2, seconds)).unwrap();
    }
    let tags: Vec<Tag> = stage.orders().into_iter().map(|it| it.tag).collect();
    assert_eq!(tags.len(), 2);
    stage.survey(later(3), 0, vec![(tags[0].clone(), running(later(1)))], &[("x", 1)]);
    let ask = Ask::Cancel { job: 3 };
    stage.step(later(4), Input::Asked { actor: ana(), ask }).unwrap().unwrap();
    let mut again = State::empty(DAY);
    for (at, record) in &stage.records {
        again.apply(*at, record).unwrap();
    }
    assert_eq!(again.market.state(), stage.live.state().market.state());
    assert_eq!(again.jobs, stage.live.state().jobs);
    assert_eq!(again.accounts(), stage.live.state().accounts());
    assert_eq!(again.tasks, stage.live.state().tasks);
}

#[test]
fn the_owner_comes_first() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    // The owner's job took a node before ours had begun.
    stage.survey(later(1), order.site.0, vec![], &[("own", 1)]);
    let [stop] = &stage.orders()[..] else { panic!("one order") };
    assert_eq!((stop.act, &stop.tag, stop.site), (Act::Recall, &order.tag, order.site));
    // Only when the site says that it never began is it started elsewhere.
    let never = Seen::Ended { since: None, at: later(2), exit: Exit::Withdrawn };
    stage.survey(later(2), order.site.0, vec![(order.tag, never)], &[("own", 1)]);
    assert_eq!(stage.live.state().jobs[&1].attempt, 1);
    let orders = stage.orders();
    let start = orders.iter().find(|it| it.act == Act::Submit).unwrap();
    assert_ne!(start.site, order.site);
    assert_eq!(stage.live.state().outages().len(), 1);
    stage.survey(later(3), order.site.0, vec![], &[]);
    assert_eq!(stage.live.state().outages().len(), 0);
}

#[test]
fn what_makes_no_sense_changes_nothing() {
    let mut stage = Stage::new();
    let records = stage.records.len();
    let mut nowhere = job(1, 60);
    nowhere.terms.sites = vec!["zz".to_owned()];
    let mut waits = job(1, 60);
    waits.after = vec![tradewind_io::submission::Dependency {
        when: tradewind_io::submission::When::Ok,
        job: 7,
    }];
    for (wrong, kind) in [
        (nowhere, RefusalKind::Invalid),
        (job(5, 60), RefusalKind::Invalid),
        (waits, RefusalKind::Invalid),
    ] {
        assert_eq!(stage.submit(DAY, wrong).unwrap_err().kind, kind);
    }
    let ask = Ask::Cancel { job: 1 };
    let answer = stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap();
    assert_eq!(answer.unwrap_err().kind, RefusalKind::Unknown);
    let began = |(_, record): &&(Time, Record)| {
        matches!(record, Record::Market(MarketRecord::Decided { .. }))
    };
    let decided = stage.records.iter().skip(records).filter(began).count();
    assert_eq!(stage.records.len(), records + decided);
}

#[test]
fn a_number_that_a_site_knows_is_not_given_again() {
    let mut stage = Stage::new();
    let lost = |market: &str, job| Tag { market: market.to_owned(), job, attempt: 0, part: 0 };
    let over = || ended(DAY, later(1), Exit::Code(0));
    let tasks = vec![(lost("m", 6), over()), (lost("m", 4), over()), (lost("other", 99), over())];
    stage.survey(later(1), 0, tasks.clone(), &[]);
    stage.survey(later(2), 0, tasks, &[]);
    assert_eq!(stage.submit(later(3), job(1, 60)), Ok(Reply::Jobs(vec![7])));
    let skips =
        stage.records.iter().filter(|(_, it)| matches!(it, Record::Job(JobRecord::Skipped { .. })));
    assert_eq!(skips.count(), 1);
}

/// Where the site says what the task has of a pool, and until when, that counts, and only once.
#[test]
fn a_task_that_the_books_do_not_know_has_its_nodes_once() {
    let mut stage = Stage::new();
    let tag = Tag { market: "m".to_owned(), job: 6, attempt: 0, part: 0 };
    let task = || vec![(tag.clone(), running(DAY))];
    let missing = |stage: &Stage| {
        let state = stage.live.state();
        let open = state.outages().iter().map(|(why, id)| (why.clone(), *id));
        let what = open.filter_map(|(why, id)| Some((why, state.market.closure_state(id)?.0)));
        what.map(|(why, what)| (why, what.nodes, what.until)).collect::<Vec<_>>()
    };
    stage.survey(later(1), 0, task(), &[(&tag.to_string(), 1), ("5", 1)]);
    let stray = Why::Stray(PoolId(0), tag.clone());
    let own = (Why::Local(PoolId(0), "5".to_owned()), 1, later(101));
    assert_eq!(missing(&stage), [own, (stray.clone(), 1, later(101))]);
    stage.survey(later(2), 0, task(), &[]);
    assert_eq!(missing(&stage), [(stray, 1, later(101))]);
}
