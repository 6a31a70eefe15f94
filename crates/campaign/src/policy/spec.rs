//! A policy that was read from its text.

use std::fmt;

use tradewind_model::{
    Admission, Attribute, Energy, Performance, Pool, Pools, Quantity, Span, Terms,
};
use tradewind_sched::policy::backfill::{Backfill, Depth};
use tradewind_sched::policy::bsf::{self, Bsf};
use tradewind_sched::policy::cyclic::SearchBy;
use tradewind_sched::policy::cyclic::market::{self, Cycles};
use tradewind_sched::policy::dispatch::{self, Dispatch, Prices, Ties};
use tradewind_sched::policy::expecting::ByExpectation;
use tradewind_sched::policy::gapfill::GapFill;
use tradewind_sched::policy::gridfill::{self, GridFill};
use tradewind_sched::policy::learned::LearnedFill;
use tradewind_sched::policy::local::QueueOrder;
use tradewind_sched::policy::owners::SiteRule;
use tradewind_sched::policy::{Order, Policy};
use tradewind_sched::window::{Algorithm, Variant};
use tradewind_sim::workload::Workload;

use super::federal::{Federal, Migrate};
use super::{Layout, Lots, SEED, read};
use crate::failure::Failure;

/// What a policy without further words means where pools are cut into queues.
const ON_QUEUES: [(&str, &str); 2] = [("fcfs", "meta-fcfs"), ("sjf", "meta-sjf")];

/// A policy with its parameters, read once. [`fmt::Display`] writes it without spaces, its
/// parameters in the order in which they were given: what reads as the same policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySpec {
    text: String,
    name: String,
    /// Keys and values, each key once.
    given: Vec<(String, String)>,
    pub(super) kind: Kind,
}

/// Which policy, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// On any pools.
    Fill(gridfill::GridFillSettings),
    /// CSS, batch-slicer and whole-batch.
    Cycles(market::CycleSettings),
    /// Some by batch-slicer, the rest by backfilling.
    Bsf(bsf::BsfSettings),
    /// From a meta-scheduler to the queues of sites.
    Dispatch(dispatch::DispatchSettings),
    /// Autonomous sites.
    Federal(Box<Federal>),
    /// Learned run times and bounded waits, on one cluster.
    Learned,
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.given.is_empty() {
            return Ok(());
        }
        let given: Vec<String> =
            self.given.iter().map(|(key, value)| format!("{key}={value}")).collect();
        write!(f, "[{}]", given.join(","))
    }
}

impl PolicySpec {
    /// Reads `easy`, `easy[depth=4,order=shortest]` and their like.
    ///
    /// # Errors
    /// What cannot be read, as wrong usage.
    pub fn parse(text: &str) -> Result<PolicySpec, Failure> {
        read::read(text)
    }

    pub(super) fn new(text: &str, name: &str, given: &[(&str, &str)], kind: Kind) -> PolicySpec {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let given = given.iter().map(owned).collect();
        PolicySpec { text: text.to_owned(), name: name.to_owned(), given, kind }
    }

    /// The policy as it was written: what files and folders are named by.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `key` was given, perhaps with the value that it has anyway.
    fn gives(&self, key: &str) -> bool {
        self.given.iter().any(|(given, _)| given == key)
    }

    /// The same policy with `replan=WORD` among its parameters, if it is a cyclic scheme that does
    /// not say itself when it plans again.
    ///
    /// # Errors
    /// If there is no such word.
    pub fn with_replan(self, word: &str) -> Result<PolicySpec, Failure> {
        let is_cyclic = matches!(self.kind, Kind::Cycles(_) | Kind::Bsf(_));
        if !is_cyclic || self.gives("replan") {
            return Ok(self);
        }
        read::read(&match self.text.strip_suffix(']') {
            Some(open) => format!("{open},replan={word}]"),
            None => format!("{}[replan={word}]", self.text),
        })
    }

    /// What the policy means on these nodes.
    pub fn on(&self, layout: Layout) -> PolicySpec {
        let other = ON_QUEUES.iter().find(|(plain, _)| *plain == self.text);
        let other = other.filter(|_| layout == Layout::Queues);
        other.and_then(|(_, meta)| read::read(meta).ok()).unwrap_or_else(|| self.clone())
    }

    /// Whether the policy draws lots, as the papers' variants of cyclic schemes may, random ties,
    /// and networks that are not always alike.
    pub fn lots(&self) -> Option<Lots> {
        let cyclic = match &self.kind {
            Kind::Cycles(settings) => &settings.cyclic,
            Kind::Bsf(settings) => &settings.cycles.cyclic,
            Kind::Fill(_) | Kind::Learned => return None,
            Kind::Federal(federal) => return federal.draws().then_some(Lots::Run),
            Kind::Dispatch(settings) => {
                let own = self.gives("seed").then_some(Lots::Own(settings.seed));
                return (settings.ties == Ties::Random).then_some(own.unwrap_or(Lots::Run));
            }
        };
        (cyclic.variant == Variant::Paper).then_some(Lots::Own(cyclic.seed))
    }

    /// Whether the policy may send a job to a pool that does not take it.
    pub fn ignores_limits(&self) -> bool {
        matches!(self.kind, Kind::Cycles(_) | Kind::Bsf(_))
    }

    /// Why the policy cannot decide where prices change with time, if it cannot: its searches know one
    /// price per slot.
    pub fn needs_one_price(&self) -> Option<&'static str> {
        let cycles = match &self.kind {
            Kind::Fill(_) | Kind::Federal(_) | Kind::Dispatch(_) | Kind::Learned => return None,
            Kind::Cycles(settings) => settings,
            Kind::Bsf(settings) => &settings.cycles,
        };
        let paper = cycles.cyclic.variant == Variant::Paper;
        paper.then_some("has `variant=paper`, which knows one price per slot")
    }

    /// A parameter that was given and changes nothing, as the others are, and what would let it.
    pub(crate) fn idle_parameter(&self) -> Option<(&str, &'static str)> {
        let search = match &self.kind {
            Kind::Cycles(settings) => &settings.cyclic.search,
            Kind::Bsf(settings) => &settings.cycles.cyclic.search,
            Kind::Dispatch(settings) if settings.prices == Prices::List => {
                let of_dynamics = ["step", "floor", "ceiling", "outlook"];
                let given = self.given.iter().find(|(key, _)| of_dynamics.contains(&key.as_str()));
                return given.map(|(key, _)| (key.as_str(), "prices=dynamic"));
            }
            _ => return None,
        };
        let derives =
            matches!(search, SearchBy::Csa | SearchBy::All(Algorithm::Amp | Algorithm::Csa(_)));
        (self.gives("rho") && !derives).then_some(("rho", "search=amp"))
    }

    /// Whether the policy counts the memory of shared nodes.
    pub(crate) fn counts_memory(&self) -> bool {
        matches!(self.kind, Kind::Fill(_))
    }

    /// What the policy needs of every pool as a number, and one that lacks it: a pool without it
    /// would seem to consume nothing.
    ///
    /// # Errors
    /// If there is such a pool.
    pub fn check_numbers(&self, pools: &Pools) -> Result<(), Failure> {
        let criteria = match &self.kind {
            Kind::Cycles(settings) => &settings.vo.criteria,
            Kind::Bsf(settings) => &settings.cycles.vo.criteria,
            Kind::Federal(federal) => return self.check_memory(federal, pools),
            _ => return Ok(()),
        };
        let lacks = |quantity: &Quantity| {
            let name = quantity.attribute()?;
            let number =
                |pool: &&Pool| matches!(pool.attributes.get(name), Some(Attribute::Number(_)));
            let pool = pools.as_slice().iter().find(|pool| !number(pool))?;
            Some((quantity.name(), name.to_owned(), pool.name.clone()))
        };
        let Some((quantity, name, pool)) = criteria.quantities().find_map(lacks) else {
            return Ok(());
        };
        let text = &self.text;
        let message = format!(
            "policy `{text}`: the pool `{pool}` has no number `{name}`, which `{quantity}` sums up"
        );
        Err(Failure::usage(message).hint(match name.as_str() {
            Energy::BUSY => "give every pool or its site `watts = { idle = 90, busy = 250 }`",
            _ => "give every pool this number in `attributes`",
        }))
    }

    /// Only policies that plan licences may decide where there are any: others would start jobs for
    /// which there are none left.
    ///
    /// # Errors
    /// If there are licences, and the policy plans none.
    pub(crate) fn check_licences(&self, pools: &Pools) -> Result<(), Failure> {
        let plans = matches!(self.kind, Kind::Fill(_) | Kind::Cycles(_) | Kind::Bsf(_));
        match pools.licences() {
            [first, ..] if !plans => {
                let (text, name) = (&self.text, &first.name);
                let message = format!("policy `{text}` plans no licences, and there is `{name}`");
                let hint = "use `easy`, `conservative`, `css` or their like, or leave licences out";
                Err(Failure::usage(message).hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// Whether the policy counts the transfer of jobs' data as time for which they have nodes.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) fn check_data(&self) -> Result<(), Failure> {
        match self.kind {
            Kind::Fill(_) | Kind::Cycles(_) | Kind::Bsf(_) | Kind::Dispatch(_) => Ok(()),
            _ => {
                let message = format!("policy `{}` counts no transfer of data", self.text);
                let hint =
                    "use `easy`, `conservative`, `css` or their like, or leave links and data out";
                Err(Failure::usage(message).hint(hint))
            }
        }
    }

    /// Sites that choose by memory state how much they have.
    fn check_memory(&self, federal: &Federal, pools: &Pools) -> Result<(), Failure> {
        let unknown = || pools.as_slice().iter().find(|pool| pool.node_memory().is_none());
        let Some(pool) = Some(()).filter(|()| federal.chooses_by_memory()).and_then(|()| unknown())
        else {
            return Ok(());
        };
        let (text, pool) = (&self.text, &pool.name);
        let message =
            format!("policy `{text}`: the nodes of the pool `{pool}` have no known memory");
        Err(Failure::usage(message).hint("give every pool or its site `memory = \"4G\"`"))
    }

    /// Whether sites look for others that take their jobs.
    pub fn migrates(&self) -> bool {
        matches!(&self.kind, Kind::Federal(it) if it.migrate == Migrate::On)
    }

    /// Whether jobs may be left on one side of a cut that never heals.
    pub fn may_strand(&self) -> bool {
        matches!(&self.kind, Kind::Federal(it) if it.never_heals())
    }

    /// Which waiting job comes first, as far as the policy has one queue: by arrival otherwise.
    pub fn order(&self) -> Order {
        match &self.kind {
            Kind::Fill(settings) => settings.order,
            Kind::Bsf(settings) => settings.fill.order,
            Kind::Cycles(settings) => match settings.turn {
                market::PlanOrder::FairShare(half_life) => Order::FairShare(half_life),
                market::PlanOrder::Priority => Order::Priority,
            },
            Kind::Dispatch(_) | Kind::Federal(_) | Kind::Learned => Order::Arrival,
        }
    }

    /// After how long use counts half, if the policy puts jobs in the order of fair shares: it
    /// then needs to know whose jobs are whose.
    pub fn half_life(&self) -> Option<Span> {
        match self.order() {
            Order::FairShare(half_life) => Some(half_life),
            _ => None,
        }
    }

    /// Whether one more job at the end of the queue changes nothing for those before it, and
    /// starts at the earliest place that they leave.
    pub fn is_conservative(&self) -> bool {
        let usual = gridfill::GridFillSettings::default();
        let conservative = gridfill::GridFillSettings { depth: Depth::All, ..usual };
        matches!(&self.kind, Kind::Fill(settings) if *settings == conservative)
    }

    /// Whether it chooses among the shapes of a moldable job.
    pub fn chooses_shapes(&self) -> bool {
        matches!(self.kind, Kind::Fill(_) | Kind::Cycles(_) | Kind::Bsf(_))
    }

    /// Whether the policy learns from the runs of each user: it then needs to know whose jobs are
    /// whose.
    pub fn learns(&self) -> bool {
        self.kind == Kind::Learned
    }

    /// Whether it decides on one cluster of reference nodes without looking at what jobs have beside
    /// processors and time, their users neither.
    pub(crate) fn needs_no_workload(&self) -> bool {
        matches!(self.kind, Kind::Fill(_)) && self.half_life().is_none()
    }

    /// Whether the policy can decide for this workload. One that learns is about one cluster of like
    /// nodes, and jobs that ask for processors and time: whatever these cost, no job stays away.
    pub fn suits(&self, workload: &Workload) -> bool {
        !self.learns() || is_one_cluster(workload) && workload.owners.is_empty()
    }

    /// The rule of a site's own scheduler, if it can work by this policy: backfilling in the order of
    /// arrival or of the shortest estimate, without further parameters.
    pub fn owners_rule(&self) -> Option<SiteRule> {
        let Kind::Fill(settings) = &self.kind else { return None };
        let turn = match settings.order {
            Order::Arrival => QueueOrder::Arrival,
            Order::Shortest => QueueOrder::Shortest,
            _ => return None,
        };
        let usual = gridfill::GridFillSettings::default();
        let plain = (settings.spread, settings.candidates) == (usual.spread, usual.candidates);
        plain.then_some(SiteRule { turn, ..SiteRule::new(settings.depth) })
    }

    /// The policy for a replay, with the run's seed, if it has one.
    ///
    /// On one plain cluster, for jobs that ask for nothing but processors and time, backfilling
    /// keeps one profile and is much quicker; it decides the same.
    pub fn for_replay(
        &self,
        workload: &Workload,
        layout: Layout,
        seed: Option<u64>,
    ) -> Box<dyn Policy> {
        let meant = self.on(layout);
        let made: Box<dyn Policy> = match meant.kind {
            Kind::Fill(settings) if is_plain(workload) => Box::new(Backfill::new(settings.plain())),
            _ => meant.make(&workload.pools, seed.unwrap_or(SEED)),
        };
        let fills = meant.chooses_shapes() && !workload.owners.is_empty();
        match fills && workload.jobs.iter().any(|job| job.preemptible().is_some()) {
            true => {
                let pools = workload.owners.iter().flat_map(|load| load.pools.iter().copied());
                Box::new(GapFill::new(made, pools))
            }
            false => made,
        }
    }

    /// The policy for a live market of these pools. The quick backfilling of replays is not for
    /// it: it is unknown what jobs will ask for.
    ///
    /// # Errors
    /// If it cannot be live.
    pub fn for_market(&self, pools: &Pools) -> Result<Box<dyn Policy>, Failure> {
        let limited = pools.as_slice().iter().find(|pool| pool.admission != Admission::NONE);
        if let Some(pool) = limited.filter(|_| self.ignores_limits()) {
            let (text, pool) = (&self.text, &pool.name);
            let message =
                format!("policy `{text}` knows no limits of queues, and `{pool}` has some");
            let hint = "use `auction`, `meta-fcfs`, `easy` or their like, or queues without limits";
            return Err(Failure::usage(message).hint(hint));
        }
        self.check_numbers(pools)?;
        self.check_licences(pools)?;
        if pools.links().is_some() {
            self.check_data()?;
        }
        match &self.kind {
            Kind::Federal(federal) => federal.live(&self.text, pools),
            Kind::Learned => {
                let failure = Failure::usage(format!("policy `{}` is for replays", self.text));
                Err(failure.hint("use `easy` or its like"))
            }
            _ => Ok(self.make(pools, SEED)),
        }
    }

    /// The same, planning by what is expected of jobs as far as their demands say that.
    ///
    /// # Errors
    /// As [`PolicySpec::for_market`].
    pub fn for_live_market(&self, pools: &Pools) -> Result<Box<dyn Policy>, Failure> {
        let (inner, again) = (self.for_market(pools)?, self.clone());
        let make = move |pools: &Pools| again.for_market(pools).ok();
        Ok(Box::new(ByExpectation::new(inner, Box::new(make))))
    }

    fn make(&self, pools: &Pools, seed: u64) -> Box<dyn Policy> {
        match &self.kind {
            Kind::Fill(settings) => Box::new(GridFill::new(*settings)),
            Kind::Cycles(settings) => Box::new(Cycles::new(settings.clone())),
            Kind::Bsf(settings) => Box::new(Bsf::new(settings.clone())),
            Kind::Dispatch(settings) => {
                let seed = if self.gives("seed") { settings.seed } else { seed };
                Box::new(Dispatch::new(dispatch::DispatchSettings { seed, ..*settings }))
            }
            Kind::Federal(federal) => federal.build(pools, seed),
            Kind::Learned => Box::<LearnedFill>::default(),
        }
    }
}

/// Whether there is one cluster whose nodes cost nothing, and no job says where it is at home.
pub(super) fn is_plain(workload: &Workload) -> bool {
    let free = |pool: &Pool| pool.price.0 == 0;
    is_one_cluster(workload)
        && workload.pools.rates().is_none()
        && !workload.pools.follow_load()
        && workload.pools.as_slice().iter().all(free)
        && workload.jobs.iter().all(|job| job.terms.as_deref().is_none_or(|it| it.home.is_none()))
}

/// Whether there is one pool of reference nodes that take all jobs, and no job asks for more than
/// processors and time.
fn is_one_cluster(workload: &Workload) -> bool {
    let [pool] = workload.pools.as_slice() else { return false };
    let plainly = |terms: &Terms| Terms { user: 0, home: None, ..terms.clone() } == Terms::NONE;
    !workload.pools.counts_memory()
        && pool.performance == Performance::REFERENCE
        && pool.admission == Admission::NONE
        && workload.jobs.iter().all(|job| job.terms.as_deref().is_none_or(plainly))
}
