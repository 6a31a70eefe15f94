//! The state of a live market: the market itself, and the aggregates around it. Records alone change
//! it: each goes to the aggregate that it is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{Market, MarketError, OutageId, PoolId, Pools, SiteId, Span, Time};

use super::access::Access;
pub use super::access::{EarlierSecret, Token};
use super::jobs::Jobs;
pub use super::jobs::{Finish, Happening, Job, JobHold, Part, Phase, Setback};
use super::ledger::Ledger;
use super::ledger::money::Accounts;
use super::ledger::projects::Projects;
use super::ledger::used::Uses;
use super::lengths::Lengths;
use super::offers::Offers;
pub use super::offers::{BookedPart, Booking, BreachReason, OfferOutcome, Promise, Quote};
use super::outages::Outages;
pub use super::outages::Why;
use super::outages::recent_history::RecentHistory;
use super::peers::Peers;
use super::record::{MarketRecord, Record, TaskRecord};
use super::sites::Sites;
use super::tasks::Tasks;
pub use super::tasks::{Task, TaskGoal, TaskReport};
use super::waits::{self, Waits};

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

/// Why a record cannot follow from the state: a journal that is damaged, or a mistake of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The market says no.
    #[error(transparent)]
    Market(#[from] MarketError),
    /// A job that is not there, or cannot do this in its phase.
    #[error("job {0} cannot do this in its phase")]
    Job(u64),
    /// A task that is not there.
    #[error("there is no task {0}")]
    Task(String),
    /// The state follows by rules that are not known here.
    #[error(
        "from here on rules {found} count, and this release knows {known}: a later one has written \
         it, use that release"
    )]
    Rules {
        /// What the journal says.
        found: u32,
        /// The latest that are known.
        known: u32,
    },
    /// Something else that is not there, or there already.
    #[error("{0}")]
    Other(&'static str),
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

    /// Makes one change at `at`. Logarithmic in what is kept, linear in what the record names.
    ///
    /// # Errors
    /// If it cannot follow from the state, which is then of no use any more: a replay of a journal
    /// stops there.
    pub fn apply(&mut self, at: Time, record: &Record) -> Result<(), ApplyError> {
        self.market.pass_to(at)?;
        match record {
            Record::Market(record) => self.apply_to_market(at, record),
            Record::Site(record) => {
                self.sites.apply(at, record, &mut self.market, &mut self.outages.past)
            }
            Record::Job(record) => self.apply_to_job(record),
            Record::Task(record) => {
                self.tasks.apply(at, record, &mut self.jobs)?;
                if let TaskRecord::Saw { tag, .. } = record {
                    self.mind_wait(tag.job);
                }
                Ok(())
            }
            Record::Ledger(record) => self.ledger.apply(at, record),
            Record::Outage(record) => self.outages.apply(at, record, &mut self.market),
            Record::Offer(record) => self.offers.apply(at, record, &mut self.jobs),
            Record::Access(record) => self.access.apply(at, record),
            Record::Peer(record) => self.apply_to_peers(record),
        }
    }

    fn apply_to_market(&mut self, at: Time, record: &MarketRecord) -> Result<(), ApplyError> {
        match record {
            MarketRecord::Created { market } => self.name.clone_from(market),
            MarketRecord::Gridded { pools, owners } => {
                if !waits::same_nodes(self.market.pools(), pools) {
                    self.forget_waits();
                }
                match self.is_gridded() {
                    true => self.market.regrid(Arc::clone(pools))?,
                    false => self.market = Market::new(Arc::clone(pools), at),
                }
                self.sites.owners.clone_from(owners);
                for (id, _) in pools.iter() {
                    self.outages.past.priced(at, id, pools.price_at(id, at));
                }
            }
            MarketRecord::Began { policy, .. } => {
                if self.policy != *policy {
                    self.forget_waits();
                }
                self.policy.clone_from(policy);
            }
            MarketRecord::Decided { commands } => {
                commands.iter().try_for_each(|command| self.decided(command))?;
            }
            MarketRecord::Clock { lead } => self.lead = Some(*lead),
        }
        Ok(())
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
}
