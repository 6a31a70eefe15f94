//! Tradewind live: what the policies decide, done on real sites, and nothing lost.
//!
//! - [`site`]: what a cluster must offer to be part of the market, and who offers it.
//! - [`store`]: where the journal is kept; [`codec`]: how its records are written;
//!   [`journal`]: the proof that rows and states go together.
//! - [`live`]: the market in real time as a state machine without clock, threads or files: what
//!   happened goes in, records and orders come out. It decides nothing; policies do.
//! - [`upkeep`]: what is old goes to archives, and is looked at again.
//! - [`audit`]: who was refused, and who changed or read what.
//! - [`shadow`]: clusters that are only observed: forecasts of starts, and what came of them.
//! - [`priority`]: threads that give way to others.
//! - [`engine`]: the thread that joins them: it writes records down, and only then lets orders
//!   and answers go.
//!
//! The state changes by records only, and records are kept before any caller, site or peer gets
//! them. So the state is always what a replay of the journal gives.

pub mod audit;
pub mod codec;
pub mod engine;
pub mod journal;
pub mod live;
pub mod priority;
pub mod shadow;
pub mod site;
pub mod store;
pub mod upkeep;
