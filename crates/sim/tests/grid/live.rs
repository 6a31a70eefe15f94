//! What tests of live markets share: a policy without memory, and one that is watched.

use tradewind_model::{Command, Event, JobId, Market, Place, Reason, Share};
use tradewind_sched::policy::Policy;
use tradewind_sim::retrace::{Began, Step};

/// First come, first served, on whatever nodes are free. It remembers nothing, so it may begin
/// anywhere.
#[derive(Debug, Default)]
pub(crate) struct Greedy;

impl Policy for Greedy {
    fn decide(&mut self, market: &Market, _: &[Event], commands: &mut Vec<Command>) {
        let pools: Vec<_> = market.pools().iter().map(|(id, _)| id).collect();
        let mut free: Vec<u32> = pools.iter().map(|id| market.free_in(*id)).collect();
        for job in market.queue() {
            let wanted = market.demand(job).unwrap().processors;
            if wanted == 5 {
                let reason = Reason::WiderThanQueues { needed: 5, widest: 4 };
                commands.push(Command::Refuse { job, reason });
                continue;
            }
            if free.iter().sum::<u32>() < wanted {
                return;
            }
            let (mut left, mut shares) = (wanted, Vec::new());
            for (pool, free) in pools.iter().zip(&mut free) {
                let nodes = left.min(*free);
                (left, *free) = (left - nodes, *free - nodes);
                shares.extend((nodes > 0).then_some(Share { pool: *pool, nodes }));
            }
            commands.push(Command::Start { job, place: Place::of(shares) });
        }
    }
}

/// Does nothing, ever.
pub(crate) struct Idle;

impl Policy for Idle {
    fn decide(&mut self, _: &Market, _: &[Event], _: &mut Vec<Command>) {}
}

/// Makes a policy that has seen nothing.
pub(crate) type Maker = Box<dyn Fn() -> Box<dyn Policy> + Send>;

/// Writes down what a policy got and answered, and keeps the market of one pass.
pub(crate) struct Recorder {
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) steps: Vec<Step<()>>,
    /// Which pass's market is kept, and the market as it was before the policy answered.
    pub(crate) keep: usize,
    pub(crate) kept: Option<Market>,
    /// At which pass the process is started again, and how.
    pub(crate) restart: Option<(usize, Maker)>,
    passes: usize,
}

impl Recorder {
    pub(crate) fn new(policy: Box<dyn Policy>, keep: usize) -> Recorder {
        Recorder { policy, steps: vec![], keep, kept: None, restart: None, passes: 0 }
    }

    /// The process dies after it saw the events, and another one begins.
    fn begin_again(&mut self, market: &Market, events: &mut Vec<Event>) -> bool {
        let Some((_, make)) = self.restart.as_ref().filter(|(pass, _)| *pass == self.passes) else {
            return self.passes == 0;
        };
        let (at, events) = (market.now(), std::mem::take(events));
        self.steps.push(Step { at, began: None, events, commands: None });
        self.policy = make();
        true
    }
}

impl Policy for Recorder {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        if self.passes == self.keep {
            self.kept = Some(market.clone());
        }
        let mut events = events.to_vec();
        let begins = self.begin_again(market, &mut events);
        let told = if begins { market.history() } else { events.clone() };
        self.policy.decide(market, &told, commands);
        let began = begins.then_some(Began { policy: (), pools: None });
        let (at, commands) = (market.now(), Some(commands.clone()));
        self.steps.push(Step { at, began, events, commands });
        self.passes += 1;
    }

    fn reservation(&self, job: JobId) -> Option<tradewind_model::Time> {
        self.policy.reservation(job)
    }
}
