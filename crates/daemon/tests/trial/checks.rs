//! What must be true, one small checker for each promise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tradewind_daemon::live::State;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::state::{Finish, Job, JobHold, Phase};
use tradewind_daemon::site::Exit;
use tradewind_daemon::site::fake::{FakeSite, Ran};
use tradewind_io::submission::OnLost;
use tradewind_model::{Consumption, Money, Time};

use crate::people::Promises;

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) checker: &'static str,
    pub(crate) what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker, self.what)
    }
}

pub(crate) type Check = Result<(), Broken>;

pub(crate) fn broken(checker: &'static str, what: impl Into<String>) -> Check {
    Err(Broken { checker, what: what.into() })
}

/// No job that was acknowledged is lost.
pub(crate) fn kept(state: &State, promises: &Promises) -> Check {
    match promises.jobs.keys().find(|job| !state.jobs.contains_key(job)) {
        Some(job) => broken("kept", format!("job {job} was acknowledged and is gone")),
        None => Ok(()),
    }
}

/// What nodes consumed is counted once with each job, each use and each pool's income.
pub(crate) fn energy(state: &State) -> Check {
    let jobs: Consumption = state.jobs.values().map(|job| job.consumed).sum();
    let used: Consumption = state.used().0.values().map(|it| it.consumed).sum();
    let earned: Consumption = state.income().0.values().map(|it| it.consumed).sum();
    match jobs == used && used == earned {
        true => Ok(()),
        false => broken("energy", format!("{jobs:?} of jobs, {used:?} used, {earned:?} of pools")),
    }
}

/// The market's books, and that they agree with ours.
pub(crate) fn books(state: &State) -> Check {
    if let Err(wrong) = state.market.check() {
        return broken("books", wrong.to_string());
    }
    for (number, job) in &state.jobs {
        let known = job.id().is_some_and(|id| state.jobs.numbers.get(&id) == Some(number));
        let live = matches!(job.phase(), Phase::Waiting | Phase::Running);
        if known != live {
            return broken("books", format!("job {number} is {:?}, known: {known}", job.phase()));
        }
    }
    let market = &state.market;
    let live = market.queue().len() + market.lined().len() + market.running().count();
    match live == state.jobs.numbers.len() {
        true => Ok(()),
        false => broken("books", "the market has jobs that the books do not know"),
    }
}

/// Money is neither made nor lost, no account owes, and what is held is held for jobs that run.
pub(crate) fn money(state: &State) -> Check {
    if state.accounts().sum() != 0 {
        return broken("money", format!("the sum is {}", state.accounts().sum()));
    }
    for (account, balance) in state.accounts().balances() {
        let fits = match account {
            Account::Bank => balance <= 0,
            Account::Held(job) => {
                let running = |job: &u64| state.jobs.get(job).map(|it| it.phase());
                balance >= 0 && (balance == 0 || running(job) == Some(Phase::Running))
            }
            _ => balance >= 0,
        };
        if !fits {
            return broken("money", format!("{account} has {balance}"));
        }
    }
    // What the market pays for windows that were not kept comes from the bank.
    let spent = state.jobs.values().map(|job| i128::from(job.paid.0) + i128::from(job.covered.0));
    let spent: i128 = spent.sum();
    let earned = state.accounts().balances().filter(|(it, _)| matches!(it, Account::Owner(_)));
    match spent == earned.map(|(_, balance)| balance).sum::<i128>() {
        true => Ok(()),
        false => broken("money", "owners did not earn what jobs paid"),
    }
}

/// The recent history fits the present: the last price is that of now, and of no pool were more
/// nodes missing than it has.
pub(crate) fn past(state: &State) -> Check {
    for (id, pool) in state.market.pools().iter() {
        let told = state.past().price(id, state.now()).unwrap_or_default();
        let is_right = match state.market.pools().rate(id) {
            Some(rate) => rate.values().any(|(_, value)| value == told.0),
            None => told == pool.price,
        };
        if !is_right {
            return broken("past", format!("{} costs {}", pool.name, pool.price));
        }
        let all = state.recent_outages(state.now());
        let mut gone = all.iter().filter(|it| it.why.pool() == id);
        if gone.any(|it| it.from >= it.until || it.until > state.now() || it.nodes > pool.nodes) {
            return broken("past", format!("{} missed nodes that it has not", pool.name));
        }
    }
    let mut ends = BTreeMap::new();
    let twice = state
        .recent_outages(state.now())
        .into_iter()
        .find(|it| ends.insert(it.why.clone(), it.until).is_some_and(|before| it.from < before));
    match twice {
        Some(it) => broken("past", format!("{:?} is counted twice", it.why)),
        None => Ok(()),
    }
}

/// No job pays more than the job's budget.
pub(crate) fn budgets(state: &State) -> Check {
    let over = state
        .jobs
        .values()
        .find(|job| job.submission.terms.budget.is_some_and(|budget| job.paid > budget));
    match over {
        Some(job) => broken("budgets", format!("job {} paid {}", job.number, job.paid)),
        None => Ok(()),
    }
}

/// What really ran: a task once at most, attempts of a job one after the other, and again only if
/// its user wants that; but for jobs that ran where a site lost its memory.
pub(crate) fn once(sites: &[FakeSite], promises: &Promises, doubtful: &BTreeSet<u64>) -> Check {
    let mut runs = BTreeMap::<u64, Vec<&Ran>>::new();
    for ran in sites.iter().flat_map(FakeSite::history) {
        runs.entry(ran.tag.job).or_default().push(ran);
    }
    for (job, runs) in runs {
        for (place, ran) in runs.iter().enumerate() {
            if runs[place + 1..].iter().any(|other| other.tag == ran.tag) {
                return broken("once", format!("{} ran twice", ran.tag));
            }
        }
        let mut attempts: Vec<u32> = runs.iter().map(|ran| ran.tag.attempt).collect();
        attempts.sort_unstable();
        attempts.dedup();
        let may_not = promises.jobs.get(&job) == Some(&OnLost::Fail)
            && !doubtful.contains(&job)
            && !promises.requeued.contains(&job);
        if attempts.len() > 1 && may_not {
            return broken("once", format!("job {job} began {} times", attempts.len()));
        }
    }
    Ok(())
}

/// Parts of a job that are to begin together begin by one go, which was written down before, and
/// not before its moment.
pub(crate) fn together(sites: &[FakeSite], promises: &Promises) -> Check {
    let mut goes = BTreeMap::<(u64, u32), Time>::new();
    for ran in sites.iter().flat_map(FakeSite::history) {
        let key = (ran.tag.job, ran.tag.attempt);
        if !promises.together.contains(&key) {
            continue;
        }
        let known = promises.gathered.get(&ran.tag.job);
        let told = ran.told.filter(|at| known.is_some_and(|all| all.contains(at)));
        let Some(at) = told.filter(|at| *at <= ran.since) else {
            return broken("together", format!("{} began by itself", ran.tag));
        };
        if *goes.entry(key).or_insert(at) != at {
            return broken("together", format!("{} began by a go of its own", ran.tag));
        }
    }
    Ok(())
}

/// No job pays for an attempt of which no work ran; but where a site lost its memory.
pub(crate) fn slips(state: &State, sites: &[FakeSite], clouded: &BTreeSet<u64>) -> Check {
    let paid = state.jobs.values().filter(|job| job.paid > Money(0));
    for job in paid.filter(|job| !clouded.contains(&job.number)) {
        let mut runs = sites.iter().flat_map(FakeSite::history).map(|ran| &ran.tag);
        // An earlier attempt may have run until its nodes were lost.
        if !runs.any(|tag| tag.job == job.number && tag.attempt <= job.attempt) {
            return broken("slips", format!("job {} paid {} for nothing", job.number, job.paid));
        }
    }
    Ok(())
}

/// No job that had its nodes ends as cancelled without a cancel.
pub(crate) fn uncancelled(state: &State) -> Check {
    let is_so = |job: &&Job| job.phase() == Phase::Over(&Finish::Cancelled);
    let mut jobs = state.jobs.values().filter(is_so).filter(|job| !job.parts().is_empty());
    match jobs.find(|job| job.cancelled_by.is_none()) {
        Some(job) => broken("mercy", format!("job {} was not cancelled by a user", job.number)),
        None => Ok(()),
    }
}

/// Work that has begun is stopped only if its job was cancelled, or another part of it failed.
pub(crate) fn mercy(sites: &[FakeSite], promises: &Promises) -> Check {
    let was_stopped = |ran: &&Ran| matches!(ran.ended, Some((_, Exit::Withdrawn)));
    let mut runs = sites.iter().flat_map(FakeSite::history).filter(was_stopped);
    match runs.find(|ran| !promises.stopped.contains(&ran.tag.job)) {
        Some(ran) => broken("mercy", format!("{} was stopped for nothing", ran.tag)),
        None => Ok(()),
    }
}

/// Of a job that is said to be complete every part ran.
pub(crate) fn whole(state: &State, sites: &[FakeSite], clouded: &BTreeSet<u64>) -> Check {
    let complete = |job: &&Job| job.phase() == Phase::Over(&Finish::Completed);
    let jobs = state.jobs.values().filter(complete);
    for job in jobs.filter(|job| !clouded.contains(&job.number)) {
        let runs = sites.iter().flat_map(FakeSite::history).map(|ran| &ran.tag);
        let runs = runs.filter(|tag| (tag.job, tag.attempt) == (job.number, job.attempt));
        if runs.count() != job.parts().len() {
            return broken("together", format!("not all parts of job {} ran", job.number));
        }
    }
    Ok(())
}

/// At the end all jobs are over, but for those that wait for a user to act.
pub(crate) fn finished(state: &State, at: Time) -> Check {
    let waits = state.jobs.values().find(|job| match job.phase() {
        Phase::Over(_) => false,
        Phase::Held(
            JobHold::User
            | JobHold::Lost
            | JobHold::Rejected(_)
            | JobHold::Funds(_)
            | JobHold::OverBudget(_),
        ) => false,
        Phase::Held(JobHold::Breached | JobHold::Window) => false,
        // A job before it waits for its user.
        Phase::Held(JobHold::Dependency | JobHold::Array) => false,
        // A policy that begins keeps those who cannot pay the prices of now.
        Phase::Waiting => can_pay(state, job) && !is_behind_one_that_cannot(state),
        Phase::Held(JobHold::Booked | JobHold::Nowhere | JobHold::Capped(_)) | Phase::Running => {
            true
        }
        Phase::Handing | Phase::Away => true,
    });
    if let Some(job) = waits {
        let (number, phase) = (job.number, job.phase());
        return broken("finished", format!("at {at} job {number} is still {phase:?}"));
    }
    match state.tasks.iter().next() {
        Some((tag, task)) => broken("finished", format!("{tag} is still {task:?}")),
        None => Ok(()),
    }
}

/// Whether the first job waits for hours that it can pay, and nothing overtakes it.
fn is_behind_one_that_cannot(state: &State) -> bool {
    let first =
        state.jobs.values().find(|job| job.id().is_some() && job.id() == state.market.head());
    state.policy.starts_with("fcfs") && first.is_some_and(|job| !can_pay(state, job))
}

/// Whether the job can pay for the cheapest of all nodes. Autonomous sites start a job whenever there are
/// nodes, so there it must be able to pay their highest prices.
fn can_pay(state: &State, job: &Job) -> bool {
    let terms = &job.submission.terms;
    if terms.budget.is_none() && terms.max_price.is_none() {
        return true;
    }
    let Some(demand) = job.id().and_then(|id| state.market.demand(id)) else { return true };
    let (pools, now) = (state.market.pools(), state.now());
    let autonomous = state.policy.contains("-sites") || state.policy.starts_with("multi-queue");
    let costs = pools.iter().flat_map(|(id, pool)| {
        let length = pool.length_of(demand);
        let (price, highest) = match autonomous {
            true => (pools.highest_price(id), pools.highest_price(id)),
            false => (pools.asked(id, now, length), pools.highest_within(id, now, length)),
        };
        let nodes = if pool.suits_at(highest, demand) { pool.nodes as usize } else { 0 };
        std::iter::repeat_n(price.of(1, length), nodes)
    });
    let mut costs: Vec<Money> = costs.collect();
    costs.sort_unstable();
    let costs = costs.get(..demand.processors as usize);
    let budget = terms.budget.map(|budget| budget - job.paid);
    costs
        .is_some_and(|costs| budget.is_none_or(|most| costs.iter().copied().sum::<Money>() <= most))
}

/// The state is what the journal says.
pub(crate) fn replayed(state: &State, again: &State) -> Check {
    let differs = if state.market.state() != again.market.state() {
        Some("the market")
    } else if state.jobs != again.jobs {
        Some("the jobs")
    } else if state.accounts() != again.accounts() {
        Some("the accounts")
    } else if state.tasks != again.tasks || state.outages() != again.outages() {
        Some("tasks or outages")
    } else if state.quotes() != again.quotes() || state.jobs.keys != again.jobs.keys {
        Some("quotes or keys")
    } else {
        None
    };
    differs.map_or(Ok(()), |what| broken("replayed", format!("{what} differs from a replay")))
}

pub(crate) fn unsound(wrong: &dyn std::fmt::Display) -> Broken {
    Broken { checker: "sound", what: wrong.to_string() }
}
