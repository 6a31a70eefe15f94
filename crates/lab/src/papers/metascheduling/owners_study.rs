//! Table 2, figure 8 and the text about them.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::numbers::{against, because, drawn, misprint, number, series};
use super::owners::{INTERVAL, OWNERS, PRICES};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static TABLE2: Study = Study {
    id: "000-table2",
    title: "An owner's price: use of the node, profit, failed cycles",
    experiment: &OWNERS,
    findings: table,
};

pub(super) static FIG8: Study = Study {
    id: "000-fig8",
    title: "An owner's profit against the price asked",
    experiment: &OWNERS,
    findings: figure,
};

const NODE: &str = "Neither the node's performance nor the market price is given, and both say \
                    how many jobs want it at a price.";
const FAILED: &str = "Without this node the cycles are those of the level of load that the table \
                      was made at, which is not given; ours is the medium one.";

macro_rules! used {
    ($name:literal, $price:literal, $value:literal, $decimals:literal) => {
        because(
            NODE,
            number($name, ($value, $decimals), "units", "table 2", |tally| {
                tally.mean(concat!($price, "/used"))
            }),
        )
    };
}

macro_rules! share {
    ($name:literal, $price:literal, $value:literal) => {
        because(
            NODE,
            number($name, ($value, 2), "", "table 2", |tally| {
                tally.mean(concat!($price, "/used")).map(|used| used / INTERVAL)
            }),
        )
    };
}

macro_rules! profit {
    ($name:literal, $price:literal, $value:literal) => {
        because(
            NODE,
            number($name, ($value, 1), "credits", "table 2", |tally| {
                tally.mean(concat!($price, "/profit"))
            }),
        )
    };
}

macro_rules! failed {
    ($name:literal, $price:literal, $value:literal, $decimals:literal) => {
        because(
            FAILED,
            number($name, ($value, $decimals), "", "table 2", |tally| {
                tally.mean(concat!($price, "/failed"))
            }),
        )
    };
}

static NUMBERS: [Published; 20] = [
    misprint(
        "Utilisation and profit of the same row give 263.6.",
        used!("price 2: time used", "2", 256.6, 1),
    ),
    share!("price 2: utilisation", "2", 0.44),
    profit!("price 2: profit", "2", 527.1),
    failed!("price 2: failed cycles", "2", 0.0, 3),
    used!("price 4: time used", "4", 234.9, 1),
    share!("price 4: utilisation", "4", 0.39),
    profit!("price 4: profit", "4", 939.6),
    failed!("price 4: failed cycles", "4", 0.001, 3),
    used!("price 6: time used", "6", 185.4, 1),
    share!("price 6: utilisation", "6", 0.31),
    profit!("price 6: profit", "6", 1112.3),
    failed!("price 6: failed cycles", "6", 0.013, 3),
    used!("price 8: time used", "8", 109.8, 1),
    share!("price 8: utilisation", "8", 0.18),
    profit!("price 8: profit", "8", 878.7),
    failed!("price 8: failed cycles", "8", 0.024, 3),
    used!("price 10: time used", "10", 71.0, 0),
    share!("price 10: utilisation", "10", 0.12),
    profit!("price 10: profit", "10", 710.3),
    failed!("price 10: failed cycles", "10", 0.025, 3),
];

fn table(_: &Case, tally: &Tally) -> Findings {
    Findings {
        numbers: against(&NUMBERS, tally),
        claims: vec![falls(tally), fails(tally)],
        ..Findings::default()
    }
}

fn figure(case: &Case, tally: &Tally) -> Findings {
    let profit = |price: &u32| (f64::from(*price), tally.mean(&format!("{price}/profit")));
    let measured = PRICES.iter().map(profit).collect();
    let printed = [(2.0, 527.1), (4.0, 939.6), (6.0, 1112.3), (8.0, 878.7), (10.0, 710.3)];
    let printed = printed.map(|(price, profit)| (price, Estimate::exact(profit)));
    let panel = PlotPanel {
        up: "profit in an interval, credits".to_owned(),
        across: PlotAcross::Numbers("price, credits per unit of time".to_owned()),
        series: vec![
            series("published", Mark::Points, printed.to_vec()),
            series("measured", Mark::Line, measured),
        ],
    };
    Findings {
        claims: vec![peak(case, tally)],
        ..drawn(FIG8.title, "means over cycles that place all jobs", vec![panel])
    }
}

fn of(tally: &Tally, what: &str) -> Vec<f64> {
    PRICES.iter().map(|price| tally.mean(&format!("{price}/{what}")).mean).collect()
}

fn listed(values: &[f64], digits: usize) -> String {
    let values = values.iter().map(|value| format!("{value:.digits$}"));
    format!("prices 1 to 10: {}", values.collect::<Vec<_>>().join(", "))
}

fn falls(tally: &Tally) -> Claim {
    let used = of(tally, "used");
    let falls = used.windows(2).all(|pair| pair[1] < pair[0]);
    Claim::new(
        "The dearer the node, the less it is used",
        if falls { Verdict::Reproduced } else { Verdict::Trend },
        listed(&used, 0),
    )
    .because("It falls from the first price to the last, but not at every step.")
}

fn fails(tally: &Tally) -> Claim {
    let failed = of(tally, "failed");
    let rises = failed.first() < failed.last();
    Claim::new(
        "The dearer the node, the more cycles fail",
        if rises { Verdict::Reproduced } else { Verdict::NotReproduced },
        listed(&failed, 4),
    )
    .because("One node of 24 matters little for whether every job gets a window.")
}

fn peak(case: &Case, tally: &Tally) -> Claim {
    let profit = of(tally, "profit");
    let best = (0..profit.len()).max_by(|a, b| profit[*a].total_cmp(&profit[*b]));
    let best = f64::from(PRICES[best.unwrap_or_default()]);
    let market = super::world::market_price(case, case.number(&super::parameters::OWNED));
    let near = (best / market - 1.0).abs();
    Claim::new(
        "The profit is greatest when the price is near the market price",
        match near {
            ..=0.25 => Verdict::Reproduced,
            ..=0.5 => Verdict::Trend,
            _ => Verdict::NotReproduced,
        },
        format!("greatest at {best}, the market price is {market:.1}; {}", listed(&profit, 0)),
    )
    .because(
        "Jobs that ask for speed or an early finish take the node as long as their budgets reach, \
         and budgets are above the market value.",
    )
}
