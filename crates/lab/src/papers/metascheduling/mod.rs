//! Paper 000: searches by criterion, batch-slicer, and its union with backfilling, in a simulated
//! virtual organisation.

mod numbers;
mod parameters;
mod single;
mod single_study;
mod world;

use crate::study::Study;

/// In the order of the paper.
pub(super) static ALL: [&Study; 1] = [&single_study::FIG5];
