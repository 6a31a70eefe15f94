//! Advance reservations, which any user may make. Giving one up kills the jobs in it.

use tradewind_model::Span;

use super::cluster::GridEngineCluster;
use super::{Master, now, replies, words};
use crate::site::managed::driver::Base;
use crate::site::managed::driver::manager::Reservation;
use crate::site::{Aside, Order, SiteError};

/// A reservation that is to begin within this time begins at once: a beginning that is past is
/// refused, and clocks differ.
const SOON: Span = Span(2);

/// A listed one, as the driver knows it.
pub(super) fn of_list(one: &replies::AdvanceReservation) -> Reservation {
    Reservation {
        id: one.id.clone(),
        name: one.name.clone(),
        owner: one.owner.clone(),
        from: one.from,
        until: one.until,
        size: one.places.values().sum(),
    }
}

/// Whether a reservation is of so many slots, and at the right time.
pub(super) fn will_do(known: &Reservation, wanted: &Aside, slots: u32) -> bool {
    known.from <= wanted.from.max(now() + SOON)
        && known.until >= wanted.until
        && known.size == slots
}

impl Master {
    /// Reserves as the user's account. Slots of a unit must be known.
    pub(super) fn qrsub(
        &self,
        base: &Base,
        name: &str,
        (wanted, resources): (&Aside, &[String]),
    ) -> Result<(), SiteError> {
        let place = base.pool(&wanted.pool).unwrap_or(usize::MAX);
        let (Some(pool), Some(slots)) = (self.pools.get(place), self.known_unit(place)) else {
            return Err(SiteError::Unknown(format!("nothing is known of {:?}", wanted.pool)));
        };
        let account = base.account(&wanted.user)?;
        let from = (wanted.from > now() + SOON).then_some(wanted.from);
        let words = words::qrsub(wanted, name, (pool, slots, resources), from);
        let made = GridEngineCluster(&base.tool).reserve(&account, words)?;
        made.map_err(SiteError::Refused)
    }

    /// The reservation in which a task is to run: that which was set aside for its job, or one that
    /// is made now. `None`: it was set aside once, and is not there any more.
    ///
    /// # Errors
    /// [`SiteError::Refused`] if its nodes are taken.
    pub(super) fn reservation_for(
        &self,
        base: &Base,
        order: &Order,
        resources: &[String],
    ) -> Result<Option<replies::AdvanceReservation>, SiteError> {
        let place = base.pool(&order.pool).unwrap_or(usize::MAX);
        let name = words::reservation_name(&order.tag.market, order.tag.job, place);
        let find = || -> Result<Option<replies::AdvanceReservation>, SiteError> {
            let all = GridEngineCluster(&base.tool).reservations(|_| false)?;
            Ok(all.into_iter().find(|one| one.name == name && !one.state.contains('d')))
        };
        let found = find()?;
        if found.is_some() || order.aside {
            return Ok(found);
        }
        let from = order.start.max(now());
        let wanted = Aside {
            market: order.tag.market.clone(),
            job: order.tag.job,
            user: order.user.clone(),
            pool: order.pool.clone(),
            nodes: order.nodes,
            from,
            until: from + words::hard_limit(order, base.grace()) + SOON,
        };
        match self.qrsub(base, &name, (&wanted, resources)) {
            Ok(()) => find(),
            Err(SiteError::Refused(why)) => {
                Err(SiteError::Refused(format!("its nodes cannot be reserved: {why}")))
            }
            Err(other) => Err(other),
        }
    }
}
