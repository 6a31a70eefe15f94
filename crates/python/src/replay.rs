//! The runs of a campaign, without the interpreter's lock.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use tradewind_campaign::failure::Failure;
use tradewind_campaign::fates::Fates;
use tradewind_campaign::plan::Plan;
use tradewind_campaign::replay::{Manner, OwnPolicy, Signals, Watch, replay as replay_run};
use tradewind_campaign::rows::JobRows;
use tradewind_campaign::summary::Summary;
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_campaign::{checks, worker_pool};
use tradewind_io::campaign::Campaign;
use tradewind_sim::ReplaySettings;
use tradewind_sim::check::Checker;
use tradewind_sim::workload::Workload;

use crate::errors::raised;
use crate::options::Options;
use crate::policy::PythonPolicies;
use crate::table::{JobsTable, Table};

/// A run that is over: its summary as JSON and its jobs as a table.
#[pyclass(frozen, module = "tradewind._native")]
pub(crate) struct FinishedRun {
    pub(crate) summary: Summary,
    pub(crate) jobs: JobsTable,
}

#[pymethods]
impl FinishedRun {
    /// The document `summary.json`.
    #[getter]
    fn summary_json(&self) -> String {
        self.summary.to_json()
    }

    /// The columns of `jobs.csv`.
    #[getter]
    fn jobs(&self) -> Table {
        self.jobs.plain()
    }
}

/// Replays a campaign; returns its runs in order, and notes on what was assumed.
///
/// `own` is a policy of the caller's (its name and an object with `decide`): the campaign then runs
/// on the calling thread. Others run on `threads` threads without the interpreter's lock. `progress`
/// is called with (jobs that ended, jobs in all) some times a second.
#[pyfunction]
#[pyo3(signature = (options, own, check, threads, progress))]
pub(crate) fn replay(
    py: Python<'_>,
    options: Options,
    own: Option<(String, Py<PyAny>)>,
    check: bool,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Vec<FinishedRun>, Vec<String>)> {
    let progress = progress.map(Bound::unbind);
    let name = own.as_ref().map(|(name, _)| name.as_str());
    let campaign = options.into_campaign(name).map_err(|failure| raised(py, failure))?;
    let plan = Plan::of(&campaign).map_err(|failure| raised(py, failure))?;
    let watch = if check { Watch::EveryStep } else { Watch::Nothing };
    let work = Work {
        campaign: &campaign,
        plan: &plan,
        sources: campaign.workloads.iter().map(WorkloadFiles::open).collect(),
        watch,
        signals: Arc::new(Signals::default()),
    };
    checks::plan(&plan, &work.sources).map_err(|failure| raised(py, failure))?;
    let results = match own {
        Some((name, policy)) => work.by_python(py, &name, policy, progress.as_ref()),
        None => work.on_threads(py, threads.unwrap_or_else(worker_pool::cores), progress.as_ref()),
    }?;
    let runs = results.into_iter().collect::<Result<Vec<_>, Failure>>();
    let runs = runs.map_err(|failure| raised(py, failure))?;
    let notes = work.notes(&runs);
    Ok((runs, notes))
}

struct Work<'a> {
    campaign: &'a Campaign,
    plan: &'a Plan,
    sources: Vec<WorkloadFiles<'a>>,
    watch: Watch,
    signals: Arc<Signals>,
}

impl Work<'_> {
    fn on_threads(
        &self,
        py: Python<'_>,
        threads: usize,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Vec<Result<FinishedRun, Failure>>> {
        let mut raised = None;
        let results = py.detach(|| {
            let tick = |_: usize| {
                let seen = Python::attach(|py| {
                    py.check_signals()?;
                    let Some(progress) = progress else { return Ok(()) };
                    progress.call1(py, self.progress()).map(drop)
                });
                if let Err(error) = seen {
                    self.signals.stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            };
            let one = |at: usize| self.one(at, &NoPolicy);
            worker_pool::work(self.plan.runs.len(), threads, &self.signals.stop, tick, one)
        });
        match raised {
            Some(error) => Err(error),
            None => Ok(results.into_iter().flatten().collect()),
        }
    }

    /// One run after the other on this thread, which keeps the interpreter's lock: the policy needs
    /// it at every pass.
    fn by_python(
        &self,
        py: Python<'_>,
        name: &str,
        policy: Py<PyAny>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Vec<Result<FinishedRun, Failure>>> {
        let own = PythonPolicies::new(name, policy, Arc::clone(&self.signals));
        let mut results = Vec::new();
        for at in 0..self.plan.runs.len() {
            let result = self.one(at, &own);
            if let Some(error) = own.raised() {
                return Err(error);
            }
            py.check_signals()?;
            if let Some(progress) = progress {
                progress.call1(py, self.progress())?;
            }
            results.push(result);
        }
        Ok(results)
    }

    fn one(&self, at: usize, own: &dyn OwnPolicy) -> Result<FinishedRun, Failure> {
        let run = &self.plan.runs[at];
        let manner = Manner { watch: self.watch, own };
        let source = &self.sources[run.workload];
        let finished = replay_run(self.campaign, run, source, manner, &self.signals)?;
        let fates = Fates::of(&finished);
        let names: Vec<&str> = finished.prepared.logs.iter().map(|it| it.name.as_str()).collect();
        let jobs = JobsTable::of(&names, &JobRows::of(&finished, &fates))
            .map_err(|error| Failure::data(format!("table of jobs: {error}")))?;
        let summary = match &self.campaign.command {
            Some(name) => finished.summary.renamed(name),
            None => finished.summary,
        };
        Ok(FinishedRun { summary, jobs })
    }

    /// Jobs that ended, and jobs of all runs as far as their logs were read.
    fn progress(&self) -> (u64, u64) {
        let ended = self.signals.ended.load(Ordering::Relaxed);
        let known = self.sources.iter().filter_map(WorkloadFiles::known_jobs).sum::<usize>();
        (ended, ended.max((known * self.plan.runs.len()) as u64))
    }

    fn notes(&self, runs: &[FinishedRun]) -> Vec<String> {
        let policies: Vec<_> = self.plan.policies().collect();
        let assumed = self.sources.iter().flat_map(|source| source.assumptions(&policies));
        let refused = |run: &FinishedRun| {
            run.summary.rejections().chain(run.summary.all_refused()).collect::<Vec<_>>()
        };
        let mut notes: Vec<String> = Vec::new();
        for note in assumed.chain(runs.iter().flat_map(refused)) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}

/// The caller has no policy of its own.
struct NoPolicy;

impl OwnPolicy for NoPolicy {
    fn replay(
        &self,
        text: &str,
        _: &Workload,
        _: ReplaySettings,
        _: Box<dyn Checker>,
    ) -> Result<tradewind_sim::Run, Failure> {
        Err(Failure::usage(format!("there is no policy `{text}` here")))
    }
}
