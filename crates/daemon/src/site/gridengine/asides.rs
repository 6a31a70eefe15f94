//! Nodes kept free for jobs, by advance reservations that any user may make.
//!
//! A reservation's name tells whose it is. Giving one up kills the jobs in it, so one whose job has
//! a task here is left alone until the task is over; then, or at its end, it goes.

use tradewind_model::Span;

use super::replies::Reservation;
use super::{GridEngine, now, words};
use crate::site::{Aside, Order, SiteError};

/// A reservation that is to begin within this time begins at once: a beginning that is past is
/// refused, and clocks differ.
const SOON: Span = Span(2);

impl GridEngine {
    /// Makes the site's reservations for `market` be those that are wanted.
    pub(super) fn reserve(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        let own = [market.to_owned()];
        let is_own = |one: &Reservation| {
            !one.state.contains('d') && words::is_reservation_of(&one.name, &own)
        };
        let mut there = self.cluster().reservations(is_own)?;
        there.retain(is_own);
        let mut missing = Vec::new();
        let mut denied = Vec::new();
        for aside in wanted {
            let Some(place) = self.pool(&aside.pool) else {
                denied.push((aside.job, format!("there is no pool {:?}", aside.pool)));
                continue;
            };
            let name = words::reservation_name(market, aside.job, place);
            let slots = aside.nodes.saturating_mul(self.unit(place)?);
            let is_good = |one: &Reservation| one.name == name && will_do(one, aside, slots);
            match there.iter().position(is_good) {
                Some(index) => drop(there.swap_remove(index)),
                None => missing.push((aside, place, name)),
            }
        }
        for one in there.iter().filter(|one| !self.is_in_use(market, &one.name)) {
            self.cluster().unreserve(&one.owner, &one.id)?;
        }
        for (aside, place, name) in missing {
            if self.is_in_use(market, &name) {
                continue;
            }
            let made = self.make(aside, place, &name)?;
            denied.extend(made.err().map(|why| (aside.job, why)));
        }
        Ok(denied)
    }

    fn make(
        &mut self,
        aside: &Aside,
        place: usize,
        name: &str,
    ) -> Result<Result<(), String>, SiteError> {
        let account = match self.account(&aside.user) {
            Ok(account) => account,
            Err(SiteError::Refused(why)) => return Ok(Err(why)),
            Err(error) => return Err(error),
        };
        let slots = self.unit(place)?;
        let Some(pool) = self.settings.pools.get(place) else { return Ok(Ok(())) };
        let from = (aside.from > now() + SOON).then_some(aside.from);
        self.cluster().reserve(&account, words::qrsub(aside, name, (pool, slots), from))
    }

    /// Whether a task runs in it, or is about to.
    fn is_in_use(&self, market: &str, name: &str) -> bool {
        self.tickets.iter().any(|(tag, ticket)| {
            let place = self.pool(&ticket.pool).unwrap_or(usize::MAX);
            tag.market == market
                && ticket.ended.is_none()
                && words::reservation_name(market, tag.job, place) == name
        })
    }

    /// The reservation in which a task is to run: that which was set aside for its job, or one that
    /// is made now. `None`: it was set aside once, and is not there any more.
    ///
    /// # Errors
    /// [`SiteError::Refused`] if its nodes are taken.
    pub(super) fn reservation_for(
        &self,
        order: &Order,
        place: usize,
        slots: u32,
        account: &str,
    ) -> Result<Option<Reservation>, SiteError> {
        let name = words::reservation_name(&order.tag.market, order.tag.job, place);
        let find = || -> Result<Option<Reservation>, SiteError> {
            let all = self.cluster().reservations(|_| false)?;
            Ok(all.into_iter().find(|one| one.name == name && !one.state.contains('d')))
        };
        let Some(pool) = self.settings.pools.get(place) else { return Ok(None) };
        let found = find()?;
        if found.is_some() || order.aside {
            return Ok(found);
        }
        let from = order.start.max(now());
        let aside = Aside {
            market: order.tag.market.clone(),
            job: order.tag.job,
            user: order.user.clone(),
            pool: order.pool.clone(),
            nodes: order.nodes,
            from,
            until: from + words::hard_limit(order, self.settings.grace) + SOON,
        };
        let begin = (from > now() + SOON).then_some(from);
        let words = words::qrsub(&aside, &name, (pool, slots), begin);
        match self.cluster().reserve(account, words)? {
            Ok(()) => find(),
            Err(why) => Err(SiteError::Refused(format!("its nodes cannot be reserved: {why}"))),
        }
    }
}

fn will_do(one: &Reservation, aside: &Aside, slots: u32) -> bool {
    one.from <= aside.from.max(now() + SOON)
        && one.until >= aside.until
        && one.places.values().sum::<u32>() == slots
}
