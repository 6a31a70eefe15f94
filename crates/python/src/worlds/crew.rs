//! Threads that step worlds: they and the caller take lanes of worlds until none is left. A thread
//! that has no processor takes none, and is not waited for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use tradewind_sim::Run;
use tradewind_sim::workload::Workload;
use tradewind_sim::worlds::Scene;

use super::lane::{Ended, Lane, Order, Trouble};

/// How often a thread looks for a lane before it sleeps: some 20 µs, less than a wake-up costs.
const LOOKS: usize = 300;
/// Lanes for each of several threads: worlds take unequal times.
const LANES_EACH: usize = 4;

/// What all threads share.
struct Shared {
    lanes: Vec<Mutex<Lane>>,
    /// The next lane that is not taken; from their number on all are.
    next: AtomicUsize,
    /// Lanes on which all is done.
    done: AtomicUsize,
    /// Threads that sleep, or are about to.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    wake: Condvar,
    is_over: AtomicBool,
}

/// Counts a lane as done, however its work ends.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

impl Shared {
    fn lane(&self, at: usize) -> MutexGuard<'_, Lane> {
        self.lanes[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes lanes and works on them until none is left.
    fn take(&self) {
        loop {
            let at = self.next.fetch_add(1, Ordering::SeqCst);
            if at >= self.lanes.len() {
                return;
            }
            let _done = Done(&self.done);
            self.lane(at).work();
        }
    }

    fn has_work(&self) -> bool {
        self.next.load(Ordering::SeqCst) < self.lanes.len()
    }

    /// What a thread does until all is over.
    fn serve(&self) {
        while !self.is_over.load(Ordering::Acquire) {
            for _ in 0..LOOKS {
                if self.has_work() {
                    break;
                }
                std::hint::spin_loop();
            }
            if !self.has_work() {
                self.sleep();
            }
            self.take();
        }
    }

    fn sleep(&self) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.has_work() && !self.is_over.load(Ordering::Acquire) {
            bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_all(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.wake.notify_all();
        }
    }

    /// Waits for lanes that other threads have taken.
    fn wait(&self) {
        for _ in 0..LOOKS {
            if self.done.load(Ordering::Acquire) == self.lanes.len() {
                return;
            }
            std::hint::spin_loop();
        }
        while self.done.load(Ordering::Acquire) < self.lanes.len() {
            std::thread::yield_now();
        }
    }
}

/// All worlds, in lanes of the same length or one more.
pub(super) struct Crew {
    shared: Arc<Shared>,
    worlds: usize,
}

impl Drop for Crew {
    /// Threads end by themselves.
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        let _bed = self.shared.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.wake.notify_all();
    }
}

impl Crew {
    pub(super) fn new(scene: &Scene, worlds: usize, threads: usize) -> std::io::Result<Crew> {
        let threads = threads.min(worlds);
        let lanes = if threads == 1 { 1 } else { (threads * LANES_EACH).min(worlds) };
        let first = |lane: usize| lane * worlds / lanes;
        let lane = |it: usize| Lane::new(scene, first(it), first(it + 1) - first(it));
        let shared = Arc::new(Shared {
            lanes: (0..lanes).map(lane).map(Mutex::new).collect(),
            next: AtomicUsize::new(lanes),
            done: AtomicUsize::new(lanes),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            wake: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let crew = Crew { shared, worlds };
        for _ in 1..threads {
            let shared = Arc::clone(&crew.shared);
            let thread = std::thread::Builder::new().name("tradewind-worlds".to_owned());
            thread.spawn(move || shared.serve())?;
        }
        Ok(crew)
    }

    pub(super) fn worlds(&self) -> usize {
        self.worlds
    }

    /// Lanes, each with the number of its first world.
    fn lanes(&self) -> impl Iterator<Item = (usize, MutexGuard<'_, Lane>)> {
        (0..self.shared.lanes.len()).scan(0, |from, at| {
            let (first, lane) = (*from, self.shared.lane(at));
            *from += lane.len();
            Some((first, lane))
        })
    }

    /// Prepares each lane, whose worlds are those from the first number up to the second.
    pub(super) fn order(&mut self, order: Order, prepare: impl Fn(&mut Lane, usize, usize)) {
        for (from, mut lane) in self.lanes() {
            lane.order = order;
            let to = from + lane.len();
            prepare(&mut lane, from, to);
        }
    }

    /// Carries orders out, on all threads that have a processor.
    pub(super) fn work(&mut self) {
        let shared = &self.shared;
        shared.done.store(0, Ordering::Release);
        shared.next.store(0, Ordering::SeqCst);
        shared.wake_all();
        shared.take();
        shared.wait();
    }

    /// What went wrong in the first world of which that is known.
    pub(super) fn failure(&self) -> Option<Trouble> {
        match self.shared.lanes.iter().any(Mutex::is_poisoned) {
            true => Some(Trouble::Broken),
            false => self.lanes().find_map(|(_, lane)| lane.trouble.clone()),
        }
    }

    /// Episodes that ended, with the numbers of their worlds.
    pub(super) fn ended(&self) -> Vec<(usize, Ended)> {
        let mut all = Vec::new();
        for (first, lane) in self.lanes() {
            all.extend(lane.ended.iter().map(|(at, it)| (first + at, *it)));
        }
        all
    }

    /// What `look` makes of the last episode of a world, if it is over and the next has not begun.
    pub(super) fn run_of<T>(
        &self,
        world: usize,
        look: impl FnOnce(&Arc<Workload>, &Run) -> T,
    ) -> Option<T> {
        let mut lanes = self.lanes();
        let (first, lane) = lanes.find(|(first, lane)| world < first + lane.len())?;
        lane.run_of(world - first).map(|(workload, run)| look(workload, run))
    }

    /// Copies observations and masks into the caller's arrays.
    pub(super) fn show(
        &self,
        py: Python<'_>,
        seen: &PyBuffer<f32>,
        masks: &PyBuffer<u8>,
    ) -> PyResult<()> {
        self.copy(py, seen, |lane| &lane.seen)?;
        self.copy(py, masks, |lane| &lane.masks)
    }

    /// Copies rewards and ends into the caller's arrays.
    pub(super) fn show_results(
        &self,
        py: Python<'_>,
        rewards: &PyBuffer<f32>,
        over: &PyBuffer<u8>,
    ) -> PyResult<()> {
        self.copy(py, rewards, |lane| &lane.rewards)?;
        self.copy(py, over, |lane| &lane.over)
    }

    /// Writes what all lanes have, one behind the other, into the caller's array.
    fn copy<T: Element + Copy>(
        &self,
        py: Python<'_>,
        to: &PyBuffer<T>,
        of: impl Fn(&Lane) -> &Vec<T>,
    ) -> PyResult<()> {
        let mut all = Vec::with_capacity(to.item_count());
        self.lanes().for_each(|(_, lane)| all.extend_from_slice(of(&lane)));
        to.copy_from_slice(py, &all)
    }
}
