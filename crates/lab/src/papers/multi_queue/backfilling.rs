//! Figure 8: how much is backfilled.

use super::load::{LOAD, LOADS, STATED};
use super::schemes::{
    CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, HYBRID, HYBRID_ALONE, Scheme,
};
use super::shown::{everywhere, listed, mean, more_at_loads, over_loads, picture};
use crate::case::Case;
use crate::findings::{Claim, Findings};
use crate::study::Study;
use crate::tally::Tally;

pub(super) static FIG8: Study = Study {
    id: "004-fig8",
    title: "Backfilling ratio against the load: hybrid, EASY, conservative",
    experiment: &LOAD,
    findings,
};

fn findings(_: &Case, tally: &Tally) -> Findings {
    let controls = [HYBRID, HYBRID_ALONE, EASY_MOVING, CONSERVATIVE_MOVING];
    let panels = vec![
        over_loads(tally, &[HYBRID, EASY, CONSERVATIVE], "backfilled", "backfilling ratio"),
        over_loads(tally, &controls, "backfilled", "backfilling ratio, controls"),
    ];
    let subtitle = "jobs that start before an older one of their site, over all that queued";
    Findings {
        claims: claims(tally),
        figure: picture(FIG8.title, subtitle, panels),
        notes: vec![
            "The paper calls its axis the utilisation, \"dividing the job arrival time by the \
             average processing time\": the offered load. What is used is less in an overload."
                .to_owned(),
            format!(
                "At the stated rate: {}.",
                listed(
                    tally,
                    STATED,
                    &[HYBRID, HYBRID_ALONE, EASY, EASY_MOVING, CONSERVATIVE, CONSERVATIVE_MOVING],
                    "backfilled",
                    3
                )
            ),
        ],
        ..Findings::default()
    }
}

const MOVED: &str = "At low loads a job that would be backfilled at home is passed on instead to a \
                     site where it starts at once, past nobody. With transfers of an hour \
                     (`data-mb=1000`) the claim holds at every load; the paper does not say how long \
                     they take.";

fn claims(tally: &Tally) -> Vec<Claim> {
    let over = |text, one, other, why| {
        everywhere(
            text,
            &more_at_loads(tally, one, other, "backfilled"),
            ends(tally, &[one, other]),
        )
        .because(why)
    };
    vec![
        over(
            "EASY backfills more than conservative backfilling, at every load",
            EASY,
            CONSERVATIVE,
            "Where hardly anybody waits there is hardly anybody to pass.",
        ),
        over("The hybrid mechanism backfills more than EASY, at every load", HYBRID, EASY, MOVED),
        over(
            "The hybrid mechanism backfills more than conservative backfilling, at every load",
            HYBRID,
            CONSERVATIVE,
            MOVED,
        ),
        over(
            "Control: it backfills more than EASY sites that pass jobs on as well",
            HYBRID,
            EASY_MOVING,
            "The lead of the three queues is not the same at all loads.",
        ),
        over(
            "Control: without migration it backfills more than EASY, at every load",
            HYBRID_ALONE,
            EASY,
            "The lead of the three queues is not the same at all loads.",
        ),
    ]
}

/// The ratios at the least and at the greatest load.
fn ends(tally: &Tally, schemes: &[Scheme]) -> String {
    let (Some((low, _)), Some((high, _))) = (LOADS.first(), LOADS.last()) else {
        return String::new();
    };
    let one = |scheme: &Scheme| {
        let at = |load| mean(tally, load, *scheme, "backfilled");
        format!("{} {:.3} to {:.3}", scheme.name, at(low), at(high))
    };
    let all: Vec<String> = schemes.iter().map(one).collect();
    format!("{} from load {low} to {high}", all.join(", "))
}
