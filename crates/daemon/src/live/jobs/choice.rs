//! What jobs could have instead, where they are given their nodes.

use tradewind_model::Command;
use tradewind_sched::policy::evaluate::{Against, PoolReport, Verdict, WeighedPool};

use crate::live::Live;
use crate::live::state::jobs::choice::Choice;
use crate::live::state::{Job, State};

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
}
