//! Like nodes of one site, counted instead of named.
//!
//! A grid of thousands of equal nodes needs no names for them: a [`Pool`] says how many there are
//! and what each offers. A node that differs from all others is a pool of one.

use std::sync::Arc;

use crate::load_price::LoadPrices;
use crate::{
    Attribute, Attributes, Demand, Licence, LicenceId, Links, Longest, Performance, Power,
    Preemption, Price, Rates, Ratio, Site, SiteId, Span, TimeMode, Times,
};

/// A pool's place in its [`Pools`], from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

impl PoolId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Like nodes of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Unique among all pools.
    pub name: String,
    /// Whose nodes they are.
    pub site: SiteId,
    /// How many, at least 1.
    pub nodes: u32,
    /// Of each node.
    pub performance: Performance,
    /// Per node and second. Where it changes with time ([`Pools::rate`]), the lowest that it ever is.
    pub price: Price,
    /// What each node offers besides.
    pub attributes: Attributes,
    /// Which jobs it takes, if it is a queue of its site.
    pub admission: Admission,
    /// How its owner counts the times of jobs that leave it open.
    pub times: Times,
}

/// Which jobs a queue takes. All inclusive; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Admission {
    /// The fewest tasks of a job.
    pub min_processors: Option<u32>,
    /// The most tasks of a job.
    pub max_processors: Option<u32>,
    /// The longest that a job may expect to run here.
    pub max_time: Option<Span>,
}

impl Admission {
    /// All jobs are admitted.
    pub const NONE: Admission =
        Admission { min_processors: None, max_processors: None, max_time: None };

    /// Whether a job of so many tasks that expects to run for `length` here may come.
    pub fn admits(&self, processors: u32, length: Span) -> bool {
        self.min_processors.is_none_or(|min| processors >= min)
            && self.max_processors.is_none_or(|max| processors <= max)
            && self.max_time.is_none_or(|max| length <= max)
    }
}

impl Pool {
    /// Whether it admits the job, and its nodes have the performance, the attributes and (where
    /// one is given) the price that the job asks for.
    pub fn suits(&self, demand: &Demand) -> bool {
        self.suits_at(self.price, demand)
    }

    /// The same if its nodes cost this.
    pub fn suits_at(&self, price: Price, demand: &Demand) -> bool {
        let terms = demand.terms();
        let has = |(name, wanted): (&String, &Attribute)| {
            Attribute::meets(self.attributes.get(name), wanted)
        };
        terms.min_performance.is_none_or(|min| self.performance >= min)
            && terms.max_price.is_none_or(|max| price <= max)
            && terms.attributes.iter().all(has)
            && terms.data.as_ref().is_none_or(|staging| staging.at(self.site).is_some())
            && (self.admission == Admission::NONE
                || self.admission.admits(demand.processors, self.run_length_of(demand)))
    }

    /// The name of the attribute that says how much memory each of its nodes has, in KiB: what a task
    /// needs of it is asked for under the same name.
    pub const MEMORY: &str = "memory_kib";

    /// The memory of each of its nodes in KiB, rounded down; `None` where nothing is said of it.
    pub fn node_memory(&self) -> Option<u64> {
        match self.attributes.get(Pool::MEMORY) {
            Some(Attribute::Number(thousandths)) => u64::try_from(thousandths / 1_000).ok(),
            _ => None,
        }
    }

    /// How long the job is expected to have its nodes, in seconds: its limit there, and the transfer of
    /// its data.
    pub fn length_of(&self, demand: &Demand) -> Span {
        let run = self.run_length_of(demand);
        match &demand.terms {
            None => run,
            Some(_) => run + demand.staging(self.site),
        }
    }

    /// How long the job is expected to run on its nodes: its limit there, in seconds.
    pub fn run_length_of(&self, demand: &Demand) -> Span {
        match self.performance == Performance::REFERENCE {
            true => demand.estimate,
            false => self.length_in(demand.mode(), demand.estimate),
        }
    }

    /// How long `span` is on its nodes, where it is counted by `mode`. The one place where
    /// a pool's lengths are computed.
    pub fn length_in(&self, mode: TimeMode, span: Span) -> Span {
        mode.at(self.times).length_of(span, self.performance)
    }

    /// The longest of these times on its nodes.
    pub fn longest_in(&self, times: Longest) -> Span {
        let each = [
            (TimeMode::WORK, times.work),
            (TimeMode::WALL, times.wall),
            (TimeMode::Owner, times.owner),
        ];
        each.into_iter().map(|(mode, span)| self.length_in(mode, span)).max().unwrap_or_default()
    }
}

/// All sites and their pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pools {
    sites: Vec<Site>,
    pools: Vec<Pool>,
    nodes: u32,
    pub(crate) power: Option<Arc<Power>>,
    pub(crate) rates: Option<Arc<Rates>>,
    /// By pool, in KiB.
    memory: Option<Arc<[u32]>>,
    /// By site.
    pub(crate) preemption: Option<Arc<[Preemption]>>,
    /// By pool.
    ask_factors: Option<Arc<[Ratio]>>,
    /// By pool.
    pub(crate) load_prices: Option<LoadPrices>,
    links: Option<Arc<Links>>,
    /// With their owners.
    licences: Option<Arc<(Vec<Licence>, Vec<SiteId>)>>,
}

/// Why sites and pools do not make a grid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolsError {
    /// Nothing to run on.
    #[error("there are no nodes")]
    Empty,
    /// A pool without nodes.
    #[error("the pool `{0}` has no nodes")]
    NoNodes(String),
    /// Two sites or two pools of one name.
    #[error("the name `{0}` is used twice")]
    DuplicateName(String),
    /// A pool of a site that is not listed.
    #[error("the pool `{0}` belongs to no listed site")]
    UnknownSite(String),
    /// A price below zero.
    #[error("the pool `{0}` has a negative price")]
    NegativePrice(String),
    /// No licences of a name, or more than can be counted.
    #[error("there are none of the licence `{0}`, or more than can be counted")]
    Licences(String),
    /// More nodes than can be counted.
    #[error("more than {} nodes", Pools::MAX_NODES)]
    TooMany,
}

impl Pools {
    /// The most nodes of all pools together.
    pub const MAX_NODES: u32 = 1 << 24;
    /// The most memory of a pool, in KiB: 2 TiB.
    pub const MAX_MEMORY: u32 = 1 << 31;

    /// A grid of these pools.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn new(sites: Vec<Site>, pools: Vec<Pool>) -> Result<Pools, PoolsError> {
        let mut nodes = 0u64;
        for pool in &pools {
            if pool.nodes == 0 {
                return Err(PoolsError::NoNodes(pool.name.clone()));
            }
            if pool.site.0 as usize >= sites.len() {
                return Err(PoolsError::UnknownSite(pool.name.clone()));
            }
            if pool.price.0 < 0 {
                return Err(PoolsError::NegativePrice(pool.name.clone()));
            }
            nodes += u64::from(pool.nodes);
        }
        duplicate(sites.iter().map(|site| &site.name))?;
        duplicate(pools.iter().map(|pool| &pool.name))?;
        match u32::try_from(nodes) {
            Ok(0) => Err(PoolsError::Empty),
            Ok(nodes) if nodes <= Self::MAX_NODES => Ok(Pools::plain(sites, pools, nodes)),
            _ => Err(PoolsError::TooMany),
        }
    }

    /// One site that is one pool of reference nodes which cost nothing. No processors count as
    /// one.
    pub fn cluster(processors: u32) -> Pools {
        let pool = Pool {
            name: "cluster".to_owned(),
            site: SiteId(0),
            nodes: processors.max(1),
            performance: Performance::REFERENCE,
            price: Price(0),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: Times::Work,
        };
        let sites = vec![Site { name: "cluster".to_owned() }];
        let nodes = pool.nodes;
        Pools::plain(sites, vec![pool], nodes)
    }

    /// Pools with nothing else to be known.
    fn plain(sites: Vec<Site>, pools: Vec<Pool>, nodes: u32) -> Pools {
        let (power, rates, memory, preemption) = (None, None, None, None);
        let (ask_factors, load_prices, licences) = (None, None, None);
        Pools {
            sites,
            pools,
            nodes,
            power,
            rates,
            memory,
            preemption,
            ask_factors,
            load_prices,
            links: None,
            licences,
        }
    }

    /// The same pools, whose asks in an auction are multiplied by these factors; by pool. Pools
    /// beyond the end have the factor 1.
    pub fn with_ask_factors(mut self, factors: Vec<Ratio>) -> Pools {
        let any = factors.iter().any(|factor| *factor != Ratio::ONE);
        self.ask_factors = any.then(|| factors.into());
        self
    }

    /// What a pool's ask is multiplied by: O_k of paper 003, equation (1).
    pub fn ask_factor(&self, id: PoolId) -> Ratio {
        let factors = self.ask_factors.as_ref();
        factors.and_then(|all| all.get(id.index()).copied()).unwrap_or(Ratio::ONE)
    }

    /// The same pools, with these networks between their sites and other places.
    pub fn with_links(mut self, links: Links) -> Pools {
        self.links = (!links.is_empty()).then(|| Arc::new(links));
        self
    }

    /// The networks between sites and other places, if any is known.
    pub fn links(&self) -> Option<&Links> {
        self.links.as_deref()
    }

    /// The same pools, beside which there are these licences, each with the site that earns what jobs
    /// pay for it.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn with_licences(mut self, licences: Vec<(Licence, SiteId)>) -> Result<Pools, PoolsError> {
        duplicate(licences.iter().map(|(licence, _)| &licence.name))?;
        for (licence, owner) in &licences {
            let name = || licence.name.clone();
            if owner.0 as usize >= self.sites.len() {
                return Err(PoolsError::UnknownSite(name()));
            }
            if licence.price.0 < 0 {
                return Err(PoolsError::NegativePrice(name()));
            }
            if !(1..=Self::MAX_NODES).contains(&licence.count) {
                return Err(PoolsError::Licences(name()));
            }
        }
        self.licences = (!licences.is_empty()).then(|| Arc::new(licences.into_iter().unzip()));
        Ok(self)
    }

    /// Licences, by id; most grids have none.
    pub fn licences(&self) -> &[Licence] {
        self.licences.as_ref().map_or(&[], |all| &all.0)
    }

    /// The licence of this name.
    pub fn licence(&self, name: &str) -> Option<LicenceId> {
        let at = self.licences().iter().position(|licence| licence.name == name)?;
        Some(LicenceId(at as u32))
    }

    /// Who earns what jobs pay for the licence; the first site, if there is no such licence.
    pub fn licence_owner(&self, id: LicenceId) -> SiteId {
        let owners = self.licences.as_ref().map(|all| &all.1);
        owners.and_then(|owners| owners.get(id.index()).copied()).unwrap_or(SiteId(0))
    }

    /// One site of `count` equal shared nodes: each is a pool of `processors` reference processors,
    /// which cost nothing, and of `memory` KiB ([`Pools::MAX_MEMORY`] at most). Nothing counts as
    /// one.
    ///
    /// # Errors
    /// If there are more processors than can be counted.
    pub fn shared(count: u32, processors: u32, memory: u32) -> Result<Pools, PoolsError> {
        let one = Pools::cluster(processors);
        let node = |at: u32| Pool { name: format!("node{at}"), ..one.pools[0].clone() };
        let pools = (0..count.clamp(1, Self::MAX_NODES)).map(node).collect();
        let pools = Pools::new(one.sites.clone(), pools)?;
        let each = memory.clamp(1, Self::MAX_MEMORY);
        let memory = Some(vec![each; pools.pools.len()].into());
        Ok(Pools { memory, ..pools })
    }

    /// The memory of a pool in KiB, which the tasks of its jobs share; `None` if memory is not
    /// counted.
    pub fn memory(&self, id: PoolId) -> Option<u32> {
        self.memory.as_ref().and_then(|memory| memory.get(id.index()).copied())
    }

    /// Whether memory is counted.
    pub fn counts_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// How many tasks of the demand the free pool can take at once, in all that it counts.
    pub fn tasks_in(&self, id: PoolId, demand: &Demand) -> u32 {
        let nodes = self.pool(id).nodes;
        let each = demand.terms().memory.filter(|each| *each > 0);
        match (self.memory(id), each) {
            (Some(memory), Some(each)) => nodes.min(memory / each),
            _ => nodes,
        }
    }

    /// All sites of the market, by id.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The pools, in the order of their ids.
    pub fn as_slice(&self) -> &[Pool] {
        &self.pools
    }

    /// Pools with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (PoolId, &Pool)> {
        self.pools.iter().enumerate().map(|(index, pool)| (PoolId(index as u32), pool))
    }

    /// The pool `id`. Panics if there is none.
    pub fn pool(&self, id: PoolId) -> &Pool {
        &self.pools[id.index()]
    }

    /// Another price for one pool; whether it is there, has one price at all times, and the new one
    /// is not below zero.
    pub(crate) fn reprice(&mut self, id: PoolId, price: Price) -> bool {
        let known = price.0 >= 0 && self.rate(id).is_none();
        let pool = self.pools.get_mut(id.index()).filter(|_| known);
        pool.map(|pool| pool.price = price).is_some()
    }

    /// A pool's price: that of now, or of prices over time the lowest ever.
    pub(crate) fn set_price(&mut self, index: usize, price: Price) {
        self.pools[index].price = price;
    }

    /// Nodes of all pools.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The only pool, if there is just one.
    pub fn single(&self) -> Option<PoolId> {
        (self.pools.len() == 1).then_some(PoolId(0))
    }
}

fn duplicate<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), PoolsError> {
    let mut seen = std::collections::BTreeSet::new();
    match names.into_iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(PoolsError::DuplicateName(name.clone())),
        None => Ok(()),
    }
}

/// So many nodes of one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// Id of the pool.
    pub pool: PoolId,
    /// How many, at least 1.
    pub nodes: u32,
}

/// Where a job's tasks run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// All in one pool.
    Pool(PoolId),
    /// In several: ascending by pool, each once.
    Shares(Arc<[Share]>),
}

impl Place {
    /// The shares of a job of `processors` tasks.
    pub fn shares(&self, processors: u32) -> impl Iterator<Item = Share> + '_ {
        let (one, many): (Option<Share>, &[Share]) = match self {
            Place::Pool(pool) => (Some(Share { pool: *pool, nodes: processors }), &[]),
            Place::Shares(shares) => (None, shares),
        };
        one.into_iter().chain(many.iter().copied())
    }

    /// A place of these shares that says how many nodes it has, as a job of several shapes needs it.
    pub fn counted(mut shares: Vec<Share>) -> Place {
        shares.sort_unstable_by_key(|share| share.pool);
        Place::Shares(shares.into())
    }

    /// A place of these shares: the simplest form that says so.
    pub fn of(mut shares: Vec<Share>) -> Place {
        shares.sort_unstable_by_key(|share| share.pool);
        match shares[..] {
            [Share { pool, .. }] => Place::Pool(pool),
            _ => Place::Shares(shares.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_grid_is_refused() {
        let site = || vec![Site { name: "a".to_owned() }];
        let pool = Pools::cluster(4).as_slice()[0].clone();
        assert_eq!(Pools::new(site(), vec![]), Err(PoolsError::Empty));
        let twice = Pools::new(site(), vec![pool.clone(), pool.clone()]);
        assert_eq!(twice, Err(PoolsError::DuplicateName("cluster".to_owned())));
        let nowhere = Pool { site: SiteId(1), ..pool.clone() };
        assert!(matches!(Pools::new(site(), vec![nowhere]), Err(PoolsError::UnknownSite(_))));
        let none = Pool { nodes: 0, ..pool };
        assert!(matches!(Pools::new(site(), vec![none]), Err(PoolsError::NoNodes(_))));
    }

    #[test]
    fn admission_is_for_the_whole_job_and_its_time_here() {
        let performance = Performance::from_thousandths(2_000).unwrap();
        let admission = Admission {
            min_processors: Some(2),
            max_processors: Some(4),
            max_time: Some(Span(10)),
        };
        let pool = Pool { performance, admission, ..Pools::cluster(8).as_slice()[0].clone() };
        let suits = |processors, estimate| pool.suits(&Demand::new(processors, Span(estimate)));
        assert!(suits(2, 20) && suits(4, 1));
        assert!(!suits(1, 1) && !suits(5, 1) && !suits(2, 21));
    }

    #[test]
    fn one_share_is_a_pool() {
        let share = |pool, nodes| Share { pool: PoolId(pool), nodes };
        assert_eq!(Place::of(vec![share(3, 2)]), Place::Pool(PoolId(3)));
        let two = Place::of(vec![share(3, 2), share(1, 5)]);
        assert_eq!(two.shares(7).collect::<Vec<_>>(), [share(1, 5), share(3, 2)]);
    }
}
