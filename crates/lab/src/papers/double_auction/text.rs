//! What the paper concludes, and what other choices than its own give.

use super::missed::over_rivals;
use super::numbers::{GATE, against, because, claim, extremes, graded, number, rivals, share};
use super::week::{MECHANISMS, THUNDER_WEEK, VARIANTS};
use crate::case::Case;
use crate::findings::{Claim, Findings, Gain, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static TEXT: Study = Study {
    id: "003-text",
    title: "The auction's gain in all, and what other choices give",
    experiment: &THUNDER_WEEK,
    findings,
};

static NUMBERS: [Published; 2] = [
    because(
        GATE,
        number("DAM over the best rival, in all", 10.0, "%", "section VI", |t| over_rivals(t).0),
    ),
    because(
        "The least valued applications are the widest ones, whose number in time depends on slots \
         and the length of a cycle; of which mechanism the paper's 18 % are is not said.",
        number(
            "DAM ahead of the best rival below 1 000 per processor",
            18.0,
            "points",
            "section VI",
            |t| ahead(t, "value-0"),
        ),
    ),
];

/// The auction's share less that of the best rival, in points.
fn ahead(tally: &Tally, group: &str) -> Estimate {
    let size = tally.mean(&format!("dam/{group}")).mean;
    let per = |(id, _): (&str, &str)| {
        let pairs = tally.pairs(&format!("{id}/{group}"));
        // Counts become shares by the size of the group, which all mechanisms have in common.
        let points = 100.0 * size / pairs.means()[0].mean;
        pairs.difference().map(|difference| points * difference)
    };
    extremes(rivals().map(per)).0
}

fn findings(_: &Case, tally: &Tally) -> Findings {
    let welfare = |id: &str| tally.mean(&format!("{id}/welfare")).mean / 1e6;
    Findings {
        claims: claims(tally),
        gains: gains(tally),
        notes: vec![
            format!(
                "What is in time is worth {:.0} million credits less than all that ran costs under \
                 DAM, because most of the work is not worth its price. Bids and asks per second \
                 turn this into a gain of {:.0} million, and trades half-way between ask and bid \
                 into one of {:.0} million, with fewer applications in time.",
                -welfare("dam"),
                welfare("unit"),
                welfare("k-price"),
            ),
            "Six applications are wider than any queue and fail under every mechanism. They count."
                .to_owned(),
        ],
        ..against(&NUMBERS, tally)
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let all = |id: &str| share(tally, id, "all").mean;
    let best = rivals().map(|(id, _)| all(id)).fold(0.0, f64::max);
    let list = MECHANISMS.map(|(id, name, _)| format!("{name} {:.1} %", all(id))).join(", ");
    let affords = tally.mean("affords").mean;
    vec![
        claim(
            "DAM completes more applications in time than all rivals",
            all("dam") > best,
            tally,
            list,
        )
        .because(GATE),
        graded(
            "It is by its bids, which rise with urgency, that DAM wins",
            match all("no-gate") - best {
                by_bids if by_bids > 0.5 * (all("dam") - best) => Verdict::Reproduced,
                by_bids if by_bids > 0.0 => Verdict::Trend,
                _ => Verdict::NotReproduced,
            },
            tally,
            format!(
                "without the gate DAM has {:.1} % in time, with it {:.1} %; the best rival has \
                 {best:.1} %, and EDF-FQ behind the gate {:.1} %",
                all("no-gate"),
                all("dam"),
                all("gated-edf"),
            ),
        )
        .because("Most of the gain is admission control, which serves other orders as well."),
        graded(
            "Values are always greater than what the application costs",
            if affords == 1.0 { Verdict::Reproduced } else { Verdict::NotReproduced },
            tally,
            format!("{:.1} % are worth their cost in the dearest queue", 100.0 * affords),
        )
        .because(
            "90 000 credits pay for some 10 000 processor-seconds, and jobs of the log are larger.",
        ),
        claim(
            "At least half of the users can afford the dearest queue",
            affords >= 0.5,
            tally,
            format!("{:.1} % of the applications", 100.0 * affords),
        )
        .because("Values do not grow with the work."),
    ]
}

fn gains(tally: &Tally) -> Vec<Gain> {
    let gain = |name, measure, pair: &str| {
        let pairs = tally.pairs(pair);
        let [paper, ours] = pairs.means();
        Gain { name, measure, paper, ours, ratio: pairs.ratio().map(|ratio| 1.0 / ratio) }
    };
    let of = |(id, name): &(&str, &'static str)| {
        [
            gain(name, "applications in time", &format!("{id}/all")),
            gain(name, "deviation of load", &format!("{id}/deviation")),
        ]
    };
    VARIANTS.iter().flat_map(of).collect()
}
