//! What a policy answers: by methods of the market, and by what `decide` returns.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tradewind_campaign::answer;
use tradewind_model::{Command, JobId, Market, PoolId, Reason, Share, Time};
use tradewind_sched::policy::Promise;

/// What a policy wants done in a pass.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Starts and refusals, in order.
    pub(crate) commands: Vec<Command>,
    /// When waiting jobs are to start.
    pub(crate) reserved: Vec<(JobId, Time)>,
    /// When to ask again.
    pub(crate) wake: Option<Time>,
}

/// Shares of a job by pool: (pool, nodes).
pub(crate) type Shares = Vec<(u32, u32)>;

/// As the market has them.
pub(super) fn as_shares(shares: Shares) -> Vec<Share> {
    let share = |(pool, nodes)| Share { pool: PoolId(pool), nodes };
    shares.into_iter().map(share).collect()
}

impl Answer {
    pub(crate) fn start(
        &mut self,
        market: &Market,
        job: u32,
        pool: Option<u32>,
        shares: Option<Shares>,
    ) -> PyResult<()> {
        let shares = shares.map(as_shares);
        let command = answer::start(market, JobId(job), pool.map(PoolId), shares);
        self.commands.push(command.map_err(PyValueError::new_err)?);
        Ok(())
    }

    pub(crate) fn refuse(&mut self, job: u32) {
        self.commands.push(Command::Refuse { job: JobId(job), reason: Reason::Declined });
    }

    pub(crate) fn reserve(&mut self, job: u32, at: i64) {
        self.reserved.push((JobId(job), Time(at)));
    }

    pub(crate) fn wake(&mut self, at: i64) -> PyResult<()> {
        let at = Some(Time(at)).filter(|at| *at <= Time::MAX);
        self.wake = Some(
            at.ok_or_else(|| PyValueError::new_err(format!("`wake` is after {}", Time::MAX)))?,
        );
        Ok(())
    }
}

/// Adds what `decide` returned: nothing, the jobs to start, or a dictionary like the answer of a
/// command.
pub(crate) fn add(
    market: &Market,
    returned: &Bound<'_, PyAny>,
    answer: &mut Answer,
) -> PyResult<()> {
    if returned.is_none() {
        return Ok(());
    }
    let Ok(parts) = returned.cast::<PyDict>() else {
        return add_starts(market, returned, answer);
    };
    for (part, value) in parts.iter() {
        match part.extract::<String>()?.as_str() {
            "start" => add_starts(market, &value, answer)?,
            "refuse" => {
                for job in value.try_iter()? {
                    answer.refuse(number(&job?, "job")?);
                }
            }
            "reserve" => {
                for it in value.try_iter()? {
                    let it = it?;
                    let (job, at) = match it.cast::<PyDict>() {
                        Ok(_) => (number(&it, "job")?, it.get_item("at")?.extract::<i64>()?),
                        Err(_) => it.extract::<(u32, i64)>()?,
                    };
                    answer.reserve(job, at);
                }
            }
            "wake" => {
                if let Some(at) = value.extract::<Option<i64>>()? {
                    answer.wake(at)?;
                }
            }
            other => {
                let what = format!("`decide` returned an unknown part `{other}`");
                return Err(PyValueError::new_err(what));
            }
        }
    }
    Ok(())
}

/// Ids of jobs, or dictionaries like those of a command.
fn add_starts(market: &Market, starts: &Bound<'_, PyAny>, answer: &mut Answer) -> PyResult<()> {
    let starts = starts.try_iter().map_err(|_| {
        PyTypeError::new_err(
            "`decide` returns nothing, the ids of jobs to start, or a dictionary with `start`, \
             `refuse`, `reserve`, `wake`",
        )
    })?;
    for start in starts {
        let start = start?;
        let Ok(parts) = start.cast::<PyDict>() else {
            answer.start(market, start.extract::<u32>()?, None, None)?;
            continue;
        };
        let pool = parts.get_item("pool")?.map(|it| it.extract::<u32>()).transpose()?;
        let shares = match parts.get_item("shares")? {
            None => None,
            Some(shares) => Some(shares_of(&shares)?),
        };
        answer.start(market, number(&start, "job")?, pool, shares)?;
    }
    Ok(())
}

fn shares_of(shares: &Bound<'_, PyAny>) -> PyResult<Shares> {
    let share = |share: PyResult<Bound<'_, PyAny>>| {
        let share = share?;
        match share.cast::<PyDict>() {
            Ok(_) => Ok((number(&share, "pool")?, number(&share, "nodes")?)),
            Err(_) => share.extract(),
        }
    };
    shares.try_iter()?.map(share).collect()
}

/// A number, or that of a dictionary under `key`.
fn number(value: &Bound<'_, PyAny>, key: &str) -> PyResult<u32> {
    match value.cast::<PyDict>() {
        Ok(_) => value.get_item(key)?.extract(),
        Err(_) => value.extract(),
    }
}

/// What checkers hold a policy to.
pub(crate) fn promise(word: &str) -> PyResult<Promise> {
    match word {
        "nothing" => Ok(Promise::Nothing),
        "order" => Ok(Promise::Order),
        "head" => Ok(Promise::Head),
        "reservations" => Ok(Promise::Reservations),
        other => Err(PyValueError::new_err(format!(
            "there is no promise `{other}`: `nothing`, `order`, `head` or `reservations`"
        ))),
    }
}
