//! Accepted offers as documents, and why they were not kept.

use tradewind_daemon::live::state::{BreachReason, Job, OfferOutcome, State};
use tradewind_model::{Money, PoolId, SiteId, Time};

use super::jobs::pool_name;
use super::words::moment;
use crate::documents;

/// The offer that the job accepted last.
pub(crate) fn promise(state: &State, job: &Job) -> Option<documents::Promise> {
    let promise = job.promise()?;
    let pools = promise.window.place.shares(promise.nodes);
    let (outcome, decided, reason) = match &promise.outcome {
        OfferOutcome::Open => ("open", None, None),
        OfferOutcome::Kept(began) => ("kept", Some(began.0), None),
        OfferOutcome::Breached(at, why) => ("breached", Some(at.0), Some(breach(state, why))),
        OfferOutcome::Void(why) => ("void", None, Some(why.clone())),
    };
    Some(documents::Promise {
        quote: promise.quote,
        outcome: outcome.to_owned(),
        pools: pools.map(|share| pool_name(state, share.pool).to_owned()).collect(),
        nodes: promise.nodes,
        prices: promise.window.prices.iter().map(|price| (*price).into()).collect(),
        start: promise.window.start.0,
        latest_start: promise.latest().0,
        cost: promise.cost.into(),
        on_breach: promise.on_breach.name().to_owned(),
        decided,
        reason,
        covered: Some(job.covered).filter(|paid| *paid > Money::ZERO).map(Into::into),
    })
}

/// Why an offer was not kept, in a sentence.
pub(crate) fn breach(state: &State, why: &BreachReason) -> String {
    let names = Names {
        pool: &|pool| pool_name(state, pool).to_owned(),
        site: &|site| {
            let site = state.market.pools().sites().get(site.0 as usize);
            site.map(|site| site.name.clone()).unwrap_or_default()
        },
        size: &|pool| state.market.pools().pool(pool).nodes,
    };
    sentence(&names, why)
}

/// What sentences call pools and sites.
pub(crate) struct Names<'a> {
    pub(crate) pool: &'a dyn Fn(PoolId) -> String,
    pub(crate) site: &'a dyn Fn(SiteId) -> String,
    pub(crate) size: &'a dyn Fn(PoolId) -> u32,
}

/// The reason with these names.
pub(crate) fn sentence(names: &Names<'_>, why: &BreachReason) -> String {
    let (pool, since) = (names.pool, |at: &Time| moment(*at));
    match why {
        BreachReason::Away(site, from) => {
            format!("{} does not answer since {}", (names.site)(*site), since(from))
        }
        BreachReason::Down(of, nodes) => {
            let all = (names.size)(*of);
            let are = if *nodes == 1 { "is" } else { "are" };
            format!("{nodes} of {all} nodes of {} {are} down", pool(*of))
        }
        BreachReason::OwnersJob(of, name) => {
            format!("job {name} of the owner has nodes of {}", pool(*of))
        }
        BreachReason::Overdue(of, name) => {
            format!("job {name} of the owner runs longer than its limit on {}", pool(*of))
        }
        BreachReason::Withheld(of) => {
            format!("the owner does not offer these nodes of {} any more", pool(*of))
        }
        BreachReason::Occupied(of, job) => format!("job {job} still has nodes of {}", pool(*of)),
        BreachReason::Refused(words) => format!("its site did not start it: {words}"),
        BreachReason::NotStarted(of) => format!("{} did not start it in time", pool(*of)),
        BreachReason::Lost(of) => format!("its nodes of {} failed or were lost", pool(*of)),
        BreachReason::Preempted(of) => {
            format!("its nodes of {} were taken for a job of higher priority", pool(*of))
        }
        BreachReason::NotFree(of) => format!("its nodes of {} were not free", pool(*of)),
    }
}
