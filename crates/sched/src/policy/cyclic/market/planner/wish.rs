//! What has to be known of a job between cycles.

use tradewind_model::{Demand, JobId, Market};

use super::super::CycleSettings;
use crate::policy::cyclic::SearchBy;
use crate::policy::grid::{FEW, PlacementRequest, RequestOutline, Spread};
use crate::policy::inbox;
use crate::window::Algorithm;

/// A job that waits for a cycle or has a window.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) outline: RequestOutline,
    /// Where there are few pools; else it is made whenever it is needed.
    pub(super) whole: Option<Box<PlacementRequest>>,
}

impl Wish {
    /// Keeps all of it where there are few pools.
    pub(super) fn of(market: &Market, whole: PlacementRequest) -> Wish {
        let few = market.pools().as_slice().len() <= FEW;
        Wish { outline: RequestOutline::of(&whole), whole: few.then(|| Box::new(whole)) }
    }
}

/// The job's request at the prices of now.
pub(super) fn whole(
    settings: &CycleSettings,
    market: &Market,
    job: JobId,
) -> Option<PlacementRequest> {
    let demand = market.demand(job)?;
    let relaxed = relaxed(&settings.cyclic.search, demand);
    Some(PlacementRequest::of_waiting(
        market,
        job,
        relaxed.as_ref().unwrap_or(demand),
        Spread::Grid,
    ))
}

/// The demand without the limits that the search does not apply to the letter, if that is not what
/// it is anyway.
pub(super) fn relaxed(search: &SearchBy, demand: &Demand) -> Option<Demand> {
    let exact = match search {
        SearchBy::Job | SearchBy::All(Algorithm::Best(_)) => true,
        SearchBy::All(_) | SearchBy::Csa => demand.terms.is_none(),
    };
    (!exact).then(|| inbox::without_limits(demand))
}
