//! Yardsticks.

pub mod instances;
#[cfg(feature = "mip")]
pub mod mip;
