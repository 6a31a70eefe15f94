//! Yardsticks for tests and benchmarks, and the worlds to measure them on.
pub mod scan;
pub mod worlds;
