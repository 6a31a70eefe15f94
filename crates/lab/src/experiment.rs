//! What is simulated for the studies.

use crate::case::{Case, Parameter};
use crate::tally::Tally;

/// A simulation study: what is run, apart from what is concluded.
#[derive(Debug)]
pub struct Experiment {
    /// Lower case with hyphens.
    pub id: &'static str,
    /// What is done in one part, in a sentence.
    pub summary: &'static str,
    /// All that may be set; every assumption that the paper does not state is one of them.
    pub parameters: &'static [&'static Parameter],
    /// Files of real logs that it replays, such as `LLNL-Thunder-2007-1.1-cln.swf`, found in a
    /// folder with or without `.gz`. [`Case::log`] has those that are there; without them it
    /// counts what it can.
    pub logs: &'static [&'static str],
    /// How many parts there are: each some second of work at full size, so that progress is
    /// seen and little is lost when a run is stopped.
    pub parts: fn(&Case) -> u32,
    /// Does one part. A function of the case and the part's number alone.
    pub part: fn(&Case, u32) -> Tally,
}

/// Runs all parts, one after the other.
pub fn run(experiment: &Experiment, case: &Case) -> Tally {
    let mut tally = Tally::default();
    for part in 0..(experiment.parts)(case) {
        tally.merge(&(experiment.part)(case, part));
    }
    tally
}
