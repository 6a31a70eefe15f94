//! Worlds for agents that learn: episodes of replays, with choices, observations and rewards.
//!
//! An episode is a stretch of a workload's jobs. On a grid the engine of all replays plays it
//! ([`Stepped`](crate::stepped::Stepped)); the queue of one cluster has a loop of its own (`cluster`),
//! which gives the same. An agent that chooses as a policy of ours gives the starts of that policy.
//! Everything is a function of the workload, a seed and the agent's actions. Rewards and observations
//! are floats; no decision of the engine uses them.

mod cluster;
mod features;
mod grid;
mod line;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tradewind_model::random;
use tradewind_sched::policy::Policy;

use crate::workload::Workload;
use crate::{Estimate, Run, SimError};

/// Features of a row of the worlds of one queue.
const FEATURES: usize = 6;
/// Stretches that are tried until one has something to choose.
const TRIES: usize = 100;

/// Makes the policy that decides about starts, where the agent decides at submissions.
pub type MakePolicy = Arc<dyn Fn(&Workload) -> Box<dyn Policy> + Send + Sync>;

/// What the agent chooses.
#[derive(Clone)]
pub enum Kind {
    /// One pool: jobs start in the order of submission, and where the first must wait it holds a
    /// reservation; the agent chooses which of at most `candidates` jobs overtakes it, or none. The
    /// first each time is EASY, none each time is FCFS.
    Backfill {
        /// The most jobs that are offered at once.
        candidates: usize,
    },
    /// One pool: the agent chooses which of the first `candidates` waiting jobs is the head of the
    /// queue. One that can start does, and another choice follows; else it holds a reservation in
    /// this pass, and others overtake it in the order of submission. The first each time is EASY.
    Order {
        /// The most jobs that are offered at once.
        candidates: usize,
    },
    /// A grid: the agent chooses the site that a job is submitted to.
    Pool {
        /// Starts the jobs; it should leave them at their homes.
        policy: MakePolicy,
    },
    /// A grid with prices: the agent chooses what its jobs say that they are worth.
    Bid {
        /// Trades and starts the jobs.
        policy: MakePolicy,
        /// What may be said, in thousandths of what is true.
        levels: Arc<[u32]>,
        /// The agent's part of the jobs, in thousandths, drawn from the episode's seed.
        share: u32,
    },
}

/// What an action led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The next choice.
    Choice,
    /// The end of the episode.
    Over,
}

/// A replay with choices. Actions that do not exist are read as a documented one that does.
pub trait Episode: Send {
    /// Goes on to the first choice.
    ///
    /// # Errors
    /// When a policy misbehaves.
    fn begin(&mut self) -> Result<Turn, SimError>;

    /// Takes the action, and goes on to the next choice.
    ///
    /// # Errors
    /// When a policy misbehaves.
    fn act(&mut self, action: usize) -> Result<Turn, SimError>;

    /// Writes down what the agent sees: numbers from 0 to 1, in rows.
    fn observe(&self, out: &mut [f32]);

    /// Writes down which actions exist.
    fn mask(&self, out: &mut [bool]);

    /// The reward since the last call.
    fn reward(&mut self) -> f64;

    /// The replay, once the episode is over.
    ///
    /// # Errors
    /// If jobs wait for ever.
    fn finish(self: Box<Self>) -> Result<Run, SimError>;
}

/// How many numbers an observation has, and how many actions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Of an observation.
    pub rows: usize,
    /// Numbers in a row.
    pub features: usize,
    /// From 0.
    pub actions: usize,
}

/// Episodes of one kind from one workload.
#[derive(Clone)]
pub struct Scene {
    /// The jobs; stretches of them are episodes.
    pub workload: Arc<Workload>,
    /// What is expected of run times.
    pub estimate: Estimate,
    /// What is chosen.
    pub kind: Kind,
    /// Jobs of an episode: at least 1, at most all.
    pub jobs: usize,
}

impl Scene {
    /// What agents see and do.
    pub fn shape(&self) -> Shape {
        let pools = self.workload.pools.as_slice();
        let sites = pools.iter().map(|pool| pool.site.0 as usize + 1).max().unwrap_or(0);
        match &self.kind {
            Kind::Backfill { candidates } => {
                Shape { rows: candidates + 2, features: FEATURES, actions: candidates + 1 }
            }
            Kind::Order { candidates } => {
                Shape { rows: candidates + 1, features: FEATURES, actions: *candidates }
            }
            Kind::Pool { .. } => {
                Shape { rows: pools.len() + 1, features: grid::FEATURES, actions: sites }
            }
            Kind::Bid { levels, .. } => {
                Shape { rows: pools.len() + 1, features: grid::FEATURES, actions: levels.len() }
            }
        }
    }

    /// Jobs `first` and those after it.
    fn stretch(&self, first: usize) -> Arc<Workload> {
        if first == 0 && self.jobs >= self.workload.jobs.len() {
            return Arc::clone(&self.workload);
        }
        let jobs = self.workload.jobs[first..first + self.jobs].to_vec();
        let Workload { pools, outages, .. } = &*self.workload;
        let stretch = Workload::new(Arc::clone(pools), jobs);
        Arc::new(Workload { outages: outages.clone(), ..stretch })
    }

    fn episode(&self, workload: &Arc<Workload>, seed: u64) -> Box<dyn Episode> {
        let (workload, estimate) = (Arc::clone(workload), self.estimate);
        match &self.kind {
            Kind::Backfill { candidates } => Box::new(queue::QueueEpisode::new(
                workload,
                estimate,
                queue::QueueChoice::Backfill,
                *candidates,
            )),
            Kind::Order { candidates } => Box::new(queue::QueueEpisode::new(
                workload,
                estimate,
                queue::QueueChoice::Head,
                *candidates,
            )),
            Kind::Pool { policy } => {
                let choice = grid::GridChoice::Site(self.shape().actions);
                Box::new(grid::Grid::new(workload, estimate, policy, choice))
            }
            Kind::Bid { policy, levels, share } => {
                let (levels, share) = (Arc::clone(levels), *share);
                let choice = grid::GridChoice::Bid { levels, seed, share };
                Box::new(grid::Grid::new(workload, estimate, policy, choice))
            }
        }
    }
}

/// A number below `below`, the same for the same seed, noun and key.
fn drawn(seed: u64, noun: &str, key: u64, below: u64) -> u64 {
    let high = i64::try_from(below.max(1) - 1).unwrap_or(i64::MAX);
    random::within(&mut random::stream(seed, noun, key), 0, high).unsigned_abs()
}

/// One episode after the other.
pub struct Episodes {
    scene: Scene,
    seed: u64,
    /// Stretches drawn so far.
    drawn: u64,
    workload: Arc<Workload>,
    episode: Option<Box<dyn Episode>>,
}

impl Episodes {
    /// Without an episode yet.
    pub fn new(scene: Scene, seed: u64) -> Episodes {
        let workload = Arc::clone(&scene.workload);
        Episodes { scene, seed, drawn: 0, workload, episode: None }
    }

    /// Begins with another seed.
    pub fn seed(&mut self, seed: u64) {
        (self.seed, self.drawn) = (seed, 0);
    }

    /// The jobs of the episode.
    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// The episode, if one goes on.
    pub fn episode(&mut self) -> Option<&mut Box<dyn Episode>> {
        self.episode.as_mut()
    }

    /// Begins the next episode; whether there is one with a choice.
    ///
    /// # Errors
    /// When a policy misbehaves.
    pub fn reset(&mut self) -> Result<Turn, SimError> {
        let places = (self.scene.workload.jobs.len() - self.scene.jobs + 1) as u64;
        for _ in 0..TRIES {
            let first = drawn(self.seed, "stretch", self.drawn, places) as usize;
            self.workload = self.scene.stretch(first);
            let mut episode = self.scene.episode(&self.workload, self.seed ^ self.drawn);
            self.drawn += 1;
            if episode.begin()? == Turn::Choice {
                self.episode = Some(episode);
                return Ok(Turn::Choice);
            }
        }
        self.episode = None;
        Ok(Turn::Over)
    }

    /// What the episode gave that is over.
    ///
    /// # Errors
    /// If jobs wait for ever.
    pub fn finish(&mut self) -> Result<Option<Run>, SimError> {
        self.episode.take().map(Episode::finish).transpose()
    }
}
