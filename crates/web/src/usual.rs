//! When a job is expected to start if the jobs of others end as early as they usually do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_daemon::live::outages::usual::{UsualStart, Wanted};
use tradewind_model::{Demand, JobId, SiteId, Time};

use crate::ahead::AdviceRequest;
use crate::api::{Advisor, MarketView, Plan, Proposal};
use crate::context::Context;
use crate::failure::Answer;
use crate::watch::Watch;

/// By proposal: when a job that asks for this is expected to start where the proposal is, not later
/// than its window. `None` for windows in several pools, and where nothing is known.
///
/// # Errors
/// If there is no answer in time.
pub(crate) async fn starts(
    context: &Context,
    ahead: &AdviceRequest,
    view: &Arc<MarketView>,
    demand: &Demand,
    proposals: &[Proposal],
) -> Answer<Vec<Option<Time>>> {
    let asked: Vec<Option<(Wanted, Time)>> =
        proposals.iter().map(|it| wanted(demand, it)).collect();
    let site = |(wanted, _): &(Wanted, Time)| view.market.pools().pool(wanted.pool).site;
    let sites: BTreeSet<SiteId> = asked.iter().flatten().map(site).collect();
    let known = move |live: &tradewind_daemon::live::Live| {
        let known = sites.iter().filter_map(|site| Some((*site, live.usual_start(*site)?)));
        known.collect::<BTreeMap<SiteId, UsualStart>>()
    };
    let known = context.look(known).await?;
    if known.is_empty() {
        return Ok(vec![None; asked.len()]);
    }
    let view = Arc::clone(view);
    ahead.ask(move |advisor, watch| Ok(expected(advisor, &view, &known, &asked, watch))).await
}

/// What is asked for at the place of the proposal, and the start of its window.
fn wanted(demand: &Demand, proposal: &Proposal) -> Option<(Wanted, Time)> {
    let (booking, _) = proposal.answer.as_ref().ok()?;
    let mut shares = booking.place.shares(demand.processors);
    let (share, end) = (shares.next()?, booking.ends.first()?);
    let (pool, nodes, limit) = (share.pool, share.nodes, *end - booking.start);
    shares.next().is_none().then_some((Wanted { pool, nodes, limit }, booking.start))
}

fn expected(
    advisor: &dyn Advisor,
    view: &MarketView,
    known: &BTreeMap<SiteId, UsualStart>,
    asked: &[Option<(Wanted, Time)>],
    watch: &Watch,
) -> Vec<Option<Time>> {
    let plan = advisor.plan();
    let mut found: Vec<(Wanted, Option<Time>)> = Vec::new();
    let mut of = |wanted: Wanted| {
        if let Some((_, start)) = found.iter().find(|(other, _)| *other == wanted) {
            return *start;
        }
        let site = view.market.pools().pool(wanted.pool).site;
        let before = plan.as_ref().map(|plan| before(view, plan, site)).unwrap_or_default();
        let start = known.get(&site)?.of(wanted, &before, &mut || watch.flow().is_continue());
        found.push((wanted, start));
        start
    };
    let bounded = |start: Time, window: Time| start.max(view.market.now()).min(window);
    let expected = asked.iter().map(|asked| {
        let (wanted, window) = (*asked)?;
        of(wanted).map(|start| bounded(start, window))
    });
    expected.collect()
}

/// The market's own jobs that are planned at the site, in the order of submission.
fn before(view: &MarketView, plan: &Plan, site: SiteId) -> Vec<Wanted> {
    let waiting: BTreeSet<JobId> = view.market.queue().collect();
    let planned = plan.jobs.iter().filter(|it| waiting.contains(&it.job));
    let each = planned.flat_map(|it| {
        let processors = view.market.demand(it.job).map_or(0, |demand| demand.processors);
        let here = |pool| view.market.pools().pool(pool).site == site;
        let shares = it.place.shares(processors).filter(move |share| here(share.pool));
        let limit = it.end - it.start;
        shares.map(move |share| Wanted { pool: share.pool, nodes: share.nodes, limit })
    });
    each.collect()
}
