//! The state of a live market: the market itself, and the aggregates around it. Records alone change
//! it: each goes to the aggregate that it is about.
//!
//! Nothing here knows requests, settings or surveys; what decides is in the folders beside this one.
//! An aggregate knows its own types, its records and what they change, and some of those below it:
//! [`ledger`], [`outages`], [`sites`] and [`access`] are lowest, [`jobs`] have accounts, and [`tasks`],
//! [`offers`] and [`peers`] have jobs. What a record changes in several of them, `apply` does.

pub mod access;
mod apply;
mod apply_error;
pub mod jobs;
pub mod ledger;
pub(crate) mod lengths;
pub mod offers;
pub mod outages;
pub mod peers;
pub mod record;
pub mod site_health;
pub mod sites;
pub mod tasks;
pub mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{Licence, Market, Money, OutageId, PoolId, Pools, SiteId, Span, Time};

use access::Access;
use jobs::Jobs;
use ledger::Ledger;
use ledger::income::Income;
use ledger::money::Accounts;
use ledger::projects::Projects;
use ledger::used::Uses;
use lengths::Lengths;
use offers::Offers;
use outages::Outages;
use outages::recent_history::RecentHistory;
use peers::Peers;
use sites::{PutOff, Sites};
use tasks::Tasks;
use waits::Waits;

pub use access::{EarlierSecret, Token};
pub use apply_error::ApplyError;
pub use jobs::{
    BookedPart, Booking, BreachReason, Finish, Happening, Job, JobHold, OfferOutcome, Part, Phase,
    Promise, Setback,
};
pub use offers::Quote;
pub use outages::Why;
pub use tasks::{Task, TaskGoal, TaskReport};

/// Everything that survives a restart. [`State::apply`] is the only way to change it.
#[derive(Debug, Clone)]
pub struct State {
    /// The market's name, part of every tag.
    pub name: String,
    /// What policies see.
    pub market: Market,
    /// The policy that decides now.
    pub policy: String,
    /// By how much the market's time is ahead of the system's clock, since that was set back;
    /// `None`: it never was.
    pub(crate) lead: Option<Span>,
    /// Jobs that are not over, and those whose end is not long ago.
    pub jobs: Jobs,
    /// Tasks that sites have not forgotten.
    pub tasks: Tasks,
    pub(crate) sites: Sites,
    /// Money, and what it was spent for.
    pub ledger: Ledger,
    pub(crate) outages: Outages,
    pub(crate) offers: Offers,
    pub(crate) access: Access,
    /// Other markets, and what is agreed with them.
    pub peers: Peers,
    pub(crate) waits: Waits,
    pub(crate) lengths: Lengths,
}

impl State {
    /// A market without sites, before its first record.
    pub fn empty(at: Time) -> State {
        State {
            name: String::new(),
            // Replaced by the first record that says what there is.
            market: Market::new(Arc::new(Pools::cluster(1)), at),
            policy: String::new(),
            lead: None,
            jobs: Jobs::default(),
            tasks: Tasks::default(),
            sites: Sites::default(),
            ledger: Ledger::default(),
            outages: Outages::default(),
            offers: Offers::default(),
            access: Access::default(),
            peers: Peers::default(),
            waits: Waits::default(),
            lengths: Lengths::default(),
        }
    }

    /// By how much the market's time is ahead of the system's clock. Moments that come from outside
    /// (people's, sites') are of the clock; all moments in here are the market's.
    pub fn lead(&self) -> Span {
        self.lead.unwrap_or(Span::ZERO)
    }

    /// The moment of the last record.
    pub fn now(&self) -> Time {
        self.market.now()
    }

    /// What the licences that the job takes along cost for so long: at the prices that it agreed on
    /// when it started, before at those of now.
    pub fn licences_cost(&self, job: &Job, time: Span) -> Money {
        let all = self.market.pools().licences();
        match (job.licences(), &job.submission.terms.licences) {
            ([], Some(wanted)) => {
                let of = |it: &Licence| Some(it.price.of(*wanted.get(&it.name)?, time));
                all.iter().filter_map(of).sum()
            }
            (held, _) => held.iter().map(|it| it.cost(time)).sum(),
        }
    }

    /// Whose nodes the pool's are.
    pub fn site_of(&self, pool: PoolId) -> SiteId {
        self.market.pools().pool(pool).site
    }

    /// Whether there are sites yet.
    pub fn is_gridded(&self) -> bool {
        !self.sites.owners.is_empty()
    }

    /// By site: who owns it.
    pub fn owners(&self) -> &[String] {
        &self.sites.owners
    }

    /// The site does not answer: since when.
    pub fn away_since(&self, site: SiteId) -> Option<Time> {
        self.sites.away.get(&site).copied()
    }

    /// Prices that owners set while the market ran: tables in TOML.
    pub fn tariffs(&self) -> &BTreeMap<PoolId, String> {
        &self.sites.tariffs
    }

    /// How much later than expected the site's last jobs started, seconds; oldest first.
    pub fn delays_at(&self, site: SiteId) -> impl Iterator<Item = i64> {
        self.sites.delays.get(&site).into_iter().flatten().copied()
    }

    /// Where the money is.
    pub fn accounts(&self) -> &Accounts {
        &self.ledger.accounts
    }

    /// Who may spend what.
    pub fn projects(&self) -> &Projects {
        &self.ledger.projects
    }

    /// What pools have earned in the months that are kept, as many as of [`Uses`]. Empty of the time
    /// before this was counted.
    pub fn income(&self) -> &Income {
        &self.ledger.income
    }

    /// What was used and charged.
    pub fn used(&self) -> &Uses {
        &self.ledger.used
    }

    /// Outages that are not over.
    pub fn outages(&self) -> &BTreeMap<Why, OutageId> {
        &self.outages.open
    }

    /// Prices and outages of the last days, for people.
    pub fn past(&self) -> &RecentHistory {
        &self.outages.past
    }

    /// Quotes that may be accepted.
    pub fn quotes(&self) -> &BTreeMap<u64, Quote> {
        &self.offers.quotes
    }

    /// The last quote's number.
    pub fn last_quote(&self) -> u64 {
        self.offers.last
    }

    /// Tokens, also those that have expired and are not removed yet.
    pub fn tokens(&self) -> &BTreeMap<u64, Token> {
        &self.access.tokens
    }

    /// The last job's number.
    pub fn last_job(&self) -> u64 {
        self.jobs.last
    }

    /// In the order of their first submission: policies know users by this place.
    pub fn users(&self) -> &[String] {
        &self.jobs.users
    }

    /// How long jobs of the market have put off the waiting jobs of the site's owners; `None`: they
    /// never did.
    pub fn put_off_at(&self, site: SiteId) -> Option<&PutOff> {
        self.sites.put_off.as_ref()?.get(&site)
    }

    /// Whether these rules count.
    pub(in crate::live) fn has_rules(&self, version: u32) -> bool {
        self.ledger.rules.is_some_and(|rules| rules >= version)
    }

    /// What a snapshot has that these rules do not know: ranges of waits as earlier releases made them.
    pub(crate) fn follow_rules(&mut self) {
        if !self.has_rules(4) {
            self.waits = Waits::default();
        }
    }
}
