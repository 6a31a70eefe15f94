//! Table 3, figure 9 and the text about them.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::filling::{FILLING, FIRSTS};
use super::numbers::{PERCENT, against, because, drawn, fitted, number, percent_less, series};
use crate::case::Case;
use crate::findings::{Claim, Findings, Gain, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static TABLE3: Study = Study {
    id: "000-table3",
    title: "Jobs that end early: scheduled and real processor time and start",
    experiment: &FILLING,
    findings: table,
};

pub(super) static FIG9: Study = Study {
    id: "000-fig9",
    title: "Processor time and start against the part of the batch that is planned first",
    experiment: &FILLING,
    findings: figure,
};

const LOAD: &str = "The load of this study is not stated, and all of it hangs on how full the \
                    nodes are; ours is the low level of figure 7.";
const CHOSE_LOAD: &str = "It chose the parameter `replayed-load` among the levels of figure 7; \
                          under the lowest of them backfilling still starts later.";
const CHOSE_COUNT: &str = "It chose the parameter `slicer-sub-batches` among the numbers of \
                           figure 7.";

macro_rules! cell {
    ($name:literal, $key:literal, $value:literal, $decimals:literal) => {
        because(
            LOAD,
            number($name, ($value, $decimals), "units", "table 3", |tally| tally.mean($key)),
        )
    };
}

static NUMBERS: [Published; 17] = [
    cell!("backfilling, scheduled: processor time", "backfilling/scheduled/cpu", 187.7, 1),
    cell!("backfilling, real: processor time", "backfilling/real/cpu", 115.1, 1),
    fitted(
        CHOSE_LOAD,
        cell!("backfilling, scheduled: start", "backfilling/scheduled/start", 69.0, 0),
    ),
    fitted(CHOSE_LOAD, cell!("backfilling, real: start", "backfilling/real/start", 37.3, 1)),
    cell!("CSS, scheduled: processor time", "css/scheduled/cpu", 150.1, 1),
    cell!("CSS, real: processor time", "css/real/cpu", 90.4, 1),
    cell!("CSS, scheduled: start", "css/scheduled/start", 281.2, 1),
    cell!("CSS, real: start", "css/real/start", 281.2, 1),
    cell!("batch-slicer, scheduled: processor time", "slicer/scheduled/cpu", 138.6, 1),
    cell!("batch-slicer, real: processor time", "slicer/real/cpu", 83.5, 1),
    fitted(
        CHOSE_COUNT,
        cell!("batch-slicer, scheduled: start", "slicer/scheduled/start", 223.8, 1),
    ),
    fitted(CHOSE_COUNT, cell!("batch-slicer, real: start", "slicer/real/start", 223.8, 1)),
    percent("batch-slicer's advantage, scheduled: processor time", (26.2, 1), |tally| {
        percent_less(tally, "advantage/scheduled/cpu")
    }),
    percent("batch-slicer's advantage, real: processor time", (27.5, 1), |tally| {
        percent_less(tally, "advantage/real/cpu")
    }),
    percent("batch-slicer's advantage, scheduled: start", (-69.0, 0), |tally| {
        percent_less(tally, "advantage/scheduled/start").map(|less| -less)
    }),
    percent("batch-slicer's advantage, real: start", (-83.0, 0), |tally| {
        percent_less(tally, "advantage/real/start").map(|less| -less)
    }),
    percent("backfilling: real start earlier than scheduled", (46.0, 0), |tally| {
        percent_less(tally, "advantage/backfilling/start")
    }),
];

const fn percent(
    name: &'static str,
    value: (f64, u8),
    measured: fn(&Tally) -> Estimate,
) -> Published {
    because(PERCENT, number(name, value, "%", "table 3", measured))
}

fn table(_: &Case, tally: &Tally) -> Findings {
    Findings {
        numbers: against(&NUMBERS, tally),
        claims: vec![remains(tally), better(tally), earlier(tally)],
        gains: gains(tally),
        notes: vec![
            "The load and the number of sub-batches were chosen by the starts. With those of \
             other figures, the medium level and 5 sub-batches (`replayed-load=0.04`, \
             `slicer-sub-batches=5`), the claims hold as well, processor times are within 6 % \
             of the table's, and backfilling starts twice as late."
                .to_owned(),
            "The advantage by processor time is of backfilling's, that by start of batch-slicer's."
                .to_owned(),
            "Batch-slicer that plans anew after an early end looks as far ahead as at first, beyond \
             the interval. A ratio above 1 in its rows is a loss."
                .to_owned(),
        ],
        ..Findings::default()
    }
}

fn remains(tally: &Tally) -> Claim {
    let [scheduled, real] = ["scheduled", "real"]
        .map(|when| percent_less(tally, &format!("advantage/{when}/cpu")).mean);
    Claim::new(
        "Batch-slicer's advantage by processor time remains with real run times, and grows",
        match (real > 0.0, real > scheduled) {
            (true, true) => Verdict::Reproduced,
            (true, false) => Verdict::Trend,
            _ => Verdict::NotReproduced,
        },
        format!("{scheduled:.1} % scheduled, {real:.1} % real"),
    )
    .because(
        "It remains; whether it grows depends on which nodes backfilling gets when it moves jobs \
         forward.",
    )
}

fn better(tally: &Tally) -> Claim {
    let [fill, css, slicer] = ["backfilling", "css", "slicer"]
        .map(|scheme| tally.mean(&format!("{scheme}/scheduled/cpu")).mean);
    Claim::new(
        "By processor time batch-slicer is best, then CSS, then backfilling",
        if slicer < css && css < fill { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!("{slicer:.1}, {css:.1}, {fill:.1}"),
    )
    .because("More alternatives are better for the combination, and backfilling has none.")
}

fn earlier(tally: &Tally) -> Claim {
    let [fill, css, slicer] = ["backfilling", "css", "slicer"]
        .map(|scheme| tally.mean(&format!("{scheme}/scheduled/start")).mean);
    Claim::new(
        "By start backfilling is best, then batch-slicer, then CSS",
        if fill < slicer && slicer < css { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!("{fill:.1}, {slicer:.1}, {css:.1}"),
    )
    .because("Alternatives are spread over the whole interval, and the combination takes any.")
}

fn gains(tally: &Tally) -> Vec<Gain> {
    const NAME: &str = "batch-slicer that plans anew when a job ends early, instead of not";
    let gain = |measure, key: &str| {
        let pairs = tally.pairs(&format!("replan/{key}"));
        let [ours, paper] = pairs.means();
        Gain { name: NAME, measure, paper, ours, ratio: pairs.ratio() }
    };
    vec![gain("real processor time", "cpu"), gain("real start", "start")]
}

fn figure(_: &Case, tally: &Tally) -> Findings {
    let line = |name: &str, key: &str| {
        let at =
            |first: &u32| (f64::from(*first) / 20.0, tally.mean(&format!("bsf/{first}/{key}")));
        series(name, Mark::Line, FIRSTS.iter().map(at).collect())
    };
    let own_range = |name: &str, key: &str| {
        let parts = FIRSTS.iter().map(|first| f64::from(*first) / 20.0);
        let values = scaled(of(tally, key)).into_iter().map(Estimate::exact);
        series(name, Mark::Line, parts.zip(values).collect())
    };
    let panel = |up: &str, series| PlotPanel {
        up: up.to_owned(),
        across: PlotAcross::Numbers("part of the batch planned first".to_owned()),
        series,
    };
    let panels = vec![
        panel("processor time of a job, units", vec![line("processor time", "cpu")]),
        panel("start, units", vec![line("start", "start")]),
        panel(
            "both, from the least (0) to the greatest (1) of each",
            vec![own_range("processor time", "cpu"), own_range("start", "start")],
        ),
    ];
    Findings {
        notes: vec!["The load is the medium level of figure 7, as the paper states.".to_owned()],
        claims: vec![
            monotone(tally, "The more jobs are planned first, the less processor time", "cpu"),
            monotone(tally, "The more jobs are planned first, the later the mean start", "start"),
            crossing(tally),
        ],
        ..drawn(FIG9.title, "means over cycles that all parts place in full", panels)
    }
}

fn of(tally: &Tally, key: &str) -> Vec<f64> {
    FIRSTS.iter().map(|first| tally.mean(&format!("bsf/{first}/{key}")).mean).collect()
}

fn monotone(tally: &Tally, text: &'static str, key: &str) -> Claim {
    let values = of(tally, key);
    let sign = if key == "cpu" { -1.0 } else { 1.0 };
    let steps = values.windows(2).filter(|pair| sign * (pair[1] - pair[0]) > 0.0).count();
    let whole = sign * (values[values.len() - 1] - values[0]) > 0.0;
    let listed: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
    Claim::new(
        text,
        match (whole, steps == values.len() - 1) {
            (true, true) => Verdict::Reproduced,
            (true, false) => Verdict::Trend,
            _ => Verdict::NotReproduced,
        },
        format!("0, 2, …, 20 of 20 jobs: {}", listed.join(", ")),
    )
    .because(
        "From the first to the last it does; in between, jobs planned first leave gaps that the \
         backfilled ones use.",
    )
}

/// As parts of their own range.
fn scaled(values: Vec<f64>) -> Vec<f64> {
    let (low, high) = values
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    values.into_iter().map(|value| (value - low) / (high - low)).collect()
}

/// Where the two curves cross, each as a part of its own range.
fn crossing(tally: &Tally) -> Claim {
    let (cpu, start) = (scaled(of(tally, "cpu")), scaled(of(tally, "start")));
    let crossings: Vec<usize> = (1..cpu.len())
        .filter(|&at| (cpu[at - 1] > start[at - 1]) != (cpu[at] > start[at]))
        .collect();
    let places = crossings.iter().map(|at| format!("{:.2}", f64::from(FIRSTS[*at]) / 20.0));
    Claim::new(
        "The curves cross: a compromise lies in between",
        if crossings.len() == 1 { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!(
            "drawn over their own ranges they cross before {} of the batch",
            places.collect::<Vec<_>>().join(" and ")
        ),
    )
    .because("Curves of two quantities cross where the axes are drawn so.")
}
