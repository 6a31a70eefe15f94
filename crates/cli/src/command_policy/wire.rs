//! The lines that go to and from a policy's command; `docs/reference/policy-cmd.md` is the page for
//! them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tradewind_campaign::answer;
use tradewind_io::scenario::criterion_name;
use tradewind_io::wire::Amount;
use tradewind_model::{
    Attribute, Attributes, Cause, Command, Demand, Event, JobId, LoadPrice, Market, Outage,
    OutageId, Place, PoolId, Pools, Price, Series, Share, Terms, Time,
};
use tradewind_sched::policy::Promise;

/// The version that both sides name first.
pub(super) const PROTOCOL: u32 = 1;

/// The first line to the command.
#[derive(Debug, Serialize)]
pub(super) struct Hello<'a> {
    protocol: u32,
    sites: Vec<&'a str>,
    pools: Vec<PoolMessage<'a>>,
}

#[derive(Debug, Serialize)]
struct PoolMessage<'a> {
    pool: u32,
    name: &'a str,
    site: u32,
    nodes: u32,
    performance: Amount,
    /// Where it changes with time, load or demand: the lowest that it ever is.
    price: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<PricesMessage>,
    /// From which share of its nodes in use on, and the price from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_by_load: Option<Vec<(Amount, Amount)>>,
    /// The same of its nodes in use or asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_by_demand: Option<Vec<(Amount, Amount)>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'a str, Property<'a>>,
}

/// A price that changes with time, in the words of scenarios and grids.
#[derive(Debug, Serialize)]
struct PricesMessage {
    /// From when on, and the price from then on.
    values: Vec<(i64, Amount)>,
    /// After how many seconds it repeats, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<i64>,
}

impl From<&Series> for PricesMessage {
    fn from(rate: &Series) -> PricesMessage {
        let value = |(from, price): (Time, i64)| (from.0, Amount::Price(Price(price)));
        PricesMessage {
            values: rate.values().map(value).collect(),
            every: rate.period().map(|period| period.0),
        }
    }
}

fn steps(price: &LoadPrice) -> Vec<(Amount, Amount)> {
    let step = |(load, price): &(u32, Price)| {
        (Amount::Thousandths(i64::from(*load)), Amount::Price(*price))
    };
    price.steps().iter().map(step).collect()
}

/// A property of a node or a demand for one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Property<'a> {
    Flag(bool),
    Number(Amount),
    Text(&'a str),
    OneOf(&'a [String]),
}

fn properties(of: &Attributes) -> BTreeMap<&str, Property<'_>> {
    let property = |it| match it {
        &Attribute::Flag(flag) => Property::Flag(flag),
        &Attribute::Number(number) => Property::Number(Amount::Thousandths(number)),
        Attribute::Text(text) => Property::Text(text),
        Attribute::OneOf(names) => Property::OneOf(names),
    };
    of.iter().map(|(name, it)| (name.as_str(), property(it))).collect()
}

impl<'a> Hello<'a> {
    pub(super) fn new(pools: &'a Pools) -> Hello<'a> {
        let pool = |(id, pool): (PoolId, &'a tradewind_model::Pool)| {
            let follows = |demand: bool| {
                let price = pools.load_price(id);
                price.filter(|price| price.every().is_some() == demand).map(steps)
            };
            PoolMessage {
                pool: id.0,
                name: &pool.name,
                site: pool.site.0,
                nodes: pool.nodes,
                performance: Amount::Performance(pool.performance.thousandths()),
                price: Amount::Price(pool.price),
                prices: pools.rate(id).map(|rate| rate.as_ref().into()),
                price_by_load: follows(false),
                price_by_demand: follows(true),
                attributes: properties(&pool.attributes),
            }
        };
        Hello {
            protocol: PROTOCOL,
            sites: pools.sites().iter().map(|site| site.name.as_str()).collect(),
            pools: pools.iter().map(pool).collect(),
        }
    }
}

/// One pass of the policy: a line to the command.
#[derive(Debug, Serialize)]
pub(super) struct Pass<'a> {
    pub(super) now: i64,
    /// Free nodes by pool.
    pub(super) free: &'a [u32],
    /// Prices of this moment by pool, where any changes with time or load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prices: Option<Vec<Amount>>,
    pub(super) events: Vec<Told<'a>>,
}

/// What a node of each pool costs now, where any price changes with time or load.
pub(super) fn prices_now(market: &Market) -> Option<Vec<Amount>> {
    let (pools, now) = (market.pools(), market.now());
    (pools.rates().is_some() || pools.follow_load()).then_some(())?;
    Some(pools.iter().map(|(id, _)| Amount::Price(pools.price_at(id, now))).collect())
}

/// An event, as the command reads it.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Told<'a> {
    Submitted {
        job: u32,
        processors: u32,
        estimate: i64,
        #[serde(flatten)]
        terms: Option<Box<Conditions<'a>>>,
    },
    Started {
        job: u32,
        #[serde(flatten)]
        place: WirePlace,
    },
    Lined {
        job: u32,
    },
    Traded {
        job: u32,
        pool: u32,
        price: Amount,
    },
    Released {
        job: u32,
        pool: u32,
    },
    Ended {
        job: u32,
    },
    Interrupted {
        job: u32,
    },
    Noticed {
        job: u32,
        leaves: i64,
    },
    Refused {
        job: u32,
    },
    Cancelled {
        job: u32,
    },
    Priced {
        pool: u32,
        price: Amount,
    },
    Rated {
        pool: u32,
    },
    Announced {
        closure: u32,
        pool: u32,
        nodes: u32,
        from: i64,
        until: i64,
        cause: &'static str,
    },
    Closed {
        closure: u32,
    },
    Reopened {
        closure: u32,
    },
}

/// A job's terms; what it does not ask for is left out.
#[derive(Debug, Serialize)]
pub(super) struct Conditions<'a> {
    user: i64,
    priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_performance: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_price: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earliest_start: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<i64>,
    minimize: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'a str, Property<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    preemptible: bool,
}

impl<'a> Conditions<'a> {
    fn new(terms: &'a Terms) -> Conditions<'a> {
        Conditions {
            user: terms.user,
            priority: terms.priority,
            home: terms.home.map(|site| site.0),
            value: terms.value.map(Amount::Credits),
            min_performance: terms
                .min_performance
                .map(|min| Amount::Performance(min.thousandths())),
            max_price: terms.max_price.map(Amount::Price),
            budget: terms.budget.map(Amount::Credits),
            earliest_start: terms.earliest_start.map(|at| at.0),
            deadline: terms.deadline.map(|at| at.0),
            minimize: criterion_name(&terms.criterion),
            attributes: properties(&terms.attributes),
            preemptible: terms.preemptible.is_some(),
        }
    }
}

impl<'a> From<&'a Event> for Told<'a> {
    fn from(event: &'a Event) -> Told<'a> {
        match event {
            Event::Submitted { job, demand } => submitted(*job, demand),
            Event::Traded { job, trade } => {
                Told::Traded { job: job.0, pool: trade.pool.0, price: Amount::Price(trade.price) }
            }
            Event::Lined { job } => Told::Lined { job: job.0 },
            Event::Started { job, place } => Told::Started { job: job.0, place: place.into() },
            Event::Released { job, pool } => Told::Released { job: job.0, pool: pool.0 },
            Event::Ended { job } => Told::Ended { job: job.0 },
            Event::Interrupted { job } => Told::Interrupted { job: job.0 },
            Event::Noticed { job, leaves } => Told::Noticed { job: job.0, leaves: leaves.0 },
            Event::Refused { job } => Told::Refused { job: job.0 },
            Event::Cancelled { job } => Told::Cancelled { job: job.0 },
            &Event::Priced { pool, price } => {
                Told::Priced { pool: pool.0, price: Amount::Price(price) }
            }
            Event::Rated { pool, .. } => Told::Rated { pool: pool.0 },
            Event::Announced { closure, what } => announced(*closure, what),
            Event::Closed { closure } => Told::Closed { closure: closure.0 },
            Event::Reopened { closure } => Told::Reopened { closure: closure.0 },
        }
    }
}

fn submitted(job: JobId, demand: &Demand) -> Told<'_> {
    Told::Submitted {
        job: job.0,
        processors: demand.processors,
        estimate: demand.estimate.0,
        terms: demand.terms.as_deref().map(|terms| Box::new(Conditions::new(terms))),
    }
}

fn announced(closure: OutageId, what: &Outage) -> Told<'static> {
    Told::Announced {
        closure: closure.0,
        pool: what.pool.0,
        nodes: what.nodes,
        from: what.from.0,
        until: what.until.0,
        cause: match what.cause {
            Cause::Local => "local",
            Cause::Maintenance => "maintenance",
            Cause::Failure(_) => "failure",
            Cause::Withheld => "withheld",
            Cause::Booked => "booked",
        },
    }
}

/// Where a job's tasks run: either of the two.
#[derive(Debug, Serialize)]
pub(super) struct WirePlace {
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<Vec<WireShare>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireShare {
    pool: u32,
    nodes: u32,
}

impl From<&Place> for WirePlace {
    fn from(place: &Place) -> WirePlace {
        match place {
            Place::Pool(pool) => WirePlace { pool: Some(pool.0), shares: None },
            Place::Shares(shares) => {
                let part = |share: &Share| WireShare { pool: share.pool.0, nodes: share.nodes };
                WirePlace { pool: None, shares: Some(shares.iter().map(part).collect()) }
            }
        }
    }
}

/// What the command says first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Greeting {
    pub(super) protocol: u32,
    #[serde(default)]
    pub(super) promise: Vow,
}

/// What the command promises; the checkers hold it to that.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Vow {
    #[default]
    Nothing,
    Order,
    Head,
    Reservations,
}

impl From<Vow> for Promise {
    fn from(vow: Vow) -> Promise {
        match vow {
            Vow::Nothing => Promise::Nothing,
            Vow::Order => Promise::Order,
            Vow::Head => Promise::Head,
            Vow::Reservations => Promise::Reservations,
        }
    }
}

/// What the command wants done: its answer to a pass.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PassAnswer {
    #[serde(default)]
    pub(super) start: Vec<Start>,
    #[serde(default)]
    pub(super) refuse: Vec<Refuse>,
    /// Jobs that are to leave their nodes after notice.
    #[serde(default)]
    pub(super) preempt: Vec<u32>,
    #[serde(default)]
    pub(super) reserve: Vec<Reserve>,
    #[serde(default)]
    wake: Option<i64>,
}

impl PassAnswer {
    /// When to ask again.
    ///
    /// # Errors
    /// If the moment is beyond the range of time.
    pub(super) fn wake(&self) -> Result<Option<Time>, String> {
        match self.wake.map(Time) {
            Some(at) if at > Time::MAX => Err(format!("`wake` is after {}", Time::MAX)),
            wake => Ok(wake),
        }
    }
}

/// When a waiting job is to start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reserve {
    pub(super) job: u32,
    pub(super) at: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    job: u32,
    #[serde(default)]
    pool: Option<u32>,
    #[serde(default)]
    shares: Option<Vec<WireShare>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refuse {
    pub(super) job: u32,
}

impl Start {
    /// As a command.
    ///
    /// # Errors
    /// If it does not say where, or where is not as wide as the job.
    pub(super) fn command(self, market: &Market) -> Result<Command, String> {
        let share = |part: WireShare| Share { pool: PoolId(part.pool), nodes: part.nodes };
        let shares = self.shares.map(|shares| shares.into_iter().map(share).collect());
        answer::start(market, JobId(self.job), self.pool.map(PoolId), shares)
    }
}
