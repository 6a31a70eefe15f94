//! Figure 7: how far the loads of sites are apart.

use tradewind_io::chart::{Mark, PlotAcross};

use super::count::TWELFTHS;
use super::numbers::{against, because, claim, drawn, graded, misprint, number, of, panel, rivals};
use super::parameters::WINDOW;
use super::week::{MECHANISMS, THUNDER_WEEK};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};

pub(super) static FIG7: Study = Study {
    id: "003-fig7",
    title: "Deviation of load across sites",
    experiment: &THUNDER_WEEK,
    findings,
};

const FULL: &str = "While there is more work than processors, rivals fill every site and deviate \
                    little, and the auction's gate leaves room at some; loads drift apart when \
                    work runs out, so this depends on the window and on how wide jobs are.";

static NUMBERS: [Published; 2] = [
    because(
        FULL,
        number("EDF-FQ's deviation over DAM's", 5.0, "", "section V-B.3", |t| {
            over_dam(t, "edf-fq")
        }),
    ),
    misprint(
        "Section V says that EDF-FQ, the next best, deviates 5 times as much as DAM, and that \
         FairShare deviates most; the conclusion says that FairShare deviates 35 % more than DAM.",
        because(
            FULL,
            number("FairShare's deviation more than DAM's", 35.0, "%", "section VI", |t| {
                over_dam(t, "fair-share").map(|ratio| 100.0 * (ratio - 1.0))
            }),
        ),
    ),
];

fn over_dam(tally: &Tally, rival: &str) -> Estimate {
    tally.pairs(&format!("{rival}/deviation")).ratio().map(|ratio| 1.0 / ratio)
}

fn findings(case: &Case, tally: &Tally) -> Findings {
    let across = PlotAcross::Numbers("seconds after the first submission".to_owned());
    let step = case.number(&WINDOW) / TWELFTHS as f64;
    let lines = panel("deviation of load", across, Mark::Line, |id| {
        let x = |at: usize| (at as f64 + 0.5) * step;
        (0..TWELFTHS).map(|at| (x(at), tally.mean(&format!("{id}/deviation-{at}")))).collect()
    });
    let subtitle = "standard deviation over the ten sites of the share of processors in use";
    Findings {
        claims: claims(tally),
        figure: drawn(FIG7.title, subtitle, vec![lines]),
        notes: vec![format!(
            "All applications are submitted within {:.0} s of the first one. The window is our \
             reading: in the first hour the auction deviates more than its rivals, in ten hours \
             less, which is what the paper shows.",
            tally.mean("last-submission").mean
        )],
        ..against(&NUMBERS, tally)
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let mean = |id: &str| tally.mean(&format!("{id}/deviation")).mean;
    let part = |id: &str, at: usize| tally.mean(&format!("{id}/deviation-{at}")).mean;
    let all = MECHANISMS.map(|(id, name, _)| format!("{name} {:.3}", mean(id))).join(", ");
    let rising = |id: &str| (1..TWELFTHS).filter(|at| part(id, *at) > part(id, *at - 1)).count();
    let rise: usize = rivals().map(|(id, _)| rising(id)).sum();
    let steps = (MECHANISMS.len() - 1) * (TWELFTHS - 1);
    let min = rivals().all(|(id, _)| mean("dam") <= mean(id));
    let nearest = rivals().all(|(id, _)| mean("edf-fq") <= mean(id));
    let max = rivals().all(|(id, _)| mean("fair-share") >= mean(id));
    vec![
        claim(
            "DAM keeps the deviation of load almost at 0",
            mean("dam") <= 0.05,
            tally,
            all.clone(),
        )
        .because(FULL),
        claim("DAM's deviation of load is the least", min, tally, all.clone()).because(FULL),
        claim("EDF-FQ comes nearest to DAM", nearest, tally, all.clone())
            .because("The rivals but FairShare take the same earliest slots and deviate alike."),
        claim("FairShare's deviation is the greatest", max, tally, all).because(
            "With shares of free processors it is by far; with shares of all, it is like HVFQ's \
                 and FCFS's.",
        ),
        graded(
            "Under the other mechanisms the deviation rises steadily",
            of(rise, steps),
            tally,
            format!("in {rise} of {steps} steps from a twelfth of the window to the next"),
        )
        .because(
            "It falls while sites fill up and rises once jobs end; what the paper's axis of time \
             covers is not said.",
        ),
    ]
}
