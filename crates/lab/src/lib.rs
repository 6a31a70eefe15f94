//! The papers' studies, run again: every published number beside a measured one, with a verdict.
//!
//! An [`Experiment`] is a simulation with named [`Parameter`]s. It runs in independent parts,
//! each a function of the seed, and counts into a [`Tally`]. A [`Study`] is one table or figure
//! of a paper, or the numbers of its text: it reads the tally of its experiment and says what
//! was published, what was measured, and (by one rule, in [`verdict`]) how well they agree.
//!
//! To add a paper: a module in `papers` with its experiments, and a file in `data/` with its
//! studies: published numbers and claims, and the formulas that measure and judge them. The tests
//! in `tests/` then hold it to the rules of the house: every number is measured by the run and
//! moves with a parameter, and whatever is not reproduced says why.
//!
//! Nothing here reads a clock or a file or starts a thread; the caller that runs the parts does.

mod case;
mod data;
mod experiment;
mod findings;
mod papers;
pub mod report;
mod tally;
pub mod verdict;

pub use case::{Case, CaseError, Kind, LogFile, Parameter, Size, Value};
pub use data::{DataError, Study, experiments, find, studies};
pub use experiment::{Experiment, run};
pub use findings::{Claim, Evidence, Figure, Findings, Gain, Number, Published};
pub use tally::{Estimate, Pairs, Series, Tally, TallyError};
pub use verdict::Verdict;
