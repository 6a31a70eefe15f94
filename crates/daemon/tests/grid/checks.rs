//! What must be true of all markets together, one small checker for each promise.

use std::collections::BTreeMap;
use std::fmt;

use tradewind_daemon::live::money::{Account, Motive};
use tradewind_daemon::live::state::{Finish, Job, JobHold, Phase};
use tradewind_daemon::site::fake::Ran;
use tradewind_io::submission::OnLost;

use crate::market::{Market, name};

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

type Check = Result<(), Broken>;

fn broken(checker: &'static str, what: impl Into<String>) -> Check {
    Err(Broken { checker, what: what.into() })
}

/// A job by its home and its number there.
pub(crate) type Root = (usize, u64);

pub(crate) fn place(peer: &str) -> usize {
    peer[1..].parse().unwrap()
}

/// Where the market's job was submitted.
pub(crate) fn root(market: usize, job: &Job) -> Root {
    match &job.origin {
        Some(origin) => (place(&origin.name), origin.job),
        None => (market, job.number),
    }
}

/// By what is written down: a job has one owner at most who may run it, and a market that gave it
/// away knows a market that has it.
pub(crate) fn owner(markets: &[Market]) -> Check {
    let mut owners = BTreeMap::<Root, Vec<usize>>::new();
    for (market, state) in markets.iter().map(|it| (it.place, &it.written)) {
        for job in state.jobs.values() {
            if matches!(job.phase(), Phase::Held(_) | Phase::Waiting | Phase::Running) {
                owners.entry(root(market, job)).or_default().push(market);
            }
            let Some(away) = job.away().filter(|_| job.phase() == Phase::Away) else {
                continue;
            };
            let there = &markets[place(&away.name)].written;
            let known = there.jobs.values().find(|guest| {
                guest.origin.as_ref().is_some_and(|origin| {
                    origin.transfer == away.transfer
                        && (place(&origin.name), origin.job) == (market, job.number)
                })
            });
            if known.is_none() {
                let number = job.number;
                return broken("owner", format!("job {number} of {market} has no owner"));
            }
        }
    }
    match owners.iter().find(|(_, owners)| owners.len() > 1) {
        Some((root, owners)) => broken("owner", format!("job {root:?} is of all of {owners:?}")),
        None => Ok(()),
    }
}

/// What really ran: once, unless its user may want it again after it was lost.
pub(crate) fn once(markets: &[Market], roots: &BTreeMap<Root, Root>) -> Check {
    let mut runs = BTreeMap::<Root, Vec<&Ran>>::new();
    for market in markets {
        for ran in market.site.history() {
            let root = roots.get(&(market.place, ran.tag.job));
            runs.entry(*root.unwrap_or(&(market.place, ran.tag.job))).or_default().push(ran);
        }
    }
    for ((home, number), runs) in runs {
        let Some(job) = markets[home].written.jobs.get(&number) else {
            return broken("once", format!("job {number} of {home} ran and is not there"));
        };
        // Each part of an attempt is a task of its own.
        let mut attempts: Vec<_> =
            runs.iter().map(|ran| (ran.tag.market.clone(), ran.tag.job, ran.tag.attempt)).collect();
        attempts.sort_unstable();
        attempts.dedup();
        if attempts.len() > 1 && job.submission.on_lost == OnLost::Fail {
            return broken("once", format!("job {number} of {home} ran as {attempts:?}"));
        }
        let mut tags: Vec<String> = runs.iter().map(|ran| ran.tag.to_string()).collect();
        tags.sort_unstable();
        if tags.windows(2).any(|pair| pair[0] == pair[1]) {
            return broken("once", format!("a task of {tags:?} ran twice"));
        }
    }
    Ok(())
}

/// Money is neither made nor lost, no account owes, and what is held is held for jobs that need it.
pub(crate) fn money(market: &Market) -> Check {
    let (place, state) = (market.place, &market.written);
    if state.accounts().sum() != 0 {
        return broken("money", format!("the sum at {place} is {}", state.accounts().sum()));
    }
    for (account, balance) in state.accounts().balances() {
        let fits = match account {
            Account::Bank => balance <= 0,
            Account::Held(job) => {
                let phase = state.jobs.get(job).map(|it| it.phase());
                let needs = matches!(phase, Some(Phase::Running | Phase::Handing | Phase::Away));
                balance >= 0 && (balance == 0 || needs)
            }
            _ => balance >= 0,
        };
        if !fits {
            return broken("money", format!("at {place} {account} has {balance}"));
        }
    }
    let over = |job: &&Job| {
        let budget = job.submission.terms.budget;
        let agreed = job.origin.as_ref().map(|origin| origin.offer.quote.cost);
        budget.is_some_and(|budget| job.paid > budget) || agreed.is_some_and(|it| job.paid > it)
    };
    match state.jobs.values().find(over) {
        Some(job) => broken("money", format!("at {place} job {} paid too much", job.number)),
        None => Ok(()),
    }
}

/// The market's books and ours agree, and so do the negotiation's two memories.
pub(crate) fn books(market: &Market) -> Check {
    let state = &market.written;
    if let Err(wrong) = state.market.check() {
        return broken("books", wrong.to_string());
    }
    for (number, job) in &state.jobs {
        let known = job.id().is_some_and(|id| state.jobs.numbers.get(&id) == Some(number));
        if known != matches!(job.phase(), Phase::Waiting | Phase::Running) {
            return broken("books", format!("job {number} is {:?}, known: {known}", job.phase()));
        }
    }
    let Some((live, _)) = &market.daemon else { return Ok(()) };
    match live.negotiated() == Some(&live.state().peers.durable) {
        true => Ok(()),
        false => broken("books", "the negotiation remembers otherwise than the state"),
    }
}

/// What is written down makes the state again.
pub(crate) fn replayed(market: &Market) -> Check {
    let Some((live, _)) = &market.daemon else { return Ok(()) };
    let (state, again) = (live.state(), &market.written);
    let same = state.jobs == again.jobs
        && state.accounts() == again.accounts()
        && state.peers == again.peers
        && state.tasks == again.tasks
        && state.outages() == again.outages();
    match same {
        true => Ok(()),
        false => broken("replayed", format!("the state of {} differs from a replay", market.place)),
    }
}

/// At the end all jobs are over, but for jobs that no market can run.
pub(crate) fn finished(markets: &[Market], hopeless: impl Fn(&Job) -> bool) -> Check {
    for market in markets {
        let (place, state) = (market.place, &market.written);
        let open = state.jobs.values().find(|job| match job.phase() {
            Phase::Over(_) => false,
            // They wait for their users; a peer's job has none here.
            Phase::Held(
                JobHold::User | JobHold::Lost | JobHold::Funds(_) | JobHold::Rejected(_),
            ) => job.origin.is_some(),
            Phase::Held(JobHold::Nowhere) => !hopeless(job),
            // A policy that begins keeps those who cannot pay the prices of now.
            Phase::Waiting => job.submission.terms.budget.is_none(),
            _ => true,
        });
        if let Some(job) = open {
            let (number, phase) = (job.number, job.phase());
            return broken("finished", format!("job {number} of {place} is still {phase:?}"));
        }
        if let Some((tag, task)) = state.tasks.iter().next() {
            return broken("finished", format!("{tag} is still {task:?}"));
        }
    }
    Ok(())
}

/// How jobs ended at home is how they ended where they ran.
pub(crate) fn told(markets: &[Market]) -> Check {
    for market in markets {
        for job in market.written.jobs.values().filter(|job| job.away().is_some()) {
            let (Phase::Over(finish), Some(away)) = (job.phase(), &job.away()) else { continue };
            let there = &markets[place(&away.name)].written;
            let guest = there.peers.taken.iter().find_map(|((_, transfer), number)| {
                let guest = there.jobs.get(number)?;
                let origin = guest.origin.as_ref()?;
                let same = *transfer == away.transfer && place(&origin.name) == market.place;
                (same && origin.job == job.number).then_some(guest)
            });
            let same = guest.is_some_and(|guest| match guest.phase() {
                Phase::Over(there) => there == finish || *finish == Finish::Cancelled,
                _ => false,
            });
            if !same {
                let number = job.number;
                return broken("told", format!("job {number} of {} ended otherwise", market.place));
            }
        }
    }
    Ok(())
}

/// What two markets have of each other is the same with opposite signs, but for what was granted.
pub(crate) fn mirrored(markets: &[Market]) -> Check {
    let of = |market: &Market, other: usize| {
        let account = Account::Peer(name(other));
        let accounts = market.written.accounts();
        let granted = accounts
            .postings()
            .filter(|it| it.to == account && matches!(it.motive, Motive::Grant(_)));
        let granted: i128 = granted.map(|it| i128::from(it.amount.0)).sum();
        accounts.balance(&account) - granted
    };
    for one in markets {
        for other in markets.iter().filter(|other| other.place > one.place) {
            let (here, there) = (of(one, other.place), of(other, one.place));
            if here + there != 0 {
                let (a, b) = (one.place, other.place);
                return broken("mirrored", format!("{a} has {here} of {b}, which has {there}"));
            }
        }
    }
    Ok(())
}
