//! Events as a policy in Python sees them.

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use tradewind_model::{Cause, Event, JobId, Outage, OutageId, Place, PoolId, Price};

use super::job::{missing, term};

/// Something that happened. `event` says what; other attributes are those of the lines of a policy's
/// command (`docs/reference/policy-cmd.md`), with `from_` for `from`.
#[pyclass(frozen, name = "Event", module = "tradewind")]
pub(crate) struct EventView(pub(super) Event);

impl EventView {
    fn job_id(&self) -> Option<JobId> {
        match &self.0 {
            Event::Submitted { job, .. }
            | Event::Traded { job, .. }
            | Event::Lined { job }
            | Event::Started { job, .. }
            | Event::Released { job, .. }
            | Event::Ended { job }
            | Event::Interrupted { job }
            | Event::Noticed { job, .. }
            | Event::Refused { job }
            | Event::Cancelled { job } => Some(*job),
            _ => None,
        }
    }

    fn pool_id(&self) -> Option<PoolId> {
        match &self.0 {
            Event::Traded { trade, .. } => Some(trade.pool),
            Event::Started { place: Place::Pool(pool), .. } => Some(*pool),
            Event::Released { pool, .. }
            | Event::Priced { pool, .. }
            | Event::Rated { pool, .. } => Some(*pool),
            Event::Announced { what, .. } => Some(what.pool),
            _ => None,
        }
    }

    fn closure_id(&self) -> Option<OutageId> {
        match &self.0 {
            Event::Announced { closure, .. }
            | Event::Closed { closure }
            | Event::Reopened { closure } => Some(*closure),
            _ => None,
        }
    }

    fn outage(&self) -> Option<&Outage> {
        match &self.0 {
            Event::Announced { what, .. } => Some(what),
            _ => None,
        }
    }

    fn asked(&self) -> Option<Price> {
        match &self.0 {
            Event::Traded { trade, .. } => Some(trade.price),
            Event::Priced { price, .. } => Some(*price),
            _ => None,
        }
    }

    /// An attribute that only some events have.
    fn rare(&self, py: Python<'_>, name: &str) -> Option<PyResult<Py<PyAny>>> {
        if let Event::Submitted { demand, .. } = &self.0 {
            return term(py, demand.terms(), name);
        }
        let outage = self.outage();
        let object = match name {
            "pool" => self.pool_id()?.0.into_py_any(py),
            "closure" => self.closure_id()?.0.into_py_any(py),
            "price" => (self.asked()?.0 as f64 / 1e6).into_py_any(py),
            "leaves" => match &self.0 {
                Event::Noticed { leaves, .. } => leaves.0.into_py_any(py),
                _ => return None,
            },
            "nodes" => outage?.nodes.into_py_any(py),
            "from_" => outage?.from.0.into_py_any(py),
            "until" => outage?.until.0.into_py_any(py),
            "cause" => cause(outage?.cause).into_py_any(py),
            "shares" => match &self.0 {
                Event::Started { place: Place::Shares(shares), .. } => {
                    let shares: Vec<(u32, u32)> =
                        shares.iter().map(|share| (share.pool.0, share.nodes)).collect();
                    shares.into_py_any(py)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(object)
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Local => "local",
        Cause::Maintenance => "maintenance",
        Cause::Failure(_) => "failure",
        Cause::Withheld => "withheld",
        Cause::Booked => "booked",
    }
}

#[pymethods]
impl EventView {
    /// What happened, in a word: `submitted`, `ended`, ….
    #[getter]
    fn event<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        let word = match &self.0 {
            Event::Submitted { .. } => intern!(py, "submitted"),
            Event::Traded { .. } => intern!(py, "traded"),
            Event::Lined { .. } => intern!(py, "lined"),
            Event::Started { .. } => intern!(py, "started"),
            Event::Released { .. } => intern!(py, "released"),
            Event::Ended { .. } => intern!(py, "ended"),
            Event::Interrupted { .. } => intern!(py, "interrupted"),
            Event::Noticed { .. } => intern!(py, "noticed"),
            Event::Refused { .. } => intern!(py, "refused"),
            Event::Cancelled { .. } => intern!(py, "cancelled"),
            Event::Priced { .. } => intern!(py, "priced"),
            Event::Rated { .. } => intern!(py, "rated"),
            Event::Announced { .. } => intern!(py, "announced"),
            Event::Closed { .. } => intern!(py, "closed"),
            Event::Reopened { .. } => intern!(py, "reopened"),
        };
        word.clone()
    }

    /// The job's place in the order of submission, from 0.
    #[getter]
    fn job(&self) -> PyResult<u32> {
        self.job_id().map(|job| job.0).ok_or_else(|| missing("this event", "job"))
    }

    /// `submitted`: number of nodes.
    #[getter]
    fn processors(&self) -> PyResult<u32> {
        match &self.0 {
            Event::Submitted { demand, .. } => Ok(demand.processors),
            _ => Err(missing("this event", "processors")),
        }
    }

    /// `submitted`: how long the job is expected to run on the reference node, in seconds.
    #[getter]
    fn estimate(&self) -> PyResult<i64> {
        match &self.0 {
            Event::Submitted { demand, .. } => Ok(demand.estimate.0),
            _ => Err(missing("this event", "estimate")),
        }
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.rare(py, name).unwrap_or_else(|| Err(missing("this event", name)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.job_id() {
            Some(job) => format!("<Event {}: job {}>", self.event(py), job.0),
            None => format!("<Event {}>", self.event(py)),
        }
    }
}
