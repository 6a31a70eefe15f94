//! The market as a policy in Python sees it: no copy, readable only while the policy decides.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tradewind_campaign::answer;
use tradewind_model::{
    Attribute, Command, JobId, Market, Pool, PoolId, Pools, Price, Series, Time,
};

use super::answer::{Answer, Shares, as_shares};
use super::job::{JobView, RunningView};

scoped_tls::scoped_thread_local!(static MARKET: Market);

/// Lets views read `market` on this thread while `work` runs.
pub(super) fn with_market<T>(market: &Market, work: impl FnOnce() -> T) -> T {
    MARKET.set(market, work)
}

/// Reads the market of the pass.
fn read<T>(work: impl FnOnce(&Market) -> T) -> PyResult<T> {
    match MARKET.is_set() {
        true => Ok(MARKET.with(work)),
        false => {
            let why = "the market can be read only while `decide` runs, and on its thread";
            Err(PyRuntimeError::new_err(why))
        }
    }
}

/// The market at the moment of a pass. It can be read only while `decide` runs.
#[pyclass(frozen, name = "MarketView", module = "tradewind")]
pub(crate) struct MarketView {
    pools: Py<PyList>,
    sites: Vec<String>,
    answer: Mutex<Answer>,
}

impl MarketView {
    pub(super) fn of(py: Python<'_>, pools: &Pools) -> PyResult<MarketView> {
        let all = PyList::empty(py);
        for (index, pool) in pools.as_slice().iter().enumerate() {
            let it = described(py, index, pool)?;
            if let Some(rate) = pools.rate(PoolId(index as u32)) {
                it.set_item("prices", changing(py, rate)?)?;
            }
            if let Some(price) = pools.load_price(PoolId(index as u32)) {
                let step =
                    |(load, price): &(u32, Price)| (f64::from(*load) / 1e3, price.0 as f64 / 1e6);
                let steps: Vec<_> = price.steps().iter().map(step).collect();
                let follows = match price.every() {
                    Some(_) => "price_by_demand",
                    None => "price_by_load",
                };
                it.set_item(follows, steps)?;
            }
            all.append(it)?;
        }
        let sites = pools.sites().iter().map(|site| site.name.clone()).collect();
        Ok(MarketView { pools: all.unbind(), sites, answer: Mutex::default() })
    }

    /// What the policy said in this pass by methods.
    pub(super) fn take(&self) -> Answer {
        std::mem::take(&mut *self.answer())
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn described<'py>(py: Python<'py>, index: usize, pool: &Pool) -> PyResult<Bound<'py, PyDict>> {
    let it = PyDict::new(py);
    it.set_item("pool", index)?;
    it.set_item("name", &pool.name)?;
    it.set_item("site", pool.site.0)?;
    it.set_item("nodes", pool.nodes)?;
    it.set_item("performance", f64::from(pool.performance.thousandths()) / 1e3)?;
    it.set_item("price", pool.price.0 as f64 / 1e6)?;
    let attributes = PyDict::new(py);
    for (name, attribute) in pool.attributes.iter() {
        match attribute {
            Attribute::Flag(flag) => attributes.set_item(name, flag)?,
            Attribute::Number(number) => attributes.set_item(name, *number as f64 / 1e3)?,
            Attribute::Text(text) => attributes.set_item(name, text)?,
            Attribute::OneOf(names) => attributes.set_item(name, names)?,
        }
    }
    it.set_item("attributes", attributes)?;
    Ok(it)
}

/// A price that changes with time: `values`, pairs of (from when on, price), and `every`, after how many
/// seconds it repeats, if it does.
fn changing<'py>(py: Python<'py>, rate: &Series) -> PyResult<Bound<'py, PyDict>> {
    let values: Vec<(i64, f64)> =
        rate.values().map(|(from, price)| (from.0, price as f64 / 1e6)).collect();
    let it = PyDict::new(py);
    it.set_item("values", values)?;
    if let Some(period) = rate.period() {
        it.set_item("every", period.0)?;
    }
    Ok(it)
}

/// What the job costs in credits if it starts at `at`, there where `start` would start it.
fn cost(market: &Market, start: &Command, at: Time) -> Result<f64, String> {
    let Command::Start { job, place } = start else { return Ok(0.0) };
    let demand = market.demand(*job).ok_or_else(|| format!("there is no job {}", job.0))?;
    let pools = market.pools();
    let mut sum = 0;
    for share in place.shares(demand.processors) {
        let pool = pools.as_slice().get(share.pool.index());
        let pool = pool.ok_or_else(|| format!("there is no pool {}", share.pool.0))?;
        sum += i128::from(pools.cost(share, at, pool.length_of(demand)).0);
    }
    Ok(sum as f64 / 1e6)
}

#[pymethods]
impl MarketView {
    /// The moment, in seconds on the log's clock.
    #[getter]
    fn now(&self) -> PyResult<i64> {
        read(|market| market.now().0)
    }

    /// Free nodes by pool.
    #[getter]
    fn free(&self) -> PyResult<Vec<u32>> {
        read(|market| market.pools().iter().map(|(pool, _)| market.free_in(pool)).collect())
    }

    /// Nodes of all pools.
    #[getter]
    fn processors(&self) -> PyResult<u32> {
        read(Market::processors)
    }

    /// The pools as dictionaries: `pool`, `name`, `site`, `nodes`, `performance`, `price` (credits
    /// per node and second, as at the beginning), `attributes`. Where the price changes with time,
    /// `price` is the lowest, and `prices` has all: `values`, pairs of (time, price), and `every`.
    #[getter]
    fn pools(&self, py: Python<'_>) -> Py<PyList> {
        self.pools.clone_ref(py)
    }

    /// Names of the sites.
    #[getter]
    fn sites(&self) -> Vec<String> {
        self.sites.clone()
    }

    /// Waiting jobs in the order of submission.
    #[getter]
    fn queue(&self) -> PyResult<Vec<JobView>> {
        let of = |market: &Market, job| {
            market.demand(job).map(|demand| JobView { job, demand: demand.clone() })
        };
        read(|market| market.queue().filter_map(|job| of(market, job)).collect())
    }

    /// Running jobs in the order of submission.
    #[getter]
    fn running(&self) -> PyResult<Vec<RunningView>> {
        read(|market| market.running().map(|job| RunningView::of(market, &job)).collect())
    }

    /// The job with this id, once it was submitted.
    fn job(&self, job: u32) -> PyResult<JobView> {
        let id = JobId(job);
        let found = read(|market| market.demand(id).cloned())?;
        let demand =
            found.ok_or_else(|| PyIndexError::new_err(format!("there is no job {job}")))?;
        Ok(JobView { job: id, demand })
    }

    /// Whether the job waits.
    fn waits(&self, job: u32) -> PyResult<bool> {
        read(|market| market.waits(JobId(job)))
    }

    /// What the owner of a pool asks now, in credits per node and second.
    fn price(&self, pool: u32) -> PyResult<f64> {
        let found = read(|market| {
            let known = (pool as usize) < market.pools().as_slice().len();
            known.then(|| market.pools().price_at(PoolId(pool), market.now()).0 as f64 / 1e6)
        })?;
        found.ok_or_else(|| PyIndexError::new_err(format!("there is no pool {pool}")))
    }

    /// What a job is expected to cost in credits if it starts at `at`, without it now: the integral of
    /// the prices. Pools are named as in `start`.
    #[pyo3(signature = (job, pool=None, shares=None, at=None))]
    fn cost(
        &self,
        job: u32,
        pool: Option<u32>,
        shares: Option<Shares>,
        at: Option<i64>,
    ) -> PyResult<f64> {
        read(|market| {
            let at = at.map_or(market.now(), Time);
            if !(Time(0)..=Time::MAX).contains(&at) {
                return Err(PyValueError::new_err(format!("`at` is not from 0 to {}", Time::MAX)));
            }
            let shares = shares.map(as_shares);
            let start = answer::start(market, JobId(job), pool.map(PoolId), shares);
            start.and_then(|start| cost(market, &start, at)).map_err(PyValueError::new_err)
        })?
    }

    /// Starts a waiting job now, in one pool or in several: `shares` is [(pool, nodes), …]. With one
    /// pool only, neither is needed.
    #[pyo3(signature = (job, pool=None, shares=None))]
    fn start(&self, job: u32, pool: Option<u32>, shares: Option<Shares>) -> PyResult<()> {
        read(|market| self.answer().start(market, job, pool, shares))?
    }

    /// Never runs a waiting job.
    fn refuse(&self, job: u32) {
        self.answer().refuse(job);
    }

    /// Says when a waiting job is to start; remains in force until changed.
    fn reserve(&self, job: u32, at: i64) {
        self.answer().reserve(job, at);
    }

    /// Asks for a pass at this moment, even if nothing happens; forgotten at the next pass.
    fn wake(&self, at: i64) -> PyResult<()> {
        self.answer().wake(at)
    }
}
