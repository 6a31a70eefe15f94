//! Figures 6 and 7 and the text about them.

use super::week::THUNDER_WEEK;
use crate::case::Case;
use crate::findings::Findings;
use crate::study::Study;
use crate::tally::Tally;

pub(super) static FIG6A: Study = Study {
    id: "003-fig6a",
    title: "Applications in time by urgency",
    experiment: &THUNDER_WEEK,
    findings,
};

fn findings(_: &Case, tally: &Tally) -> Findings {
    Findings { notes: tally.text().lines().map(|s| s.to_owned()).collect(), ..Findings::default() }
}
