//! What policies on several pools share: what a job wants of the pools, where it finds it, and
//! what is taken already.

mod booking;
mod books;
mod search;
mod wish;

pub(super) use booking::{Booking, Part};
pub(super) use books::{Books, News};
pub use wish::Spread;
pub(super) use wish::Wish;
