//! What is done with projects: who may change them and spend from them, how much is left, and when
//! that ends.

mod budget;
mod forecast;
pub mod import;
mod rule;

pub use budget::{BudgetShare, Limited};
pub use forecast::Forecast;
