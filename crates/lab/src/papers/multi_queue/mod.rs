//! Paper 004: a grid without a centre, whose sites have three queues each and pass jobs on.

mod backfilling;
mod load;
mod outcome;
mod parameters;
mod schemes;
mod shown;
mod world;

use crate::study::Study;

/// In the order of the paper.
pub(super) static ALL: [&Study; 1] = [&backfilling::FIG8];
