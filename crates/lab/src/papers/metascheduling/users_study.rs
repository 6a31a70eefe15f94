//! Table 1 and the text about it.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::numbers::{
    PERCENT, SETTING, against, because, drawn, fitted, misprint, number, percent_less, series,
};
use super::users::{ROWS, USERS};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static TABLE1: Study = Study {
    id: "000-table1",
    title: "Users' criteria in batch-slicer: what the jobs of each criterion get",
    experiment: &USERS,
    findings,
};

const LATE: &str = "A criterion that is not about time takes windows late in the interval as \
                    gladly as early ones; the paper's come earlier, by some rule among equals or \
                    a shorter look ahead that it does not state.";
const TIES: &str = "The earliest windows are as slow here as first-fit ones, within the same \
                    budgets; the paper's are slower by a tenth.";

/// A cell of the table: its name, its key in the tally, the value with its decimals.
macro_rules! cell {
    ($name:literal, $key:literal, $value:literal, $decimals:literal, $unit:literal) => {
        number($name, ($value, $decimals), $unit, "table 1", |tally| tally.mean($key))
    };
}

static NUMBERS: [Published; 31] = [
    cell!("start: alternatives", "start/na", 12.8, 1, ""),
    cell!("start: start", "start/start", 171.7, 1, "units"),
    because(TIES, cell!("start: runtime", "start/runtime", 56.1, 1, "units")),
    cell!("start: finish", "start/finish", 227.8, 1, "units"),
    cell!("start: cost", "start/cost", 1281.1, 1, "credits"),
    cell!("runtime: alternatives", "runtime/na", 10.6, 1, ""),
    because(LATE, cell!("runtime: start", "runtime/start", 214.5, 1, "units")),
    cell!("runtime: runtime", "runtime/runtime", 39.3, 1, "units"),
    because(LATE, cell!("runtime: finish", "runtime/finish", 253.9, 1, "units")),
    cell!("runtime: cost", "runtime/cost", 1278.5, 1, "credits"),
    cell!("finish: alternatives", "finish/na", 12.2, 1, ""),
    cell!("finish: start", "finish/start", 169.6, 1, "units"),
    cell!("finish: runtime", "finish/runtime", 45.0, 0, "units"),
    misprint(
        "Start and runtime give 214.6.",
        because(
            "A misprint: start and runtime of the same row add up to 214.6.",
            cell!("finish: finish", "finish/finish", 205.5, 1, "units"),
        ),
    ),
    cell!("finish: cost", "finish/cost", 1283.2, 1, "credits"),
    cell!("cost: alternatives", "cost/na", 12.9, 1, ""),
    because(LATE, cell!("cost: start", "cost/start", 262.6, 1, "units")),
    cell!("cost: runtime", "cost/runtime", 55.5, 1, "units"),
    because(LATE, cell!("cost: finish", "cost/finish", 318.0, 0, "units")),
    cell!("cost: cost", "cost/cost", 1098.3, 1, "credits"),
    fitted(
        "It chose the parameter `alternatives`.",
        cell!("CSS: alternatives", "css/na", 12.1, 1, ""),
    ),
    cell!("CSS: start", "css/start", 222.0, 0, "units"),
    fitted(
        "It chose the parameter `batch-work`.",
        cell!("CSS: runtime", "css/runtime", 50.3, 1, "units"),
    ),
    cell!("CSS: finish", "css/finish", 272.3, 1, "units"),
    fitted(
        "It chose the parameter `batch-market-price`.",
        cell!("CSS: cost", "css/cost", 1248.4, 1, "credits"),
    ),
    because(
        PERCENT,
        percent("start: earlier than with CSS", 23.0, |t| percent_less(t, "gain/start")),
    ),
    because(
        PERCENT,
        percent("finish: earlier than with CSS", 23.0, |t| percent_less(t, "gain/finish")),
    ),
    because(
        PERCENT,
        percent("runtime: less than with CSS", 21.0, |t| percent_less(t, "gain/runtime")),
    ),
    because(PERCENT, percent("cost: less than with CSS", 12.0, |t| percent_less(t, "gain/cost"))),
    because(
        PERCENT,
        number("single job: better than with CSS, at most", (25.0, 0), "%", "section 8", |t| {
            let all = ROWS.map(|(_, _, about)| percent_less(t, &format!("gain/{about}")));
            all.into_iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or(Estimate::none())
        }),
    ),
    number("jobs of each criterion", (5.0, 0), "", "section 6.2", |t| t.mean("start/jobs")),
];

const fn percent(name: &'static str, value: f64, measured: fn(&Tally) -> Estimate) -> Published {
    number(name, (value, 0), "%", "section 6.2", measured)
}

fn findings(_: &Case, tally: &Tally) -> Findings {
    let whole = |measure: &str| tally.mean(&format!("css-whole/{measure}")).mean;
    Findings {
        numbers: against(&NUMBERS, tally),
        claims: claims(tally),
        notes: vec![
            format!(
                "Some twelve alternatives for every job do not fit into 24 × 600 if the batch is \
                 searched as one, whatever the search: CSS finds {:.1} then. They do if each job \
                 is a sub-batch of its own and the search stops at 13, and then CSS's row fits; \
                 so this is how the table is read here.",
                whole("na")
            ),
            SETTING.to_owned(),
        ],
        ..drawn(TABLE1.title, "means over the jobs of a row", panels(tally))
    }
}

fn panels(tally: &Tally) -> Vec<PlotPanel> {
    let rows = ["start", "runtime", "finish", "cost", "css"];
    let panel = |(measure, up): (&str, &str)| {
        let value =
            |(at, row): (usize, &&str)| (at as f64, tally.mean(&format!("{row}/{measure}")));
        let measured = rows.iter().enumerate().map(value).collect();
        let printed = rows.iter().enumerate().filter_map(|(at, row)| {
            let name = format!("{}: {measure}", if *row == "css" { "CSS" } else { row });
            let of = NUMBERS.iter().find(|number| number.name == name)?;
            Some((at as f64, Estimate::exact(of.value)))
        });
        PlotPanel {
            up: up.to_owned(),
            across: PlotAcross::Cases(
                rows.map(|row| if row == "css" { "CSS" } else { row }.to_owned()).to_vec(),
            ),
            series: vec![
                series("published", Mark::Bars, printed.collect()),
                series("measured", Mark::Bars, measured),
            ],
        }
    };
    let shown = [
        ("start", "start, units of time"),
        ("runtime", "runtime, units of time"),
        ("finish", "finish, units of time"),
        ("cost", "cost, credits"),
    ];
    shown.into_iter().map(panel).collect()
}

/// Whether the jobs of a row are the best by what they asked for: in the main if those that are
/// not are within the interval of the best.
fn own_best(tally: &Tally) -> Verdict {
    let of = |row: &str, measure: &str| tally.mean(&format!("{row}/{measure}"));
    let rows = || ROWS.iter().map(|(row, _, _)| *row).chain(["css"]);
    let asked = ["runtime", "finish", "cost"];
    let min = |about: &&str| rows().all(|row| of(about, about).mean <= of(row, about).mean);
    let near = |about: &&str| rows().all(|row| of(about, about).low <= of(row, about).high);
    match () {
        () if asked.iter().all(min) => Verdict::Reproduced,
        () if asked.iter().all(near) => Verdict::Trend,
        () => Verdict::NotReproduced,
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let mean = |row: &str, measure: &str| tally.mean(&format!("{row}/{measure}")).mean;
    let min = |measure: &str| {
        let rows = ROWS.iter().map(|(row, _, _)| *row).chain(["css"]);
        let all = rows.map(|row| (row, mean(row, measure)));
        all.fold(("", f64::INFINITY), |best, one| if one.1 < best.1 { one } else { best }).0
    };
    let (start, finish) = (mean("start", "start"), mean("finish", "start"));
    let na = ROWS.map(|(row, _, _)| mean(row, "na"));
    let spread =
        na.iter().fold(0.0f64, |a, b| a.max(*b)) / na.iter().fold(f64::MAX, |a, b| a.min(*b));
    let css = ROWS.map(|(row, _, about)| mean(row, about) < mean("css", about));
    vec![
        Claim::new(
            "The jobs of a criterion are the best by it, but for the start",
            own_best(tally),
            format!(
                "least runtime: {}, finish: {}, cost: {}",
                min("runtime"),
                min("finish"),
                min("cost")
            ),
        )
        .because(
            "Where it is not, the two are within each other's intervals; with half as many \
             sub-batches as jobs (`sub-batches=10`) it holds throughout.",
        ),
        Claim::new(
            "Jobs that want the earliest finish also start the earliest of all",
            if finish < start {
                Verdict::Reproduced
            } else if finish < 1.1 * start {
                Verdict::Trend
            } else {
                Verdict::NotReproduced
            },
            format!("they start at {finish:.1}, those that want the earliest start at {start:.1}"),
        )
        .because(
            "The two are close; with fewer sub-batches than jobs the combination step prefers \
             later, faster windows for those that asked for the start, and then it holds.",
        ),
        Claim::new(
            "Jobs are better off by their own criterion than with CSS",
            if css.iter().all(|better| *better) {
                Verdict::Reproduced
            } else {
                Verdict::NotReproduced
            },
            format!("by {} of 4 criteria", css.iter().filter(|better| **better).count()),
        )
        .because("The combination step serves the virtual organisation, not the user."),
        Claim::new(
            "The number of alternatives hardly depends on the criterion",
            if spread < 1.25 { Verdict::Reproduced } else { Verdict::Trend },
            format!("the most are {:.0} % more than the fewest", 100.0 * (spread - 1.0)),
        )
        .because("Cheap nodes are few, so jobs that want them find fewer windows."),
    ]
}
