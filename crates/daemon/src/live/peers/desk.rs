//! The market as its negotiator sees it.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt::Debug;

use tradewind_model::{Money, Span, Time};
use tradewind_sched::negotiation::{Host, Parcel, Peer, Pledged, StartQuote};
use tradewind_sched::policy::Exchange;
use tradewind_sched::policy::outlook::{Outlook, Promised, StartEstimate};

use super::MOST_WAITING;
use crate::live::Settings;
use crate::live::money::Account;
use crate::live::outages::away::is_unknown;
use crate::live::state::State;

/// Answers from the state alone.
pub(super) struct Desk<'a> {
    pub(super) at: Time,
    pub(super) state: &'a State,
    pub(super) settings: &'a Settings,
    /// Made when it is asked for.
    pub(super) outlook: &'a OnceCell<Outlook>,
    /// Jobs that are at peers; some may be over since.
    pub(super) away: &'a BTreeSet<u64>,
    /// What the policy reports about itself, if it does.
    pub(super) exchange: Option<&'a dyn Exchange>,
}

impl Debug for Desk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Desk<'_> {
    fn outlook(&self) -> &Outlook {
        self.outlook.get_or_init(|| Outlook::new(&self.state.market, self.at, MOST_WAITING))
    }

    fn quoted(&self, opening: &StartEstimate) -> StartQuote {
        let load = self.outlook().load();
        let (start, price, cost) = (opening.start, opening.price(), opening.cost);
        StartQuote { start, price, cost, load, status: None }
    }

    /// What is free beside all that waits here.
    fn opening(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote> {
        let promised = Promised { processors: pledged.processors, longest: pledged.longest };
        let opening = self.outlook().open(&self.state.market, &parcel.demand, from, promised)?;
        Some(self.quoted(&opening))
    }

    /// What may be spent from the account.
    fn funds(&self, payer: &Account) -> i128 {
        self.state.funds(payer, self.settings.new_user_grant)
    }
}

impl Host for Desk<'_> {
    /// Within the parcel's terms, and if the peer can pay for it.
    fn quote(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote> {
        if self.state.jobs.numbers.len() >= self.settings.max_jobs {
            return None;
        }
        let known = self.state.peers.directory.get(&parcel.ticket.home)?;
        let quote = match self.exchange {
            Some(exchange) => {
                exchange.quote((&self.state.market, self.at), parcel, from, pledged)?
            }
            None => self.opening(parcel, from, pledged)?,
        };
        // Only at a site that is not counted on.
        if is_unknown(self.at, quote.start) {
            return None;
        }
        let funds = self.funds(&Account::Peer(known.name.clone()));
        (i128::from(quote.cost.0) <= funds).then_some(quote)
    }

    /// Its reservation, or its place in the outlook; a job without one has nothing to lose.
    fn at_home(&self, parcel: &Parcel) -> Option<StartQuote> {
        let job = self.state.jobs.get(&u64::from(parcel.ticket.job.0))?;
        if let Some(exchange) = self.exchange {
            return exchange.at_home((&self.state.market, self.at), job.id()?);
        }
        let opening = self.outlook().of(job.id()?).filter(|it| !is_unknown(self.at, it.start));
        opening.map(|opening| self.quoted(opening))
    }

    /// As the policy says. Otherwise data are where they are, and scripts are short.
    fn transfer(&self, parcel: &Parcel, _: Peer) -> Span {
        self.exchange.map_or(Span::ZERO, |exchange| exchange.links().transfer(parcel.data_mb))
    }

    /// If the job's user lets it go there, and the peer may have more.
    fn admits(&self, parcel: &Parcel, to: Peer, offer: Option<&StartQuote>) -> bool {
        let job = self.state.jobs.get(&u64::from(parcel.ticket.job.0));
        let cost = offer.map_or(Money::ZERO, |offer| offer.cost);
        let more = (to, cost);
        job.is_some_and(|job| self.state.may_leave_for(job, to))
            && self.state.may_have(self.settings, self.at, self.away, more)
    }

    fn affords(&self, parcel: &Parcel, offer: &StartQuote) -> bool {
        let job = self.state.jobs.get(&u64::from(parcel.ticket.job.0));
        job.is_some_and(|job| {
            let there = self.funds(&job.payer());
            let there = self.state.within_limits(there, job.paying_project(), &job.user);
            self.state.barred(job).is_none() && i128::from(offer.cost.0) <= there
        })
    }
}
