//! The `tradewind` command.
fn main() {}
