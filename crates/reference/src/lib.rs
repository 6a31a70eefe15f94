//! Yardsticks.

pub mod instances;
