//! Figure 6 (c): deadlines missed against the number of applications.

use tradewind_io::chart::{Mark, PlotAcross};

use super::numbers::{
    GATE, against, because, claim, drawn, extremes, graded, more, number, of, panel, rivals,
};
use super::week::{MECHANISMS, THUNDER_WEEK};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};

pub(super) static FIG6C: Study = Study {
    id: "003-fig6c",
    title: "Deadlines missed against the number of applications",
    experiment: &THUNDER_WEEK,
    findings,
};

const PLACE: &str = "section V-B.2.c";

static NUMBERS: [Published; 2] = [
    because(GATE, number("DAM over the best rival", 4.0, "%", PLACE, |t| over_rivals(t).0)),
    because(
        "Half of these jobs run for less than a minute, and the rivals that heed neither run time \
         nor deadline let them wait behind long ones.",
        number("DAM over the worst rival", 15.0, "%", PLACE, |t| over_rivals(t).1),
    ),
];

/// By how many percent the auction has more in time than the best and than the worst rival.
pub(super) fn over_rivals(tally: &Tally) -> (Estimate, Estimate) {
    extremes(rivals().map(|(id, _)| more(tally, id, "all")))
}

fn findings(_: &Case, tally: &Tally) -> Findings {
    let missed = |id: &str, sixths: u32| tally.mean(&format!("{id}/missed-{sixths}"));
    let across = PlotAcross::Numbers("applications".to_owned());
    let lines = panel("deadlines missed", across, Mark::Line, |id| {
        let x = |sixths: u32| tally.mean(&format!("applications-{sixths}")).mean;
        (1..=6).map(|sixths| (x(sixths), missed(id, sixths))).collect()
    });
    let subtitle = "the first sixth of the applications, the first two, and so on";
    Findings {
        claims: claims(tally),
        figure: drawn(FIG6C.title, subtitle, vec![lines]),
        ..against(&NUMBERS, tally)
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let missed = |id: &str, sixths: u32| tally.mean(&format!("{id}/missed-{sixths}")).mean;
    let rises = |id: &str| (2..=6).all(|at| missed(id, at) >= missed(id, at - 1));
    let rising = MECHANISMS.iter().filter(|(id, ..)| rises(id)).count();
    let min = (1..=6u32)
        .filter(|at| rivals().all(|(id, _)| missed("dam", *at) <= missed(id, *at)))
        .count();
    let all = MECHANISMS.map(|(id, name, _)| format!("{name} {:.1}", missed(id, 6))).join(", ");
    let edf = ["sjf", "hvfq", "fcfs"].iter().all(|id| missed("edf-fq", 6) <= missed(id, 6));
    let sjf = rivals().all(|(id, _)| missed("sjf", 6) >= missed(id, 6));
    vec![
        graded(
            "DAM misses the fewest deadlines, however many applications there are",
            of(min, 6),
            tally,
            format!("at {min} of 6 numbers; of all applications: {all}"),
        )
        .because(GATE),
        graded(
            "More applications mean more missed deadlines",
            of(rising, MECHANISMS.len()),
            tally,
            format!("for {rising} of {} mechanisms throughout", MECHANISMS.len()),
        )
        .because("Fewer applications leave some that were missed without a rival."),
        claim("EDF-FQ is better than SJF, HVFQ and FCFS", edf, tally, all.clone())
            .because("The order of deadlines is near that of run times here."),
        claim("SJF performs worst", sjf, tally, all).because(
            "Most of these jobs run for less than a minute, and shortest job first serves those \
             before their deadlines pass.",
        ),
    ]
}
