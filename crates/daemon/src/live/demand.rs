//! What a submission asks of the market.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_io::submission::{Submission, TimeLimit};
use tradewind_model::{Attribute, Attributes, Demand, Pool, PoolId, Pools, Span, Terms};

use super::Live;
use super::input::{Kind, Refusal};
use crate::site::resources::Resources;

/// The attribute by which a pool's site is asked for.
pub(super) const SITE: &str = "site";
/// The attribute by which a pool is asked for by its own name.
pub(super) const POOL: &str = "pool";
/// The attribute by which a node class is asked for.
pub(super) const CLASS: &str = "class";
/// The attribute by which pools are asked for whose nodes have the memory and the generic resources:
/// each pool's is its full name.
pub const RESOURCES: &str = "resources";

/// By pool, the most of each resource that a node can give a job, where that is known.
pub(super) type Most = BTreeMap<PoolId, Resources>;

impl Live {
    /// What the submission would ask of the market, if `user` handed it in now, whether or not enough nodes suit it now: prices change.
    ///
    /// # Errors
    /// If it names sites, pools or classes that are not there.
    pub fn wish_of(&self, user: &str, submission: &Submission) -> Result<Demand, Refusal> {
        wish(submission, self.place_of(user), self.state.market.pools(), &self.most)
    }

    pub(super) fn place_of(&self, user: &str) -> usize {
        let users = &self.state.users;
        users.iter().position(|it| it == user).unwrap_or(users.len())
    }
}

/// The demand of one job of `user`, who is the `place`th of all users.
///
/// # Errors
/// If no nodes could ever meet it: the message says what is missing.
pub(super) fn demand(
    submission: &Submission,
    place: usize,
    pools: &Pools,
    most: &Most,
) -> Result<Demand, Refusal> {
    let demand = wish(submission, place, pools, most)?;
    let nodes = suitable(&demand, pools);
    if nodes >= u64::from(demand.processors) {
        return Ok(demand);
    }
    Err(match demand.terms().attributes.contains_key(RESOURCES) {
        true => poor(submission, nodes, pools, most),
        false => few(submission.tasks, nodes),
    })
}

fn wish(
    submission: &Submission,
    place: usize,
    pools: &Pools,
    most: &Most,
) -> Result<Demand, Refusal> {
    let terms = &submission.terms;
    let mut attributes = terms.attributes.clone();
    one_of(&mut attributes, SITE, &terms.sites, pools)?;
    one_of(&mut attributes, POOL, &own_names(&terms.pools, pools), pools)?;
    drop_needless_sites(&mut attributes, pools);
    rich_enough(&mut attributes, &submission.passed_through, pools, most);
    let estimate = match &submission.time {
        TimeLimit::Reference(span) => *span,
        TimeLimit::Classes(classes) => {
            let names: Vec<String> = classes.keys().cloned().collect();
            one_of(&mut attributes, CLASS, &names, pools)?;
            work(classes, pools)
        }
    };
    Ok(Demand {
        processors: submission.tasks,
        estimate,
        terms: Some(Arc::new(Terms {
            user: place as i64,
            priority: terms.priority,
            home: None,
            value: terms.value,
            min_performance: terms.min_performance,
            max_price: terms.max_price,
            budget: terms.budget,
            earliest_start: terms.earliest_start,
            deadline: terms.deadline,
            criterion: terms.criterion.clone(),
            attributes,
        })),
    })
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
pub(super) fn loosely(submission: &Submission, place: usize) -> Demand {
    let terms = &submission.terms;
    let estimate = match &submission.time {
        TimeLimit::Reference(span) => *span,
        TimeLimit::Classes(classes) => classes.values().copied().max().unwrap_or(Span(1)),
    };
    let terms = Terms { user: place as i64, budget: terms.budget, ..Terms::default() };
    Demand { processors: submission.tasks, estimate, terms: Some(Arc::new(terms)) }
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
        return Err(Refusal::new(Kind::Invalid, message, hint));
    }
    attributes.insert(name.to_owned(), Attribute::OneOf(wanted.to_vec()));
    Ok(())
}

/// The work that is enough on nodes of every class: the most of limit × performance.
fn work(classes: &std::collections::BTreeMap<String, Span>, pools: &Pools) -> Span {
    let of = |pool: &Pool| match pool.attributes.get(CLASS) {
        Some(Attribute::Text(class)) => {
            let thousandths = i64::from(pool.performance.thousandths());
            let limit = classes.get(class)?;
            Some(Span((limit.0.saturating_mul(thousandths) + 999) / 1_000))
        }
        _ => None,
    };
    pools.as_slice().iter().filter_map(of).max().unwrap_or(Span(1))
}

/// Restricts to pools whose nodes have the memory and the generic resources that managers are asked
/// for, if others are known to have less.
fn rich_enough(
    attributes: &mut Attributes,
    options: &[(String, String)],
    pools: &Pools,
    most: &Most,
) {
    let asked = Resources::asked(options);
    let is_rich = |id: PoolId| most.get(&id).is_none_or(|most| most.hold(&asked));
    if pools.iter().all(|(id, _)| is_rich(id)) {
        return;
    }
    let rich = pools.iter().filter(|(id, _)| is_rich(*id)).map(|(_, pool)| pool.name.clone());
    attributes.insert(RESOURCES.to_owned(), Attribute::OneOf(rich.collect()));
}

/// Nodes that suit, if nothing else ran.
pub(super) fn suitable(demand: &Demand, pools: &Pools) -> u64 {
    let suits = |pool: &&Pool| pool.suits(demand);
    pools.as_slice().iter().filter(suits).map(|pool| u64::from(pool.nodes)).sum()
}

/// All nodes together could not run the job, if nothing else did.
fn few(tasks: u32, nodes: u64) -> Refusal {
    let message = format!("needs {tasks} nodes, and {nodes} suit");
    let hint = "ask for fewer nodes, or for less of each: performance, attributes, sites, price";
    Refusal::new(Kind::Invalid, message, hint)
}

/// The same, where some have too little memory or too few generic resources.
fn poor(submission: &Submission, nodes: u64, pools: &Pools, most: &Most) -> Refusal {
    let asked = Resources::asked(&submission.passed_through);
    let tasks = submission.tasks;
    let message = format!("needs {tasks} nodes that have {asked} each, and {nodes} suit");
    let each = most.iter().map(|(id, most)| format!("{}: {most}", pools.pool(*id).name));
    let each: Vec<String> = each.collect();
    let hint = format!("the most that a node has: {}", each.join("; "));
    Refusal::new(Kind::Invalid, message, hint)
}
