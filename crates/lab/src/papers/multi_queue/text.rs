//! What the text says, and what each part of the mechanism is worth.

use super::load::{LOAD, STATED};
use super::schemes::{
    AGE_ONLY, CENTRAL, CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, GUARDED, HYBRID,
    HYBRID_ALONE, HYBRID_TWO, Scheme,
};
use super::shown::{everywhere, gain, less, listed, more, more_at_loads, over_loads, picture};
use super::world::stated_load;
use crate::case::Case;
use crate::findings::{Claim, Evidence, Findings, Gain, Published};
use crate::study::Study;
use crate::tally::Tally;
use crate::verdict::Verdict;

pub(super) static TEXT: Study = Study {
    id: "004-text",
    title: "What the text says: utilisation, waiting, unbounded delay; and where gains come from",
    experiment: &LOAD,
    findings,
};

static NUMBERS: [Published; 1] = [Published {
    name: "jobs per month",
    value: 7_200.0,
    decimals: 0,
    unit: "",
    place: "section 5",
    cause: "Drawn arrivals; 0.167 per minute makes 7 214 in 30 days.",
    erratum: None,
    measured: |tally| tally.pairs("jobs-per-month").ratio(),
    kind: Evidence::Measured,
}];

fn findings(case: &Case, tally: &Tally) -> Findings {
    let schemes = [HYBRID, GUARDED, EASY, CONSERVATIVE, CENTRAL];
    let panels = vec![
        over_loads(tally, &schemes, "longest-wait", "longest wait of a run, h"),
        over_loads(tally, &schemes, "utilisation", "utilisation"),
    ];
    Findings {
        numbers: NUMBERS.iter().map(|number| number.against(tally)).collect(),
        claims: claims(tally),
        gains: gains(tally),
        figure: picture("Longest waits and utilisation", "means over runs of one length", panels),
        notes: vec![
            format!(
                "The stated rate is an offered load of {:.2}: queues grow for as long as a run \
                 lasts, and means there say how the overload is shared out, not what a grid that \
                 can do its work would see. The last gains are therefore at 0.90.",
                stated_load(case)
            ),
            "EASY sites that pass jobs on let remote ones starve, because those stand behind all \
             local ones: see their longest wait."
                .to_owned(),
            format!(
                "Longest waits at a load of 0.90, in hours: {}.",
                listed(
                    tally,
                    "0.90",
                    &[
                        HYBRID,
                        GUARDED,
                        EASY,
                        EASY_MOVING,
                        CONSERVATIVE,
                        CONSERVATIVE_MOVING,
                        CENTRAL
                    ],
                    "longest-wait",
                    0
                )
            ),
        ],
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let over_both = |measure| {
        [EASY, CONSERVATIVE]
            .map(|other| (other.name.to_owned(), more(tally, STATED, HYBRID, other, measure)))
    };
    let waits = over_both("wait").map(|(name, of)| (name, less(of)));
    let shown =
        |measure, decimals| listed(tally, STATED, &[HYBRID, EASY, CONSERVATIVE], measure, decimals);
    vec![
        everywhere(
            "The hybrid mechanism raises the utilisation of the whole grid",
            &over_both("utilisation"),
            format!("at the stated rate {}", shown("utilisation", 3)),
        )
        .because(
            "Below a load of 1 every scheme uses what is offered; above it EASY sites waste hardly \
             more, and conservative ones no more than that.",
        ),
        everywhere(
            "Waiting times are considerably reduced",
            &waits,
            format!("mean wait in hours at the stated rate: {}", shown("wait", 1)),
        )
        .because("Short jobs first lowers the mean wait; see the controls."),
        starves(tally),
        waits_longer(tally),
        guarded(tally),
    ]
}

/// Hours that the medium job waits behind a stream of so many small ones.
fn starving(tally: &Tally, scheme: Scheme, stream: u32) -> f64 {
    tally.exact(&format!("starve/{}/{stream}", scheme.key)).mean
}

fn starves(tally: &Tally) -> Claim {
    let at = |scheme| (starving(tally, scheme, 1_000), starving(tally, scheme, 4_000));
    let ((short, long), (guarded, guarded_long), (_, easy)) = (at(HYBRID), at(GUARDED), at(EASY));
    let bounded = long < 1.5 * short;
    Claim::new(
        "The mechanism prevents unbounded delays",
        if bounded { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!(
            "a medium job on one site waits {short:.1} h behind a stream of 1,000 small ones and \
             {long:.1} h behind 4,000; with patience {guarded:.1} and {guarded_long:.1} h; EASY \
             {easy:.2} h"
        ),
    )
    .because(
        "As printed a medium job moves to the job queue only when β others wait beside it, so a \
         stream of small jobs that start at once keeps it out for ever; patience counts starts \
         instead.",
    )
}

fn waits_longer(tally: &Tally) -> Claim {
    let shorter: Vec<_> = more_at_loads(tally, HYBRID, EASY, "longest-wait")
        .into_iter()
        .map(|(load, of)| (load, less(of)))
        .collect();
    let low = listed(tally, "0.60", &[HYBRID, EASY], "longest-wait", 0);
    let high = listed(tally, "0.90", &[HYBRID, EASY], "longest-wait", 0);
    everywhere(
        "Nobody waits longer than with EASY: the longest wait is shorter at every load",
        &shorter,
        format!("in hours: {low} at load 0.60; {high} at 0.90"),
    )
    .because(
        "Long jobs of the backfill queues have no reservation and stand behind all short ones, \
         remote jobs behind all others: where queues never empty, some wait until arrivals cease.",
    )
}

fn guarded(tally: &Tally) -> Claim {
    let shorter: Vec<_> = ["0.90", "1.00", "1.10"]
        .map(|load| {
            (format!("load {load}"), less(more(tally, load, GUARDED, HYBRID, "longest-wait")))
        })
        .to_vec();
    everywhere(
        "Ours: patience and a guard for the oldest job shorten the longest wait in long queues",
        &shorter,
        format!(
            "in hours at load 0.90: {}",
            listed(tally, "0.90", &[GUARDED, HYBRID], "longest-wait", 0)
        ),
    )
    .because("Runs may be too short for a job to lose patience.")
}

fn gains(tally: &Tally) -> Vec<Gain> {
    let beside = [
        (GUARDED, "patience and a guard, so that every job starts at last"),
        (HYBRID_TWO, "two sites asked at random instead of all"),
        (CENTRAL, "control: one EASY queue for all sites instead of sites"),
        (HYBRID_ALONE, "control: the mechanism without migration"),
        (AGE_ONLY, "control: the mechanism without short-first"),
        (EASY_MOVING, "control: EASY with migration instead of the mechanism"),
        (CONSERVATIVE_MOVING, "control: conservative with migration instead of the mechanism"),
        (EASY, "control: EASY instead of the mechanism"),
    ];
    let measures = [
        ("response", "mean response at load 0.90, h"),
        ("slowdown", "equation (13) at load 0.90"),
        ("longest-wait", "longest wait at load 0.90, h"),
    ];
    let all = beside.iter().flat_map(|(scheme, name)| {
        measures.iter().map(move |measure| gain(tally, "0.90", (*scheme, HYBRID), name, *measure))
    });
    let messages = (HYBRID_TWO, HYBRID);
    let name = "two sites asked at random instead of all";
    all.chain([gain(tally, "0.90", messages, name, ("messages", "messages per job at load 0.90"))])
        .collect()
}
