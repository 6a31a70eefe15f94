//! Figure 9: slowdowns by class.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel, PlotSeries};

use super::load::{LOAD, STATED};
use super::outcome::CLASSES;
use super::schemes::{CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, HYBRID, Scheme};
use super::shown::{everywhere, less, more, picture, value};
use crate::case::Case;
use crate::findings::{Claim, Findings};
use crate::study::Study;
use crate::tally::{Estimate, Tally};

pub(super) static FIG9: Study = Study {
    id: "004-fig9",
    title: "SlowdownRatio by class: one queue against the hybrid mechanism",
    experiment: &LOAD,
    findings,
};

fn findings(_: &Case, tally: &Tally) -> Findings {
    let names = CLASSES.map(str::to_owned).to_vec();
    let panel = |what: &str, up: &str| PlotPanel {
        up: up.to_owned(),
        across: PlotAcross::Cases(names.clone()),
        series: [EASY, CONSERVATIVE].map(|single| bars(tally, what, single)).to_vec(),
    };
    let panels = vec![
        panel("ratio", "SlowdownRatio of equation (13)"),
        panel("bounded-ratio", "the same of bounded slowdowns"),
    ];
    let subtitle = "positive: the hybrid mechanism is better; large, medium, small; short, long";
    Findings {
        claims: claims(tally),
        figure: picture(FIG9.title, subtitle, panels),
        notes: vec![
            "At the stated rate. Equation (13) divides the slowdown by the job's width, so that \
             narrow jobs decide its mean; bounded slowdowns (runs of at least 10 s) do not."
                .to_owned(),
            with_migration(tally),
        ],
        ..Findings::default()
    }
}

fn bars(tally: &Tally, what: &str, single: Scheme) -> PlotSeries {
    let at = |(at, class): (usize, &&str)| value(at as f64, of(tally, what, single, class));
    let values = CLASSES.iter().enumerate().map(at).collect();
    PlotSeries { name: format!("against {}", single.name), mark: Mark::Bars, values }
}

fn of(tally: &Tally, what: &str, single: Scheme, class: &str) -> Estimate {
    tally.mean(&format!("{what}/{}/{class}", single.key))
}

/// The ratios of all classes against one rival.
fn by_class(tally: &Tally, what: &str, single: Scheme) -> String {
    let one = |class: &&str| format!("{class} {:.2}", of(tally, what, single, class).mean);
    CLASSES.iter().map(one).collect::<Vec<String>>().join(", ")
}

const LARGE_ONLY: &str = "Large jobs alone enter the job queue, which has the reservations and \
                          comes before the backfill queues: what they gain, medium and long jobs \
                          pay.";

fn claims(tally: &Tally) -> Vec<Claim> {
    let ratios = |what: &str, singles: &[Scheme], classes: &[&str]| -> Vec<(String, Estimate)> {
        let all =
            singles.iter().flat_map(|single| classes.iter().map(move |class| (single, class)));
        all.map(|(single, class)| {
            (format!("{class} against {}", single.name), of(tally, what, *single, class))
        })
        .collect()
    };
    let both = [EASY, CONSERVATIVE];
    let shown = |what| {
        format!(
            "against EASY {}; against conservative {}",
            by_class(tally, what, EASY),
            by_class(tally, what, CONSERVATIVE)
        )
    };
    vec![
        everywhere(
            "SlowdownRatio is positive in every class, whatever the single queue's strategy",
            &ratios("ratio", &both, &CLASSES),
            shown("ratio"),
        )
        .because(LARGE_ONLY),
        everywhere(
            "The same of bounded slowdowns, which do not divide by the width",
            &ratios("bounded-ratio", &both, &CLASSES),
            shown("bounded-ratio"),
        )
        .because(LARGE_ONLY),
        overall(tally),
        everywhere(
            "For large jobs (LS, LL) it causes less slowdown than EASY and conservative",
            &ratios("ratio", &both, &["LS", "LL"]),
            shown("ratio"),
        )
        .because(LARGE_ONLY),
        large_gain_least(tally),
    ]
}

fn overall(tally: &Tally) -> Claim {
    let against = |single: Scheme| {
        (single.name.to_owned(), less(more(tally, STATED, HYBRID, single, "slowdown")))
    };
    let mean = |scheme| super::shown::mean(tally, STATED, scheme, "slowdown");
    everywhere(
        "Over all jobs the slowdown of equation (13) is less than with either single queue",
        &[EASY, CONSERVATIVE].map(against),
        format!(
            "hybrid {:.2}, EASY {:.2}, conservative {:.2}",
            mean(HYBRID),
            mean(EASY),
            mean(CONSERVATIVE)
        ),
    )
    .because(LARGE_ONLY)
}

/// The smaller classes gain more than LS and LL do.
fn large_gain_least(tally: &Tally) -> Claim {
    let mean = |classes: &[&str]| {
        let all = classes.iter().map(|class| of(tally, "ratio", EASY, class));
        all.map(|of| (of.mean, of.half_width())).fold((0.0, 0.0), |(sum, half), (mean, width)| {
            (sum + mean / classes.len() as f64, half + width / classes.len() as f64)
        })
    };
    let ((large, _), (others, _)) = (mean(&["LS", "LL"]), mean(&["MS", "ML", "SS", "SL"]));
    let half = mean(&["LS", "LL"]).1 + mean(&["MS", "ML", "SS", "SL"]).1;
    let difference = others - large;
    let (low, high) = (difference - half, difference + half);
    let count = of(tally, "ratio", EASY, "LS").count;
    Claim::positive(
        "Large jobs gain least, because low-priority jobs are backfilled",
        Estimate { mean: difference, low, high, count },
        format!("against EASY, in the mean of classes: large {large:.2}, others {others:.2}"),
    )
    .because(LARGE_ONLY)
}

fn with_migration(tally: &Tally) -> String {
    format!(
        "If the single queues pass jobs on as well, against EASY {}; against conservative {}.",
        by_class(tally, "ratio", EASY_MOVING),
        by_class(tally, "ratio", CONSERVATIVE_MOVING)
    )
}
