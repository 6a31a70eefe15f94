//! Which numbers and claims of a file are evidence: not those that a parameter was chosen by, and
//! nothing twice.

use std::collections::{BTreeMap, BTreeSet};

use super::Study;
use crate::findings::Evidence;

/// Marks what parameters were chosen by, and what stands in the file already: the same formula over
/// the same experiment, or the same claim.
///
/// # Errors
/// A name of `chosen`, and what is wrong with it.
pub(super) fn mark(
    studies: &mut [Study],
    chosen: &BTreeMap<String, Vec<String>>,
) -> Result<(), (String, String)> {
    for (parameter, names) in chosen {
        for name in names {
            let found = choose(studies, parameter, name);
            if found == 0 {
                let message = format!("no study with the parameter `{parameter}` has `{name}`");
                return Err((parameter.clone(), message));
            }
        }
    }
    repeated(studies);
    Ok(())
}

/// How many numbers and claims of that name there are.
fn choose(studies: &mut [Study], parameter: &str, name: &str) -> usize {
    let has = |study: &Study| study.experiment.parameters.iter().any(|it| it.name == parameter);
    let mut found = 0;
    for study in studies.iter_mut().filter(|study| has(study)) {
        for number in study.content.numbers.iter_mut().filter(|number| number.name == name) {
            number.kind = Evidence::Fitted;
            number.chose.push(parameter.to_owned());
            found += 1;
        }
        for claim in study.content.claims.iter_mut().filter(|claim| claim.text == name) {
            claim.kind = Evidence::Fitted;
            claim.chose.push(parameter.to_owned());
            found += 1;
        }
    }
    found
}

fn repeated(studies: &mut [Study]) {
    let mut numbers = BTreeSet::new();
    let mut claims = BTreeSet::new();
    for study in studies {
        let experiment = study.experiment.id;
        for number in &mut study.content.numbers {
            let is_new = numbers.insert((experiment, number.measured.meaning()));
            if !is_new && number.kind.is_evidence() {
                number.kind = Evidence::Repeated;
            }
        }
        for claim in &mut study.content.claims {
            let is_new = claims.insert((experiment, claim.text.clone()));
            if !is_new && claim.kind.is_evidence() {
                claim.kind = Evidence::Repeated;
            }
        }
    }
}
