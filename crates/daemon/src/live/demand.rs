//! What a submission asks of the market.

use std::sync::Arc;

use tradewind_io::submission::{Submission, TimeLimit};
use tradewind_model::{Attribute, Demand, Pools, Span, Terms};

use super::Live;
use super::input::{Kind, Refusal};

/// The attribute by which a pool's site is asked for.
pub(super) const SITE: &str = "site";
/// The attribute by which a pool is asked for by its own name.
pub(super) const POOL: &str = "pool";
/// The attribute by which a node class is asked for.
pub(super) const CLASS: &str = "class";

impl Live {
    /// What the submission would ask of the market, if `user` handed it in now.
    ///
    /// # Errors
    /// If no nodes could ever meet it: the message says what is missing.
    pub fn demand_of(&self, user: &str, submission: &Submission) -> Result<Demand, Refusal> {
        demand(submission, self.place_of(user), self.state.market.pools())
    }

    /// The same, whether or not enough nodes suit it now: prices change.
    ///
    /// # Errors
    /// If it names sites, pools or classes that are not there.
    pub fn wish_of(&self, user: &str, submission: &Submission) -> Result<Demand, Refusal> {
        wish(submission, self.place_of(user), self.state.market.pools())
    }

    fn place_of(&self, user: &str) -> usize {
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
) -> Result<Demand, Refusal> {
    let demand = wish(submission, place, pools)?;
    enough(&demand, pools)?;
    Ok(demand)
}

fn wish(submission: &Submission, place: usize, pools: &Pools) -> Result<Demand, Refusal> {
    let terms = &submission.terms;
    let mut attributes = terms.attributes.clone();
    one_of(&mut attributes, SITE, &terms.sites, pools)?;
    one_of(&mut attributes, POOL, &own_names(&terms.pools, pools), pools)?;
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
    attributes: &mut tradewind_model::Attributes,
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
    let of = |pool: &tradewind_model::Pool| match pool.attributes.get(CLASS) {
        Some(Attribute::Text(class)) => {
            let thousandths = i64::from(pool.performance.thousandths());
            let limit = classes.get(class)?;
            Some(Span((limit.0.saturating_mul(thousandths) + 999) / 1_000))
        }
        _ => None,
    };
    pools.as_slice().iter().filter_map(of).max().unwrap_or(Span(1))
}

/// Whether all nodes together could run the job, if nothing else did.
fn enough(demand: &Demand, pools: &Pools) -> Result<(), Refusal> {
    let suits = |pool: &&tradewind_model::Pool| pool.suits(demand);
    let nodes: u64 = pools.as_slice().iter().filter(suits).map(|pool| u64::from(pool.nodes)).sum();
    if nodes >= u64::from(demand.processors) {
        return Ok(());
    }
    let message = format!("needs {} nodes, and {nodes} suit", demand.processors);
    let hint = "ask for fewer nodes, or for less of each: performance, attributes, sites, price";
    Err(Refusal::new(Kind::Invalid, message, hint))
}
