//! Threads that step worlds: they and the caller take lanes of worlds until none is left. A thread
//! that has no processor takes none, and is not waited for.
//!
//! Each thread begins with lanes of its own, whose worlds its processor has in its cache, and goes on
//! with those of others: with two threads, until they meet.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use tradewind_sim::Run;
use tradewind_sim::workload::Workload;
use tradewind_sim::worlds::Scene;

use super::lane::{Ended, Lane, Order, Trouble};

/// How often a thread looks for a lane before it sleeps: some 120 µs, about what a wake-up costs.
const LOOKS: usize = 2_000;
/// Lanes for each of several threads: worlds take unequal times.
const LANES_EACH: usize = 4;

/// A lane, and the last step in which a thread took it.
struct Slot {
    taken: AtomicU64,
    lane: Mutex<Lane>,
}

/// What all threads share.
struct Shared {
    slots: Vec<Slot>,
    /// Steps so far.
    steps: AtomicU64,
    /// Lanes on which all is done in this step.
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
        self.slots[at].lane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes lanes in this order and works on them until none is left in the step.
    fn take(&self, step: u64, order: &[usize]) {
        for &at in order {
            let taken = &self.slots[at].taken;
            // A thread that is late finds lanes of the next step, and leaves them alone.
            if taken.compare_exchange(step - 1, step, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                let _done = Done(&self.done);
                self.lane(at).work();
            }
        }
    }

    fn has_work(&self, served: u64) -> bool {
        self.steps.load(Ordering::SeqCst) != served
    }

    /// What a thread does until all is over.
    fn serve(&self, order: &[usize]) {
        let mut served = 0;
        while !self.is_over.load(Ordering::Acquire) {
            for _ in 0..LOOKS {
                if self.has_work(served) {
                    break;
                }
                std::hint::spin_loop();
            }
            if !self.has_work(served) {
                self.sleep(served);
            }
            let step = self.steps.load(Ordering::SeqCst);
            if step != served {
                self.take(step, order);
                served = step;
            }
        }
    }

    fn sleep(&self, served: u64) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.has_work(served) && !self.is_over.load(Ordering::Acquire) {
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
            if self.done.load(Ordering::Acquire) == self.slots.len() {
                return;
            }
            std::hint::spin_loop();
        }
        while self.done.load(Ordering::Acquire) < self.slots.len() {
            std::thread::yield_now();
        }
    }
}

/// The lanes in the order in which a thread takes them: its own first, and every second thread from
/// the last one back.
fn taking_order(lanes: usize, thread: usize, threads: usize) -> Vec<usize> {
    let own = |thread: usize| thread * lanes / threads;
    match thread % 2 {
        0 => (0..lanes).map(|it| (own(thread) + it) % lanes).collect(),
        _ => (1..=lanes).map(|it| (own(thread + 1) + lanes - it) % lanes).collect(),
    }
}

/// All worlds, in lanes of the same length or one more.
pub(super) struct Crew {
    shared: Arc<Shared>,
    /// The caller's order of lanes.
    taking_order: Vec<usize>,
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
        let slot = |it| Slot { taken: AtomicU64::new(0), lane: Mutex::new(lane(it)) };
        let shared = Arc::new(Shared {
            slots: (0..lanes).map(slot).collect(),
            steps: AtomicU64::new(0),
            done: AtomicUsize::new(lanes),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            wake: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let crew = Crew { shared, taking_order: taking_order(lanes, 0, threads), worlds };
        for it in 1..threads {
            let (shared, order) = (Arc::clone(&crew.shared), taking_order(lanes, it, threads));
            let thread = std::thread::Builder::new().name("tradewind-worlds".to_owned());
            thread.spawn(move || shared.serve(&order))?;
        }
        Ok(crew)
    }

    pub(super) fn worlds(&self) -> usize {
        self.worlds
    }

    /// Lanes, each with the number of its first world.
    fn lanes(&self) -> impl Iterator<Item = (usize, MutexGuard<'_, Lane>)> {
        (0..self.shared.slots.len()).scan(0, |from, at| {
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
        let step = shared.steps.fetch_add(1, Ordering::SeqCst) + 1;
        shared.wake_all();
        shared.take(step, &self.taking_order);
        shared.wait();
    }

    /// What went wrong in the first world of which that is known.
    pub(super) fn failure(&self) -> Option<Trouble> {
        match self.shared.slots.iter().any(|slot| slot.lane.is_poisoned()) {
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
