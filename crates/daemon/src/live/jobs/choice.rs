//! What a job could have had when it was given its nodes: written down for people who ask why.

use tradewind_model::{Command, Market, Money, Place, Time};
use tradewind_sched::policy::evaluate::PoolReport;
pub use tradewind_sched::policy::evaluate::{Against, Verdict, WeighedPool};

use crate::live::ApplyError;
use crate::live::Live;
use crate::live::state::{Job, State};

/// Pools that could have had all of the job instead, at the moment of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// When.
    pub at: Time,
    /// Which policy decided.
    pub policy: String,
    /// At most [`Choice::KEPT`]: first those that could have had the job, by start and cost.
    pub others: Vec<WeighedPool>,
    /// So many more there were.
    pub left_out: u32,
}

/// How what a job got stands beside what else there was. Only pools count that could have had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merit {
    /// Others that could have had the job.
    pub others: usize,
    /// Of them: could have begun it at once, too.
    pub at_once: usize,
    /// Of these: would have cost less.
    pub at_once_cheaper: usize,
    /// Of those that begin at once: would have been done sooner.
    pub at_once_faster: usize,
    /// Of all: would have cost less.
    pub cheaper: usize,
}

impl Choice {
    /// Other pools that are written down.
    pub const KEPT: usize = 8;

    fn new(
        market: &Market,
        policy: &str,
        weighed: Vec<WeighedPool>,
        place: &Place,
        tasks: u32,
    ) -> Choice {
        // Of a job that lies on several pools, each of them might have had it alone.
        let is_spread = place.shares(tasks).count() > 1;
        let is_own = |it: &WeighedPool| place.shares(tasks).any(|share| share.pool == it.pool);
        let is_other = |it: &WeighedPool| is_spread || !is_own(it);
        let mut others: Vec<WeighedPool> = weighed.into_iter().filter(is_other).collect();
        others.sort_by_key(|it| match it.verdict {
            Verdict::From(start) => (start, it.price.of(tasks, it.length)),
            Verdict::Against(_) => (Time::MAX, Money::ZERO),
        });
        let left_out = u32::try_from(others.len().saturating_sub(Choice::KEPT)).unwrap_or(u32::MAX);
        others.truncate(Choice::KEPT);
        Choice { at: market.now(), policy: policy.to_owned(), others, left_out }
    }

    /// Beside what the job got: its parts.
    pub fn merit(&self, job: &Job) -> Merit {
        let tasks = job.nodes();
        let cost: Money = job.parts().iter().map(|it| it.price.of(it.nodes, it.limit)).sum();
        let length = job.parts().iter().map(|it| it.limit).max().unwrap_or_default();
        let mut merit = Merit::default();
        for other in &self.others {
            let Verdict::From(start) = other.verdict else { continue };
            let is_cheaper = other.price.of(tasks, other.length) < cost;
            let at_once = start <= self.at;
            merit.others += 1;
            merit.cheaper += usize::from(is_cheaper);
            merit.at_once += usize::from(at_once);
            merit.at_once_cheaper += usize::from(at_once && is_cheaper);
            merit.at_once_faster += usize::from(at_once && other.length < length);
        }
        merit
    }
}

impl Live {
    /// At most so many pools are weighed in one pass, of all jobs that start together: those that
    /// come later are not told what else there was.
    const WEIGHED: usize = 100_000;

    /// What each job that is to start now could have had instead, one after the other. Nothing
    /// where there is one pool.
    pub(in crate::live) fn choices(&self, commands: &[Command]) -> Vec<(u64, Choice)> {
        let market = &self.state.market;
        let pools = market.pools().as_slice().len();
        if pools < 2 {
            return Vec::new();
        }
        let starts = commands.iter().filter_map(|command| match command {
            Command::Start { job, place } => Some((job, place)),
            _ => None,
        });
        let mut scales = None;
        let choice = |(job, place)| {
            let (number, demand) = (*self.state.jobs.numbers.get(job)?, market.demand(*job)?);
            let shape = demand.shape_at(place);
            let demand = shape.as_ref().unwrap_or(demand);
            let scales = scales.get_or_insert_with(|| PoolReport::of(market));
            let weighed = self.state.only_counted(scales.weigh(market, demand));
            scales.take(market, demand, place);
            let policy = &self.state.policy;
            Some((number, Choice::new(market, policy, weighed, place, demand.processors)))
        };
        starts.take(Live::WEIGHED / pools).filter_map(choice).collect()
    }

    /// All pools as they would have the job now, as if no other job waited, in the market's order.
    ///
    /// # Errors
    /// If no nodes could ever meet what it asks for: the message says what is missing.
    pub fn weigh(&self, job: &Job) -> Result<Vec<WeighedPool>, crate::live::Refusal> {
        let demand = self.demand_of(&job.user, &job.submission)?;
        let weighed = PoolReport::of(&self.state.market).weigh(&self.state.market, &demand);
        Ok(self.state.only_counted(weighed))
    }
}

impl State {
    /// Without starts in pools of sites that are not counted on: when these are free is not known.
    fn only_counted(&self, weighed: Vec<WeighedPool>) -> Vec<WeighedPool> {
        let of = |it: WeighedPool| match it.verdict {
            Verdict::From(_) if !self.is_counted_on(self.site_of(it.pool)) => {
                WeighedPool { verdict: Verdict::Against(Against::Never), ..it }
            }
            _ => it,
        };
        weighed.into_iter().map(of).collect()
    }

    /// A job has just been given its nodes.
    pub(in crate::live) fn chose(
        &mut self,
        number: u64,
        choice: &Choice,
    ) -> Result<(), ApplyError> {
        self.running(number)?;
        self.job(number)?.choice = Some(choice.clone());
        Ok(())
    }
}
