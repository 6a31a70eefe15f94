//! Yardsticks for tests and benchmarks, and the worlds to measure them on.

pub mod auction;
pub mod collisions;
#[cfg(feature = "mip")]
pub mod highs;
pub mod instances;
#[cfg(feature = "mip")]
pub mod mip;
pub mod scan;
pub mod worlds;
