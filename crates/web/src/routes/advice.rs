//! Looking ahead: what could be, and why it is not.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::Role;
use tradewind_daemon::live::state::{Booking, Quote};
use tradewind_daemon::live::{Ask, Live, Reply};
use tradewind_model::{Demand, JobId, Money, Share, Span, Time};

use super::openapi::{Refusals, Work};
use super::submission;
use crate::ahead::AdviceRequest;
use crate::api::{Advisor, MarketView, Proposal, Quoted};
use crate::auth::Caller;
use crate::clock::now;
use crate::context::Context;
use crate::documents::{
    Basis, Credits, Expectation, Explanation, Job, JobChange, Quotes, WhatIf, WhatIfQuestion,
};
use crate::extract::{At, Document, Large};
use crate::failure::{Answer, ErrorResponse};
use crate::limit_advice::{self, AskedJob};
use crate::notes;
use crate::usual;
use crate::views::accounts::may_see;
use crate::views::offers::{no_offer, offer};
use crate::views::{jobs, sites, starts, words};
use crate::watch::Watch;

/// A year, the longest forecast.
const MAX_HORIZON: i64 = 366 * 86_400;

/// No search for windows should take longer.
const FURTHEST: Span = Span(16);

/// What a job could get now. Each offer may be accepted by its id until it expires: its price and
/// its start are kept then, or the submission is refused with what changed.
#[utoipa::path(
    post, path = "/v1/quotes", tag = "advice", operation_id = "quote",
    request_body(content = Work, description = "as for `POST /v1/jobs`"),
    responses((status = 200, description = "one offer for each criterion", body = Quotes), Refusals),
)]
pub(crate) async fn quote(
    State(context): State<Context>,
    caller: Caller,
    body: Large,
) -> Answer<Json<Quotes>> {
    Ok(Json(offers(&context, &caller, &body, Standing::Kept).await?))
}

/// What happens to offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// They are written down, and may be accepted until they expire.
    Kept,
    /// They are only reported: nothing changes.
    Told,
}

/// One offer for each criterion, for the job that `document` describes, and what there is to pay
/// for it.
///
/// # Errors
/// If the document is wrong, the user has too many questions, or there is no answer in time.
pub(crate) async fn offers(
    context: &Context,
    caller: &Caller,
    document: &Large,
    standing: Standing,
) -> Answer<Quotes> {
    let (submission, _) = submission::read_large(context, document).await?;
    let ahead = AdviceRequest::begin(context, &caller.actor).await?;
    let user = || Account::User(caller.actor.user.clone());
    let project = submission.project.clone();
    let payer = project.clone().map_or_else(user, Account::Project);
    let (asked, user) = (Arc::new(submission.clone()), caller.actor.user.clone());
    let demand = context.demand(user.clone(), submission).await?;
    let (view, Quoted { proposals, queue }) = windows(context, &demand, &ahead).await?;
    let expected = usual::starts(context, &ahead, &view, &demand, &proposals).await?;
    let job = AskedJob { user, submission: asked, demand: demand.clone(), waits: None };
    let advice = limit_advice::advice(context, &ahead, &view, job).await?;
    // The rest waits for the journal, and not for a processor.
    drop(ahead);
    let unbookable = context.look(Live::unbookable).await?;
    let without_offer = without_offer(context, &view, &demand, &proposals).await?;
    let mut kept: Vec<(Booking, u64)> = Vec::new();
    let mut quotes = Vec::new();
    for (Proposal { criterion, exact, answer }, expected) in proposals.into_iter().zip(expected) {
        let offer = match answer {
            Err(reason) => no_offer(criterion, exact, words::sentence(&reason)),
            Ok((booking, cost)) => {
                let pools = view.market.pools();
                let mut offer = offer(pools, &demand, (criterion, exact), &booking, cost);
                offer.expected_start = expected.map(|at| at.0);
                let share = |share: Share| unbookable.contains(&share.pool);
                let in_line = booking.place.shares(demand.processors).any(share);
                let basis = match demand.terms().licences {
                    _ if in_line => Basis::SiteQueue,
                    Some(_) => Basis::Licences,
                    None => Basis::Window,
                };
                offer.basis = Some(basis);
                if standing == Standing::Kept && basis == Basis::Window {
                    let known = kept.iter().find(|(it, _)| *it == booking).map(|(_, id)| *id);
                    let quote = quote_of(context, &demand, &booking, cost);
                    offer.expires = Some(quote.expires.0);
                    let id = match known {
                        Some(id) => id,
                        None => keep(context, caller, quote).await?,
                    };
                    offer.id = Some(id);
                    offer.slack = slack(context, id).await?;
                    kept.push((booking, id));
                }
                offer
            }
        };
        quotes.push(offer);
    }
    let parts = quotes.iter().flat_map(|offer| &offer.nodes);
    let named: BTreeSet<String> = parts.map(|part| part.site.clone()).collect();
    let unknown = context.look(move |live| sites::unknown(live, &named)).await?;
    let name = payer.to_string();
    let actor = caller.actor.clone();
    let funds = context.look(move |live| {
        let (state, grant) = (live.state(), live.settings().new_user_grant);
        may_see(state, &actor, &payer).then(|| {
            let there = state.funds(&payer, grant);
            state.within_limits(there, project.as_deref(), &actor.user).max(0)
        })
    });
    let (as_of, queue) = (Some(view.market.now().0), Some(queue));
    let funds = funds.await?.map(Credits);
    Ok(Quotes { quotes, payer: Some(name), funds, as_of, queue, without_offer, advice, unknown })
}

/// When a job that asks for this is expected to start if it joins the queue: at the earliest window.
async fn without_offer(
    context: &Context,
    view: &MarketView,
    demand: &Demand,
    proposals: &[Proposal],
) -> Answer<Option<Expectation>> {
    let windows = proposals.iter().filter_map(|it| Some(it.answer.as_ref().ok()?.0.start));
    let Some(start) = windows.min() else { return Ok(None) };
    let (at, asked) = (view.market.now(), (demand.processors, demand.estimate));
    let said =
        context.look(move |live| starts::expectation(live.state(), (at, start), Some(asked)));
    said.await.map(Some)
}

/// The market, and windows in it that do not begin before the answer: they are searched from
/// a moment that is to come, a later one if it has passed meanwhile.
async fn windows(
    context: &Context,
    demand: &Demand,
    ahead: &AdviceRequest,
) -> Answer<(Arc<MarketView>, Quoted)> {
    let mut later = Span(1);
    loop {
        let view = Arc::new(context.view_in(later).await?);
        let (seen, asked) = (Arc::clone(&view), demand.clone());
        let found = ahead.ask(move |advisor, watch| advisor.quote(&seen, &asked, watch)).await?;
        if now() + view.lead < view.market.now() || later >= FURTHEST {
            return Ok((view, found));
        }
        later = Span(later.0 * 2);
    }
}

fn quote_of(context: &Context, demand: &Demand, booking: &Booking, cost: Money) -> Quote {
    let shape = demand.shape_at(&booking.place);
    let demand = shape.as_ref().unwrap_or(demand);
    Quote {
        number: 0,
        user: String::new(),
        tasks: demand.processors,
        work: demand.estimate,
        times: demand.mode(),
        booking: booking.clone(),
        cost,
        expires: now() + context.limits.quote_valid,
        slack: None,
    }
}

/// How much later than its start a job of the quote may begin, seconds.
async fn slack(context: &Context, id: u64) -> Answer<Option<i64>> {
    let slack = context.look(move |live| live.state().quotes().get(&id)?.slack);
    Ok(slack.await?.map(|slack| slack.0))
}

async fn keep(context: &Context, caller: &Caller, quote: Quote) -> Answer<u64> {
    match context.ask(caller.actor.clone(), Ask::Keep { quote }).await? {
        Reply::Number(id) => Ok(id),
        _ => Err(ErrorResponse::unavailable("the market said nothing")),
    }
}

/// The market carried on in virtual time, as it is and as asked. Nothing changes.
#[utoipa::path(
    post, path = "/v1/whatif", tag = "advice", operation_id = "what_if", request_body = WhatIfQuestion,
    responses((status = 200, description = "both, side by side", body = WhatIf), Refusals),
)]
pub(crate) async fn whatif(
    State(context): State<Context>,
    caller: Caller,
    Document(question): Document<WhatIfQuestion>,
) -> Answer<Json<WhatIf>> {
    if question.horizon.is_some_and(|span| !(1..=MAX_HORIZON).contains(&span)) {
        let message = format!("a horizon is 1 to {MAX_HORIZON} seconds");
        return Err(ErrorResponse::invalid(message, "a day is 86400").in_field("horizon"));
    }
    let ahead = AdviceRequest::begin(&context, &caller.actor).await?;
    if let Some(number) = question.without_job {
        let actor = caller.actor.clone();
        let seen = context.look(move |live| jobs::find(live.state(), &actor, number).is_some());
        if !seen.await? {
            let unknown = ErrorResponse::unknown(format!("you have no job {number}"));
            return Err(unknown.in_field("without_job"));
        }
    }
    let view = context.view().await?;
    let look = move |advisor: &dyn Advisor, watch: &Watch| advisor.whatif(&view, &question, watch);
    let mut found = ahead.ask_long(look).await?;
    drop(ahead);
    let found = context.look(move |live| {
        if caller.actor.role != Role::Administrator {
            let is_own = |it: &JobChange| jobs::find(live.state(), &caller.actor, it.job).is_some();
            found.changes.retain(is_own);
        }
        starts::in_whatif(live.state(), &mut found);
        found
    });
    Ok(Json(found.await?))
}

/// Why a job waits, and the minimum that would change it.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/explain", tag = "advice", operation_id = "explain_job",
    params(("id" = u64, Path, description = "the job")),
    responses((status = 200, description = "reason and remedies", body = Explanation), Refusals),
)]
pub(crate) async fn explain(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Answer<Json<Explanation>> {
    let ahead = AdviceRequest::begin(&context, &caller.actor).await?;
    let (line, id, _) = seen(&context, &caller, number).await?;
    notes::read(&context.audit, &caller, &line.user, &format!("job {number} of {}", line.user));
    let Some(id) = id.filter(|_| line.waits_here()) else {
        return Ok(Json(of_unplaced(&context, &ahead, line).await?));
    };
    let view = Arc::new(context.view().await?);
    let of = Arc::clone(&view);
    let look = move |advisor: &dyn Advisor, watch: &Watch| advisor.explain(&of, id, watch);
    let mut told = ahead.ask(look).await?;
    told.advice = match own_job(&context, &caller, number, &view).await? {
        Some(job) => limit_advice::advice(&context, &ahead, &view, job).await?,
        None => None,
    };
    // The plan may be newer than at first, and the job may have left the queue meanwhile.
    let (line, id, left_out) = seen(&context, &caller, number).await?;
    if id.is_none() || !line.waits_here() {
        return Ok(Json(of_line(line)));
    }
    told.expected_start = line.expected_start.map(|it| it.at);
    told.expectation = line.expected_start;
    if let (None, Some(at)) = (&told.reason, told.expected_start) {
        told.message = format!("it is expected to start at {}", words::moment(Time(at)));
    }
    if !left_out.is_empty() {
        told.message += &format!("; left out for limits of sites: {}", left_out.join("; "));
    }
    Ok(Json(told))
}

/// The caller's own job that waits in the queue. What other users' runs say is not for the caller, not
/// even for an administrator.
async fn own_job(
    context: &Context,
    caller: &Caller,
    number: u64,
    view: &Arc<MarketView>,
) -> Answer<Option<AskedJob>> {
    let (user, view) = (caller.actor.user.clone(), Arc::clone(view));
    let found = context.look(move |live| {
        let job = live.state().jobs.get(&number).filter(|job| job.user == user)?;
        let waits = Some(job.id()?);
        let demand = view.market.demand(job.id()?)?.clone();
        Some(AskedJob { user, submission: Arc::clone(&job.submission), demand, waits })
    });
    found.await
}

/// The job, its place in the queue if it is there, and pools that are left out for limits of sites.
async fn seen(
    context: &Context,
    caller: &Caller,
    number: u64,
) -> Answer<(Job, Option<JobId>, Vec<String>)> {
    let actor = caller.actor.clone();
    let found = context.see(move |live, moment| {
        let job = jobs::find(moment.state, &actor, number)?;
        let id = job.id().filter(|id| moment.state.jobs.numbers.contains_key(id));
        Some((jobs::whole(moment, job), id, live.left_out(number)))
    });
    found.await?.ok_or_else(|| ErrorResponse::unknown(format!("you have no job {number}")))
}

/// What is known of a job that does not wait in the queue: of one that waits for a window, why it has
/// none.
async fn of_unplaced(context: &Context, ahead: &AdviceRequest, line: Job) -> Answer<Explanation> {
    let number = line.id;
    let demand = context.look(move |live| live.unplaced_demand(number).ok()).await?;
    let Some(demand) = demand else { return Ok(of_line(line)) };
    let view = Arc::new(context.view().await?);
    let look =
        move |advisor: &dyn Advisor, watch: &Watch| advisor.explain_window(&view, &demand, watch);
    let told = ahead.ask(look).await?;
    let expected_start = line.expected_start.as_ref().map(|it| it.at);
    Ok(Explanation { job: number, expected_start, expectation: line.expected_start, ..told })
}

/// What is known of a job that does not wait in the queue.
fn of_line(line: Job) -> Explanation {
    let said = match line.waits_here() {
        true => line.message.or(line.sentence),
        false => line.sentence.or(line.message),
    };
    let said = said.unwrap_or_default();
    Explanation {
        job: line.id,
        reason: line.reason,
        message: said.trim_end_matches('.').to_owned(),
        expected_start: line.expected_start.map(|it| it.at),
        expectation: line.expected_start,
        advice: None,
        ahead: None,
        relaxations: Vec::new(),
        fall_backs: Vec::new(),
        fair_share: None,
        queue: None,
    }
}
