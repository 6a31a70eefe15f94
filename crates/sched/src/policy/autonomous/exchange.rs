//! A grid that is one member of a larger one: the negotiation with the other members is carried
//! out by the policy's caller, with what the policy knows.
//!
//! In the simulator a grid contains all its sites, and [`AutonomousSites`] drives their negotiators
//! itself. A live market knows its own pools only; other markets are reached over a network, and what
//! is agreed with them must be on disk before it is said. So there the caller drives the negotiator.
//! Which jobs are offered when, what is promised to a job from elsewhere, and how it stands in the
//! queues is the same code in both.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tradewind_model::{Demand, JobId, Market, PoolId, Time};

use super::host::SiteView;
use super::{AutonomousSites, Links, Transport};
use crate::negotiation::{
    Input, NegotiationSettings, Offer, Parcel, Pledged, Preference, StartQuote,
};

/// How a job has come that the policy is about to learn of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When its user submitted it, wherever that was.
    pub submitted: Time,
    /// Whose job it is.
    pub from: ArrivalFrom,
}

/// From where a job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalFrom {
    /// Its user has submitted it here.
    User,
    /// It was passed on, and is here again.
    Returned,
    /// Another member of the grid has passed it on, on these terms.
    Elsewhere(Offer),
}

/// What a policy reports about itself that is one member of a larger grid. All questions are about the
/// market as it was at the last decision.
pub trait Exchange: Debug {
    /// How its members negotiate.
    fn negotiation(&self) -> NegotiationSettings;

    /// How long jobs take between them.
    fn links(&self) -> Links;

    /// The job will be among the submitted ones of the next decision, and has come like this.
    /// A job of which nothing is said was submitted by its user, then.
    fn arrives(&mut self, job: JobId, arrival: Arrival);

    /// The waiting jobs that should be offered to other members, in the order in which they are to be
    /// asked for; each is named once. They go on waiting with full rights.
    fn take_wishes(&mut self) -> Vec<JobId>;

    /// Whether a decision is due at this moment before anything is asked, though nothing happened.
    fn is_due(&self, now: Time) -> bool;

    /// Whether some pool can run such a job at present prices, sooner or later.
    fn can_run(&self, market: &Market, demand: &Demand) -> bool;

    /// What it could do for another's job that arrives at `from`: the pool that can start it first.
    fn quote(
        &self,
        at: (&Market, Time),
        parcel: &Parcel,
        from: Time,
        pledged: Pledged,
    ) -> Option<StartQuote>;

    /// What it will do for its own waiting job, if that is set down.
    fn at_home(&self, at: (&Market, Time), job: JobId) -> Option<StartQuote>;
}

/// What is kept for the caller, and from it.
#[derive(Debug)]
pub(super) struct Outside {
    negotiation: NegotiationSettings,
    links: Links,
    arrivals: BTreeMap<JobId, Arrival>,
    wishes: Vec<JobId>,
}

impl Outside {
    pub(super) fn new(negotiation: NegotiationSettings, links: Links) -> Outside {
        Outside { negotiation, links, arrivals: BTreeMap::new(), wishes: Vec::new() }
    }

    pub(super) fn arrival(&mut self, job: JobId) -> Option<Arrival> {
        self.arrivals.remove(&job)
    }

    /// Keeps what the caller's negotiator is to be told.
    pub(super) fn note(&mut self, inputs: Vec<(PoolId, Input)>) {
        for (_, input) in inputs {
            if let Input::PassOn(parcel, Preference::Better) = input {
                self.wishes.push(parcel.ticket.job);
            }
        }
    }
}

impl<N: Transport> AutonomousSites<N> {
    /// By pool that could run it, what it could do for another's job.
    pub(super) fn quotes<'a>(
        &'a self,
        (market, now): (&'a Market, Time),
        parcel: &'a Parcel,
        (from, pledged): (Time, Pledged),
    ) -> impl Iterator<Item = (PoolId, StartQuote)> + 'a {
        let pools = market.pools();
        pools.iter().filter_map(move |(id, _)| {
            let local = &*self.sites[id.index()];
            let view = SiteView { now, local, pools, id, recent: None };
            Some((id, view.quote(parcel, from, pledged)?))
        })
    }

    /// The pool for a job that was passed on to this grid: the one that keeps to the offer and can
    /// start it first.
    pub(super) fn taken_in_at(
        &self,
        market: &Market,
        parcel: &Parcel,
        offer: &Offer,
    ) -> Option<PoolId> {
        let now = market.now();
        let most = offer.quote;
        let keeps = |quote: &StartQuote| quote.price <= most.price && quote.cost <= most.cost;
        let quotes = self.quotes((market, now), parcel, (now, Pledged::default()));
        let kept = quotes.filter(|(_, quote)| keeps(quote));
        kept.min_by_key(|(id, quote)| (quote.start, quote.cost, *id)).map(|(id, _)| id)
    }
}

impl<N: Transport> Exchange for AutonomousSites<N> {
    fn negotiation(&self) -> NegotiationSettings {
        self.outside
            .as_ref()
            .map_or_else(NegotiationSettings::default, |outside| outside.negotiation)
    }

    fn links(&self) -> Links {
        self.outside.as_ref().map_or_else(Links::default, |outside| outside.links)
    }

    fn arrives(&mut self, job: JobId, arrival: Arrival) {
        if let Some(outside) = &mut self.outside {
            outside.arrivals.insert(job, arrival);
        }
    }

    fn take_wishes(&mut self) -> Vec<JobId> {
        self.outside.as_mut().map(|outside| std::mem::take(&mut outside.wishes)).unwrap_or_default()
    }

    fn can_run(&self, market: &Market, demand: &Demand) -> bool {
        self.home_for(market, demand).is_ok()
    }

    fn is_due(&self, now: Time) -> bool {
        self.wakes.until(now).chain(self.ends.until(now)).next().is_some()
    }

    fn quote(
        &self,
        at: (&Market, Time),
        parcel: &Parcel,
        from: Time,
        pledged: Pledged,
    ) -> Option<StartQuote> {
        let quotes = self.quotes(at, parcel, (from, pledged));
        quotes.map(|(_, quote)| quote).min_by_key(|quote| (quote.start, quote.cost, quote.load))
    }

    fn at_home(&self, (market, now): (&Market, Time), job: JobId) -> Option<StartQuote> {
        let site = self.waits_at(job)?.0;
        let local = &*self.sites[site.index()];
        let view = SiteView { now, local, pools: market.pools(), id: site, recent: None };
        view.at_home(job, market.demand(job)?)
    }
}
