//! Tradewind formats.

pub mod chart;
