//! The worlds of one thread, with their part of all arrays.

use std::sync::Arc;

use tradewind_sim::workload::Workload;
use tradewind_sim::worlds::{Episodes, Scene, Turn};
use tradewind_sim::{Run, SimError};

/// What all worlds of a lane are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Begin an episode.
    Reset,
    /// Take an action.
    Step,
}

/// Why a world cannot go on.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    NothingToChoose,
    NotBegun,
    /// A fault in this program has ended the work on some worlds.
    Broken,
    Sim(SimError),
}

impl From<SimError> for Trouble {
    fn from(error: SimError) -> Trouble {
        Trouble::Sim(error)
    }
}

/// Measures of an episode that is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) jobs: usize,
    /// Seconds.
    pub(super) mean_wait: f64,
    pub(super) longest_wait: i64,
    /// Bounded by 10 s.
    pub(super) slowdown: f64,
    /// Credits.
    pub(super) cost: f64,
}

impl Ended {
    fn of(workload: &Workload, run: &Run) -> Ended {
        let ran = run.jobs.iter().zip(&workload.jobs).filter(|(ran, _)| ran.refused.is_none());
        let (mut jobs, mut waits, mut longest, mut slowdowns, mut cost) = (0, 0, 0, 0.0, 0);
        for (ran, job) in ran {
            let (wait, length) = ((ran.start - job.submit).0, (ran.end - ran.start).0);
            jobs += 1;
            waits += wait;
            longest = longest.max(wait);
            slowdowns += ((wait + length) as f64 / length.max(10) as f64).max(1.0);
            cost += i128::from(ran.cost.0);
        }
        let each = 1.0 / (jobs.max(1) as f64);
        Ended {
            jobs,
            mean_wait: waits as f64 * each,
            longest_wait: longest,
            slowdown: slowdowns * each,
            cost: cost as f64 / 1e6,
        }
    }
}

/// A world, and what is left of its last episode.
struct Place {
    world: Episodes,
    finished: Option<(Arc<Workload>, Run)>,
    begun: bool,
}

/// Some worlds, one after the other in all arrays.
pub(super) struct Lane {
    places: Vec<Place>,
    pub(super) order: Order,
    pub(super) seeds: Option<Vec<u64>>,
    pub(super) actions: Vec<usize>,
    pub(super) seen: Vec<f32>,
    pub(super) masks: Vec<u8>,
    pub(super) rewards: Vec<f32>,
    pub(super) over: Vec<u8>,
    pub(super) ended: Vec<(usize, Ended)>,
    pub(super) trouble: Option<Trouble>,
    /// A buffer.
    allowed: Vec<bool>,
    size: usize,
    choices: usize,
}

impl Lane {
    /// Worlds from number `first` on, which are their seeds until others are given.
    pub(super) fn new(scene: &Scene, first: usize, count: usize) -> Lane {
        let shape = scene.shape();
        let (size, choices) = (shape.rows * shape.features, shape.actions);
        let place = |at| Place {
            world: Episodes::new(scene.clone(), (first + at) as u64),
            finished: None,
            begun: false,
        };
        Lane {
            places: (0..count).map(place).collect(),
            order: Order::Reset,
            seeds: None,
            actions: vec![0; count],
            seen: vec![0.0; size * count],
            masks: vec![0; choices * count],
            rewards: vec![0.0; count],
            over: vec![0; count],
            ended: Vec::new(),
            trouble: None,
            allowed: vec![false; choices],
            size,
            choices,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn run_of(&self, at: usize) -> Option<(&Arc<Workload>, &Run)> {
        self.places[at].finished.as_ref().map(|(workload, run)| (workload, run))
    }

    /// Carries the order out in all worlds.
    pub(super) fn work(&mut self) {
        self.ended.clear();
        self.trouble = None;
        for at in 0..self.places.len() {
            let done = match self.order {
                Order::Reset => self.reset(at),
                Order::Step => self.step(at),
            };
            if let Err(trouble) = done {
                self.trouble.get_or_insert(trouble);
            }
        }
    }

    fn reset(&mut self, at: usize) -> Result<(), Trouble> {
        let place = &mut self.places[at];
        if let Some(seeds) = &self.seeds {
            place.world.seed(seeds[at]);
        }
        place.finished = None;
        if place.world.reset()? == Turn::Over {
            return Err(Trouble::NothingToChoose);
        }
        place.begun = true;
        (self.rewards[at], self.over[at]) = (0.0, 0);
        self.look(at);
        Ok(())
    }

    fn step(&mut self, at: usize) -> Result<(), Trouble> {
        let place = &mut self.places[at];
        let Some(episode) = place.world.episode() else {
            if !place.begun {
                return Err(Trouble::NotBegun);
            }
            self.seeds = None;
            return self.reset(at);
        };
        let turn = episode.act(self.actions[at])?;
        self.rewards[at] = episode.reward() as f32;
        self.over[at] = u8::from(turn == Turn::Over);
        if turn == Turn::Choice {
            self.look(at);
            return Ok(());
        }
        self.seen[at * self.size..][..self.size].fill(0.0);
        let workload = Arc::clone(place.world.workload());
        if let Some(run) = place.world.finish()? {
            self.ended.push((at, Ended::of(&workload, &run)));
            place.finished = Some((workload, run));
        }
        Ok(())
    }

    /// Writes down what the agent of a world sees.
    fn look(&mut self, at: usize) {
        let Some(episode) = self.places[at].world.episode() else { return };
        episode.observe(&mut self.seen[at * self.size..][..self.size]);
        episode.mask(&mut self.allowed);
        let masks = &mut self.masks[at * self.choices..][..self.choices];
        masks.iter_mut().zip(&self.allowed).for_each(|(mask, allowed)| *mask = u8::from(*allowed));
    }
}
