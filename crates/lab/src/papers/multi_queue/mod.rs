//! Paper 004: a grid without a centre, whose sites have three queues each and pass jobs on.

mod backfilling;
mod load;
mod months;
mod outcome;
mod parameters;
mod responses;
mod scale;
mod schemes;
mod shown;
mod slowdowns;
mod table;
mod text;
mod tuning;
mod world;

use crate::study::Study;

/// In the order of the paper, then what goes beyond it.
pub(super) static ALL: [&Study; 8] = [
    &table::TABLE1,
    &backfilling::FIG8,
    &slowdowns::FIG9,
    &responses::FIG10,
    &tuning::FIG11,
    &text::TEXT,
    &table::ON_THE_LOG,
    &scale::SCALING,
];
