//! Failures of the command as Python exceptions.

use pyo3::prelude::*;
use pyo3::types::PyList;
use tradewind_campaign::failure::{Exit, Failure};

/// `failure` as an exception of `tradewind.errors`; Ctrl-C as `KeyboardInterrupt`.
pub(crate) fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    match exception(py, failure) {
        Ok(error) | Err(error) => error,
    }
}

fn exception(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    if failure.exit == Exit::Interrupted {
        return Ok(pyo3::exceptions::PyKeyboardInterrupt::new_err("the replay was stopped"));
    }
    let problems = failure.problems.into_iter().map(|it| (it.message, it.hint));
    let problems = PyList::new(py, problems)?;
    let make = py.import("tradewind.errors")?.getattr("of_code")?;
    Ok(PyErr::from_value(make.call1((failure.exit.code(), problems))?))
}
