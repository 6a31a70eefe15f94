//! A module per paper, or per pair of papers that share a study.

mod alp_amp;

use crate::study::Study;

/// The studies of each paper, in order.
static PAPERS: [&[&Study]; 1] = [&alp_amp::ALL];

/// All studies, in the order of papers.
pub fn studies() -> impl Iterator<Item = &'static Study> {
    PAPERS.iter().flat_map(|studies| studies.iter().copied())
}
