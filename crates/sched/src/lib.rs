//! Tradewind's decisions as pure functions of what they are given: no files, clocks, threads or
//! unseeded randomness, so that simulation, live planning, quotes and what-ifs share one code.
//!
//! - [`window`]: one job → its best window.
//! - [`combine`]: jobs with alternatives → the best combination of them.
//! - [`policy`]: queue + grid → a plan.
//! - [`negotiation`]: how sites pass jobs to each other.
//! - [`quote`](mod@quote) and [`explain`](mod@explain): what a user may ask before submitting;
//!   [`free`] asks it of a live market.
//!
//! ```
//! use tradewind_model::*;
//! use tradewind_sched::window::{self, Search};
//!
//! // Two nodes of one site: the second is twice as fast and three times as dear.
//! let node = |name: &str, thousandths, price| Node {
//!     name: name.into(),
//!     site: SiteId(0),
//!     host: None,
//!     performance: Performance::from_thousandths(thousandths).unwrap(),
//!     price: Price::credits(price),
//!     attributes: Attributes::new(),
//!     times: Times::Work,
//! };
//! let sites = vec![Site { name: "lyra".into() }];
//! let grid = Grid::new(sites, vec![node("slow", 1_000, 1), node("fast", 2_000, 3)]).unwrap();
//! let free = |node, start, end| Slot { node: NodeId(node), start: Time(start), end: Time(end) };
//! let slots = SlotList::new(vec![free(0, 0, 100), free(1, 20, 100)]).unwrap();
//!
//! // Two tasks of 40 s of work start together at 20 s: 40 s × 1 + 20 s × 3 credits.
//! let request = Request { budget: Some(Money::credits(100)), ..Request::new(2, Span(40)) };
//! let found = window::find(&grid, &slots, &request, &Search::best(Criterion::Cost)).unwrap();
//! assert_eq!(found.window.start(), Time(20));
//! assert_eq!(found.window.finish(), Time(60));
//! assert_eq!(found.window.cost(), Money::credits(100));
//! ```

pub mod combine;
pub mod explain;
pub mod free;
pub mod negotiation;
pub mod policy;
pub mod predict;
pub mod quote;
pub mod window;

#[cfg(test)]
mod testing;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
