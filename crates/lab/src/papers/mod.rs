//! A module per paper, or per pair of papers that share a study.

mod alp_amp;
mod double_auction;
mod metascheduling;
mod multi_queue;
mod shorthand;

use crate::study::Study;

/// The studies of each paper, in order.
static PAPERS: [&[&Study]; 4] =
    [&metascheduling::ALL, &alp_amp::ALL, &double_auction::ALL, &multi_queue::ALL];

/// All studies, in the order of papers.
pub fn studies() -> impl Iterator<Item = &'static Study> {
    PAPERS.iter().flat_map(|studies| studies.iter().copied())
}
