//! What time alone brings.

use std::sync::Arc;

use tradewind_model::{Pools, Power, Time};

use super::projects::{ProjectEdit, Which, month_of};
use super::state::{Phase, Quote};
use super::{ApplyError, Live};
use crate::live::record::{JobRecord, MarketRecord, OfferRecord};

/// Records of one kind in one step, at most: a step is written down at once.
pub(super) const AT_ONCE: usize = 1_000;

impl Live {
    pub(super) fn tick(&mut self, at: Time) -> Result<(), ApplyError> {
        self.try_refusing(at)?;
        self.extend_overdue(at)?;
        self.close_due(at)?;
        self.end_notices(at)?;
        self.start_booked(at)?;
        self.gather_all(at)?;
        self.expire_quotes(at)?;
        self.drop_old(at)?;
        self.drop_scripts(at)?;
        self.begin_month(at)?;
        self.mind_caps(at)?;
        self.mind_silence(at)?;
        self.wind_up(at)?;
        self.mind_checks(at)?;
        self.negotiations_due(at)
    }

    /// The electricity of sites is another from now on. The policy begins again: what it has planned
    /// may have counted on the old one.
    pub(super) fn electricity(&mut self, at: Time, power: Power) -> Result<(), ApplyError> {
        let pools = self.state.market.pools();
        if pools.power() == Some(&power) {
            return Ok(());
        }
        let pools = Arc::new(Pools::clone(pools).with_power(power));
        let policy = self.state.policy.clone();
        let made = self.maker.make(&policy, &pools);
        // It was made of the same nodes before.
        let Ok(made) = made else { return Ok(()) };
        let owners = self.state.owners().to_vec();
        self.put(at, MarketRecord::Gridded { pools, owners })?;
        self.policy = made;
        self.go_on(at, &policy)
    }

    /// Writes a quote down.
    pub(super) fn put_quote(&mut self, at: Time, quote: Quote) -> Result<(), ApplyError> {
        let expires = quote.expires;
        self.expiry = Some(self.expiry.map_or(expires, |first| first.min(expires)));
        self.put(at, OfferRecord::Quoted { quote })
    }

    /// Linear in the quotes, and only if one of them may have expired.
    fn expire_quotes(&mut self, at: Time) -> Result<(), ApplyError> {
        if self.expiry.is_none_or(|first| at <= first) {
            return Ok(());
        }
        let expired = self.state.offers.quotes.values().filter(|quote| quote.expires < at);
        let expired: Vec<u64> = expired.map(|quote| quote.number).take(AT_ONCE).collect();
        for quote in expired {
            self.put(at, OfferRecord::Taken { quote, job: None })?;
        }
        self.expiry = self.state.offers.first_expiry();
        Ok(())
    }

    /// Jobs whose booked window has come, of those that no promise was made to.
    pub(super) fn start_booked(&mut self, at: Time) -> Result<(), ApplyError> {
        while let Some(&(start, number)) = self.index.booked.first()
            && start <= at
        {
            self.index.booked.pop_first();
            let job = self.state.jobs.get(&number);
            if job.is_some_and(|job| job.open_promise().is_some()) {
                // It is started by `mind_promises`.
                continue;
            }
            self.call_off(at, number)?;
            self.enqueue(at, number)?;
            if self.may_start(number) {
                self.put(at, JobRecord::Started { job: number })?;
                self.after_decision(at, number)?;
            } else {
                // What was promised for its window can be spent now.
                self.afford(at)?;
            }
        }
        Ok(())
    }

    /// In a new month there is more to spend within limits of months. It is written down, so that
    /// the market's time is in that month, too.
    fn begin_month(&mut self, at: Time) -> Result<(), ApplyError> {
        let month = month_of(at);
        if self.month == month {
            return Ok(());
        }
        self.month = month;
        let projects = self.state.ledger.projects.0.iter();
        let new = projects.filter(|(_, project)| project.is_new_month(month));
        let new: Vec<String> = new.map(|(name, _)| name.clone()).collect();
        for project in &new {
            let change = ProjectEdit::Eased { user: None, which: Which::Month, level: 0 };
            self.change(at, project, change)?;
        }
        if new.is_empty() { Ok(()) } else { self.afford(at) }
    }

    /// Whether the nodes that were promised to the job are there, and what it takes along, which no
    /// window sets aside. If not, it waits like others.
    pub(super) fn may_start(&self, number: u64) -> bool {
        let Some(job) = self.state.jobs.get(&number) else { return false };
        let Some(booking) = job.booking.as_ref().filter(|_| job.phase() == Phase::Waiting) else {
            return false;
        };
        let free =
            |share: tradewind_model::Share| self.state.market.free_in(share.pool) >= share.nodes;
        let market = &self.state.market;
        let has_licences = job.id().is_some_and(|id| market.has_licences_for(id));
        has_licences && booking.place.shares(job.nodes()).all(free)
    }

    /// Jobs that are over for long leave the state, unless one that is not over names them; the journal
    /// keeps them.
    fn drop_old(&mut self, at: Time) -> Result<(), ApplyError> {
        let limit = at - self.settings.keep;
        let old = self.index.over.iter().take_while(|(end, _)| *end < limit);
        let old: Vec<(Time, u64)> = old.take(AT_ONCE).copied().collect();
        for (end, job) in old {
            self.index.over.remove(&(end, job));
            if let Some(job) = self.state.jobs.get(&job) {
                if self.index.named.has(job) {
                    continue;
                }
                self.index.runs.remove(job);
                self.index.awaited.forget(job);
            }
            self.put(at, JobRecord::Dropped { job })?;
        }
        Ok(())
    }

    pub(super) fn forecast(
        &mut self,
        at: Time,
        starts: Vec<(u64, Time)>,
    ) -> Result<(), ApplyError> {
        let unknown = |(number, _): &(u64, Time)| {
            let job = self.state.jobs.get(number);
            job.is_some_and(|job| job.expected.is_none() && job.phase() == Phase::Waiting)
        };
        let starts: Vec<(u64, Time)> = starts.into_iter().filter(unknown).collect();
        if starts.is_empty() {
            return Ok(());
        }
        let to_compare = self.to_compare(at, &starts);
        self.put(at, JobRecord::Expected { starts })?;
        match to_compare.is_empty() {
            true => Ok(()),
            false => self.put(at, JobRecord::Forecast { starts: to_compare }),
        }
    }

    /// Those whose errors are to count: a job that starts at once has a known start, and a promise is
    /// no forecast.
    fn to_compare(&self, at: Time, starts: &[(u64, Time)]) -> Vec<(u64, Time)> {
        let waits = |(number, start): &&(u64, Time)| {
            let job = self.state.jobs.get(number);
            *start > at && job.is_some_and(|job| job.open_promise().is_none())
        };
        starts.iter().filter(waits).copied().collect()
    }
}
