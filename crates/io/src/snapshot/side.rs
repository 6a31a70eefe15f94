//! What a log does not say: how fast and dear nodes are, what users pay and when they need it.
//!
//! Every draw comes from a stream of its own, named by what is drawn and for which host or job,
//! from one seed. Draws are whole numbers; the one place with floating point is
//! `market_price`, which uses only operations that every machine rounds alike.

use std::collections::BTreeMap;

use tradewind_model::random::{stream, within};
use tradewind_model::{Criterion, Job, Money, Node, Performance, Price, Ratio, Span, Terms, Time};

use super::Refusal;
use super::offers::Offers;

pub use super::distributions::{DeadlineOf, JobTerms, Model, NodeTerms, Term, Worth};
pub use super::replayed::{Asker, ReplayedTerms};
pub use super::side_file::{load, parse};

/// The model and what replaces it for single jobs and nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Side {
    /// What is drawn.
    pub model: Model,
    /// Whether the file has a model: if not, a replay draws nothing.
    pub drawn: bool,
    /// What is given, by job number.
    pub jobs: BTreeMap<String, JobTerms>,
    /// Factors of bids, by the user's number in the log; for replays.
    pub bid_factors: BTreeMap<i64, Ratio>,
    /// What is given, by node name.
    pub nodes: BTreeMap<String, NodeTerms>,
}

/// A job that needs terms.
pub(super) struct Ask {
    /// Which streams are its own.
    pub(super) key: u64,
    pub(super) tasks: u32,
    pub(super) work: Span,
    /// As the log has it.
    pub(super) run: Span,
    pub(super) arrival: Time,
}

impl Side {
    /// Performance and price of each of `hosts` hosts.
    pub(super) fn hosts(&self, seed: u64, hosts: u32) -> Vec<(Performance, Price)> {
        let model = &self.model;
        let per_block = hosts.div_ceil(model.blocks.max(1)).max(1);
        let blocks = hosts.div_ceil(per_block);
        let classes = shuffled_classes(&model.classes, blocks, seed);
        let host = |n: u32| {
            let performance = classes[(n / per_block) as usize];
            let market = market_price(model.price_base, performance);
            let factor = draw(seed, "price", u64::from(n), model.price_spread);
            (performance, Price(scaled(market.0, factor)))
        };
        (0..hosts).map(host).collect()
    }

    /// Puts in what is given for single nodes.
    pub(super) fn name_nodes(&self, nodes: &mut [Node]) -> Result<(), Refusal> {
        let mut missing: Vec<&str> = self.nodes.keys().map(String::as_str).collect();
        for node in nodes {
            if let Some(terms) = self.nodes.get(&node.name) {
                node.performance = terms.performance.unwrap_or(node.performance);
                node.price = terms.price.unwrap_or(node.price);
                missing.retain(|name| *name != node.name);
            }
        }
        match missing.first() {
            None => Ok(()),
            Some(name) => {
                let hint =
                    "nodes are named `p0001` and so on, from the lowest processor".to_owned();
                Err((format!("the side file names the node `{name}`, which is not there"), hint))
            }
        }
    }

    /// Gives `job`, which the log numbers and which ran for so long, its demands, its money and its
    /// time.
    pub(super) fn terms(
        &self,
        seed: u64,
        (number, run): (i64, Option<Span>),
        at: Time,
        offers: &Offers,
        job: &mut Job,
    ) {
        let given = self.jobs.get(&number.to_string()).cloned().unwrap_or_default();
        let request = &mut job.request;
        let arrival = request.earliest_start.unwrap_or(at).max(at);
        let (tasks, work) = (request.tasks, request.work);
        let ask = Ask { key: number as u64, tasks, work, run: run.unwrap_or(work), arrival };
        let terms = given.over(self.draw(seed, &ask, given.min_performance, offers));
        request.min_performance = terms.min_performance;
        request.max_price = terms.max_price;
        request.budget = terms.budget;
        request.deadline = terms.deadline;
        request.criterion = terms.criterion;
        job.priority = terms.priority;
    }

    /// Draws a job's terms. Money follows from the minimum performance: the given one, if one is,
    /// and that of the slowest nodes where none is drawn either.
    pub(super) fn draw(
        &self,
        seed: u64,
        ask: &Ask,
        min: Option<Performance>,
        offers: &Offers,
    ) -> Terms {
        let (model, key) = (&self.model, ask.key);
        let draws = |term: Term| model.draw.contains(&term);
        let drawn = || model.least_performance(seed, ask, offers);
        let asked = min.or_else(|| draws(Term::MinPerformance).then(drawn));
        let min = asked.unwrap_or_else(|| offers.slowest(&model.classes));
        let price = offers.usual(min);
        let capped = || within(&mut stream(seed, "capped", key), 1, 1_000) <= model.capped.into();
        let cap = (draws(Term::MaxPrice) && capped()).then(|| {
            let cap = Price(scaled(price.0, draw(seed, "cap", key, model.cap)));
            offers.price_for(ask.tasks, min).map_or(cap, |needed| cap.max(needed))
        });
        let worth = value(price, min.length_of(ask.work), ask.tasks);
        let share =
            |noun, range| Money(scaled(worth.0, draw(seed, noun, key, range)).min(Money::MAX.0));
        let worth = |law| match law {
            Worth::OfMarket(range) => share("value", range),
            Worth::Between(low, high) => {
                Money(within(&mut stream(seed, "value", key), low.0, high.0))
            }
        };
        Terms {
            min_performance: asked,
            max_price: cap,
            budget: draws(Term::Budget).then(|| share("budget", model.budget)),
            deadline: model.deadline(seed, ask).filter(|_| draws(Term::Deadline)),
            criterion: match draws(Term::Minimize) {
                true => model.criterion(seed, key),
                false => Criterion::default(),
            },
            value: model.value.map(worth),
            ..Terms::NONE
        }
    }

    /// Adds what the model assumed, as sentences.
    pub(super) fn assume(&self, jobs: &[Job], assumptions: &mut Vec<String>) {
        let classes: Vec<String> = self.model.classes.iter().map(ToString::to_string).collect();
        let of_jobs = self.model.what_jobs_draw();
        assumptions.push(format!(
            "performances ({}) and prices of nodes{of_jobs} are drawn by the side model",
            classes.join(", ")
        ));
        if !self.jobs.is_empty() {
            let known = jobs.iter().filter(|job| self.jobs.contains_key(&job.name)).count();
            assumptions.push(format!("the side file gives terms for {known} jobs of the batch"));
        }
    }
}

impl Model {
    /// `, and budgets and deadlines of jobs,`, for a sentence.
    fn what_jobs_draw(&self) -> String {
        let all = [
            (Term::Budget, "budgets"),
            (Term::Deadline, "deadlines"),
            (Term::Minimize, "criteria"),
        ];
        let drawn = all.into_iter().filter(|(term, _)| self.draw.contains(term));
        match drawn.map(|(_, noun)| noun).collect::<Vec<_>>()[..] {
            [] => String::new(),
            [one] => format!(", and {one} of jobs,"),
            [ref some @ .., last] => format!(", and {} and {last} of jobs,", some.join(", ")),
        }
    }

    /// A class of the slower half, or the fastest below it that enough nodes reach.
    fn least_performance(&self, seed: u64, ask: &Ask, offers: &Offers) -> Performance {
        let mut classes = offers.classes_among(&self.classes);
        classes.sort_unstable();
        let last = classes.len() / 2;
        let mut rng = stream(seed, "min_performance", ask.key);
        let mut index = within(&mut rng, 0, last as i64) as usize;
        index = index.min(classes.len().saturating_sub(1));
        while index > 0 && offers.count(classes[index]) < ask.tasks as usize {
            index -= 1;
        }
        classes.get(index).copied().unwrap_or(Performance::REFERENCE)
    }

    /// None for a job that takes no time: it would be late before it started.
    fn deadline(&self, seed: u64, ask: &Ask) -> Option<Time> {
        let length = match self.deadline_of {
            DeadlineOf::Request => ask.work,
            DeadlineOf::Run => ask.run,
        };
        let length = Some(length.max(self.slack_from)).filter(|length| length.0 > 0)?;
        let slack = draw(seed, "deadline", ask.key, self.slack);
        let deadline = ask.arrival.0.saturating_add(scaled(length.0, slack));
        Some(Time(deadline.min(Time::MAX.0)))
    }

    fn criterion(&self, seed: u64, key: u64) -> Criterion {
        let last = self.criteria.len() as i64 - 1;
        let index = within(&mut stream(seed, "minimize", key), 0, last.max(0));
        self.criteria.get(index as usize).cloned().unwrap_or_default()
    }
}

/// A class per block: equal shares, in an order drawn once.
fn shuffled_classes(classes: &[Performance], blocks: u32, seed: u64) -> Vec<Performance> {
    let class = |b: u32| classes.get(b as usize % classes.len().max(1)).copied();
    let mut all: Vec<Performance> =
        (0..blocks).map(|b| class(b).unwrap_or(Performance::REFERENCE)).collect();
    let mut rng = stream(seed, "class", 0);
    for i in (1..all.len()).rev() {
        all.swap(i, within(&mut rng, 0, i as i64) as usize);
    }
    all
}

/// A factor in thousandths.
fn draw(seed: u64, noun: &str, key: u64, (low, high): (u32, u32)) -> i64 {
    within(&mut stream(seed, noun, key), i64::from(low), i64::from(high))
}

/// `n` × `thousandths` / 1,000, rounded half up.
fn scaled(n: i64, thousandths: i64) -> i64 {
    let product = i128::from(n) * i128::from(thousandths) + 500;
    i64::try_from(product / 1_000).unwrap_or(i64::MAX)
}

/// Price × length × tasks: what the request is worth at the market price (papers 001 and 002:
/// S = C·t·N).
fn value(price: Price, length: Span, tasks: u32) -> Money {
    let all = i128::from(price.0) * i128::from(length.0) * i128::from(tasks);
    Money(i64::try_from(all).unwrap_or(Money::MAX.0).min(Money::MAX.0))
}

/// (`base` / 1,000) to the power of the performance, in micro-credits, rounded to the nearest
/// (paper 001, section 5). At most a million credits.
///
/// The power is made of squarings and square roots, which IEEE 754 rounds exactly, so that the
/// result is the same on every machine.
pub(super) fn market_price(base: u32, performance: Performance) -> Price {
    const MAX: f64 = 1e12;
    let base = f64::from(base) / 1_000.0;
    let exponent = performance.thousandths();
    let mut power = 1.0;
    for _ in 0..(exponent / 1_000).min(1_000) {
        power *= base;
    }
    // The fraction's binary digits: a half, a quarter, …
    let (mut rest, mut root) = (exponent % 1_000, base);
    for _ in 0..24 {
        root = root.sqrt();
        rest *= 2;
        if rest >= 1_000 {
            rest -= 1_000;
            power *= root;
        }
    }
    Price((power * 1e6).clamp(0.0, MAX).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn market_prices_are_powers() {
        let price = |base, p| market_price(base, Performance::from_thousandths(p).unwrap()).0;
        assert_eq!(price(1_700, 1_000), 1_700_000);
        assert_eq!(price(1_700, 2_000), 2_890_000);
        assert_eq!(price(1_700, 3_000), 4_913_000);
        assert_eq!(price(1_700, 1_500), 2_216_529);
        assert_eq!(price(1_300, 1_234), 1_382_312);
        assert_eq!(price(1_700, 1_000_000_000), 1_000_000_000_000);
    }

    #[test]
    fn classes_have_equal_shares() {
        let classes = Model::default().classes;
        let drawn = shuffled_classes(&classes, 16, 3);
        for class in &classes {
            assert_eq!(drawn.iter().filter(|it| *it == class).count(), 4);
        }
        assert_ne!(drawn, shuffled_classes(&classes, 16, 4));
    }

    #[test]
    fn factors_round_half_up() {
        assert_eq!([scaled(1, 499), scaled(1, 500), scaled(3, 1_500)], [0, 1, 5]);
    }
}
