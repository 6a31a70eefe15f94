//! The market in real time, as a state machine without clock, threads or files.
mod apply;
pub mod money;
pub mod record;
pub mod rights;
pub mod state;

pub use apply::Wrong;
pub use record::Record;
pub use state::State;
