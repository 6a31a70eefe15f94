//! Nodes kept free for jobs: the reservations at the manager are made those that are wanted.
//!
//! A reservation's name tells for which job it is. Where giving one up would end the jobs in it, one
//! whose job has a task here is left alone until the task is over; then, or at its end, it goes.

use std::collections::BTreeMap;

use tradewind_io::settings::cluster::Mode;

use super::Driver;
use super::manager::{Manager, ReservationsOf};
use crate::site::clock::now;
use crate::site::{Aside, SiteError};

impl<M: Manager> Driver<M> {
    /// As [`Site::set_aside`](crate::site::Site::set_aside) says.
    pub(super) fn reserve(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        self.base.markets.insert(market.to_owned());
        if self.base.cluster.mode != Mode::Reservation {
            return Ok(Vec::new());
        }
        self.list_reservations(ReservationsOf::Market(market))?;
        let mut there = self.manager.reservations();
        there.retain(|it| M::is_reservation_of(&self.base, &it.name, market));
        let name = |it: &Aside| M::reservation_name(&self.base, market, it.job, &it.pool);
        let names: BTreeMap<String, &Aside> = wanted.iter().map(|it| (name(it), it)).collect();
        let (mut missing, mut surplus) = (names.clone(), Vec::new());
        for known in there {
            // A second one of the same name is one too many.
            let wish = missing.get(&known.name).copied();
            match wish.map(|wish| self.manager.fits(&self.base, &known, wish)).transpose()? {
                Some(true) => drop(missing.remove(&known.name)),
                Some(false) | None => surplus.push(known),
            }
        }
        surplus.retain(|known| !self.is_in_use(market, &known.name));
        for known in &surplus {
            self.manager.unreserve(&self.base, known)?;
        }
        let mut denied = Vec::new();
        for (name, wish) in missing {
            if wish.until <= now() || self.is_in_use(market, &name) {
                continue;
            }
            match self.reserve_one(&name, wish) {
                Err(SiteError::Refused(why)) => denied.push((wish.job, why)),
                other => other?,
            }
        }
        Ok(denied)
    }

    fn reserve_one(&mut self, name: &str, wish: &Aside) -> Result<(), SiteError> {
        if self.base.pool(&wish.pool).is_none() {
            return Err(SiteError::Refused(format!("there is no pool {:?}", wish.pool)));
        }
        self.manager.reserve(&self.base, name, wish)
    }

    /// Whether a task of ours would end with the reservation.
    fn is_in_use(&self, market: &str, name: &str) -> bool {
        M::UNRESERVE_KILLS
            && self.base.tickets.iter().any(|(tag, ticket)| {
                let own = || M::reservation_name(&self.base, market, tag.job, &ticket.pool);
                tag.market == market && ticket.ended.is_none() && own() == name
            })
    }
}
