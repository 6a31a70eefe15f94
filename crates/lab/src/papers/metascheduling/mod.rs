//! Paper 000: searches by criterion, batch-slicer, and its union with backfilling, in a simulated
//! virtual organisation.

mod filling;
mod filling_study;
mod numbers;
mod owners;
mod owners_study;
mod parameters;
mod replay;
mod single;
mod single_study;
mod slices;
mod slices_study;
mod users;
mod users_study;
mod working;
mod working_study;
mod world;

use crate::study::Study;

/// In the order of the paper.
pub(super) static ALL: [&Study; 8] = [
    &single_study::FIG5,
    &working_study::FIG6,
    &users_study::TABLE1,
    &slices_study::FIG7,
    &owners_study::TABLE2,
    &owners_study::FIG8,
    &filling_study::FIG9,
    &filling_study::TABLE3,
];
