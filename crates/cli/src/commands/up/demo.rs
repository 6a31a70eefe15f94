//! A small batch of real commands, for a first look at a market.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tradewind_daemon::engine::{CommittedRecord, Handle};
use tradewind_daemon::live::record::{JobRecord, MarketRecord, TaskRecord};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Finish, Job, Phase, State};
use tradewind_daemon::live::{Ask, Live, Record};
use tradewind_daemon::site::Seen;
use tradewind_io::submission::{Conditions, OnLost, Submission, TimeLimit, Work};
use tradewind_model::{Command, Criterion, JobId, Money, Span};

use crate::exit::Failure;
use crate::report::Report;

/// Name, user, nodes, time limit, seconds that it really takes, budget in millionths, criterion.
type DemoJob = (&'static str, &'static str, u32, i64, u32, Option<i64>, Criterion);

const BATCH: [DemoJob; 6] = [
    ("render", "ada", 2, 30, 4, None, Criterion::Start),
    ("fit-model", "ada", 4, 40, 6, None, Criterion::Finish),
    ("sweep", "ben", 1, 20, 5, Some(30_000), Criterion::Cost),
    ("align", "ben", 2, 30, 8, None, Criterion::Start),
    ("too-dear", "ben", 4, 60, 3, Some(10_000), Criterion::Start),
    ("report", "ada", 1, 10, 2, None, Criterion::Cost),
];

/// Submits the batch, and tells what happens to it until all of it is over.
///
/// # Errors
/// If the market refuses it.
pub(super) fn play(market: &Handle, report: &Report) -> Result<(), Failure> {
    let gone = |wrong: &dyn std::fmt::Display| Failure::usage(wrong.to_string());
    let watch = market.watch().map_err(|wrong| gone(&wrong))?;
    for line in BATCH {
        let (actor, ask) = asked(line);
        market.ask(actor, ask).map_err(|refusal| gone(&refusal))?;
    }
    let (market, report) = (market.clone(), report.clone());
    let told = thread::Builder::new().name("demo".to_owned()).spawn(move || {
        while let Some(news) = watch.next() {
            for line in market.look(move |live| lines(live, &news)).unwrap_or_default() {
                report.note(&line);
            }
            match market.look(end) {
                Ok(Some(summary)) => return report.note(&summary),
                Ok(None) => {}
                Err(_) => return,
            }
        }
    });
    told.map(drop).map_err(|wrong| gone(&wrong))
}

/// Tasks of a demo that ends get so long to stop: more than the grace of a local site.
const PATIENCE: Duration = Duration::from_secs(8);

/// Cancels all jobs, and waits until their tasks are gone.
pub(super) fn clear(market: &Handle, report: &Report) {
    report.note("stopping; the jobs of the demo are cancelled, and its market is removed");
    let open = |live: &Live| -> Vec<u64> {
        let jobs = live.state().jobs.values();
        jobs.filter(|job| !matches!(job.phase(), Phase::Over(_))).map(|job| job.number).collect()
    };
    for job in market.look(open).unwrap_or_default() {
        // One that has ended meanwhile needs no cancelling.
        drop(market.ask(super::administrator(), Ask::Cancel { job }));
    }
    let until = Instant::now() + PATIENCE;
    let busy = |live: &Live| live.state().tasks.iter().any(|(_, task)| !task.is_over());
    while market.look(busy).unwrap_or(false) && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
}

fn asked((name, user, tasks, limit, seconds, budget, criterion): DemoJob) -> (Actor, Ask) {
    let text = format!("echo {name} runs on $TRADEWIND_SITE; sleep {seconds}; echo {name} is done");
    let command = ["sh", "-c", &text].map(str::to_owned).to_vec();
    let terms = Conditions { budget: budget.map(Money), criterion, ..Conditions::default() };
    let submission = Submission {
        terms,
        on_lost: OnLost::Rerun,
        comment: Some("demo".to_owned()),
        ..Submission::new(name, Work::Command(command), tasks, TimeLimit::one(Span(limit)))
    };
    let actor = Actor { user: user.to_owned(), role: Role::User };
    (actor, Ask::Submit { submission: Arc::new(submission), key: None, quote: None })
}

/// What a newcomer would want to know of the record.
fn lines(live: &Live, news: &CommittedRecord) -> Vec<String> {
    let state = live.state();
    let name = |job: &u64| state.jobs.get(job).map_or("", |job| job.submission.name.as_str());
    match &news.record {
        Record::Job(JobRecord::Submitted { job, user, submission, .. }) => {
            let (name, nodes) = (&submission.name, submission.tasks);
            let many = if nodes == 1 { "node" } else { "nodes" };
            vec![format!("job {job} `{name}` of {user}: {nodes} {many}")]
        }
        Record::Job(JobRecord::Element { job, first, .. }) => {
            vec![format!("job {job} `{}`, like job {first}", name(job))]
        }
        Record::Market(MarketRecord::Decided { commands }) => {
            commands.iter().filter_map(|it| said(live, it)).collect()
        }
        Record::Task(TaskRecord::Saw { tag, seen: Seen::Running { .. } }) => {
            vec![format!("job {} `{}` runs", tag.job, name(&tag.job))]
        }
        Record::Job(JobRecord::Ended { job, finish }) => {
            let Some(found) = state.jobs.get(job) else { return Vec::new() };
            let held: Money =
                found.parts().iter().map(|part| part.price.of(part.nodes, part.limit)).sum();
            let word = if *finish == Finish::Completed { "is done" } else { "has ended" };
            let name = name(job);
            let paid = found.paid;
            vec![format!("job {job} `{name}` {word}: paid {paid} of the {held} that were held")]
        }
        _ => Vec::new(),
    }
}

fn said(live: &Live, command: &Command) -> Option<String> {
    let state = live.state();
    match command {
        Command::Start { job, .. } => {
            let (number, found) = known(state, *job)?;
            let part = found.parts().first()?;
            let pool = &state.market.pools().pool(part.pool).name;
            let hold: Money = found.parts().iter().map(|it| it.price.of(it.nodes, it.limit)).sum();
            let name = &found.submission.name;
            Some(format!("job {number} `{name}` is planned on {pool}; {hold} credits are held"))
        }
        Command::Refuse { job, reason } => {
            let (number, found) = known(state, *job)?;
            let name = &found.submission.name;
            Some(format!("job {number} `{name}` is refused: {reason}"))
        }
        Command::Preempt { .. } | Command::Trade { .. } | Command::Wake { .. } => None,
    }
}

/// The policy's name for a job leads to it even if it is over: `numbers` has forgotten it then.
fn known(state: &State, id: JobId) -> Option<(&u64, &Job)> {
    state.jobs.iter().find(|(_, job)| job.id() == Some(id))
}

/// The ledger, once all is over.
fn end(live: &Live) -> Option<String> {
    let state = live.state();
    if state.jobs.values().any(|job| !matches!(job.phase(), Phase::Over(_))) {
        return None;
    }
    let owners = state.accounts().balances().filter_map(|(account, balance)| {
        let account = account.to_string();
        let owner = account.strip_prefix("owner:")?.to_owned();
        let earned = Money(i64::try_from(balance).unwrap_or(i64::MAX));
        Some(format!("{owner} {earned}"))
    });
    let owners: Vec<String> = owners.collect();
    Some(format!(
        "all jobs are over; sites earned: {}. Look around: tradewind jobs --all, tradewind ledger",
        owners.join(", ")
    ))
}
