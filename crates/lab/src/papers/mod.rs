//! A module per paper, or per pair of papers that share a study.

pub mod alp_amp;

use crate::study::Study;

/// All studies, in the order of papers.
pub static STUDIES: &[&Study] = &[];
