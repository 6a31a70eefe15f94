//! Tradewind formats.
