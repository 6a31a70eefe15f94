//! Paper 003: a double auction between jobs and the queues of sites, and its rivals.

mod count;
mod parameters;
mod testbed;
mod week;
mod week_studies;

use crate::study::Study;

/// In the order of the paper.
pub(super) static ALL: [&Study; 1] = [&week_studies::FIG6A];
