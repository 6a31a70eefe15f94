//! The queueing theory by which paper 003 judges its auction: textbook stations, a site cut into
//! partitions, the three stations in a row, and the best partitions.
//!
//! Pure functions on floats: they sum up, they decide nothing in a replay. Times are in any unit,
//! rates in its inverse. Every station takes Poisson arrivals and serves first come, first served,
//! but for [`priority`]. Where the paper's formulas are misprinted, [`Readings`] chooses.
//!
//! | module | station | source |
//! |---|---|---|
//! | `single` | M/G/1 | Pollaczek and Khinchine |
//! | `priority`(fn@priority) | M/G/1, non-preemptive classes | Cobham 1954, paper eq. 5 |
//! | `servers` | M/M/m, M/G/m | Erlang; Lee and Longton 1959, paper eq. 8–12 |
//! | `partition` | M/G/1 per range of widths | paper eq. 14–22 |
//! | `network`(fn@network) | all three in a row | paper eq. 23, 24 |
//! | `best` | the best partitions | paper eq. 25, 26 |

mod error;
mod law;
mod mix;
mod moments;
mod network;
mod optimum;
mod partition;
mod priority;
mod readings;
mod servers;
mod single;
#[cfg(test)]
mod tests;

pub use error::{BadParameter, Place, QueueingError, Unstable};
pub use law::Law;
pub use mix::{Mix, Width, Widths};
pub use moments::{Infinite, Moment, Moments};
pub use network::{QueueingNetwork, Queues, Setup, StationShare, network};
pub use optimum::{Goal, best};
pub use partition::{Partition, Partitioned, Site, partitioned};
pub use priority::{Class, ClassAnswer, Priority, priority};
pub use readings::{Equation, Reading, Readings};
pub use servers::{Servers, erlang_b, erlang_c, mgm, mmm};
pub use single::{Answer, mg1};
