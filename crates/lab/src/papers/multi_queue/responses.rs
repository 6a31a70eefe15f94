//! Figure 10: the mean response against the load.

use super::load::{LOAD, LOADS, STATED};
use super::schemes::{
    CENTRAL, CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, HYBRID, HYBRID_ALONE, Scheme,
};
use super::shown::{everywhere, less, listed, mean, more, more_at_loads, over_loads, picture};
use crate::case::Case;
use crate::findings::{Claim, Findings};
use crate::study::Study;
use crate::tally::Tally;
use crate::verdict::Verdict;

pub(super) static FIG10: Study = Study {
    id: "004-fig10",
    title: "Mean response against the load: hybrid, EASY, conservative",
    experiment: &LOAD,
    findings,
};

fn findings(_: &Case, tally: &Tally) -> Findings {
    let controls = [HYBRID, HYBRID_ALONE, EASY_MOVING, CONSERVATIVE_MOVING, CENTRAL];
    let panels = vec![
        over_loads(tally, &[HYBRID, EASY, CONSERVATIVE], "response", "mean response, h"),
        over_loads(tally, &controls, "response", "mean response, controls, h"),
    ];
    Findings {
        claims: claims(tally),
        figure: picture(FIG10.title, "from submission to end, transfers included", panels),
        notes: vec![format!(
            "At a load of 0.90, in hours: {}.",
            listed(
                tally,
                "0.90",
                &[
                    EASY,
                    EASY_MOVING,
                    CONSERVATIVE,
                    CONSERVATIVE_MOVING,
                    HYBRID_ALONE,
                    HYBRID,
                    CENTRAL
                ],
                "response",
                1
            )
        )],
        ..Findings::default()
    }
}

const CHEAP: &str = "A job of 32 processors takes half a minute to another site and saves hours of \
                     waiting. The paper says neither how long transfers take nor how much data \
                     jobs have. Its order appears at low loads if transfers take as long as jobs do \
                     (`data-mb=10000`), and at high ones if jobs ask for up to five times their \
                     run times (`overestimate=5`).";

fn claims(tally: &Tally) -> Vec<Claim> {
    vec![
        steep(tally),
        steeper(tally),
        everywhere(
            "The hybrid mechanism's response is greater than conservative backfilling's",
            &more_at_loads(tally, HYBRID, CONSERVATIVE, "response"),
            ends(tally, &[HYBRID, CONSERVATIVE]),
        )
        .because(CHEAP),
        everywhere(
            "Control: it is greater than that of conservative sites that pass jobs on as well",
            &more_at_loads(tally, HYBRID, CONSERVATIVE_MOVING, "response"),
            ends(tally, &[HYBRID, CONSERVATIVE_MOVING]),
        )
        .because("Both pass on almost as many jobs; short-first keeps the response below."),
        everywhere(
            "It passes on more jobs than conservative sites, if those pass jobs on at all",
            &more_at_loads(tally, HYBRID, CONSERVATIVE_MOVING, "passed-on"),
            format!(
                "{} of all jobs at the stated rate",
                listed(tally, STATED, &[HYBRID, CONSERVATIVE_MOVING], "passed-on", 3)
            ),
        )
        .because(
            "Where sites are rarely full both pass on what does not start at once, the same jobs; \
             the β rule passes on more only in long queues.",
        ),
    ]
}

fn steep(tally: &Tally) -> Claim {
    let (low, high) = (LOADS[0].0, LOADS[LOADS.len() - 1].0);
    let rise = mean(tally, high, EASY, "response") / mean(tally, low, EASY, "response");
    let verdict = if rise > 4.0 { Verdict::Reproduced } else { Verdict::NotReproduced };
    Claim::new(
        "EASY's response rises steeply with the utilisation",
        verdict,
        format!("{rise:.1} times as long at load {high} as at {low}"),
    )
    .because("More than four times was asked for; runs must be long enough for queues to grow.")
}

fn steeper(tally: &Tally) -> Claim {
    let (high, _) = LOADS[LOADS.len() - 1];
    let difference = more(tally, high, EASY, CONSERVATIVE, "response");
    Claim::positive(
        "It rises more steeply than conservative backfilling's",
        difference,
        format!(
            "{} hours at load {high}",
            listed(tally, high, &[EASY, CONSERVATIVE], "response", 1)
        ),
    )
    .because(
        "With exact run times EASY and conservative backfilling delay the mean job equally. If jobs \
         ask for up to five times their run times (`overestimate=5`), EASY's does rise more \
         steeply; the paper does not say what jobs ask for.",
    )
}

fn ends(tally: &Tally, schemes: &[Scheme]) -> String {
    let at = |load: &str| listed(tally, load, schemes, "response", 1);
    let (low, high) = (LOADS[0].0, LOADS[LOADS.len() - 1].0);
    let max = more_at_loads(tally, schemes[0], schemes[1], "response");
    let smaller = max.iter().filter(|(_, of)| less(*of).low > 0.0).count();
    format!(
        "in hours: {} at load {low}; {} at {high}; surely less at {smaller} of {} loads",
        at(low),
        at(high),
        LOADS.len()
    )
}
