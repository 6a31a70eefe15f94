//! Figure 5 and the text about it.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::numbers::{against, because, drawn, extremes, misprint, number, of, series};
use super::steady::{SCALES, STEADY, rate};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static FIG5: Study = Study {
    id: "003-fig5",
    title: "The auction and the queueing model: waits and slowdowns",
    experiment: &STEADY,
    findings,
};

const PLACE: &str = "section V-B.1";
const WIDTHS: &str = "The paper gives no law of widths, number of queues or length of a cycle: jobs \
                      up to 64 wide, which the model can have, hardly wait in the simulation, and \
                      jobs up to 128 wide, which wait, leave the model one partition.";
const MISPRINTS: &str = "As printed the model lacks a half in (8) and (12), has the chance of an \
                         empty system for Erlang's C in (10), and a rate for a mean in (21): its \
                         waits are too short by a factor of up to 175.";

static NUMBERS: [Published; 2] = [
    misprint(
        MISPRINTS,
        because(
            WIDTHS,
            number("DAM's wait below the model's, least gap, scale 25", 25.0, "%", PLACE, |t| {
                gaps(t, "printed").0
            }),
        ),
    ),
    misprint(
        MISPRINTS,
        because(
            WIDTHS,
            number("DAM's wait below the model's, greatest gap, scale 25", 30.0, "%", PLACE, |t| {
                gaps(t, "printed").1
            }),
        ),
    ),
];

/// By how many percent the auction's wait is below the model's: least and most of all rates.
fn gaps(tally: &Tally, model: &str) -> (Estimate, Estimate) {
    gaps_of(tally, "dam", model)
}

fn gaps_of(tally: &Tally, system: &str, model: &str) -> (Estimate, Estimate) {
    let (scale, points) = SCALES[1];
    extremes((0..points).map(|point| {
        let theory = tally.exact(&format!("{model}/{scale}/{point}/wait")).mean;
        let wait = tally.mean(&format!("{system}/{scale}/{point}/wait"));
        wait.map(|wait| 100.0 * (1.0 - wait / theory))
    }))
}

fn findings(_: &Case, tally: &Tally) -> Findings {
    let panels = SCALES.iter().flat_map(|(scale, points)| {
        ["wait", "slowdown"].map(|measure| panel(tally, (*scale, *points), measure))
    });
    let subtitle = "means; slowdown is wait / run time; the corrected model is beyond the picture";
    let list = |system: &str, measure: &str| {
        let per = SCALES.map(|(scale, points)| {
            let mean = |point| tally.mean(&format!("{system}/{scale}/{point}/{measure}")).mean;
            let means: Vec<String> = (0..points).map(|at| format!("{:.3}", mean(at))).collect();
            format!("{} (scale {scale})", means.join(", "))
        });
        per.join("; ")
    };
    Findings {
        claims: claims(tally),
        figure: drawn(FIG5.title, subtitle, panels.collect()),
        notes: vec![
            format!("Waits of DAM, s: {}.", list("dam", "wait")),
            format!(
                "Waits of DAM with jobs up to 128 wide in one queue, s: {}.",
                list("wide", "wait")
            ),
            format!("Waits of the model as printed, s: {}.", list("printed", "wait")),
            format!("Waits of the model as corrected, s: {}.", list("corrected", "wait")),
        ],
        ..against(&NUMBERS, tally)
    }
}

fn panel(tally: &Tally, (scale, points): (u32, usize), measure: &str) -> PlotPanel {
    let line = |name: &str, system: &str| {
        let key = |point: usize| format!("{system}/{scale}/{point}/{measure}");
        let value = |point| match system {
            "printed" => (rate(point), tally.exact(&key(point))),
            _ => (rate(point), tally.mean(&key(point))),
        };
        series(name, Mark::Line, (0..points).map(value).collect())
    };
    PlotPanel {
        up: format!("{measure}{}, scale {scale}", if measure == "wait" { ", s" } else { "" }),
        across: PlotAcross::Numbers("jobs per second".to_owned()),
        series: vec![
            line("DAM", "dam"),
            line("DAM, jobs up to 128 wide", "wide"),
            line("model as printed", "printed"),
        ],
    }
}

/// All points: scale and number.
fn points() -> impl Iterator<Item = (u32, usize)> + Clone {
    SCALES.into_iter().flat_map(|(scale, points)| (0..points).map(move |point| (scale, point)))
}

/// In how many points the wait of `system` is below the model's.
fn below(tally: &Tally, system: &str, model: &str) -> usize {
    let mean = |name: &str, (scale, point): (u32, usize)| {
        tally.series(&format!("{name}/{scale}/{point}/wait")).mean().mean
    };
    points().filter(|at| mean(system, *at) < mean(model, *at)).count()
}

/// In how many of the steps from one rate to the next the wait of `system` rises.
fn rises(tally: &Tally, system: &str) -> (usize, usize) {
    let mean = |scale: u32, point: usize| {
        tally.series(&format!("{system}/{scale}/{point}/wait")).mean().mean
    };
    let steps = points().filter(|(_, point)| *point > 0);
    let rising = |(scale, point): &(u32, usize)| mean(*scale, *point) > mean(*scale, *point - 1);
    (steps.clone().filter(rising).count(), steps.count())
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let all = points().count();
    let (printed, corrected) = (below(tally, "dam", "printed"), below(tally, "dam", "corrected"));
    let wide = below(tally, "wide", "printed");
    let (dam, steps) = rises(tally, "dam");
    let (model, _) = rises(tally, "printed");
    let (mended, _) = rises(tally, "corrected");
    let (min, max) = gaps(tally, "corrected");
    let (near, far) = gaps_of(tally, "wide", "printed");
    let gap = |of: Estimate| of.mean;
    vec![
        Claim::new(
            "DAM's waits are below the model's throughout",
            of(printed, all),
            format!(
                "as printed: at {printed} of {all} points, at {wide} with jobs up to 128 wide, whose \
                 gap is {:.1} to {:.1} % (scale 25); as corrected: at {corrected}",
                gap(near),
                gap(far)
            ),
        )
        .because(WIDTHS),
        Claim::new(
            "DAM's waits rise with the rate as the model's do",
            of(dam, steps),
            format!("DAM's in {dam} of {steps} steps"),
        )
        .because("Waits that are mostly half a cycle hardly change."),
        Claim::new(
            "The model's waits rise with the rate",
            of(model, steps),
            format!("as printed in {model} of {steps} steps, as corrected in {mended}"),
        )
        .because(
            "The printed (10) has the chance of an empty system, which falls with the rate; \
             Erlang's C rises.",
        ),
        Claim::new(
            "The model shows that DAM is near the optimum",
            if gap(max) <= 35.0 { Verdict::Trend } else { Verdict::NotReproduced },
            format!(
                "as corrected, the model's waits are such that DAM's are {:.1} to {:.1} % below them \
                 (scale 25)",
                gap(min),
                gap(max)
            ),
        )
        .because(
            "The model serves each job twice and runs one job per partition at a time, so its \
             waits are no bound on what a real site can do.",
        ),
    ]
}
