//! Studies, and the experiments that they read.

use super::{Content, DataError, studies};
use crate::experiment::Experiment;

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
    /// The numbers and claims that `parameter` was chosen by.
    pub fn chosen_by(&self, parameter: &str) -> Vec<&str> {
        let chose = |all: &[String]| all.iter().any(|name| name == parameter);
        let numbers = self.content.numbers.iter().filter(|number| chose(&number.chose));
        let claims = self.content.claims.iter().filter(|claim| chose(&claim.chose));
        let names = numbers.map(|number| number.name.as_str());
        names.chain(claims.map(|claim| claim.text.as_str())).collect()
    }

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
