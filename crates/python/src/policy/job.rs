//! Jobs as a policy in Python sees them.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use tradewind_io::scenario::criterion_name;
use tradewind_model::{Demand, JobId, Market, Running, Terms};

/// A job and what it asks for. Times are in seconds, amounts in credits; what a job does not ask for
/// is `None`.
#[pyclass(frozen, name = "Job", module = "tradewind")]
pub(crate) struct JobView {
    pub(crate) job: JobId,
    pub(crate) demand: Demand,
}

/// A term of a job, by the name that it has in the lines of a policy's command.
pub(crate) fn term(py: Python<'_>, terms: &Terms, name: &str) -> Option<PyResult<Py<PyAny>>> {
    let credits = |micro: i64| micro as f64 / 1e6;
    let object = match name {
        "user" => terms.user.into_py_any(py),
        "priority" => terms.priority.into_py_any(py),
        "home" => terms.home.map(|site| site.0).into_py_any(py),
        "value" => terms.value.map(|it| credits(it.0)).into_py_any(py),
        "min_performance" => {
            terms.min_performance.map(|it| f64::from(it.thousandths()) / 1e3).into_py_any(py)
        }
        "max_price" => terms.max_price.map(|it| credits(it.0)).into_py_any(py),
        "budget" => terms.budget.map(|it| credits(it.0)).into_py_any(py),
        "earliest_start" => terms.earliest_start.map(|it| it.0).into_py_any(py),
        "deadline" => terms.deadline.map(|it| it.0).into_py_any(py),
        "minimize" => criterion_name(&terms.criterion).into_py_any(py),
        _ => return None,
    };
    Some(object)
}

#[pymethods]
impl JobView {
    /// Its place in the order of submission, from 0.
    #[getter]
    fn job(&self) -> u32 {
        self.job.0
    }

    /// Number of nodes.
    #[getter]
    fn processors(&self) -> u32 {
        self.demand.processors
    }

    /// How long it is expected to run on the reference node, in seconds, at least 1.
    #[getter]
    fn estimate(&self) -> i64 {
        self.demand.estimate.0
    }

    /// Terms: `user`, `priority`, `home`, `value`, `min_performance`, `max_price`, `budget`,
    /// `earliest_start`, `deadline`, `minimize`.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let terms = term(py, self.demand.terms(), name);
        terms.unwrap_or_else(|| Err(missing("a job", name)))
    }

    fn __repr__(&self) -> String {
        let Demand { processors, estimate, .. } = &self.demand;
        format!("<Job {}: {processors} processors, {} s>", self.job.0, estimate.0)
    }
}

/// An attribute that is not there.
pub(crate) fn missing(what: &str, name: &str) -> PyErr {
    pyo3::exceptions::PyAttributeError::new_err(format!("{what} has no `{name}`"))
}

/// A job that holds nodes.
#[pyclass(frozen, get_all, name = "Running", module = "tradewind")]
pub(crate) struct RunningView {
    /// Its place in the order of submission, from 0.
    job: u32,
    /// Number of nodes.
    processors: u32,
    /// Since when, in seconds on the log's clock.
    start: i64,
    /// When it is expected to end; a job that exceeds its estimate is expected to end in the next
    /// second.
    expected_end: i64,
    /// The nodes that it holds: (pool, nodes).
    shares: Vec<(u32, u32)>,
}

impl RunningView {
    pub(crate) fn of(market: &Market, running: &Running<'_>) -> RunningView {
        let mode = running.demand.mode();
        let length = |pool| market.pools().pool(pool).length_in(mode, running.demand.estimate);
        let longest = running.shares().map(|share| length(share.pool)).max();
        let end = running.start + longest.unwrap_or(running.demand.estimate);
        RunningView {
            job: running.job.0,
            processors: running.demand.processors,
            start: running.start.0,
            expected_end: end.0.max(market.now().0 + 1),
            shares: running.shares().map(|share| (share.pool.0, share.nodes)).collect(),
        }
    }
}
