//! What users, owners and an administrator do: drawn, and remembered as far as it was promised.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::live::budgets::{BudgetHolder, PowerLimits};
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Booking, Happening, Phase, Quote, TaskGoal};
use tradewind_daemon::live::{Ask, Input, Live, Reply, State, Unknown};
use tradewind_daemon::site::fake;
use tradewind_io::submission::change::SubmissionChange;
use tradewind_io::submission::script::{self, Around};
use tradewind_io::submission::{
    Array, Conditions, Dependency, Gather, OnBreach, OnLost, Submission, Surroundings, TimeLimit,
    When,
};
use tradewind_model::{
    Attributes, Carbon, Energy, Money, Place, PoolId, Share, Span, TaskGroup, Time, TimeMode, Times,
};

use crate::notices;
use crate::offers::{self, Accepted};

/// What was promised.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promises {
    /// Jobs whose submission was acknowledged, and what their users want if they are lost.
    pub(crate) jobs: BTreeMap<u64, OnLost>,
    /// Keys whose submission was acknowledged: the first job of each.
    pub(crate) keys: BTreeMap<String, u64>,
    /// Jobs and attempts whose parts are to begin together.
    pub(crate) together: BTreeSet<(u64, u32)>,
    /// By job: when parts were to begin that had come together, as it was written down.
    pub(crate) gathered: BTreeMap<u64, BTreeSet<Time>>,
    /// Jobs that were cancelled, or of which a part has failed.
    pub(crate) stopped: BTreeSet<u64>,
    /// Jobs that were requeued.
    pub(crate) requeued: BTreeSet<u64>,
    /// Offers that were accepted.
    pub(crate) accepted: Accepted,
    /// Whether tasks of jobs may differ here.
    pub(crate) may_differ: bool,
}

impl Promises {
    /// What a state says that was read again: it may have been written without an answer.
    pub(crate) fn read(&mut self, state: &State) {
        for job in state.jobs.values() {
            let at = job.barrier().and_then(|it| it.at);
            self.gathered.entry(job.number).or_default().extend(at);
            let is_so = |(_, what): &(Time, Happening)| matches!(what, Happening::Requeueing(_));
            if job.history.iter().any(is_so) {
                self.requeued.insert(job.number);
            }
        }
        let stopped = state.tasks.iter().filter(|(_, task)| task.wanted == TaskGoal::Stop);
        self.stopped.extend(stopped.map(|(tag, _)| tag.job));
    }
}

const USERS: [&str; 3] = ["ana", "bo", "cy"];

/// What a plan of the queue says of jobs that it was not asked about before: any moment will do.
pub(crate) fn foreseen(live: &Live) -> Input {
    let state = live.state();
    let waits = state.jobs.values().filter(|job| {
        job.phase() == Phase::Waiting && job.expected.is_none() && job.number % 3 > 0
    });
    let start = |number: u64| state.now() + Span((number * 37 % 200) as i64);
    Input::Forecast { starts: waits.map(|job| (job.number, start(job.number))).collect() }
}

pub(crate) fn administrator() -> Actor {
    Actor { user: "root".to_owned(), role: Role::Administrator }
}

/// Draws a request of a user who asks for windows and accepts them.
pub(crate) fn deal(rng: &mut Pcg64Mcg, live: &Live, promises: &Promises) -> (Actor, Ask) {
    let user = USERS[rng.random_range(0..USERS.len())];
    let actor = Actor { user: user.to_owned(), role: Role::User };
    let quotes = live.state().quotes();
    match quotes.values().find(|quote| quote.expires >= live.state().now()) {
        _ if rng.random_range(0..6) == 0 => offers::update(rng, live),
        Some(open) => {
            let actor = Actor { user: open.user.clone(), ..actor };
            let mut ask = submit(rng, live, promises);
            if let Ask::Submit { submission, key, quote } = &mut ask {
                let mut wanted = (**submission).clone();
                fit(&mut wanted, open);
                (*submission, *key, *quote) = (Arc::new(wanted), None, Some(open.number));
            }
            (actor, ask)
        }
        None => (actor.clone(), quote(rng, live, &actor)),
    }
}

/// The submission is the job that the quote is for.
fn fit(submission: &mut Submission, quote: &Quote) {
    submission.tasks = quote.tasks;
    submission.time = match quote.times {
        TimeMode::Owner => TimeLimit::one(quote.work),
        TimeMode::Fixed(times) => TimeLimit::one(quote.work).counted_by(times),
    };
    (submission.after, submission.array, submission.held) = (vec![], None, false);
    submission.terms.groups = None;
}

/// Draws a request of a user.
pub(crate) fn draw(rng: &mut Pcg64Mcg, live: &Live, promises: &Promises) -> (Actor, Ask) {
    let user = USERS[rng.random_range(0..USERS.len())];
    let actor = Actor { user: user.to_owned(), role: Role::User };
    if promises.may_differ
        && rng.random_bool(0.5)
        && let Some(ask) = window(rng, live)
    {
        return ask;
    }
    if let Some(ask) = notices::reclaim(rng, live) {
        return (administrator(), ask);
    }
    let last = live.state().last_job();
    let job = |rng: &mut Pcg64Mcg| rng.random_range(0..=last + 1);
    match rng.random_range(0..23) {
        22 => changed(rng, live),
        21 => {
            let energy = rng.random_bool(0.7).then(|| Energy(rng.random_range(0..400_000_000)));
            let carbon_month = rng.random_bool(0.3).then(|| Carbon(rng.random_range(0..40_000)));
            let limits = PowerLimits { energy, carbon_month, ..PowerLimits::default() };
            (administrator(), Ask::Budget { holder: BudgetHolder::User(user.to_owned()), limits })
        }
        20 => {
            let begun = live
                .state()
                .jobs
                .values()
                .find(|it| it.phase() == Phase::Running && it.began().is_some());
            let job = begun.map_or_else(|| job(rng), |job| job.number);
            (administrator(), Ask::Requeue { job })
        }
        0..=10 => (actor, submit(rng, live, promises)),
        11..=12 => (administrator(), Ask::Cancel { job: job(rng) }),
        13 => (administrator(), Ask::Hold { job: job(rng) }),
        14 | 15 => (administrator(), Ask::Release { job: job(rng) }),
        16 => {
            let (from, to) = (Account::Bank, Account::User(user.to_owned()));
            let amount = Money(rng.random_range(0..2_000) * 1_000_000);
            (
                administrator(),
                Ask::Move { from, to, amount, note: String::new(), unknown: Unknown::Create },
            )
        }
        17 => {
            let policy = ["easy", "fcfs", "nonsense"][rng.random_range(0..3usize)].to_owned();
            (administrator(), Ask::Policy { policy })
        }
        _ => (actor.clone(), quote(rng, live, &actor)),
    }
}

/// Draws a change of a job, of one that waits if there is any.
fn changed(rng: &mut Pcg64Mcg, live: &Live) -> (Actor, Ask) {
    let last = live.state().last_job();
    let waiting: Vec<u64> = live
        .state()
        .jobs
        .values()
        .filter(|it| matches!(it.phase(), Phase::Waiting | Phase::Held(_)))
        .map(|it| it.number)
        .collect();
    let job = match waiting.is_empty() {
        true => rng.random_range(0..=last + 1),
        false => waiting[rng.random_range(0..waiting.len())],
    };
    let mut words = Vec::new();
    if rng.random_bool(0.5) {
        words.push(format!("--time=0:{}", rng.random_range(1..60)));
    }
    match rng.random_range(0..6) {
        0 => words.push(format!("--nodes={}", rng.random_range(1..4))),
        1 => words.push(format!("--dependency=afterany:{}", rng.random_range(1..=last + 1))),
        2 => words.push("--dependency=".to_owned()),
        3 => words.push(format!("--budget={}", rng.random_range(0..400))),
        4 => words.push("--comment=another".to_owned()),
        _ => words.push("--job-name=another".to_owned()),
    }
    let (given, _) = script::command_line(&words).unwrap();
    let (zone, variables) = (jiff::tz::TimeZone::UTC, BTreeMap::new());
    let around = Around { now: live.state().now(), zone: &zone, variables: &variables };
    let change = Box::new(SubmissionChange::read(&given, &around).unwrap());
    (administrator(), Ask::Change { job, change })
}

fn submit(rng: &mut Pcg64Mcg, live: &Live, promises: &Promises) -> Ask {
    let last = live.state().last_job();
    let length = rng.random_range(1..200);
    let limit = Span(rng.random_range(1..250));
    let code = i32::from(rng.random_range(0..5) == 0);
    let after = (last > 0 && rng.random_range(0..4) == 0).then(|| Dependency {
        when: [When::Ok, When::NotOk, When::Any, When::Begun][rng.random_range(0..4usize)],
        job: rng.random_range(1..=last),
    });
    let array = (rng.random_range(0..6) == 0).then(|| Array {
        indices: (0..rng.random_range(1..4)).collect(),
        at_once: Some(rng.random_range(1..3)),
    });
    let on_lost = [OnLost::Fail, OnLost::Rerun, OnLost::Hold][rng.random_range(0..3usize)];
    let gather = match rng.random_range(0..6) {
        0 => Some(Gather::Apart),
        1 => Some(Gather::Within(Span(rng.random_range(1..200)))),
        _ => None,
    };
    let budget = (rng.random_range(0..4) == 0).then(|| Money(rng.random_range(1..600) * 1_000_000));
    let mut submission = Submission {
        name: "job".to_owned(),
        work: fake::work(Span(length), code),
        tasks: rng.random_range(1..5),
        shape: None,
        time: counted(limit, limit.0),
        terms: Conditions { budget, ..Conditions::default() },
        project: None,
        surroundings: Surroundings::default(),
        after: after.into_iter().collect(),
        array,
        held: rng.random_range(0..12) == 0,
        on_lost,
        on_preempted: (rng.random_range(0..3) == 0).then_some(OnLost::Rerun),
        on_breach: (rng.random_range(0..2) == 0)
            .then(|| OnBreach::ALL[rng.random_range(0..3usize)].1),
        mail: None,
        comment: None,
        gather,
        quote: None,
        passed_through: vec![],
        stay_home: false,
    };
    if promises.may_differ && rng.random_bool(0.5) {
        differ(rng, &mut submission, limit);
    }
    let old = promises.keys.keys().next().filter(|_| rng.random_range(0..3) == 0).cloned();
    let key = (rng.random_range(0..3) == 0).then(|| old.unwrap_or_else(|| format!("k{last}")));
    let quote = (rng.random_range(0..5) == 0).then_some(live.state().last_quote());
    // Mostly the job that the quote is for.
    if let Some(quote) = quote.and_then(|number| live.state().quotes().get(&number))
        && rng.random_range(0..4) > 0
    {
        fit(&mut submission, quote);
    }
    Ask::Submit { submission: Arc::new(submission), key, quote }
}

/// The tasks of the job differ: in two groups.
fn differ(rng: &mut Pcg64Mcg, submission: &mut Submission, limit: Span) {
    let mut group = |work: Span| TaskGroup {
        tasks: rng.random_range(1..=2),
        work,
        min_performance: None,
        attributes: Attributes::new(),
    };
    let groups = [group(limit), group(Span((limit.0 / 2).max(1)))];
    submission.tasks = groups.iter().map(|group| group.tasks).sum();
    submission.terms.groups = Some(groups.into());
    submission.array = None;
}

/// A window for a job whose tasks differ, free or not; or to book one that was found.
fn window(rng: &mut Pcg64Mcg, live: &Live) -> Option<(Actor, Ask)> {
    let (job, user) = live.unplaced().into_iter().next()?;
    let demand = live.unplaced_demand(job).ok()?;
    let fits = |it: &&Quote| {
        let is_own = it.user == user && it.booking.groups.is_some();
        is_own && (it.tasks, it.work) == (demand.processors, demand.estimate)
    };
    let found = live.state().quotes().values().find(fits).map(|quote| quote.number);
    let actor = Actor { user, role: Role::User };
    if found.is_some() {
        return Some((actor, Ask::Update { job, on_breach: None, quote: found }));
    }
    let pools = live.state().market.pools();
    let (times, tasks) = (demand.mode(), demand.processors);
    let start = live.state().now() + Span(rng.random_range(0..10));
    let parts: Vec<(u32, Share, Span)> = (0..)
        .zip(demand.request().groups())
        .map(|(group, it)| {
            let first = rng.random_range(0..pools.as_slice().len() as u32);
            let mut all = (first..).take(pools.as_slice().len());
            let at = |it: u32| PoolId(it % pools.as_slice().len() as u32);
            let has_room = |pool: &u32| live.state().market.free_in(at(*pool)) >= it.tasks;
            let pool = at(all.find(has_room).unwrap_or(first));
            let length = pools.pool(pool).length_in(times, it.work);
            (group, Share { pool, nodes: it.tasks }, length)
        })
        .collect();
    let booking = Booking::of_groups(start, parts, |pool, length| pools.asked(pool, start, length));
    let (work, cost) = (demand.estimate, booking.max(tasks));
    let expires = live.state().now() + Span(60);
    let user = actor.user.clone();
    let quote = Quote { number: 0, user, tasks, work, times, booking, cost, expires, slack: None };
    Some((actor, Ask::Keep { quote }))
}

/// The limit, counted in one of all ways, as the number says.
fn counted(limit: Span, number: i64) -> TimeLimit {
    match number % 5 {
        0 => TimeLimit::Reference(limit),
        1 => TimeLimit::one(limit).counted_by(Times::Work),
        2 => TimeLimit::one(limit).counted_by(Times::Wall),
        _ => TimeLimit::one(limit),
    }
}

/// A window in one pool or in two, free or not.
fn quote(rng: &mut Pcg64Mcg, live: &Live, actor: &Actor) -> Ask {
    let pools = live.state().market.pools();
    let id = PoolId(rng.random_range(0..pools.as_slice().len() as u32));
    let (tasks, work) = (rng.random_range(1..3), Span(rng.random_range(1..200)));
    let start = live.state().now() + Span(rng.random_range(0..100));
    let place = match PoolId(id.0 + 1) {
        next if tasks == 2 && next.index() < pools.as_slice().len() => {
            Place::Shares([id, next].map(|pool| Share { pool, nodes: 1 }).into())
        }
        _ => Place::Pool(id),
    };
    let times = counted(work, work.0).mode();
    let (mut ends, mut prices, mut cost) = (vec![], vec![], Money::ZERO);
    for share in place.shares(tasks) {
        let length = pools.pool(share.pool).length_in(times, work);
        let price = pools.asked(share.pool, start, length);
        ends.push(start + length);
        prices.push(price);
        cost += price.of(share.nodes, length);
    }
    let booking = Booking { start, ends, place, prices, groups: None };
    let expires = live.state().now() + Span(rng.random_range(0..120));
    let user = actor.user.clone();
    Ask::Keep {
        quote: Quote { number: 0, user, tasks, work, times, booking, cost, expires, slack: None },
    }
}

impl Promises {
    /// The answer is out: what it says must stay true.
    pub(crate) fn note(&mut self, ask: &Ask, reply: &Reply) {
        let (Ask::Submit { submission, key, .. }, Reply::Jobs(jobs)) = (ask, reply) else { return };
        for job in jobs {
            let may_rerun = submission.on_preempted.is_some();
            let on_lost = if may_rerun { OnLost::Rerun } else { submission.on_lost };
            self.jobs.entry(*job).or_insert(on_lost);
        }
        if let (Some(key), Some(first)) = (key, jobs.first()) {
            self.keys.entry(key.clone()).or_insert(*first);
        }
    }
}
