//! Figure 6 (b): who is in time, by value per processor.

use tradewind_io::chart::{Mark, PlotAcross};

use super::count::{MEDIUM, VALUE};
use super::numbers::{
    GATE, against, because, drawn, extremes, graded, more, number, of, panel, rivals, share,
};
use super::week::{MECHANISMS, THUNDER_WEEK};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};

pub(super) static FIG6B: Study = Study {
    id: "003-fig6b",
    title: "Applications in time by value per processor",
    experiment: &THUNDER_WEEK,
    findings,
};

const PLACE: &str = "section V-B.2.b";
const CLASSES: &str = "The classes are in a picture only, but for the first; their borders and \
                       which of them are medium are ours. But FairShare and HVFQ, which heed \
                       neither run time nor deadline, are further behind in every class here.";

static NUMBERS: [Published; 5] = [
    because(
        CLASSES,
        number("DAM over FairShare, least of all classes but medium ones", 12.0, "%", PLACE, |t| {
            let others = (0..VALUE.len()).filter(|class| !MEDIUM.contains(class));
            extremes(others.map(|class| over(t, "fair-share", class))).0
        }),
    ),
    because(
        WIDE,
        number("DAM: in time of those below 1 000", 30.0, "%", PLACE, |t| {
            share(t, "dam", "value-0")
        }),
    ),
    because(
        WIDE,
        number("FairShare: in time of those below 1 000", 5.0, "%", PLACE, |t| {
            share(t, "fair-share", "value-0")
        }),
    ),
    because(
        CLASSES,
        number("HVFQ below DAM, class with the least gap", 10.0, "%", PLACE, |t| fewer(t).0),
    ),
    because(
        CLASSES,
        number("HVFQ below DAM, class with the greatest gap", 25.0, "%", PLACE, |t| fewer(t).1),
    ),
];

const WIDE: &str = "The least valued applications are the widest ones, and how many of those find \
                    room depends on slots and the length of a cycle.";

fn over(tally: &Tally, other: &str, class: usize) -> Estimate {
    more(tally, other, &format!("value-{class}"))
}

/// By how many percent HVFQ has less than the auction: least and most of all classes.
fn fewer(tally: &Tally) -> (Estimate, Estimate) {
    let below = |class: usize| {
        let ratio = tally.pairs(&format!("hvfq/value-{class}")).ratio();
        ratio.map(|ratio| 100.0 * (1.0 - 1.0 / ratio))
    };
    extremes((0..VALUE.len()).map(below))
}

fn findings(_: &Case, tally: &Tally) -> Findings {
    let names = VALUE.map(|class| class.label.to_owned()).to_vec();
    let bars = panel("in time, %", PlotAcross::Cases(names), Mark::Bars, |id| {
        let value = |at| (at as f64, share(tally, id, &format!("value-{at}")));
        (0..VALUE.len()).map(value).collect()
    });
    let subtitle = "shares of each class; value per processor in credits";
    Findings {
        claims: claims(tally),
        figure: drawn(FIG6B.title, subtitle, vec![bars]),
        notes: vec![format!(
            "Values do not depend on width, so a value below 1 000 per processor means a job of at \
             least {:.0} processors: the class is that of the widest jobs, not of poor users.",
            tally.series("narrowest-of-low-value").min
        )],
        ..against(&NUMBERS, tally)
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let mean = |id: &str, class: usize| share(tally, id, &format!("value-{class}")).mean;
    let known: Vec<usize> = (0..VALUE.len()).filter(|at| mean("dam", *at).is_finite()).collect();
    let leads = |class: &&usize| rivals().all(|(id, _)| mean("dam", **class) >= mean(id, **class));
    let led = known.iter().filter(leads).count();
    let low = |id: &str| mean(id, 0);
    let list = |id: &str| {
        let shares = known.iter().map(|class| format!("{:.1}", mean(id, *class)));
        shares.collect::<Vec<_>>().join(", ")
    };
    let all = MECHANISMS.map(|(id, name, _)| format!("{name} {}", list(id))).join("; ");
    let medium: Vec<usize> = known.iter().copied().filter(|at| MEDIUM.contains(at)).collect();
    let better = medium.iter().filter(|at| mean("fair-share", **at) > mean("dam", **at)).count();
    vec![
        graded(
            "DAM has the most applications in time in almost all classes of value",
            of(led, known.len()),
            tally,
            format!("in {led} of {}; in time, %: {all}", known.len()),
        )
        .because(GATE),
        graded(
            "FairShare is slightly better than DAM for medium values",
            of(better, medium.len()),
            tally,
            format!("in {better} of {} classes that we call medium", medium.len()),
        )
        .because(CLASSES),
        graded(
            "FairShare serves the least valued applications worst",
            of(usize::from(rivals().all(|(id, _)| low("fair-share") <= low(id))), 1),
            tally,
            rivals()
                .map(|(id, name)| format!("{name} {:.1} %", low(id)))
                .collect::<Vec<_>>()
                .join(", "),
        )
        .because("Rivals that take the earliest slot skip wide jobs just as often."),
    ]
}
