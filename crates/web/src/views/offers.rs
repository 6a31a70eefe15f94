//! Windows as offers.

use tradewind_daemon::live::state::{BookedPart, Booking};
use tradewind_model::{Demand, Money, Pools, Span};

use super::limits;
use crate::documents::{Consumed, Offer, OfferedNodes, Times};

/// No window by this criterion.
pub(crate) fn no_offer(criterion: String, exact: bool, reason: String) -> Offer {
    Offer { reason: Some(reason), ..empty(criterion, exact) }
}

fn empty(criterion: String, exact: bool) -> Offer {
    Offer {
        criterion,
        exact,
        id: None,
        start: None,
        expected_start: None,
        finish: None,
        cost: None,
        consumed: None,
        slack: None,
        basis: None,
        expires: None,
        nodes: Vec::new(),
        reason: None,
    }
}

/// The window of `booking` for a job that asks for this, best by `criterion`; it is not reserved
/// yet. `exact` if none is better.
pub fn offer(
    pools: &Pools,
    demand: &Demand,
    (criterion, exact): (String, bool),
    booking: &Booking,
    cost: Money,
) -> Offer {
    let shape = demand.shape_at(&booking.place);
    let demand = shape.as_ref().unwrap_or(demand);
    let parts = booking.parts(demand.processors);
    let consumed = parts.iter().map(|it| pools.consumption_of(it.share, (booking.start, it.end)));
    let consumed = Consumed::of(consumed.sum());
    let groups = demand.terms().groups.as_deref();
    let nodes = parts.iter().map(|BookedPart { group, share, end, price }| {
        let pool = pools.pool(share.pool);
        let staging = demand.terms().data.as_ref().and_then(|data| data.at(pool.site));
        let transfer = staging.unwrap_or_default().total();
        let limit = Span(((*end - booking.start).0 - transfer.0).max(0));
        let times = limits::times(demand, pool);
        let of_group = groups.and_then(|groups| groups.get(*group as usize));
        let asked = of_group.map_or(demand.estimate, |group| group.work);
        let work = match times {
            Times::Work => Some(asked.0).filter(|work| *work != limit.0),
            Times::Wall => limits::work(pool, limit),
        };
        OfferedNodes {
            site: pools.sites()[pool.site.0 as usize].name.clone(),
            pool: pool.name.clone(),
            group: of_group.map(|_| *group),
            nodes: share.nodes,
            end: end.0,
            limit: Some(limit.0),
            stage_in: staging.map(|times| times.stage_in.0),
            stage_out: staging.map(|times| times.stage_out.0),
            staging_cost: staging.map(|_| price.of(share.nodes, transfer).into()),
            times: Some(times),
            work,
            price: (*price).into(),
        }
    });
    Offer {
        start: Some(booking.start.0),
        finish: booking.ends.iter().max().map(|end| end.0),
        cost: Some(cost.into()),
        consumed,
        nodes: nodes.collect(),
        ..empty(criterion, exact)
    }
}
