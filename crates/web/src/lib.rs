//! Tradewind over HTTP.
