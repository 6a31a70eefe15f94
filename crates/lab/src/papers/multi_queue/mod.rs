//! Paper 004: a grid without a centre, whose sites have three queues each and pass jobs on.

mod backfilling;
mod load;
mod outcome;
mod parameters;
mod responses;
mod schemes;
mod shown;
mod slowdowns;
mod text;
mod tuning;
mod world;

use crate::study::Study;

/// In the order of the paper.
pub(super) static ALL: [&Study; 5] =
    [&backfilling::FIG8, &slowdowns::FIG9, &responses::FIG10, &tuning::FIG11, &text::TEXT];
