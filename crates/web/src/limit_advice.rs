//! Advice on a time limit: what the user's own runs say of it, and what a shorter one would change.

use std::sync::Arc;

use tradewind_daemon::live::Refusal;
use tradewind_daemon::live::alike::PERCENT;
use tradewind_daemon::live::state::jobs::limit_of;
use tradewind_io::submission::Submission;
use tradewind_model::{Demand, JobId, Span};

use crate::ahead::AdviceRequest;
use crate::api::{Advisor, MarketView, Proposal};
use crate::context::Context;
use crate::documents::{Credits, LimitAdvice};
use crate::failure::Answer;
use crate::watch::Watch;

/// A job as it was submitted, or may be.
#[derive(Debug)]
pub(crate) struct AskedJob {
    /// Whose, so that nothing of other users is looked at.
    pub(crate) user: String,
    pub(crate) submission: Arc<Submission>,
    pub(crate) demand: Demand,
    /// Its place in the market, if it waits there.
    pub(crate) waits: Option<JobId>,
}

/// Advice on the time limit of a job, if there is any; `None` also where the configuration says so.
///
/// # Errors
/// If there is no answer in time.
pub(crate) async fn advice(
    context: &Context,
    ahead: &AdviceRequest,
    view: &Arc<MarketView>,
    job: AskedJob,
) -> Answer<Option<LimitAdvice>> {
    let AskedJob { user, submission, demand, waits } = job;
    let nodes = demand.processors;
    let found = context.look(move |live| {
        let rigid = Some(&submission).filter(|it| it.terms.shapes.is_none());
        let asked = limit_of(rigid?)?;
        let is_wanted = live.settings().advice;
        let advice = is_wanted.then(|| live.limit_advice(&user, &submission, nodes))?;
        Some((asked, advice?))
    });
    let Some((asked, found)) = found.await? else { return Ok(None) };
    let shorter = with_limit(&demand, asked, found.limit);
    let view = Arc::clone(view);
    let windows = move |advisor: &dyn Advisor, watch: &Watch| -> Result<_, Refusal> {
        let of = |demand: &Demand| first(advisor, &view, (waits, demand), watch);
        Ok((of(&demand)?, of(&shorter)?))
    };
    let (own, shorter) = ahead.ask(windows).await?;
    Ok(Some(LimitAdvice {
        percent: PERCENT,
        runs: found.runs as u32,
        used: found.used.0,
        asked: asked.0,
        limit: found.limit.0,
        start: own.map(|(start, _)| start),
        shorter_start: shorter.map(|(start, _)| start),
        cost: own.map(|(_, cost)| cost),
        shorter_cost: shorter.map(|(_, cost)| cost),
    }))
}

/// The same job with another limit, as many times shorter as that is.
fn with_limit(demand: &Demand, asked: Span, limit: Span) -> Demand {
    let estimate = i128::from(demand.estimate.0) * i128::from(limit.0) / i128::from(asked.0.max(1));
    let estimate = i64::try_from(estimate).map_or(demand.estimate, |it| Span(it.max(1)));
    Demand { estimate, ..demand.clone() }
}

/// The start and the cost of the earliest window.
fn first(
    advisor: &dyn Advisor,
    view: &MarketView,
    (waits, demand): (Option<JobId>, &Demand),
    watch: &Watch,
) -> Result<Option<(i64, Credits)>, Refusal> {
    let proposals = match waits {
        Some(job) => advisor.quote_instead(view, job, demand, watch)?,
        None => advisor.quote(view, demand, watch)?.proposals,
    };
    let window =
        |it: Proposal| it.answer.ok().map(|(booking, cost)| (booking.start.0, cost.into()));
    Ok(proposals.into_iter().filter_map(window).min_by_key(|(start, cost)| (*start, *cost)))
}
