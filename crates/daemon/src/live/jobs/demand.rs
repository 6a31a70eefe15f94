//! What a submission asks of the market.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_io::submission::{Conditions, Submission, TimeLimit};
use tradewind_model::{
    Attribute, Attributes, Criterion, Demand, JobShape, Licence, LicenceShare, LicenceShares,
    Market, Money, Pool, PoolId, Pools, Request, Shapes, SiteId, Span, Spread, Terms,
};

use super::data;
pub(in crate::live) use super::width::Most;
use crate::live::Live;
use crate::live::answer::{Refusal, RefusalKind};
use crate::live::state::State;
use crate::live::width::{Group, PoolWidth, groups};
use crate::site::resources::Resources;
use crate::site::size::Size;

/// The attribute by which a pool's site is asked for.
pub(in crate::live) const SITE: &str = "site";
/// The attribute by which a pool is asked for by its own name.
pub(in crate::live) const POOL: &str = "pool";
/// The attribute by which a node class is asked for.
pub(in crate::live) const CLASS: &str = "class";
/// The attribute by which pools are asked for whose nodes have the memory and the generic resources:
/// each pool's is its full name.
pub const RESOURCES: &str = "resources";

/// What a job asks of the market, once it is known which pools it may have.
#[derive(Debug, Clone)]
pub(in crate::live) struct Chosen {
    pub demand: Demand,
    /// Processors of each of its nodes at least, where sites have told.
    pub processors: Option<u32>,
}

impl Live {
    /// What the submission would ask of the market, if `user` submitted it now, whether or not enough
    /// nodes suit it now: prices change.
    ///
    /// # Errors
    /// If it names sites, pools or classes that are not there.
    pub fn wish_of(&self, user: &str, submission: &Submission) -> Result<Demand, Refusal> {
        let place = self.place_of(user);
        let wishes = Wishes::of(submission, place, &self.state, &self.max)?;
        Ok(wishes.best(None).demand)
    }

    /// Whether it may need fewer nodes than it seems, since not all pools were looked at yet.
    pub(in crate::live) fn may_be_smaller(&self, submission: &Submission) -> bool {
        let mut pools = self.state.market.pools().iter();
        submission.shape.is_some() && pools.any(|(id, _)| !self.max.contains_key(&id))
    }

    /// What the nodes of a job are, if it has several and all that suit it are slots of one machine; for
    /// people.
    pub fn slots_for_nodes(&self, number: u64) -> Option<String> {
        let job = self.state.jobs.get(&number).filter(|job| job.nodes() > 1)?;
        let demand = self.demand_of(&job.user, &job.submission).ok()?;
        let pools = self.state.market.pools();
        let is_slot = |id: &PoolId| {
            self.max.get(id).is_some_and(|has| matches!(has.size, Some(Size::Slot(_))))
        };
        let all: Vec<(PoolId, &Pool)> =
            pools.iter().filter(|(_, pool)| pool.suits(&demand)).collect();
        let are_slots = !all.is_empty() && all.iter().all(|(id, _)| is_slot(id));
        let is_one = all.iter().any(|(_, pool)| pool.nodes >= job.nodes());
        are_slots.then(|| {
            let runs = match is_one {
                true => "once, in the first of them",
                false => "once in each pool that it has slots of, in the first of them",
            };
            format!(
                "{} nodes are slots of one machine here: the script runs {runs}; TRADEWIND_NODES names \
                 its slots",
                job.nodes()
            )
        })
    }

    pub(in crate::live) fn place_of(&self, user: &str) -> usize {
        let users = &self.state.jobs.users;
        users.iter().position(|it| it == user).unwrap_or(users.len())
    }
}

/// The demand of one job of `user`, who is the `place`th of all users.
///
/// # Errors
/// If no nodes could ever meet it: the message says what is missing.
pub(in crate::live) fn demand(
    submission: &Submission,
    place: usize,
    state: &State,
    max: &Most,
) -> Result<Demand, Refusal> {
    choose(submission, place, state, max, None, &BTreeMap::new()).map(|chosen| chosen.demand)
}

/// What a job asks for whose window of so many nodes is booked: these, whatever is known of nodes
/// now.
///
/// # Errors
/// As [`demand`].
pub(in crate::live) fn promised(
    submission: &Submission,
    place: usize,
    state: &State,
    max: &Most,
    width: u32,
) -> Result<Chosen, Refusal> {
    let wishes = Wishes::of(submission, place, state, max)?;
    if let Some(shapes) = &submission.terms.shapes {
        // The window's shape was promised, and no other.
        let estimate = shapes.of_width(width).map_or(wishes.estimate, |shape| shape.time);
        let terms = Some(Arc::new(wishes.base));
        return Ok(Chosen {
            demand: Demand { terms, ..Demand::new(width, estimate) },
            processors: None,
        });
    }
    if wishes.groups.iter().any(|group| group.width == width) {
        return choose(submission, place, state, max, Some(width), &BTreeMap::new());
    }
    let terms = Some(Arc::new(wishes.base));
    let demand = Demand { terms, ..Demand::new(width, wishes.estimate) };
    let nodes = suitable(&demand, state.market.pools());
    match nodes >= u64::from(width) {
        true => Ok(Chosen { demand, processors: None }),
        false => Err(few(&demand, nodes)),
    }
}

/// The same as [`demand`], and what it was computed with. Pools of which the job needs `width`
/// nodes come first, if that is given.
///
/// # Errors
/// As [`demand`].
pub(in crate::live) fn choose(
    submission: &Submission,
    place: usize,
    state: &State,
    max: &Most,
    width: Option<u32>,
    closed: &BTreeMap<PoolId, String>,
) -> Result<Chosen, Refusal> {
    let mut wishes = Wishes::of(submission, place, state, max)?;
    wishes.close(closed);
    let chosen = wishes.best(width);
    let nodes = suitable(&chosen.demand, state.market.pools());
    match nodes >= u64::from(chosen.demand.processors) && !wishes.groups.is_empty() {
        true => short_group(&chosen.demand, state.market.pools()).map_or(Ok(chosen), Err),
        false => Err(wishes.refusal(&chosen, nodes, max)),
    }
}

/// Smaller is better: too few nodes, never looked at, not enough free now, cost, nodes, width.
type Rank = (bool, bool, bool, Money, Reverse<u64>, u32);

/// All that a submission could ask of a market: a number of nodes for each group of pools.
struct Wishes<'a> {
    submission: &'a Submission,
    market: &'a Market,
    /// Without a number of nodes.
    base: Terms,
    estimate: Span,
    groups: Vec<Group>,
    /// Pools that could not have it, and what their nodes have.
    unfit: Vec<(PoolId, String)>,
}

impl<'a> Wishes<'a> {
    fn of(
        submission: &'a Submission,
        place: usize,
        state: &'a State,
        max: &Most,
    ) -> Result<Wishes<'a>, Refusal> {
        let market = &state.market;
        let (terms, pools) = (&submission.terms, market.pools());
        let mut attributes = terms.attributes.clone();
        one_of(&mut attributes, SITE, &terms.sites, pools)?;
        one_of(&mut attributes, POOL, &own_names(&terms.pools, pools), pools)?;
        drop_needless_sites(&mut attributes, pools);
        let estimate = match &submission.time {
            TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => *limit,
            TimeLimit::Classes(classes) => {
                let names: Vec<String> = classes.keys().cloned().collect();
                one_of(&mut attributes, CLASS, &names, pools)?;
                work(classes, pools)
            }
        };
        let base = Terms {
            user: place as i64,
            priority: terms.priority,
            home: None,
            value: terms.value,
            bid_factor: None,
            min_performance: terms.min_performance,
            max_price: terms.max_price,
            budget: terms.budget,
            earliest_start: terms.earliest_start.map(|at| at + state.lead()),
            deadline: terms.deadline.map(|at| at + state.lead()),
            criterion: terms.criterion.clone(),
            attributes,
            times: submission.time.mode(),
            spread: terms.spread,
            memory: None,
            shapes: None,
            groups: terms.groups.clone(),
            preemptible: None,
            licences: licences(terms, pools)?,
            data: data::staging(terms, pools)?,
        };
        let (groups, unfit) = groups(submission, pools, max);
        Ok(Wishes { submission, market, base, estimate, groups, unfit })
    }

    /// The group that is best for the job now: first those that have enough nodes which suit it;
    /// of them, for a job that wants to begin or end early, those that have enough free now; then
    /// the cheapest, then the one with more nodes. A job waits for one group, and chooses again
    /// whenever it joins the queue.
    fn best(&self, width: Option<u32>) -> Chosen {
        let ranked = self.groups.iter().map(|group| {
            let is_other = width.is_some_and(|width| group.width != width);
            ((is_other, self.rank(group)), group)
        });
        match ranked.min_by_key(|(rank, _)| *rank) {
            Some((_, group)) => self.chosen(group),
            None => Chosen { demand: self.of_none(), processors: None },
        }
    }

    /// Leaves pools out that may not have the job.
    fn close(&mut self, closed: &BTreeMap<PoolId, String>) {
        for group in &mut self.groups {
            group.pools.retain(|id| !closed.contains_key(id));
        }
        self.groups.retain(|group| !group.pools.is_empty());
    }

    fn rank(&self, group: &Group) -> Rank {
        let demand = self.chosen(group).demand;
        let suits = |(_, pool): &(PoolId, &Pool)| pool.suits(&demand);
        let pools: Vec<(PoolId, &Pool)> = self.market.pools().iter().filter(suits).collect();
        let nodes = together(&demand, pools.iter().map(|(_, pool)| (*pool, pool.nodes)));
        let free = |id: PoolId| self.market.free_in(id);
        let free = together(&demand, pools.iter().map(|(id, pool)| (*pool, free(*id))));
        let is_short = nodes < u64::from(group.width);
        let is_hasty = matches!(self.base.criterion, Criterion::Start | Criterion::Finish);
        let now = self.market.now();
        let cost = |(id, pool): &(PoolId, &Pool)| {
            let length = pool.length_of(&demand);
            self.market.pools().asked(*id, now, length).of(group.width, length)
        };
        let cost = pools.iter().map(cost).min().unwrap_or(Money::ZERO);
        let waits = is_hasty && free < u64::from(group.width);
        (is_short, !group.is_known, waits, cost, Reverse(nodes), group.width)
    }

    fn chosen(&self, group: &Group) -> Chosen {
        let mut terms = self.base.clone();
        let pools = self.market.pools();
        if group.pools.len() < pools.as_slice().len() {
            let names = group.pools.iter().map(|id| pools.pool(*id).name.clone());
            terms.attributes.insert(RESOURCES.to_owned(), Attribute::OneOf(names.collect()));
        }
        let (estimate, terms) = (self.estimate, Some(Arc::new(terms)));
        let processors = group.processors.filter(|_| self.submission.shape.is_some());
        let demand = Demand { terms, ..Demand::new(group.width, estimate) };
        Chosen { demand: self.in_possible_shapes(demand), processors }
    }

    /// The demand of a moldable job with those of its shapes of which there are enough nodes that suit
    /// them; as it is, if there is none.
    fn in_possible_shapes(&self, demand: Demand) -> Demand {
        let shapes =
            self.submission.terms.shapes.iter().flat_map(tradewind_model::Shapes::as_slice);
        let of =
            |it: &JobShape| Demand { processors: it.nodes, estimate: it.time, ..demand.clone() };
        let pools = self.market.pools();
        let fits = |it: &&JobShape| suitable(&of(it), pools) >= u64::from(it.nodes);
        let possible: Vec<JobShape> = shapes.filter(fits).copied().collect();
        let Some(first) = possible.first() else { return demand };
        let shapes = Shapes::new(&possible).ok().flatten();
        let terms = Some(Arc::new(Terms { shapes, ..demand.terms().clone() }));
        Demand { terms, ..of(first) }
    }

    /// Where no pool could have it.
    fn of_none(&self) -> Demand {
        let mut terms = self.base.clone();
        terms.attributes.insert(RESOURCES.to_owned(), Attribute::OneOf(Vec::new()));
        let (processors, terms) = (self.submission.tasks, Some(Arc::new(terms)));
        Demand { terms, ..Demand::new(processors, self.estimate) }
    }

    /// Why no nodes could ever meet what was asked for.
    fn refusal(&self, chosen: &Chosen, nodes: u64, max: &Most) -> Refusal {
        let pools = self.market.pools();
        let asked = Resources::asked(&self.submission.passed_through);
        let is_rich = |has: &PoolWidth| has.max.as_ref().is_none_or(|max| max.hold(&asked));
        if !max.values().all(is_rich) {
            return poor(chosen.demand.processors, &asked, nodes, pools, max);
        }
        if !self.groups.is_empty() || self.unfit.is_empty() {
            return few(&chosen.demand, nodes);
        }
        let each = self.unfit.iter().map(|(id, has)| format!("{}: {has}", pools.pool(*id).name));
        let message = format!("{} do not fit on any node", self.submission.layout().words());
        let hint = format!("nodes have: {}", each.collect::<Vec<_>>().join("; "));
        Refusal::new(RefusalKind::Invalid, message, hint)
    }
}

/// Pools that all lie at the sites which are asked for say more than these: what binds a job to
/// them is then one limit, which can be lifted alone.
fn drop_needless_sites(attributes: &mut Attributes, pools: &Pools) {
    let (Some(wanted), Some(sites)) = (attributes.get(POOL), attributes.get(SITE)) else { return };
    let is_wanted = |pool: &&Pool| Attribute::meets(pool.attributes.get(POOL), wanted);
    let is_there = |pool: &Pool| Attribute::meets(pool.attributes.get(SITE), sites);
    if pools.as_slice().iter().filter(is_wanted).all(is_there) {
        attributes.remove(SITE);
    }
}

/// Pools may be called as lists show them, `SITE/POOL`. Their own names are unique among all sites.
fn own_names(wanted: &[String], pools: &Pools) -> Vec<String> {
    let own_name = |text: &String| {
        let pool = pools.as_slice().iter().find(|pool| pool.name == *text);
        match pool.and_then(|pool| pool.attributes.get(POOL)) {
            Some(Attribute::Text(own)) => own.clone(),
            _ => text.clone(),
        }
    };
    wanted.iter().map(own_name).collect()
}

/// What is known of a job that no nodes here suit: enough to ask others for it.
pub(in crate::live) fn loosely(submission: &Submission, place: usize) -> Demand {
    let terms = &submission.terms;
    let estimate = match &submission.time {
        TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => *limit,
        TimeLimit::Classes(classes) => classes.values().copied().max().unwrap_or(Span(1)),
    };
    let (user, times) = (place as i64, submission.time.mode());
    let terms = Terms { user, budget: terms.budget, times, ..Terms::default() };
    Demand { terms: Some(Arc::new(terms)), ..Demand::new(submission.tasks, estimate) }
}

/// Restricts to nodes whose attribute `name` is one of `wanted`, all of which must exist.
fn one_of(
    attributes: &mut Attributes,
    name: &str,
    wanted: &[String],
    pools: &Pools,
) -> Result<(), Refusal> {
    if wanted.is_empty() {
        return Ok(());
    }
    let has = |text: &String| {
        let text = Attribute::Text(text.clone());
        pools.as_slice().iter().any(|pool| pool.attributes.get(name) == Some(&text))
    };
    if let Some(unknown) = wanted.iter().find(|text| !has(text)) {
        let names = pools.as_slice().iter().filter_map(|pool| pool.attributes.get(name));
        let mut names: Vec<String> = names.map(ToString::to_string).collect();
        names.sort_unstable();
        names.dedup();
        let message = format!("there is no {name} `{unknown}`");
        let hint = format!("there are: {}", names.join(", "));
        return Err(Refusal::new(RefusalKind::Invalid, message, hint));
    }
    attributes.insert(name.to_owned(), Attribute::OneOf(wanted.to_vec()));
    Ok(())
}

/// What a job takes along, by the names that the market has for it.
fn licences(terms: &Conditions, pools: &Pools) -> Result<LicenceShares, Refusal> {
    let Some(wanted) = &terms.licences else { return Ok(None) };
    if terms.groups.is_some() {
        // It starts in a window that is set aside, and licences cannot be.
        let message = "a job with groups of tasks cannot take licences along";
        let hint = "leave out `--licenses`, or submit the groups as jobs of their own";
        return Err(Refusal::new(RefusalKind::Invalid, message, hint));
    }
    let mut shares = Vec::new();
    for (name, &count) in wanted {
        let refused = |message: String| {
            let of = |it: &Licence| format!("{} (of which there are {})", it.name, it.count);
            let known: Vec<String> = pools.licences().iter().map(of).collect();
            let hint = match &known[..] {
                [] => "this market counts no licences: leave out `--licenses`".to_owned(),
                _ => format!("there are: {}", known.join(", ")),
            };
            Refusal::new(RefusalKind::Invalid, message, hint)
        };
        let unknown = || refused(format!("there is no licence `{name}`"));
        let licence = pools.licence(name).ok_or_else(unknown)?;
        let there_are = pools.licences()[licence.index()].count;
        if count > there_are {
            return Err(refused(format!("needs {count} of the licence `{name}`")));
        }
        shares.push(LicenceShare { licence, count });
    }
    shares.sort_unstable_by_key(|share| share.licence);
    Ok(Some(shares.into()))
}

/// The work that is enough on nodes of every class: the most of limit × performance.
fn work(classes: &std::collections::BTreeMap<String, Span>, pools: &Pools) -> Span {
    let of = |pool: &Pool| match pool.attributes.get(CLASS) {
        Some(Attribute::Text(class)) => Some(pool.performance.work_in(*classes.get(class)?)),
        _ => None,
    };
    pools.as_slice().iter().filter_map(of).max().unwrap_or(Span(1))
}

/// Nodes that suit, if nothing else ran.
pub(in crate::live) fn suitable(demand: &Demand, pools: &Pools) -> u64 {
    let suits = |pool: &&Pool| pool.suits(demand);
    together(demand, pools.as_slice().iter().filter(suits).map(|pool| (pool, pool.nodes)))
}

/// The most of these numbers of nodes that one job may have: in all, or at one site.
fn together<'a>(demand: &Demand, counts: impl Iterator<Item = (&'a Pool, u32)>) -> u64 {
    let mut of_sites: BTreeMap<Option<SiteId>, u64> = BTreeMap::new();
    for (pool, nodes) in counts {
        let site = (demand.terms().spread == Spread::Site).then_some(pool.site);
        *of_sites.entry(site).or_default() += u64::from(nodes);
    }
    of_sites.into_values().max().unwrap_or(0)
}

/// Why the nodes together could not run one of the groups of a job whose tasks differ, if so.
fn short_group(demand: &Demand, pools: &Pools) -> Option<Refusal> {
    demand.terms().groups.as_ref()?;
    let one = |group: Request| {
        let Request { tasks, work, min_performance, attributes, .. } = group;
        let terms = demand.terms().clone();
        let terms = Terms { min_performance, attributes, groups: None, ..terms };
        let of_group = Demand { terms: Some(Arc::new(terms)), ..Demand::new(tasks, work) };
        let nodes = suitable(&of_group, pools);
        (nodes < u64::from(tasks)).then(|| few(&of_group, nodes))
    };
    let request = demand.request();
    let mut short = (0..).zip(request.groups()).filter_map(|(at, it)| Some((at, one(it)?)));
    let (at, refusal): (u32, Refusal) = short.next()?;
    Some(Refusal { message: format!("group {at} {}", refusal.message), ..refusal })
}

/// All nodes together could not run the job, if nothing else did.
fn few(demand: &Demand, nodes: u64) -> Refusal {
    let tasks = demand.processors;
    if demand.terms().data.is_some() {
        let message = format!(
            "needs {tasks} nodes, and {nodes} suit to which its data can be brought and back"
        );
        let hint = "`tradewind sites` lists the links: ask for nodes elsewhere, or leave out `--data-in` and `--data-out`";
        return Refusal::new(RefusalKind::Invalid, message, hint);
    }
    let (at_one, hint) = match demand.terms().spread {
        Spread::Site => {
            (" at one site", "ask for fewer nodes, or for nodes at several sites: `spread`")
        }
        Spread::Grid => {
            ("", "ask for fewer nodes, or for less of each: performance, attributes, sites, price")
        }
    };
    let message = format!("needs {tasks} nodes, and {nodes} suit{at_one}");
    Refusal::new(RefusalKind::Invalid, message, hint)
}

/// The same, where some have too little memory or too few generic resources.
fn poor(width: u32, asked: &Resources, nodes: u64, pools: &Pools, max: &Most) -> Refusal {
    let message = format!("needs {width} nodes that have {asked} each, and {nodes} suit");
    let known = max.iter().filter_map(|(id, has)| Some((id, has.max.as_ref()?)));
    let each = known.map(|(id, max)| format!("{}: {max}", pools.pool(*id).name));
    let each: Vec<String> = each.collect();
    let hint = format!("the most that a node has: {}", each.join("; "));
    Refusal::new(RefusalKind::Invalid, message, hint)
}
