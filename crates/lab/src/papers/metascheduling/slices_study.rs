//! Figure 7 and the text about it.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::numbers::{against, because, drawn, fitted, number, series};
use super::slices::{COUNTS, LEVELS, SLICES};
use crate::case::Case;
use crate::findings::{Claim, Findings, Gain, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static FIG7: Study = Study {
    id: "000-fig7",
    title: "Processor time of a job against the number of sub-batches, at three levels of load",
    experiment: &SLICES,
    findings,
};

static NUMBERS: [Published; 4] = [
    fitted(
        "The level is defined by it: it chose the parameter `high-load`.",
        number("failed cycles, high load", (0.3, 1), "", "section 6.3", |t| failed(t, "high")),
    ),
    fitted(
        "The level is defined by it: it chose the parameter `medium-load`.",
        number("failed cycles, medium load", (0.03, 2), "", "section 6.3", |t| failed(t, "medium")),
    ),
    because(
        "The optimum is flat, and hangs on how many alternatives are searched for a job: with at \
         most 8 it lies at 5 sub-batches, without a limit at 20.",
        number("sub-batches of least processor time, low load", (5.0, 0), "", "section 6.3", |t| {
            Estimate::exact(f64::from(best_count(t, "low")))
        }),
    ),
    because(
        "By what part slicing lowers the processor time hangs on how many alternatives are \
         searched and on the jobs' widths, which are not stated.",
        number("processor time less than with CSS, at best", (7.0, 0), "%", "section 8", |t| {
            let pair = format!("medium/{}/over-css", best_count(t, "medium"));
            t.pairs(&pair).ratio().map(|ratio| 100.0 * (1.0 - ratio))
        }),
    ),
];

/// Over all numbers of sub-batches.
fn failed(tally: &Tally, level: &str) -> Estimate {
    let all = COUNTS.map(|count| tally.mean(&format!("{level}/{count}/failed")));
    let mean = |of: fn(&Estimate) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    // All of them are of the same cycles: the interval is not narrower than each one's.
    let (low, high) = (mean(|of| of.low), mean(|of| of.high));
    Estimate { mean: mean(|of| of.mean), low, high, count: all[0].count }
}

fn cpu(tally: &Tally, level: &str, count: u32) -> Estimate {
    tally.mean(&format!("{level}/{count}/cpu"))
}

/// The number of sub-batches of least processor time.
fn best_count(tally: &Tally, level: &str) -> u32 {
    let at = |count: &u32| cpu(tally, level, *count).mean;
    COUNTS.into_iter().min_by(|a, b| at(a).total_cmp(&at(b))).unwrap_or_default()
}

fn findings(_: &Case, tally: &Tally) -> Findings {
    let lines = LEVELS.map(|(level, _)| {
        let values = COUNTS.map(|count| (f64::from(count), cpu(tally, level, count)));
        series(&format!("{level} load"), Mark::Line, values.to_vec())
    });
    let panel = PlotPanel {
        up: "processor time of a job, units".to_owned(),
        across: PlotAcross::Numbers("sub-batches".to_owned()),
        series: lines.to_vec(),
    };
    Findings {
        numbers: against(&NUMBERS, tally),
        claims: claims(tally),
        gains: gains(tally),
        notes: vec![
            "All numbers of sub-batches are compared on the same cycles: those in which each of \
             them gives every job a window."
                .to_owned(),
        ],
        ..drawn(FIG7.title, "means over cycles that all k place in full", vec![panel])
    }
}

/// `key` of all numbers of sub-batches, level by level: `12.1, 13.0, …; …`.
fn rows(tally: &Tally, key: &str, digits: usize) -> String {
    let level = |(level, _): &(&str, _)| {
        let of = |count| tally.mean(&format!("{level}/{count}/{key}")).mean;
        let values = COUNTS.map(|count| format!("{:.digits$}", of(count)));
        format!("{level}: {}", values.join(", "))
    };
    LEVELS.iter().map(level).collect::<Vec<_>>().join("; ")
}

/// Whether `key` goes from the first to the last number of sub-batches in the direction of
/// `sign`, at every level; in the main if it does at one at least.
fn moves(tally: &Tally, key: &str, sign: f64) -> Verdict {
    let goes = |(level, _): &(&str, _)| {
        let of = |count: u32| tally.mean(&format!("{level}/{count}/{key}")).mean;
        sign * (of(20) - of(1)) > 0.0
    };
    match LEVELS.iter().filter(|level| goes(level)).count() {
        0 => Verdict::NotReproduced,
        count if count == LEVELS.len() => Verdict::Reproduced,
        _ => Verdict::Trend,
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let low = failed(tally, "low");
    let best = |level| best_count(tally, level);
    let (high, small) = (best("high"), best("low"));
    let at = |level, count| cpu(tally, level, count).mean;
    vec![
        Claim::new(
            "At the low level fewer than 0.02 % of the cycles fail",
            match low.mean {
                ..0.0002 => Verdict::Reproduced,
                ..0.002 => Verdict::Trend,
                _ => Verdict::NotReproduced,
            },
            format!("{:.3} %", 100.0 * low.mean),
        )
        .because("Some nodes of a cycle are all dear, whatever the load."),
        Claim::new(
            "More sub-batches give more alternatives for a job",
            moves(tally, "na", 1.0),
            rows(tally, "na", 1),
        )
        .because("Fewer jobs share the free slots."),
        Claim::new(
            "More sub-batches make the batch cheaper",
            moves(tally, "cost", -1.0),
            rows(tally, "cost", 0),
        )
        .because(
            "Least time is what is asked for, and fast nodes are dear: with more alternatives to \
             choose from, more of the budget is turned into speed.",
        ),
        Claim::new(
            "More sub-batches make more cycles fail",
            moves(tally, "failed", 1.0),
            rows(tally, "failed", 4),
        )
        .because("The differences at low loads are a few cycles of thousands."),
        Claim::new(
            "Slicing lowers the processor time",
            match LEVELS.iter().filter(|(level, _)| at(level, 5) < at(level, 1)).count() {
                3 => Verdict::Reproduced,
                0 => Verdict::NotReproduced,
                _ => Verdict::Trend,
            },
            rows(tally, "cpu", 1),
        )
        .because("There is more to choose from for each job."),
        Claim::new(
            "The higher the load, the fewer sub-batches are best",
            match (high, small) {
                _ if high < small => Verdict::Reproduced,
                _ if high == small => Verdict::Trend,
                _ => Verdict::NotReproduced,
            },
            format!("best at high load: {high}, medium: {}, low: {small}", best("medium")),
        )
        .because(
            "Fewer cycles fail with fewer sub-batches at high load, but of those that do not fail \
             slicing lowers the processor time at any load; where it ends to do so is set by the \
             limit on alternatives, which binds at low load first.",
        ),
        inner(tally),
    ]
}

fn inner(tally: &Tally) -> Claim {
    let inside = |(level, _): &&(&str, _)| !matches!(best_count(tally, level), 1 | 20);
    let count = LEVELS.iter().filter(inside).count();
    Claim::new(
        "The least processor time lies between one sub-batch and one job each",
        match count {
            0 => Verdict::NotReproduced,
            3 => Verdict::Reproduced,
            _ => Verdict::Trend,
        },
        format!("at {count} of 3 levels"),
    )
    .because("It is there where the limit on alternatives binds.")
}

fn gains(tally: &Tally) -> Vec<Gain> {
    let gain = |name, measure, level: &str, key: &str| {
        let pairs = tally.pairs(&format!("{level}/gain/{key}"));
        let [ours, paper] = pairs.means();
        Gain { name, measure, paper, ours, ratio: pairs.ratio() }
    };
    const BEST: &str = "the best number of sub-batches for each batch instead of 5";
    const TIME: &str = "windows searched by processor time instead of first fit, 5 sub-batches";
    vec![
        gain(BEST, "processor time, low load", "low", "best-count/cpu"),
        gain(BEST, "processor time, medium load", "medium", "best-count/cpu"),
        gain(BEST, "processor time, high load", "high", "best-count/cpu"),
        gain(TIME, "processor time, low load", "low", "least-time/cpu"),
        gain(TIME, "processor time, medium load", "medium", "least-time/cpu"),
        gain(TIME, "cost, medium load", "medium", "least-time/cost"),
        gain(TIME, "processor time, high load", "high", "least-time/cpu"),
    ]
}
