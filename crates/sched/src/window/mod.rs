//! One job → its best window.
//!
//! A search reads the slots once, in order of start. What it may use, which limits it applies and
//! what it minimises come from a [`Request`](tradewind_model::Request) and a [`Search`]; a [`Searcher`] prepares both for
//! one grid and can then be asked again and again while the slot list changes.
//!
//! - [`Algorithm::Alp`], [`Algorithm::Amp`]: the earliest window with a price cap per slot, or a
//!   budget for the whole (papers 001, 002).
//! - [`Algorithm::Best`]: the best window by a criterion under every limit given (paper 000's AEP).
//! - [`Algorithm::Csa`]: the best by a criterion among all disjoint AMP windows.
//!
//! Each is exact by default ([`Variant::Exact`]); [`Variant::Paper`] follows the papers' own
//! steps. Windows that are equal by the criterion are ordered by a second stage: earlier start,
//! then lower cost, then earlier finish, then the nodes, ranked by (cost, length, node order),
//! in lexicographic order.
//!
//! Where prices change with time ([`Grid::rates`](tradewind_model::Grid::rates)), a window costs the
//! integral of the prices over its tasks, its start need not be that of a slot, and a price cap holds
//! in every second of a task. `pieces` and `priced` answer then, exactly, for both variants;
//! constant prices never come there.
//!
//! Where tasks may share nodes ([`Request::needs`](tradewind_model::Request::needs)), `places` makes
//! whole nodes of the places for tasks, on which all of these searches answer.
//!
//! Where the tasks of a job differ ([`Request::others`](tradewind_model::Request::others)), `groups`
//! answers, at constant prices and others, exactly, for both variants.
//!
//! Where a job takes licences along ([`Request::licences`](tradewind_model::Request::licences)),
//! `licences` searches what is idle while they are free, by any of these.

mod bits;
mod bounded;
mod cheapest;
mod csa;
mod expiries;
mod front;
mod groups;
mod index;
mod judges;
mod licences;
mod limits;
mod nodes;
mod paper;
mod pieces;
mod places;
mod prepared;
mod priced;
mod ranking;
mod reason;
mod search;
mod searcher;
mod sites;
mod sweep;
mod work;

pub use front::{FreeAtOnce, FrontRequest};
pub use index::{KeptWindows, SlotIndex, WholeList};
pub use limits::derived_budget;
pub(crate) use places::{least_demand, spans_for_one};
pub use search::{Algorithm, Found, Proof, Scratch, Search, Variant};
pub use searcher::{Searcher, find};

#[cfg(test)]
mod tests;
