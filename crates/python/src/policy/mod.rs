//! Policies in Python, in the process of the interpreter: views of the market and of events, and
//! what a policy answers.
//!
//! Names are those of `docs/reference/policy-cmd.md`.

pub(crate) mod answer;
pub(crate) mod event;
pub(crate) mod job;
pub(crate) mod market;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tradewind_campaign::failure::Failure;
use tradewind_campaign::replay::{OwnPolicy, Signals, own_misbehaved};
use tradewind_model::{Command, Event, JobId, Market, Time};
use tradewind_sched::policy::{Policy, Promise};
use tradewind_sim::ReplaySettings;
use tradewind_sim::check::{self, Checker};
use tradewind_sim::workload::Workload;

use answer::Answer;
use event::EventView;
use market::{MarketView, with_market};

/// An object with `decide(market, events)`, for all runs of a campaign.
pub(crate) struct PythonPolicies {
    name: String,
    policy: Py<PyAny>,
    signals: Arc<Signals>,
    raised: Mutex<Option<PyErr>>,
}

impl PythonPolicies {
    pub(crate) fn new(name: &str, policy: Py<PyAny>, signals: Arc<Signals>) -> PythonPolicies {
        PythonPolicies { name: name.to_owned(), policy, signals, raised: Mutex::new(None) }
    }

    /// What the policy raised, once.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The policy of one run: what `begin(market)` returns, or the object itself.
    fn begin(&self, py: Python<'_>, market: &Market) -> PyResult<PythonPolicy> {
        let view = Py::new(py, MarketView::of(py, market.pools())?)?;
        let begin = intern!(py, "_begin");
        let policy = with_market(market, || self.policy.call_method1(py, begin, (&view,)))?;
        let promise: String = policy.getattr(py, intern!(py, "promise"))?.extract(py)?;
        Ok(PythonPolicy {
            decide: policy.getattr(py, intern!(py, "decide"))?,
            view,
            promise: answer::promise(&promise)?,
            reserved: BTreeMap::new(),
            raised: None,
            signals: Arc::clone(&self.signals),
        })
    }
}

impl OwnPolicy for PythonPolicies {
    fn replay(
        &self,
        _text: &str,
        workload: &Workload,
        settings: ReplaySettings,
        listener: Box<dyn Checker>,
    ) -> Result<tradewind_sim::Run, Failure> {
        let who = format!("policy `{}`", self.name);
        let keep = |error: PyErr| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Failure::data(format!("{who} raised an exception"))
        };
        let market = Market::new(Arc::clone(&workload.pools), Time(0));
        let mut policy = Python::attach(|py| self.begin(py, &market)).map_err(keep)?;
        let mut checkers = check::of_own(policy.promise);
        checkers.push(listener);
        let run = tradewind_sim::run(workload, settings, &mut policy, &mut checkers);
        match policy.raised.take() {
            Some(error) => Err(keep(error)),
            None => run.map_err(|error| own_misbehaved(&who, workload, &error)),
        }
    }
}

/// A policy in one run. One that raises an exception is asked no more, and the run ends at the next
/// event.
struct PythonPolicy {
    /// The bound method.
    decide: Py<PyAny>,
    view: Py<MarketView>,
    promise: Promise,
    /// What the policy said last of jobs' starts.
    reserved: BTreeMap<JobId, Time>,
    raised: Option<PyErr>,
    signals: Arc<Signals>,
}

impl PythonPolicy {
    fn ask(
        &mut self,
        py: Python<'_>,
        market: &Market,
        events: &[Event],
        commands: &mut Vec<Command>,
    ) -> PyResult<()> {
        let events = PyList::new(py, events.iter().map(|event| EventView(event.clone())))?;
        let mut returned = Answer::default();
        with_market(market, || {
            let value = self.decide.call1(py, (&self.view, events))?;
            answer::add(market, value.bind(py), &mut returned)
        })?;
        for mut answer in [self.view.get().take(), returned] {
            commands.append(&mut answer.commands);
            commands.extend(answer.wake.map(|at| Command::Wake { at }));
            self.reserved.extend(answer.reserved);
        }
        Ok(())
    }
}

impl Policy for PythonPolicy {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        if self.raised.is_some() {
            return;
        }
        let asked = Python::attach(|py| self.ask(py, market, events, commands));
        if let Err(error) = asked {
            commands.clear();
            self.raised = Some(error);
            self.signals.stop.store(true, Ordering::Relaxed);
        }
    }

    fn promise(&self) -> Promise {
        self.promise
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.reserved.get(&job).copied()
    }
}
