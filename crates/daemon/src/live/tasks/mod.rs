//! What is done with tasks: the orders to sites, and those that sites hold.

mod held;
pub mod orders;
