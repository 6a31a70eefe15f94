//! Jobs: looking, stopping, holding, waiting.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::Ask;
use tradewind_daemon::live::state::Phase;
use tradewind_io::submission::OnBreach;
use utoipa::IntoParams;

use super::openapi::Refusals;
use super::page;
use super::submission::change;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{Job, JobList, JobUpdate};
use crate::extract::{At, Document, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::feed::Position;
use crate::notes;
use crate::views::jobs::{self, Detail, Filter};

/// States that jobs can be in.
const STATES: [&str; 12] = [
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "COMPLETING",
    "UNKNOWN",
    "COMPLETED",
    "FAILED",
    "TIMEOUT",
    "CANCELLED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "DEADLINE",
];
/// The longest that `wait` waits, and its default: seconds.
const WAIT: (u64, u64) = (60, 30);
/// Parameters of the URL that select jobs.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobsParams {
    /// In these states, with commas between: `PENDING,RUNNING`.
    state: Option<String>,
    /// Only those of this user.
    user: Option<String>,
    /// With parts at this site.
    site: Option<String>,
    /// Only those of this name.
    name: Option<String>,
    /// Only those of the array with this first job.
    array: Option<u64>,
    /// With parts, limits, layout and what was submitted, but for scripts and environments.
    #[serde(default)]
    detail: bool,
    /// With a number above this.
    after: Option<u64>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

impl JobsParams {
    fn filter(self) -> Answer<Filter> {
        let states = self.state.iter().flat_map(|all| all.split(','));
        let states: Vec<String> = states.map(|it| it.trim().to_uppercase()).collect();
        if let Some(unknown) = states.iter().find(|it| !STATES.contains(&it.as_str())) {
            let message = format!("there is no state `{unknown}`");
            let hint = format!("there are: {}", STATES.join(", "));
            return Err(ErrorResponse::malformed(message, hint).in_field("state"));
        }
        let JobsParams { user, site, name, array, detail, after, limit, .. } = self;
        let (after, limit) = (after.unwrap_or(0), page(limit)?);
        let detail = if detail { Detail::Parts } else { Detail::Line };
        Ok(Filter { states, user, site, name, array, detail, after, limit })
    }
}

/// Jobs of the caller; an administrator sees all. Those that are over are kept for some days.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", operation_id = "list_jobs", params(JobsParams),
    responses((status = 200, description = "a page of jobs, by number", body = JobList), Refusals),
)]
pub(crate) async fn list(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<JobsParams>,
) -> Answer<Json<JobList>> {
    let filter = which.filter()?;
    let whose = filter.user.clone();
    let what = whose.as_ref().map_or("jobs of all users".to_owned(), |it| format!("jobs of {it}"));
    notes::read(&context.audit, &caller, whose.as_deref().unwrap_or_default(), &what);
    let list = context.see(move |_, moment| jobs::list(moment, &caller.actor, &filter));
    list.await.map(Json)
}

fn no_job(number: u64) -> ErrorResponse {
    ErrorResponse::unknown(format!("you have no job {number}"))
}

async fn seen(context: &Context, caller: &Caller, number: u64) -> Answer<Job> {
    let actor = caller.actor.clone();
    let found = context.see(move |_, moment| {
        jobs::find(moment.state, &actor, number).map(|job| jobs::whole(moment, job))
    });
    found.await?.ok_or_else(|| no_job(number))
}

async fn find(context: &Context, caller: &Caller, number: u64) -> Answer<Job> {
    let job = seen(context, caller, number).await?;
    notes::read(&context.audit, caller, &job.user, &format!("job {number} of {}", job.user));
    Ok(job)
}

/// A job with its history and parts.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs", operation_id = "show_job", params(("id" = u64, Path, description = "the job")),
    responses((status = 200, description = "the job", body = Job), Refusals),
)]
pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Answer<Json<Job>> {
    find(&context, &caller, number).await.map(Json)
}

/// Stops a job, or keeps it from running. A running one ends when its site has stopped it.
#[utoipa::path(
    delete, path = "/v1/jobs/{id}", tag = "jobs", operation_id = "cancel_job",
    params(("id" = u64, Path, description = "the job")),
    responses((status = 200, description = "as it is now", body = Job), Refusals),
)]
pub(crate) async fn cancel(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Answer<Json<Job>> {
    context.ask(caller.actor.clone(), Ask::Cancel { job: number }).await?;
    find(&context, &caller, number).await.map(Json)
}

/// Keeps a waiting job out of the queue.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/hold", tag = "jobs", operation_id = "hold_job",
    params(("id" = u64, Path, description = "the job")),
    responses((status = 200, description = "as it is now", body = Job), Refusals),
)]
pub(crate) async fn hold(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Answer<Json<Job>> {
    context.ask(caller.actor.clone(), Ask::Hold { job: number }).await?;
    find(&context, &caller, number).await.map(Json)
}

/// Lets a held job into the queue.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/release", tag = "jobs", operation_id = "release_job",
    params(("id" = u64, Path, description = "the job")),
    responses((status = 200, description = "as it is now", body = Job), Refusals),
)]
pub(crate) async fn release(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Answer<Json<Job>> {
    context.ask(caller.actor.clone(), Ask::Release { job: number }).await?;
    find(&context, &caller, number).await.map(Json)
}

/// Stops a job that runs; it pays for what it has used, and waits in the queue again under its number.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/requeue", tag = "jobs", operation_id = "requeue_job",
    params(("id" = u64, Path, description = "the job")),
    responses((status = 200, description = "as it is now", body = Job), Refusals),
)]
pub(crate) async fn requeue(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Answer<Json<Job>> {
    context.ask(caller.actor.clone(), Ask::Requeue { job: number }).await?;
    find(&context, &caller, number).await.map(Json)
}

/// Changes a job that waits, by options of a submission; one that is planned again for it waits behind
/// those that wait already. Or chooses for a job that accepted an offer: what happens if it is not
/// kept, or another quote after a breach, for which the job pays no more than it was promised first.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/update", tag = "jobs", operation_id = "update_job",
    params(("id" = u64, Path, description = "the job")), request_body = JobUpdate,
    responses((status = 200, description = "as it is now", body = Job), Refusals),
)]
pub(crate) async fn update(
    State(context): State<Context>,
    caller: Caller,
    At(job): At<u64>,
    Document(wanted): Document<JobUpdate>,
) -> Answer<Json<Job>> {
    let JobUpdate { options, time_zone, on_breach, quote } = wanted;
    let on_breach = on_breach.map(|name| {
        let unknown = || {
            let message = format!("there is no choice `{name}`");
            ErrorResponse::malformed(message, "there are: requeue, cancel, hold")
                .in_field("on_breach")
        };
        OnBreach::of(&name).ok_or_else(unknown)
    });
    let on_breach = on_breach.transpose()?;
    let chooses = on_breach.is_some() || quote.is_some();
    if chooses != options.is_empty() {
        let hint = "give `options`, or else `on_breach` or `quote`";
        return Err(ErrorResponse::malformed("either a job or its offer is changed", hint));
    }
    let ask = match chooses {
        true => Ask::Update { job, on_breach, quote },
        false => Ask::Change { job, change: Box::new(change(options, time_zone)?) },
    };
    context.ask(caller.actor.clone(), ask).await?;
    find(&context, &caller, job).await.map(Json)
}

/// Parameters of the URL: how long to wait.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HowLong {
    /// At most so many: 0 to 60, 30 if left out.
    #[param(maximum = 60)]
    seconds: Option<u64>,
}

/// The job, as soon as it is over; or as it is when the time is up. Ask again then.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/wait", tag = "jobs", operation_id = "wait_for_job",
    params(("id" = u64, Path, description = "the job"), HowLong),
    responses((status = 200, description = "as it is now", body = Job), Refusals),
)]
pub(crate) async fn wait(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
    Selection(how_long): Selection<HowLong>,
) -> Answer<Json<Job>> {
    let (max, usual) = WAIT;
    let seconds = how_long.seconds.unwrap_or(usual);
    if seconds > max {
        let message = format!("the longest wait of one request is {max} seconds");
        return Err(ErrorResponse::malformed(message, "ask again").in_field("seconds"));
    }
    let mut position = Position { seq: context.feed.last() };
    if !is_over(&context, &caller, number).await? {
        let time = Duration::from_secs(seconds);
        // Whether it ended or the time is up: the job is looked at either way.
        drop(tokio::time::timeout(time, until_over(&context, number, &mut position)).await);
    }
    seen(&context, &caller, number).await.map(Json)
}

/// Also writes down that an administrator waits for another user's job.
async fn is_over(context: &Context, caller: &Caller, number: u64) -> Answer<bool> {
    let actor = caller.actor.clone();
    let phase = context.look(move |live| {
        let job = jobs::find(live.state(), &actor, number);
        job.map(|job| (job.user.clone(), matches!(job.phase(), Phase::Over(_))))
    });
    let (owner, is_over) = phase.await?.ok_or_else(|| no_job(number))?;
    notes::read(&context.audit, caller, &owner, &format!("end of job {number} of {owner}"));
    Ok(is_over)
}

async fn until_over(context: &Context, number: u64, position: &mut Position) {
    let mut changes = context.feed.changes();
    loop {
        let (entries, next, lost) = context.feed.after(*position, 1_000);
        let mine = entries.iter().any(|it| it.is_reset() || (it.over && it.job == Some(number)));
        if mine || lost || context.feed.is_stopped() {
            return;
        }
        let behind = next != *position;
        *position = next;
        if !behind && changes.changed().await.is_err() {
            return;
        }
    }
}
