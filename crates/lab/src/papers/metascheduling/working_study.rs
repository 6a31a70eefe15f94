//! Figure 6 and the text about it.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::numbers::{against, because, drawn, fitted, number, series};
use super::working::{HORIZONS, NODES, WORKING};
use crate::case::Case;
use crate::findings::{Claim, Evidence, Findings, Published};
use crate::study::Study;
use crate::tally::Tally;
use crate::verdict::Verdict;

pub(super) static FIG6: Study = Study {
    id: "000-fig6",
    title: "Working time of the strategies against nodes and interval",
    experiment: &WORKING,
    findings,
};

static NUMBERS: [Published; 2] = [
    fitted(
        "It chose the parameter `step-time`.",
        number("CSA on 400 nodes: working time", (3.0, 0), "s", "section 6.1", |tally| {
            tally.mean("nodes/400/csa").map(|milliseconds| milliseconds / 1_000.0)
        }),
    ),
    Published {
        kind: Evidence::Clock,
        ..because(
            "Steps of the search are counted instead of time, with the length of a step from the \
             run on 400 nodes. Each alternative is a search from the start of the list, so steps \
             grow with the square of their number: the paper's 400 in place of ours would \
             explain the difference.",
            number("CSA over 3 600: working time", (2.5, 1), "s", "section 6.1", |tally| {
                tally.mean("horizon/3600/csa").map(|milliseconds| milliseconds / 1_000.0)
            }),
        )
    },
];

const STRATEGIES: [(&str, &str); 5] = [
    ("AMP", "amp"),
    ("minRuntime, minFinish, minCost", "aep"),
    ("minProcTime", "min-proc-time"),
    ("CSA", "csa"),
    ("CSA per alternative", "csa-each"),
];

const INTERVAL: &str = "interval, units of time";

fn findings(_: &Case, tally: &Tally) -> Findings {
    let panel = |across: &str, point: &str, values: &[u32]| {
        let line = |(name, key): (&str, &str)| {
            let at = |x: &u32| {
                let time = tally.mean(&format!("{point}/{x}/{key}"));
                (f64::from(*x), time)
            };
            series(name, Mark::Line, values.iter().map(at).collect())
        };
        PlotPanel {
            up: "working time, ms".to_owned(),
            across: PlotAcross::Numbers(across.to_owned()),
            series: STRATEGIES.map(line).to_vec(),
        }
    };
    let panels = vec![panel("nodes", "nodes", &NODES), panel(INTERVAL, "horizon", &HORIZONS)];
    Findings {
        numbers: against(&NUMBERS, tally),
        claims: claims(tally),
        notes: vec![
            "Times are counted steps of the paper's searches times the parameter `step-time`, so \
             that they are the same on every machine. What our own searches take by the clock is \
             in BENCHMARKS.md."
                .to_owned(),
        ],
        ..drawn(FIG6.title, "steps of the paper's searches, as time on its machine", panels)
    }
}

/// How fast `key` grows: the exponent of x between two points.
fn exponent(tally: &Tally, point: &str, (from, to): (u32, u32), key: &str) -> f64 {
    let at = |x: u32| tally.mean(&format!("{point}/{x}/{key}")).mean;
    (at(to) / at(from)).ln() / (f64::from(to) / f64::from(from)).ln()
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let of = |name: &str| tally.mean(name).mean;
    let nodes = |key| exponent(tally, "nodes", (100, 400), key);
    let horizon = |key| exponent(tally, "horizon", (600, 3_600), key);
    let within = |value: f64, (low, high): (f64, f64)| match value {
        _ if (low..=high).contains(&value) => Verdict::Reproduced,
        _ if (low - 0.3..=high + 0.3).contains(&value) => Verdict::Trend,
        _ => Verdict::NotReproduced,
    };
    let found = of("horizon/3600/alternatives");
    let (drawing, sorting) = (of("horizon/3600/min-proc-time"), of("horizon/3600/aep"));
    let longest = ["amp", "aep", "min-proc-time"].iter().all(|key| {
        of(&format!("nodes/400/{key}")) < of("nodes/400/csa")
            && of(&format!("horizon/3600/{key}")) < of("horizon/3600/csa")
    });
    vec![
        Claim::new(
            "CSA takes the longest of all",
            if longest { Verdict::Reproduced } else { Verdict::NotReproduced },
            format!(
                "{:.0} times one AEP search on 400 nodes, {:.0} times over 3 600",
                of("nodes/400/csa") / of("nodes/400/aep"),
                of("horizon/3600/csa") / sorting
            ),
        )
        .because("It is one search per alternative."),
        Claim::new(
            "AEP is quadratic in the number of nodes",
            within(nodes("aep"), (1.8, 2.3)),
            format!("steps grow with the power {:.2} of the nodes", nodes("aep")),
        )
        .because(
            "Slots and the expanded window both grow with the nodes, and sorting adds a \
                  logarithm.",
        ),
        Claim::new(
            "All strategies but CSA are linear in the length of the interval",
            within(horizon("aep"), (0.85, 1.15)),
            format!(
                "steps grow with the power {:.2} of it, {:.2} for minProcTime",
                horizon("aep"),
                horizon("min-proc-time")
            ),
        )
        .because("The expanded window does not grow with the interval."),
        Claim::new(
            "CSA is linear in the length of the interval, too",
            within(horizon("csa"), (0.85, 1.15)),
            format!(
                "steps grow with the power {:.2} of it, to {:.1} s over 3 600; with the square of \
                 alternatives, 400 of them would take {:.1} s",
                horizon("csa"),
                of("horizon/3600/csa") / 1_000.0,
                of("horizon/3600/csa") / 1_000.0 * (400.0 / found).powi(2),
            ),
        )
        .because(
            "Each of its searches reads the list from the start, and there are more of them the \
             longer the interval. If each went on where the last one ended, it would be linear, \
             but all of them together would take no longer than one AEP search, while the paper's \
             CSA takes many times as long.",
        ),
        Claim::new(
            "minProcTime takes noticeably less time than the other searches of the whole list",
            if drawing < 0.5 * sorting { Verdict::Reproduced } else { Verdict::Trend },
            format!("{:.2} of their steps", drawing / sorting),
        )
        .because("It does not sort the expanded window."),
        Claim::new(
            "CSA finds more than 400 alternatives over 3 600",
            match found {
                400.0.. => Verdict::Reproduced,
                200.0.. => Verdict::Trend,
                _ => Verdict::NotReproduced,
            },
            format!("{found:.0}"),
        )
        .because(
            "How many there are hangs on how much of the nodes is free and on what the windows \
             cost; over half as many again would be needed.",
        ),
    ]
}
