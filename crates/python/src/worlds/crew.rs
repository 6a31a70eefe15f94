//! Threads that step worlds: each has a lane, the first is the caller's own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use tradewind_sim::Run;
use tradewind_sim::workload::Workload;
use tradewind_sim::worlds::Scene;

use super::lane::{Ended, Lane, Order, Trouble};

/// How often a thread looks for its lane before it sleeps: some 20 µs, less than a wake-up costs.
const LOOKS: usize = 300;

/// A thread that carries out orders; it ends when this is dropped.
struct Worker {
    to: Sender<Lane>,
    from: Receiver<Lane>,
}

impl Worker {
    fn new() -> std::io::Result<Worker> {
        let (to, orders) = channel::<Lane>();
        let (done, from) = channel();
        let work = move || {
            while let Some(mut lane) = received(&orders) {
                lane.work();
                if done.send(lane).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("tradewind-worlds".to_owned()).spawn(work)?;
        Ok(Worker { to, from })
    }
}

/// The next lane; `None` if there will be none.
fn received(from: &Receiver<Lane>) -> Option<Lane> {
    for _ in 0..LOOKS {
        match from.try_recv() {
            Ok(lane) => return Some(lane),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    from.recv().ok()
}

/// All worlds, in lanes of the same length or one more.
pub(super) struct Crew {
    lanes: Vec<Lane>,
    /// For all lanes but the first.
    workers: Vec<Worker>,
    worlds: usize,
    /// Buffers.
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

impl Crew {
    pub(super) fn new(scene: &Scene, worlds: usize, threads: usize) -> std::io::Result<Crew> {
        let threads = threads.min(worlds);
        let first = |lane: usize| lane * worlds / threads;
        let lane = |it: usize| Lane::new(scene, first(it), first(it + 1) - first(it));
        let lanes = (0..threads).map(lane).collect();
        let workers = (1..threads).map(|_| Worker::new()).collect::<Result<_, _>>()?;
        Ok(Crew { lanes, workers, worlds, floats: Vec::new(), bytes: Vec::new() })
    }

    pub(super) fn worlds(&self) -> usize {
        self.worlds
    }

    /// Prepares each lane, whose worlds are those from the first number up to the second.
    pub(super) fn order(&mut self, order: Order, prepare: impl Fn(&mut Lane, usize, usize)) {
        let mut from = 0;
        for lane in &mut self.lanes {
            lane.order = order;
            let to = from + lane.len();
            prepare(lane, from, to);
            from = to;
        }
    }

    /// Carries orders out, on all threads. A lane whose thread is gone is worked on here.
    pub(super) fn work(&mut self) {
        let mut lanes = std::mem::take(&mut self.lanes).into_iter();
        let first = lanes.next();
        let mut left = Vec::new();
        for (lane, worker) in lanes.zip(&self.workers) {
            left.push(worker.to.send(lane).err().map(|unsent| unsent.0));
        }
        if let Some(mut lane) = first {
            lane.work();
            self.lanes.push(lane);
        }
        for (unsent, worker) in left.into_iter().zip(&self.workers) {
            let lane = match unsent {
                Some(mut lane) => {
                    lane.work();
                    Some(lane)
                }
                None => received(&worker.from),
            };
            self.lanes.extend(lane);
        }
    }

    /// What went wrong in the first world of which that is known.
    pub(super) fn failure(&self) -> Option<&Trouble> {
        self.lanes.iter().find_map(|lane| lane.trouble.as_ref())
    }

    /// Episodes that ended, with the numbers of their worlds.
    pub(super) fn ended(&self) -> impl Iterator<Item = (usize, &Ended)> {
        let firsts = self.lanes.iter().scan(0, |from, lane| {
            let first = *from;
            *from += lane.len();
            Some((first, lane))
        });
        firsts.flat_map(|(first, lane)| lane.ended.iter().map(move |(at, it)| (first + at, it)))
    }

    /// The last episode of a world, if it is over and the next has not begun.
    pub(super) fn run_of(&self, world: usize) -> Option<(&Arc<Workload>, &Run)> {
        let mut at = world;
        for lane in &self.lanes {
            if at < lane.len() {
                return lane.run_of(at);
            }
            at -= lane.len();
        }
        None
    }

    /// Copies observations and masks into the caller's arrays.
    pub(super) fn show(
        &mut self,
        py: Python<'_>,
        seen: &PyBuffer<f32>,
        masks: &PyBuffer<u8>,
    ) -> PyResult<()> {
        let Crew { lanes, floats, bytes, .. } = self;
        copy(py, lanes, floats, |lane, all| all.extend_from_slice(&lane.seen), seen)?;
        copy(py, lanes, bytes, |lane, all| all.extend_from_slice(&lane.masks), masks)
    }

    /// Copies rewards and ends into the caller's arrays.
    pub(super) fn show_results(
        &mut self,
        py: Python<'_>,
        rewards: &PyBuffer<f32>,
        over: &PyBuffer<u8>,
    ) -> PyResult<()> {
        let Crew { lanes, floats, bytes, .. } = self;
        copy(py, lanes, floats, |lane, all| all.extend_from_slice(&lane.rewards), rewards)?;
        copy(py, lanes, bytes, |lane, all| all.extend_from_slice(&lane.over), over)
    }
}

/// Puts the parts of all lanes together, then into the caller's array.
fn copy<T: Element + Copy>(
    py: Python<'_>,
    lanes: &[Lane],
    all: &mut Vec<T>,
    add: impl Fn(&Lane, &mut Vec<T>),
    to: &PyBuffer<T>,
) -> PyResult<()> {
    all.clear();
    lanes.iter().for_each(|lane| add(lane, all));
    to.copy_from_slice(py, all)
}
