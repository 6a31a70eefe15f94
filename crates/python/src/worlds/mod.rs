//! Worlds for reinforcement learning: many replays with choices, stepped on native threads.

mod crew;
mod lane;
mod scene;

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tradewind_campaign::failure::{Exit, Failure};
use tradewind_sim::SimError;

use crate::errors::raised;
use crate::options::Options;
use crew::Crew;
use lane::{Ended, Order};
use scene::Setting;

/// The most worlds of one object.
const MOST_WORLDS: usize = 65_536;
/// The most threads.
const MOST_THREADS: usize = 1_024;

/// Episodes of replays side by side. Calls do not hold the interpreter's lock while worlds go on.
#[pyclass(frozen, module = "tradewind._native")]
pub(crate) struct Worlds {
    setting: Setting,
    crew: Mutex<Crew>,
}

#[expect(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
#[pymethods]
impl Worlds {
    /// `kind` is a dictionary with the name of the choice and its parameters; `jobs` of an episode,
    /// all without it.
    #[new]
    #[pyo3(signature = (options, kind, jobs, worlds, threads))]
    fn new(
        py: Python<'_>,
        options: Options,
        kind: scene::KindOptions,
        jobs: Option<usize>,
        worlds: usize,
        threads: usize,
    ) -> PyResult<Worlds> {
        if !(1..=MOST_WORLDS).contains(&worlds) || !(1..=MOST_THREADS).contains(&threads) {
            let message = format!("worlds are from 1 to {MOST_WORLDS}, threads to {MOST_THREADS}");
            return Err(PyValueError::new_err(message));
        }
        let setting = py.detach(|| Setting::read(options, &kind, jobs));
        let setting = setting.map_err(|failure| raised(py, failure))?;
        let crew = Crew::new(&setting.scene, worlds, threads)
            .map_err(|error| PyRuntimeError::new_err(format!("no thread: {error}")))?;
        Ok(Worlds { setting, crew: Mutex::new(crew) })
    }

    /// Rows and features of an observation, and the number of actions.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let shape = self.setting.scene.shape();
        (shape.rows, shape.features, shape.actions)
    }

    /// Begins episodes: by these seeds, one for each world, or the next ones. Writes what is seen
    /// (`float32`) and which actions exist (`bool`).
    fn reset(
        &self,
        py: Python<'_>,
        seeds: Option<Vec<u64>>,
        seen: PyBuffer<f32>,
        masks: PyBuffer<u8>,
    ) -> PyResult<()> {
        let mut crew = self.crew()?;
        if seeds.as_ref().is_some_and(|seeds| seeds.len() != crew.worlds()) {
            return Err(PyValueError::new_err("one seed for each world"));
        }
        crew.order(Order::Reset, |lane, from, to| {
            lane.seeds = seeds.as_ref().map(|seeds| seeds[from..to].to_vec());
        });
        let working: &mut Crew = &mut crew;
        py.detach(|| working.work());
        self.failed(py, &crew)?;
        crew.show(py, &seen, &masks)
    }

    /// Takes an action in each world. A world whose episode was over begins its next one instead,
    /// with a reward of 0. Writes observations, masks, rewards (`float32`) and ends (`bool`);
    /// returns the worlds whose episodes ended now, with their measures.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: PyBuffer<i64>,
        seen: PyBuffer<f32>,
        masks: PyBuffer<u8>,
        rewards: PyBuffer<f32>,
        over: PyBuffer<u8>,
    ) -> PyResult<Vec<(usize, Bound<'py, PyDict>)>> {
        let mut crew = self.crew()?;
        let mut given = vec![0; crew.worlds()];
        if actions.item_count() != given.len() {
            return Err(PyValueError::new_err("one action (`int64`) for each world, in a row"));
        }
        actions.copy_to_slice(py, &mut given)?;
        crew.order(Order::Step, |lane, from, _| {
            for (at, action) in lane.actions.iter_mut().enumerate() {
                *action = usize::try_from(given[from + at]).unwrap_or(usize::MAX);
            }
        });
        let working: &mut Crew = &mut crew;
        py.detach(|| working.work());
        self.failed(py, &crew)?;
        crew.show(py, &seen, &masks)?;
        crew.show_results(py, &rewards, &over)?;
        let ended = crew.ended().into_iter();
        ended.map(|(at, ended)| Ok((at, measures(py, &ended)?))).collect()
    }

    /// All measures of `simulate` of a world whose episode is over, as JSON; before its next one.
    fn summary_json(&self, py: Python<'_>, world: usize) -> PyResult<Option<String>> {
        let crew = self.crew()?;
        let crew: &Crew = &crew;
        Ok(py.detach(|| crew.run_of(world, |jobs, run| self.setting.summary(jobs, run).to_json())))
    }
}

impl Worlds {
    /// Waiting would keep the interpreter's lock, which the other thread needs to end its call.
    fn crew(&self) -> PyResult<MutexGuard<'_, Crew>> {
        match self.crew.try_lock() {
            Ok(crew) => Ok(crew),
            Err(TryLockError::Poisoned(crew)) => Ok(crew.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("another thread steps these worlds"))
            }
        }
    }

    fn failed(&self, py: Python<'_>, crew: &Crew) -> PyResult<()> {
        match crew.failure() {
            None => Ok(()),
            Some(lane::Trouble::NothingToChoose) => {
                let failure = Failure::usage("no stretch of these jobs has anything to choose");
                Err(raised(py, failure.hint("take more `jobs`, or another log")))
            }
            Some(lane::Trouble::NotBegun) => {
                Err(PyRuntimeError::new_err("there is no episode: call `reset`"))
            }
            Some(lane::Trouble::Broken) => {
                Err(PyRuntimeError::new_err("a fault has ended these worlds: make new ones"))
            }
            Some(lane::Trouble::Sim(error)) => Err(raised(py, self.blame(&error))),
        }
    }

    fn blame(&self, error: &SimError) -> Failure {
        let failure = Failure::data(format!("{}: {error}", self.setting.name()));
        match error {
            SimError::Stuck { .. } => failure,
            _ => Failure { exit: Exit::Bug, ..failure },
        }
    }
}

fn measures<'py>(py: Python<'py>, ended: &Ended) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("jobs", ended.jobs)?;
    dict.set_item("mean_wait_s", ended.mean_wait)?;
    dict.set_item("longest_wait_s", ended.longest_wait)?;
    dict.set_item("mean_bounded_slowdown", ended.slowdown)?;
    dict.set_item("cost", ended.cost)?;
    Ok(dict)
}
