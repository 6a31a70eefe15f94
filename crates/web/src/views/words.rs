//! States and reasons in Slurm's words.

use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::state::{Finish, Happening, Job, JobHold, Phase, Setback, State, Why};
use tradewind_daemon::site::Exit;
use tradewind_model::{PoolId, Reason, Time};

use super::jobs::{pool_name, site_name};
use super::{at_peer, failures, price_limit};
use crate::clock::present;
use crate::documents::Credits;

/// A moment on the clock of this machine, with its distance from UTC, for readers
/// elsewhere: `2026-11-21T14:03:02+01:00`.
pub fn moment(at: Time) -> String {
    in_zone(at, jiff::tz::TimeZone::system())
}

fn in_zone(at: Time, zone: jiff::tz::TimeZone) -> String {
    match jiff::Timestamp::from_second(at.0) {
        Ok(moment) => moment.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        Err(_) => "Unknown".to_owned(),
    }
}

/// The reason in a sentence, with moments as people write them.
pub fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::TooLate { earliest, deadline } => {
            let (earliest, deadline) = (moment(*earliest), moment(*deadline));
            format!("finishes at {earliest} at the earliest, the deadline is {deadline}")
        }
        Reason::NoCommonTime { needed, max, deadline: Some(deadline) } => {
            let deadline = moment(*deadline);
            format!(
                "at most {max} of {needed} nodes are free together for long enough before the \
                 deadline at {deadline}"
            )
        }
        other => other.to_string(),
    }
}

/// Whether the job is to give its nodes, or its turn, back.
pub(crate) fn is_leaving(job: &Job) -> bool {
    job.cancelled_by.is_some() || job.requeued_by().is_some()
}

/// The job's state, as `squeue` and `sacct` call it.
pub(crate) fn state(state: &State, job: &Job) -> &'static str {
    if state.is_unknown_at_peer(job, present(state)) {
        return at_peer::UNKNOWN;
    }
    match job.phase() {
        Phase::Handing if job.cancelled_by.is_some() => "COMPLETING",
        Phase::Held(_) | Phase::Waiting | Phase::Handing => "PENDING",
        Phase::Running if is_leaving(job) => "COMPLETING",
        Phase::Running if job.began().is_some() => "RUNNING",
        Phase::Running if state.queued_at(job).is_some() || state.is_lined(job) => "PENDING",
        Phase::Running => "CONFIGURING",
        Phase::Away if job.cancelled_by.is_some() => "COMPLETING",
        Phase::Away if job.started().is_some() => "RUNNING",
        Phase::Away => "PENDING",
        Phase::Over(finish) => finished(finish),
    }
}

/// The state of a job that ended like this.
pub(crate) fn finished(finish: &Finish) -> &'static str {
    match finish {
        Finish::Completed => "COMPLETED",
        Finish::Failed(_) | Finish::Killed(_) => "FAILED",
        Finish::Timeout => "TIMEOUT",
        Finish::OutOfMemory => "OUT_OF_MEMORY",
        Finish::NodeFail => "NODE_FAIL",
        Finish::Refused(Reason::TooLate { .. }) => "DEADLINE",
        Finish::Cancelled | Finish::Refused(_) | Finish::Dependency(_) | Finish::Returned(_) => {
            "CANCELLED"
        }
    }
}

/// Its payer has too little.
const FUNDS: &str = "AssocGrpBillingMinutes";

/// Why the job is in its state: a word as in `squeue`, and a sentence.
pub(crate) fn reason(state: &State, job: &Job) -> Option<(&'static str, String)> {
    if let Some(failure) = failures::of_job(state, job).into_iter().next() {
        return Some((failures::REASON, failure.message));
    }
    if let Some(told) = at_peer::reason(state, job) {
        return Some(told);
    }
    match job.phase() {
        Phase::Held(JobHold::Funds(needed)) => {
            let (payer, needed) = (job.payer(), Credits::from(*needed));
            let there = state.to_spend(&payer);
            Some((
                FUNDS,
                match narrower(state, job, there) {
                    Some(limit) => format!("{limit}, and it needs {needed}"),
                    None => {
                        let (there, payer) = (Credits(there.max(0)), payer_words(&payer));
                        format!("{payer} has {there} credits to spend, and it needs {needed}")
                    }
                },
            ))
        }
        Phase::Held(JobHold::Booked)
            if job.booking.as_ref().is_some_and(|it| it.start <= present(state)) =>
        {
            Some(("Reservation", "its window has begun, and its nodes are not free yet".to_owned()))
        }
        Phase::Held(hold) => Some(held(hold)),
        Phase::Waiting => Some(waiting(state, job)),
        Phase::Running => match state.held_there(job) {
            Some(held) => Some(held_there(held)),
            // It has left the line, and its site is to confirm that.
            None if is_leaving(job) => None,
            None if state.is_lined(job) => Some(in_line(state, job)),
            None => state.queued_at(job).map(queued_at),
        },
        // `at_peer` has these.
        Phase::Handing | Phase::Away => None,
        Phase::Over(Finish::OutOfMemory) => {
            Some(("OutOfMemory", out_of_memory(&job.submission.passed_through)))
        }
        Phase::Over(finish) => ended(finish),
    }
}

/// The sentence for a job that used more memory than it may; `options` are those of its submission
/// that are for sites.
fn out_of_memory(options: &[(String, String)]) -> String {
    match options.iter().find(|(name, _)| ["mem", "mem-per-cpu"].contains(&name.as_str())) {
        Some((name, value)) => format!("it used more memory than it requested (--{name}={value})"),
        None => "it used more memory than jobs get that request none (--mem)".to_owned(),
    }
}

/// Who pays, in a sentence.
fn payer_words(payer: &Account) -> String {
    match payer {
        Account::User(name) => name.clone(),
        Account::Project(name) => format!("project {name}"),
        other => other.to_string(),
    }
}

/// The limit of a project or a member that leaves less than the account has.
fn narrower(state: &State, job: &Job, there: i128) -> Option<String> {
    let project = job.paying_project()?;
    let limit = state.limits_left(project, &job.user).into_iter().next()?;
    (limit.left < there).then(|| limit.words(project))
}

/// The word and the sentence for a hold.
pub(crate) fn held(hold: &JobHold) -> (&'static str, String) {
    let (word, text) = match hold {
        JobHold::User => ("JobHeldUser", "its user holds it; release it to let it run"),
        JobHold::Dependency => ("Dependency", "it waits for other jobs"),
        JobHold::Array => ("JobArrayTaskLimit", "as many of its array run as may"),
        JobHold::Breached => (
            "ReservationLost",
            "its accepted offer was not kept; release it, cancel it, or accept another",
        ),
        JobHold::Window => {
            ("Resources", "it waits for a window in which all groups of its tasks start together")
        }
        JobHold::Booked => ("Reservation", "reserved; its window has not begun"),
        JobHold::Nowhere => ("BadConstraints", "no nodes here suit it; peers are asked"),
        JobHold::Lost => {
            ("JobRequeuedHeld", "it is unknown whether it ran; release it to run it again")
        }
        JobHold::Funds(needed) => {
            let text = format!("its payer has less than the {needed} credits that it may cost");
            return (FUNDS, text);
        }
        JobHold::Capped(why) => {
            return ("SiteLimit", format!("it waits for a limit of the sites: {why}"));
        }
        JobHold::OverBudget(why) => {
            return ("AssocGrpEnergyMinutes", format!("it waits for a budget: {why}"));
        }
        JobHold::Rejected(why) => {
            return ("JobLaunchFailedHeld", format!("sites would not start it: {why}"));
        }
    };
    (word, text.to_owned())
}

/// The word and the sentence for a job that its site's manager holds: where, since when, and the
/// manager's word for it.
fn held_there((site, since, why): (&str, Time, &str)) -> (&'static str, String) {
    let word = match why {
        "JobHeldAdmin" => "JobHeldAdmin",
        "JobHeldUser" => "JobHeldUser",
        _ => "JobHeld",
    };
    (word, format!("held at {site} since {}: {why}", moment(since)))
}

/// The word and the sentence for a job that waits in its site's own queue.
fn queued_at(site: &str) -> (&'static str, String) {
    ("SiteQueue", format!("it was submitted to {site}, and waits in the queue of that site"))
}

/// The word and the sentence for a job that waits for its turn in a site's own queue. When that is
/// expected, the job's expected start says.
fn in_line(state: &State, job: &Job) -> (&'static str, String) {
    let site = job.parts().first().map_or("", |part| site_name(state, part.pool));
    ("SiteQueue", format!("it waits for its turn in the queue of {site}"))
}

/// When the work of the job began. A job that waits at its site has not started.
pub(crate) fn started(job: &Job) -> Option<Time> {
    match job.phase() {
        Phase::Running => job.began(),
        Phase::Away => job.started(),
        // One that ran at a peer has no parts here.
        Phase::Over(_) => job.began().or(job.started().filter(|_| job.parts().is_empty())),
        Phase::Held(_) | Phase::Waiting | Phase::Handing => None,
    }
}

fn waiting(state: &State, job: &Job) -> (&'static str, String) {
    let start = job.submission.terms.earliest_start;
    if let Some(start) = start.filter(|start| *start + state.lead() > present(state)) {
        return ("BeginTime", format!("it is not to start before {}", moment(start)));
    }
    if let Some(what) = price_limit::in_the_way(state, job) {
        return (price_limit::REASON, what);
    }
    if let Some(what) = lacks_licences(state, job) {
        return (LICENCES, what);
    }
    match job.id().is_some() && job.id() == state.market.head() {
        true => first_in_queue(state, job),
        false => ("Priority", "other jobs are ahead of it in the queue".to_owned()),
    }
}

/// The word for a job that waits for licences, as Slurm has it.
pub(super) const LICENCES: &str = "Licenses";

/// The first licence of which fewer are free now than the job needs.
fn lacks_licences(state: &State, job: &Job) -> Option<String> {
    let market = &state.market;
    let needs = market.demand(job.id()?)?.terms().licences.as_deref()?;
    let short = needs.iter().find(|it| it.count > market.free_licences(it.licence))?;
    let (name, free) = (
        &market.pools().licences()[short.licence.index()].name,
        market.free_licences(short.licence),
    );
    let are = if free == 1 { "is" } else { "are" };
    let many = if short.count == 1 { "licence" } else { "licences" };
    Some(format!("it needs {} {many} of {name}, and {free} {are} free", short.count))
}

/// The word and the sentence for the first job of the queue. Where it can run, the owners' jobs may
/// wait, too, and they come first: as long as new ones arrive, it waits.
fn first_in_queue(state: &State, job: &Job) -> (&'static str, String) {
    match owners_before(state, job) {
        Some(sites) => {
            let text = format!(
                "it is first in the queue and waits for nodes that the owners' waiting jobs leave at \
                 {sites}"
            );
            ("OwnersFirst", text)
        }
        None => ("Resources", "it is first in the queue and waits for nodes".to_owned()),
    }
}

/// The sites of the pools that suit the job, if the owners' jobs wait for all of these pools.
fn owners_before(state: &State, job: &Job) -> Option<String> {
    let demand = state.market.demand(job.id()?)?;
    let pools = state.market.pools().iter().filter(|(_, pool)| pool.suits(demand));
    let mut sites: Vec<&str> = Vec::new();
    for (id, pool) in pools.filter(|(_, pool)| state.site_state(pool.site).answers()) {
        let load = Why::Queued(id, 0)..=Why::Queued(id, u32::MAX);
        state.outages().range(load).next()?;
        let name = failures::name(state, pool.site);
        if !sites.contains(&name) {
            sites.push(name);
        }
    }
    (!sites.is_empty()).then(|| sites.join(", "))
}

fn ended(finish: &Finish) -> Option<(&'static str, String)> {
    match finish {
        Finish::Completed | Finish::Cancelled => None,
        Finish::Failed(code) => {
            Some(("NonZeroExitCode", format!("it ended with exit code {code}")))
        }
        Finish::Killed(signal) => Some(("RaisedSignal", format!("signal {signal} ended it"))),
        Finish::Timeout => Some(("TimeLimit", "it reached its time limit".to_owned())),
        Finish::OutOfMemory => Some(("OutOfMemory", "it used more memory than it may".to_owned())),
        Finish::NodeFail => {
            Some(("NodeDown", "its nodes failed, or its end is unknown".to_owned()))
        }
        Finish::Refused(reason) => Some((refused(reason), sentence(reason))),
        Finish::Returned(why) => Some(("PassedOn", format!("it was given back: {why}"))),
        Finish::Dependency(job) => {
            let text = format!("job {job} did not end as it had to");
            Some(("DependencyNeverSatisfied", text))
        }
    }
}

fn refused(reason: &Reason) -> &'static str {
    match reason {
        Reason::WiderThanGrid { .. } | Reason::WiderThanQueues { .. } => "PartitionNodeLimit",
        Reason::TooFewNodes { .. } => "BadConstraints",
        Reason::TooLate { .. } => "DeadLine",
        Reason::BudgetShort { .. } | Reason::PricedOut { .. } | Reason::BudgetLimit { .. } => {
            "AssocGrpBillingMinutes"
        }
        _ => "Declined",
    }
}

/// An entry of the history of a job of so many nodes: a word, and more about it.
pub(crate) fn happening(
    state: &State,
    nodes: u32,
    it: &Happening,
) -> (&'static str, Option<String>) {
    match it {
        Happening::Submitted => ("submitted", None),
        Happening::Held(hold) => ("held", Some(held(hold).1)),
        Happening::Queued => ("queued", None),
        Happening::Planned(place) => {
            let shares = place.shares(nodes);
            let names = shares.map(|it| format!("{} × {}", it.nodes, pool_name(state, it.pool)));
            ("planned", Some(names.collect::<Vec<_>>().join(", ")))
        }
        Happening::Lined(pool) => ("in_line", Some(pool_name(state, *pool).to_owned())),
        Happening::Began => ("began", None),
        Happening::Setback(setback) => {
            let name = |pool| pool_name(state, pool).to_owned();
            ("set_back", Some(set_back(setback, name)))
        }
        Happening::Cancelling(by) => ("cancelling", Some(format!("by {by}"))),
        Happening::Requeueing(by) => ("requeueing", Some(format!("by {by}"))),
        Happening::NoticeGiven(_, why) => ("notice", Some(why.clone())),
        Happening::Updated(by) => ("updated", Some(format!("by {by}"))),
        Happening::Handing(peer) => ("passed_on", Some(format!("to {peer}"))),
        Happening::HandedOver(peer) => ("arrived", Some(format!("at {peer}"))),
        Happening::CameBack(why) => ("came_back", Some(why.clone())),
        Happening::TakenIn(peer) => ("taken_in", Some(format!("from {peer}"))),
        Happening::Doubted(peer, why) => ("doubted", Some(format!("{peer} {}", why.words()))),
        Happening::SettledByHand(outcome, by) => {
            ("settled", Some(format!("{} at its peer, says {by}", outcome.name())))
        }
        Happening::Over(finish) => {
            let more = ended(finish).map(|(_, text)| format!(": {text}")).unwrap_or_default();
            ("over", Some(format!("{}{more}", finished(finish))))
        }
        Happening::Kept => ("kept", Some("it began in its window, as promised".to_owned())),
        Happening::Breached(why) => ("breached", Some(super::promises::breach(state, why))),
        Happening::Unkept(site, why) => {
            let sites = state.market.pools().sites();
            let name = sites.get(site.0 as usize).map_or("", |site| &site.name);
            ("unkept", Some(unkept(name, why)))
        }
    }
}

/// A site that will not keep nodes free.
pub(crate) fn unkept(site: &str, why: &str) -> String {
    format!("{site} does not keep its nodes free until then: {why}")
}

/// What set a job back.
pub(crate) fn set_back(setback: &Setback, pool: impl Fn(PoolId) -> String) -> String {
    match setback {
        Setback::Refused(why) => format!("the site would not start it: {why}"),
        Setback::Displaced => {
            "it was taken back before it began: the owner's own jobs took its nodes, \
                               they are gone, or its site did not answer"
                .to_owned()
        }
        Setback::Lost => "its nodes died or were lost".to_owned(),
        Setback::Preempted => "its nodes were taken away for a job of higher priority".to_owned(),
        Setback::Funds => "its payer had too little".to_owned(),
        Setback::OverBudget => "a budget of energy or carbon had too little left".to_owned(),
        Setback::Requeued(by) => format!("requeued by {by}"),
        Setback::Capped(at, word) => format!("{} has a limit: {word}", pool(*at)),
        Setback::BarrierTimedOut(missing, why) => {
            format!("its parts did not come together: {}: {why}", pool(*missing))
        }
    }
}

/// How a part ended, in a word.
pub(crate) fn exit(exit: &Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimeLimit => "time limit".to_owned(),
        Exit::Withdrawn => "withdrawn".to_owned(),
        Exit::OutOfMemory => "out of memory".to_owned(),
        Exit::NodeFailed => "node failed".to_owned(),
        Exit::Preempted => "preempted".to_owned(),
        Exit::Lost => "lost".to_owned(),
        Exit::Refused(why) => format!("refused: {why}"),
        Exit::NotStarted(why) => format!("not started: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_say_their_zone() {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(in_zone(Time(0), zone), "1970-01-01T01:00:00+01:00");
    }

    #[test]
    fn who_used_more_memory_learns_what_was_requested() {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let asked = [option("constraint", "fast"), option("mem", "100M")];
        assert!(out_of_memory(&asked).ends_with("(--mem=100M)"), "{}", out_of_memory(&asked));
        let none = out_of_memory(&asked[..1]);
        assert!(none.contains("request none") && none.contains("--mem"), "{none}");
    }

    #[test]
    fn reasons_have_no_raw_seconds() {
        let (early, late) = (Time(1_800_000_000), Time(1_800_000_060));
        for reason in [
            Reason::TooLate { earliest: late, deadline: early },
            Reason::NoCommonTime { needed: 2, max: 1, deadline: Some(late) },
        ] {
            let text = sentence(&reason);
            assert!(text.contains("2027-01-1") && !text.contains("1800000"), "{text}");
            // The same sentence otherwise.
            let plain = reason.to_string();
            let raw = plain.split(|c: char| c.is_ascii_digit()).next().unwrap();
            assert!(text.starts_with(raw), "{text} {plain}");
        }
    }
}
