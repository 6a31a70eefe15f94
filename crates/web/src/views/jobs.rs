//! Jobs as documents.

use std::collections::BTreeSet;

use serde_json::Value;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Finish, Job, Part, Phase, State};
use tradewind_daemon::store::Digest;
use tradewind_io::present::whole_span;
use tradewind_io::submission::document;
use tradewind_model::{JobShape, Pool, PoolId, Shapes, TaskGroup};

use super::sentence::status_sentence;
use super::status::Moment;
use super::{at_peer, choice, failures, history, limits, promises, words};
use crate::documents::{
    self, ArrayPlace, Booking, Consumed, Credits, ExitStatus, Home, JobList, Together,
};

/// How much lists show of each job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Detail {
    /// What fits on a line.
    #[default]
    Line,
    /// Its nodes and what was submitted as well; no script, no environment, no history.
    Parts,
}

/// A filter of jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// In these states; empty: in any.
    pub(crate) states: Vec<String>,
    pub(crate) user: Option<String>,
    pub(crate) site: Option<String>,
    pub(crate) name: Option<String>,
    /// The first job of the array that they are of.
    pub(crate) array: Option<u64>,
    pub(crate) detail: Detail,
    pub(crate) after: u64,
    pub(crate) limit: usize,
}

/// The job, if there is one and the caller may see it.
pub(crate) fn find<'a>(state: &'a State, actor: &Actor, number: u64) -> Option<&'a Job> {
    state.jobs.get(&number).filter(|job| actor.may_act_for(&job.user))
}

/// A page of jobs. Linear in the jobs that are looked at.
pub(crate) fn list(moment: &Moment<'_>, actor: &Actor, filter: &Filter) -> JobList {
    let state = moment.state;
    let wanted = |job: &&Job| {
        actor.may_act_for(&job.user)
            && filter.user.as_ref().is_none_or(|user| *user == job.user)
            && filter.name.as_ref().is_none_or(|name| *name == job.submission.name)
            && filter.array.is_none_or(|first| job.array.is_some_and(|it| it.0 == first))
            && (filter.states.is_empty()
                || filter.states.iter().any(|it| it == words::state(state, job)))
            && filter.site.as_ref().is_none_or(|site| is_at(state, job, site))
    };
    let jobs = state.jobs.range(filter.after.saturating_add(1)..).map(|(_, job)| job);
    let mut jobs = jobs.filter(wanted);
    let page: Vec<documents::Job> =
        jobs.by_ref().take(filter.limit).map(|job| entry(moment, job, filter.detail)).collect();
    let next = jobs.next().and_then(|_| page.last().map(|job| job.id));
    JobList { jobs: page, next }
}

/// The job's name; of an array with its index.
pub fn title(job: &Job) -> String {
    documents::array_title(&job.submission.name, job.array.map(|(_, index)| index))
}

/// Whether the job has nodes at the site; of a peer: `@` and its name.
pub(crate) fn is_at(state: &State, job: &Job, site: &str) -> bool {
    match site.strip_prefix('@') {
        Some(peer) => job.away().is_some_and(|away| away.name == peer),
        None => sites(state, job).contains(site),
    }
}

fn sites<'a>(state: &'a State, job: &Job) -> BTreeSet<&'a str> {
    job.parts().iter().map(|part| site_name(state, part.pool)).collect()
}

/// The name of a pool's site.
pub(crate) fn site_name(state: &State, pool: PoolId) -> &str {
    &state.market.pools().sites()[state.site_of(pool).0 as usize].name
}

/// The name of a pool.
pub(crate) fn pool_name(state: &State, pool: PoolId) -> &str {
    &state.market.pools().pool(pool).name
}

/// When the nodes of a job that runs go back to their owner.
fn notice_until(job: &Job) -> Option<i64> {
    let run = job.run().filter(|_| matches!(job.phase(), Phase::Running))?;
    run.notice.as_ref().map(|notice| notice.ends.0)
}

/// A job as lists show it.
pub(crate) fn line(moment: &Moment<'_>, job: &Job) -> documents::Job {
    let (state, status) = (moment.state, moment.status(job));
    let (reason, message) = words::reason(state, job).unzip();
    documents::Job {
        id: job.number,
        name: job.submission.name.clone(),
        user: job.user.clone(),
        project: job.submission.project.clone(),
        state: status.state.to_owned(),
        reason: reason.map(str::to_owned),
        message,
        sentence: None,
        failing_sites: failures::of_job(state, job),
        array: job.array.map(|(first, index)| ArrayPlace { first, index }),
        nodes: job.nodes(),
        layout: None,
        submitted: job.submitted.0,
        started: status.started.map(|at| at.0),
        ended: job.ended().map(|at| at.0),
        expected_start: status.expected_start,
        sites: sites(state, job).into_iter().map(str::to_owned).collect(),
        licences: job.submission.terms.licences.clone().unwrap_or_default(),
        data: job.submission.terms.data.as_ref().map(documents::JobData::of),
        cost_so_far: status.cost_so_far,
        cost_at_most: status.cost_at_most,
        paid: job.paid.into(),
        held: held(state, job),
        consumed: Consumed::of(state.consumed_by(job, moment.now)),
        exit: exit(job.phase()),
        restarts: job.attempt,
        cancelled_by: job.cancelled_by.clone(),
        notice_until: notice_until(job),
        booking: booking(state, job),
        promise: promises::promise(state, job),
        peer: job.away().map(|away| away.name.clone()),
        peer_silent_since: state.silence_of(job).map(|silence| silence.since().0),
        peer_nodes: peer_nodes(job),
        peer_receipt: at_peer::receipt(state, job),
        home: job.origin.as_ref().map(|it| Home { peer: it.name.clone(), job: it.job }),
        together: together(job),
        limits: Vec::new(),
        choice: None,
        parts: Vec::new(),
        history: Vec::new(),
        submission: None,
        script_dropped: None,
    }
}

fn entry(moment: &Moment<'_>, job: &Job, detail: Detail) -> documents::Job {
    if detail == Detail::Line {
        return line(moment, job);
    }
    let mut it = whole(moment, job);
    it.history.clear();
    if let Some(fields) = it.submission.as_mut().and_then(Value::as_object_mut) {
        fields.retain(|name, _| name != "script" && name != "environment");
    }
    it
}

/// A job with all that is known of it.
pub(crate) fn whole(moment: &Moment<'_>, job: &Job) -> documents::Job {
    let state = moment.state;
    let document = documents::Job {
        layout: layout(state, job),
        choice: choice::document(state, job),
        limits: limits::limits(state, job),
        parts: (0..).zip(job.parts()).map(|(place, it)| part(state, job, place, it)).collect(),
        history: history::history(state, job),
        submission: Some(submission(job)),
        script_dropped: job.redacted().map(|hash| Digest(hash).to_string()),
        ..line(moment, job)
    };
    let sentence = Some(status_sentence(&document, None).text());
    documents::Job { sentence, ..document }
}

/// What was submitted, without what was dropped since.
fn submission(job: &Job) -> Value {
    let mut document = document::value(&job.submission);
    if let Some(fields) = document.as_object_mut().filter(|_| job.redacted().is_some()) {
        fields.retain(|name, value| name != "environment" && (name != "script" || *value != ""));
    }
    document
}

/// `8 tasks of 1 processor: 2 nodes of 4 processors at alpha/main`, once the number of nodes is
/// known.
fn layout(state: &State, job: &Job) -> Option<String> {
    if let Some(shapes) = &job.submission.terms.shapes {
        return Some(shapes_in_words(shapes, job));
    }
    if let Some(groups) = &job.submission.terms.groups {
        return Some(groups_in_words(groups));
    }
    let shape = job.submission.shape.as_ref()?;
    let demand = job.id().and_then(|id| state.market.demand(id));
    let suits = |pool: &&Pool| demand.is_some_and(|demand| pool.suits(demand));
    let mut places: Vec<&str> =
        job.parts().iter().map(|part| pool_name(state, part.pool)).collect();
    if places.is_empty() {
        let pools = state.market.pools().as_slice().iter();
        places = pools.filter(suits).map(|pool| pool.name.as_str()).collect();
    }
    if places.is_empty() {
        return None;
    }
    let many = |count: u32, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let size = job.processors.map(|count| format!(" of {}", many(count, "processor")));
    let (nodes, size) = (many(job.nodes(), "node"), size.unwrap_or_default());
    Some(format!("{}: {nodes}{size} at {}", shape.words(), places.join(" or ")))
}

/// `32 nodes for 1 h 50 min, of the shapes 64 nodes for 1 h, …`; only these, before it has one.
fn shapes_in_words(shapes: &Shapes, job: &Job) -> String {
    let one = |it: &JobShape| {
        let nodes = if it.nodes == 1 { "node" } else { "nodes" };
        format!("{} {nodes} for {}", it.nodes, whole_span(it.time.0))
    };
    let all: Vec<String> = shapes.as_slice().iter().map(one).collect();
    let is_settled = job.run().is_some() || job.booking.is_some();
    let taken = shapes.of_width(job.nodes()).filter(|_| is_settled);
    match taken {
        Some(taken) => format!("{}, of the shapes {}", one(&taken), all.join(", ")),
        None => format!("one of the shapes {}", all.join(", ")),
    }
}

/// `groups 1 node for 1 h, 3 nodes for 10 min`.
fn groups_in_words(groups: &[TaskGroup]) -> String {
    let one = |it: &TaskGroup| {
        let nodes = if it.tasks == 1 { "node" } else { "nodes" };
        let performance = it.min_performance.map(|min| format!(" of performance {min}"));
        let mut wanted: Vec<String> = performance.into_iter().collect();
        wanted.extend(it.attributes.keys().map(|name| format!(" with {name}")));
        format!("{} {nodes}{} for {}", it.tasks, wanted.concat(), whole_span(it.work.0))
    };
    format!("groups {}", groups.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn part(state: &State, job: &Job, place: usize, part: &Part) -> documents::Part {
    documents::Part {
        group: job.group_of(place),
        site: site_name(state, part.pool).to_owned(),
        pool: pool_name(state, part.pool).to_owned(),
        nodes: part.nodes,
        price: part.price.into(),
        limit: part.run_limit().0,
        stage_in: part.staging.map(|times| times.stage_in.0),
        stage_out: part.staging.map(|times| times.stage_out.0),
        node_names: part.names.clone(),
        since: job.works_since(part).map(|at| at.0),
        ended: part.exit.as_ref().map(|(at, _)| at.0),
        exit: part.exit.as_ref().map(|(_, exit)| words::exit(exit)),
    }
}

fn peer_nodes(job: &Job) -> Vec<String> {
    let news = job.away().and_then(|away| away.news.as_ref());
    news.map(|news| news.nodes.clone()).unwrap_or_default()
}

fn exit(phase: Phase<'_>) -> Option<ExitStatus> {
    match phase {
        Phase::Over(Finish::Completed) => Some(ExitStatus { code: 0, signal: 0 }),
        Phase::Over(Finish::Failed(code)) => Some(ExitStatus { code: *code, signal: 0 }),
        Phase::Over(Finish::Killed(signal)) => Some(ExitStatus { code: 0, signal: *signal }),
        _ => None,
    }
}

/// What is held of its payer's money: the market's own does not count.
fn held(state: &State, job: &Job) -> Credits {
    let held = state.accounts().balance(&Account::Held(job.number));
    Credits(held - i128::from(job.covering.0))
}

fn booking(state: &State, job: &Job) -> Option<Booking> {
    let booking = job.booking.as_ref()?;
    let shares = booking.place.shares(job.nodes());
    Some(Booking {
        start: booking.start.0,
        end: booking.ends.iter().max().map_or(booking.start.0, |at| at.0),
        pools: shares.map(|share| pool_name(state, share.pool).to_owned()).collect(),
    })
}

/// How the job's parts begin, if it has several.
fn together(job: &Job) -> Option<Together> {
    let apart = job.begins_apart();
    let has_several = apart || job.barrier().is_some();
    let begin = job.began().map(|at| at.0);
    has_several.then(|| Together { begin, skew_ms: job.skew(), apart })
}

/// The value below which `percent` of the sorted values are; `None` of none.
pub(crate) fn quantile(sorted: &[i64], percent: usize) -> Option<i64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last * percent + 50) / 100).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few() {
        assert_eq!(quantile(&[], 50), None);
        assert_eq!(quantile(&[7], 90), Some(7));
        let ten: Vec<i64> = (0..=10).collect();
        assert_eq!([10, 50, 90].map(|it| quantile(&ten, it)), [Some(1), Some(5), Some(9)]);
    }
}
