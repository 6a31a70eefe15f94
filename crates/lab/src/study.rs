//! Experiments and the studies that read them.

use crate::case::{Case, Parameter};
use crate::data::{Content, DataError, studies};
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

/// One table or figure of a paper, or numbers of its text.
#[derive(Debug)]
pub struct Study {
    /// Begins with the paper's number: `001-fig4`.
    pub id: String,
    /// What is shown there.
    pub title: String,
    /// What must be run for it.
    pub experiment: &'static Experiment,
    /// What the paper prints and claims there, and how the run measures it.
    pub(crate) content: Content,
}

impl Study {
    /// The paper's number: `001`.
    pub fn paper(&self) -> &str {
        self.id.split('-').next().unwrap_or(&self.id)
    }
}

/// The study of this id.
///
/// # Errors
/// [`DataError`], as of [`studies`].
pub fn find(id: &str) -> Result<Option<&'static Study>, DataError> {
    Ok(studies()?.iter().find(|study| study.id == id))
}

/// The experiments of `studies`, each once, in order.
pub fn experiments(studies: &[&'static Study]) -> Vec<&'static Experiment> {
    let mut found: Vec<&'static Experiment> = Vec::new();
    for study in studies {
        if found.iter().all(|experiment| experiment.id != study.experiment.id) {
            found.push(study.experiment);
        }
    }
    found
}

/// Runs all parts, one after the other.
pub fn run(experiment: &Experiment, case: &Case) -> Tally {
    let mut tally = Tally::default();
    for part in 0..(experiment.parts)(case) {
        tally.merge(&(experiment.part)(case, part));
    }
    tally
}
