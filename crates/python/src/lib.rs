//! The native part of the Python package `tradewind`: replays, policies in Python, environments for
//! reinforcement learning. What users call is in `python/tradewind`, which is pure Python.

mod errors;
mod options;
mod policy;
mod replay;
mod table;
mod worlds;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::policy::event::EventView;
    #[pymodule_export]
    use super::policy::job::{JobView, RunningView};
    #[pymodule_export]
    use super::policy::market::MarketView;
    #[pymodule_export]
    use super::replay::{FinishedRun, replay};
    #[pymodule_export]
    use super::table::{Table, jobs_of, summary_of};
    #[pymodule_export]
    use super::worlds::Worlds;
}
